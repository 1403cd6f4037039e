package failure

import (
	"context"

	"example.com/understudy/resque"
)

// Func is a failure backend of one's own that writes nothing to Redis: an error
// tracker, a log. It is called after the failure has been recorded elsewhere, so
// it stands beside a list:
//
//	failure.SuppressRetries(failure.Several(failure.List{}, failure.Func(report)))
type Func func(ctx context.Context, f *resque.Failure) error

// Writes answers none.
func (Func) Writes(*resque.Failure) ([]resque.Write, error) { return nil, nil }

// Notify calls the function.
func (fn Func) Notify(ctx context.Context, f *resque.Failure) error { return fn(ctx, f) }

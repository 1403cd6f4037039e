package resque

import (
	"context"
	"time"
)

// Clock is the time that a worker or scheduler lives by. Times that other
// processes compare (heartbeats, leases) come from the Redis server instead.
type Clock interface {
	// Now answers in the location whose zone Ruby's texts should show.
	Now() time.Time
	// Sleep returns after d, or as soon as ctx ends, then with its error.
	Sleep(ctx context.Context, d time.Duration) error
}

// SystemClock is the machine's clock, the default wherever a Clock can be set.
func SystemClock() Clock { return systemClock{} }

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

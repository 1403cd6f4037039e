package resque

import (
	"context"
	"fmt"
	"time"
)

// EnqueueAt lets a job wait for a time (Ruby: Resque.enqueue_at_with_queue),
// after which a scheduler puts it into its queue: Ruby's, or package scheduler.
// The time is cut to the second, and one that isn't after now, the zero time
// too, puts the job into its queue at once. See Enqueue about errors.
func (c *Client) EnqueueAt(ctx context.Context, at time.Time, queue, class string, args ...any) error {
	return c.enqueue(ctx, NewJob{Queue: queue, Class: class, Args: args, At: at})
}

// EnqueueIn is EnqueueAt for d from now (Ruby: Resque.enqueue_in_with_queue).
func (c *Client) EnqueueIn(ctx context.Context, d time.Duration, queue, class string, args ...any) error {
	return c.EnqueueAt(ctx, c.options.Clock.Now().Add(d), queue, class, args...)
}

// PushAt lets an item wait for the second of at, whatever it is and also where
// that isn't after now (resque-scheduler: delayed_push). A scheduler enqueues it
// under the queue that it names.
func (c *Client) PushAt(ctx context.Context, at time.Time, item []byte) error {
	if at.IsZero() {
		return &InvalidJobError{Field: "At", Err: errEmpty}
	}
	if _, err := c.waits(at); err != nil {
		return err
	}
	return c.write(ctx, DelayedWrites(at, item))
}

// waits says whether a job for that time has to wait. As in Ruby the seconds
// are compared, so one that is due within the running second is due.
func (c *Client) waits(at time.Time) (bool, error) {
	now := c.options.Clock.Now()
	if at.IsZero() || at.Unix() <= now.Unix() {
		return false, nil
	}
	// In seconds first: time.Time.Sub wraps around for times that far away.
	seconds := at.Unix() - now.Unix()
	far := seconds > int64(c.options.MaxDelay/time.Second)+1
	if c.options.MaxDelay > 0 && (far || at.Sub(now) > c.options.MaxDelay) {
		return false, &InvalidJobError{Field: "At", Err: fmt.Errorf(
			"is %d days from now: an absolute time given as a delay? (Options.MaxDelay allows %d days)",
			seconds/int64(day/time.Second), int64(c.options.MaxDelay/day))}
	}
	return true, nil
}

const day = 24 * time.Hour

package resque

import (
	"context"
	"errors"
	"fmt"
)

// ClientHooks are functions that a Client calls round its own calls: those of
// Ruby's classes and of resque-scheduler, for all classes together. They run on
// the goroutine of the caller, one at a time, and nil is none.
//
// A before hook refuses by an error. The call then writes nothing and answers a
// *RefusedError (ErrRefused). What was checked before the hooks is what gets
// written: a hook that changes the arguments changes nothing. An after hook runs
// only when the writing has succeeded. A panic in a hook is not caught: it is
// the caller's own code on the caller's own goroutine. In a before hook its
// job hasn't been written by then; in an after hook it has.
//
// EnqueueMany calls them for each of its jobs, and so do the calls that change
// delayed jobs (EnqueueDelayed, DelayOrEnqueueAt): a refusal of one, and nothing
// is changed. EnqueueDelayedFunc leaves what is refused where it is and goes on;
// the arguments that its hooks see are json.RawMessage.
//
// Push, PushAt, Pop, removals of delayed jobs, a worker's retries and a
// scheduler's deliveries run no hooks.
type ClientHooks struct {
	// BeforeEnqueue runs before a job goes into its queue. An error refuses it.
	// It doesn't run for a job that has to wait for its time (Ruby:
	// before_enqueue, which refuses by false).
	BeforeEnqueue func(ctx context.Context, job NewJob) error
	// AfterEnqueue runs when the job is in its queue (Ruby: after_enqueue).
	AfterEnqueue func(ctx context.Context, job NewJob)

	// BeforeSchedule runs first of all for a job that has a time (EnqueueAt,
	// EnqueueIn, NewJob.At, DelayOrEnqueueAt), also where that is past, and for a
	// delayed job that is enqueued now (EnqueueDelayed); BeforeEnqueue then
	// follows. An error refuses the job; one that is delayed already stays so
	// (resque-scheduler: before_schedule, which refuses by false, and loses it).
	BeforeSchedule func(ctx context.Context, job NewJob) error
	// AfterSchedule runs last, when such a job waits, or is in its queue
	// (resque-scheduler: after_schedule).
	AfterSchedule func(ctx context.Context, job NewJob)

	// BeforeDequeue runs once before Dequeue and DequeueClass. An error refuses
	// the call (Ruby: before_dequeue, which refuses by false).
	BeforeDequeue func(ctx context.Context, call DequeueCall) error
	// AfterDequeue runs behind them and hears how many jobs they removed, also
	// none (Ruby: after_dequeue).
	AfterDequeue func(ctx context.Context, call DequeueCall, removed int64)
}

// DequeueCall is what Dequeue or DequeueClass is called with.
type DequeueCall struct {
	Queue, Class string
	// Args are those of Dequeue.
	Args []any
	// All says that it is DequeueClass, for jobs with whatever arguments.
	All bool
}

// ErrRefused says that a before hook refused a call, for errors.Is. Nothing was
// written.
var ErrRefused = errors.New("resque: refused by a hook")

// RefusedError says which hook refused a call, and why. It matches ErrRefused
// and the hook's own error.
type RefusedError struct {
	// Hook is the name of the field of ClientHooks.
	Hook string
	// Field is the job among several: jobs[2]; "" where there is only one.
	Field string
	// Err is what the hook answered.
	Err error
}

func (e *RefusedError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("resque: %s refused: %v", e.Hook, e.Err)
	}
	return fmt.Sprintf("resque: %s refused %s: %v", e.Hook, e.Field, e.Err)
}

// Unwrap gives ErrRefused and the hook's own error.
func (e *RefusedError) Unwrap() []error { return []error{ErrRefused, e.Err} }

func refusal(hook string, err error) error {
	if err == nil {
		return nil
	}
	return &RefusedError{Hook: hook, Err: err}
}

// beforeEnqueue asks the hooks about a job, in Ruby's order. waits says that it
// will not go into its queue now.
func (h ClientHooks) beforeEnqueue(ctx context.Context, job NewJob, waits bool) error {
	if h.BeforeSchedule != nil && !job.At.IsZero() {
		if err := h.BeforeSchedule(ctx, job); err != nil {
			return refusal("BeforeSchedule", err)
		}
	}
	if h.BeforeEnqueue != nil && !waits {
		return refusal("BeforeEnqueue", h.BeforeEnqueue(ctx, job))
	}
	return nil
}

// afterEnqueue tells the hooks of a job that has been written.
func (h ClientHooks) afterEnqueue(ctx context.Context, job NewJob, waits bool) {
	if h.AfterEnqueue != nil && !waits {
		h.AfterEnqueue(ctx, job)
	}
	if h.AfterSchedule != nil && !job.At.IsZero() {
		h.AfterSchedule(ctx, job)
	}
}

// enqueueing says that there is a hook to call for a job that is enqueued.
func (h ClientHooks) enqueueing() bool {
	return h.BeforeEnqueue != nil || h.AfterEnqueue != nil || h.BeforeSchedule != nil || h.AfterSchedule != nil
}

// dequeue calls the hooks round the removal of jobs.
func (h ClientHooks) dequeue(ctx context.Context, call DequeueCall, remove func() (int64, error)) (removed int64, err error) {
	if h.BeforeDequeue != nil {
		if err := h.BeforeDequeue(ctx, call); err != nil {
			return 0, refusal("BeforeDequeue", err)
		}
	}
	removed, err = remove()
	if err == nil && h.AfterDequeue != nil {
		h.AfterDequeue(ctx, call, removed)
	}
	return removed, err
}

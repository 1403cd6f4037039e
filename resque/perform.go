package resque

import (
	"context"
	"errors"
	"fmt"
)

// Causes of a run's context's end, found by context.Cause.
var (
	// ErrStopping: the worker stops, and waited for the run long enough.
	ErrStopping = errors.New("resque: the worker is stopping")
	// ErrRunLost: the job was given to somebody else, since this process was
	// taken for dead; nothing that the run does is recorded.
	ErrRunLost = errors.New("resque: the run is no longer this worker's")
)

// newRun reads what was reserved: which job it is, who performs it, which
// counter it steps.
func (w *Worker) newRun(s *slot, g *grant) *run {
	r := &run{
		slot: s, token: g.ask.token, queue: g.queue, element: g.element, wrapped: g.wrapped, blank: g.blank, foreign: !writable(g.element),
		random: w.cfg.Random(), began: w.cfg.Clock.Now(),
	}
	payload := g.element
	class, args, err := ParsePayload(payload)
	if err == nil {
		if inner, ok := unwrapMalformed(class, args); ok {
			payload = inner
			class, args, err = ParsePayload(payload)
		}
	}
	r.malformed = err
	r.job = &Job{Class: class, Args: args, Queue: g.queue, Payload: payload, WorkerID: s.id}
	if err != nil {
		return r
	}
	r.registration = w.registrationOf(class)
	if r.retrier = w.retrierFor(r.registration, g.queue); r.retrier != nil {
		r.counter, r.counterErr = w.counterOf(r)
	}
	return r
}

// counterOf asks the job's Retrier for the job's counter; it may be the
// user's own code, so a panic fails the run only.
func (w *Worker) counterOf(r *run) (c Counter, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = newPanicError(value)
		}
	}()
	return r.retrier.Counter(r.job, r.random)
}

// starts says that a handler will run: what is no job, has no handler or could
// not name its counter fails without one.
func (r *run) starts() bool {
	return r.malformed == nil && r.registration != nil && r.counterErr == nil
}

// wraps says that the hand holds the element as malformed, sooner or later.
func (r *run) wraps() bool { return r.foreign || r.malformed != nil }

// rewrites says that the hand must still be written anew.
func (r *run) rewrites() bool { return r.blank || !r.wrapped && r.wraps() }

// perform runs the handler and decides about its result. It is called on a
// goroutine of the slot.
func (w *Worker) perform(r *run) {
	if r.starts() {
		r.err = w.call(r)
	}
	r.outcome = w.decide(r)
}

// call runs the handler under the class's timeout; a panic becomes an error.
func (w *Worker) call(r *run) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = newPanicError(value)
		}
	}()
	ctx := r.ctx
	if timeout := r.registration.Timeout; timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, ErrTimeout)
		defer cancel()
	}
	job := r.job.clone() // which it may change
	r.pending = &pending{client: w.client}
	job.pending = r.pending
	// Also where the handler panics: what it left running enqueues nothing.
	defer func() { r.kept = r.pending.close() }()
	err = r.registration.Handler.Perform(ctx, job)
	for _, cause := range []error{ErrTimeout, ErrJobsCancelled} {
		if err != nil && errors.Is(context.Cause(ctx), cause) && !errors.Is(err, cause) {
			return fmt.Errorf("%w: %w", cause, err)
		}
	}
	return err
}

package resque

import (
	"context"
	"time"
)

// AtDeadline is what becomes of a job of a class that a stop has cancelled: its
// run ended with an error after that, or didn't end within
// WorkerConfig.CancelTimeout. A run that ends without an error is done. It is a
// HandleOption.
type AtDeadline uint8

// What a class may choose.
const (
	// GiveBack puts the job back to the head of its queue; its run counts as no
	// attempt.
	GiveBack AtDeadline = iota
	// Fail records a failure, Resque::TermException, which the retry rules decide
	// about as about any other (Ruby, with TERM_CHILD).
	Fail
	// Drop ends the job without a record, as retry.Discard does.
	Drop
)

// Apply makes it that of a class.
func (a AtDeadline) Apply(r *Registration) error {
	if a > Drop {
		return configError("AtDeadline", "is none of GiveBack, Fail and Drop")
	}
	r.AtDeadline = a
	return nil
}

// TermException is the failure of a job that a stop cancelled, of a class that
// chose Fail (Ruby: Resque::TermException).
type TermException struct { //nolint:errname // Ruby's own name
	// Err is what the handler answered; nil where it didn't.
	Err error
}

func (TermException) Error() string { return "SIGTERM" }

// Unwrap is the handler's own error.
func (e TermException) Unwrap() error { return e.Err }

// ExceptionName is Ruby's class.
func (TermException) ExceptionName() string { return "Resque::TermException" }

// Ancestors are those of Ruby's class; it is no StandardError.
func (TermException) Ancestors() []string { return []string{"SignalException", rootException} }

// ErrJobsCancelled is the cause with which the contexts of running jobs end at
// Worker.CancelJobs. A run that fails by it is recorded as Resque::DirtyExit.
var ErrJobsCancelled error = jobsCancelledError{}

type jobsCancelledError struct{}

func (jobsCancelledError) Error() string         { return "the worker was told to cancel its running jobs" }
func (jobsCancelledError) ExceptionName() string { return dirtyExit }
func (jobsCancelledError) Ancestors() []string   { return DirtyExit{}.Ancestors() }

// cancelJobs carries out CancelJobs.
func (d *dispatcher) cancelJobs() {
	if d.revoke.Swap(false) {
		d.cancelRunning(ErrJobsCancelled)
	}
}

func (d *dispatcher) cancelRunning(cause error) {
	for _, s := range d.slots {
		if s.state == running {
			s.run.cancel(cause)
		}
	}
}

// atDeadline is the outcome of a run that ended with err after a stop had
// cancelled it.
func (w *Worker) atDeadline(r *run, err error) outcome {
	switch r.registration.AtDeadline {
	case Fail:
		return w.failed(r, TermException{err})
	case Drop:
		return outcome{kind: Discarded, writes: clearCounter(r.counter)}
	case GiveBack:
	}
	return outcome{kind: Interrupted}
}

// giveUp decides about the runs that ignore their contexts, of the classes whose
// jobs aren't given back. Whatever their handlers answer later is dropped. What
// can't be decided and recorded within the limit is given back, too.
func (d *dispatcher) giveUp(ctx context.Context, limit time.Duration) {
	deciding := map[*run]bool{}
	for _, s := range d.slots {
		if s.state != running || s.run.atDeadline() == GiveBack {
			continue
		}
		r := d.withoutHandler(s.run)
		s.run, deciding[r] = r, true
		go func() { // it calls functions of the user
			r.outcome = outcome{kind: Interrupted} // where they end the goroutine
			defer d.handBack(r)
			r.outcome = d.w.decide(r)
		}()
	}
	d.await(ctx, limit, func() bool {
		for _, s := range d.slots {
			if s.run != nil && deciding[s.run] && s.state != stuck {
				return false
			}
		}
		return true
	})
}

func (r *run) atDeadline() AtDeadline {
	if r.registration == nil {
		return GiveBack
	}
	return r.registration.AtDeadline
}

// withoutHandler is a run anew, without what its handler may still touch.
func (d *dispatcher) withoutHandler(r *run) *run {
	ctx, cancel := context.WithCancelCause(d.perform)
	cancel(ErrStopping) // whatever ended its own before
	return &run{
		slot: r.slot, token: r.token, queue: r.queue, element: r.element, wrapped: r.wrapped, blank: r.blank, foreign: r.foreign,
		job: r.job, registration: r.registration, retrier: r.retrier, counter: r.counter, random: r.random, began: r.began,
		ctx: ctx, cancel: cancel, err: ErrStopping,
	}
}

// handBack gives a run back to the dispatcher.
func (d *dispatcher) handBack(r *run) {
	select {
	case d.done <- r:
	case <-d.ended: // nobody waits for it any more
	}
}

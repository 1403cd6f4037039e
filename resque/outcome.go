package resque

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/understudy/compat/ruby"
)

// outcome is what becomes of a run, ready to be recorded. An interrupted run
// isn't: its job is given back at the end of the stop.
type outcome struct {
	// kind is "" for a job that its handler abandoned: it stays in hand.
	kind Outcome
	// failed says that stat:failed rises.
	failed bool
	writes []Write
	// sleep keeps the slot from its next job after the record.
	sleep   time.Duration
	failure *Failure // nil on success
}

// size is about how many bytes the record sends.
func (o outcome) size() (n int) {
	for _, w := range o.writes {
		for _, arg := range w.Args {
			n += len(arg)
		}
	}
	return n
}

// nameError is Ruby's answer to a class that it doesn't know.
type nameError struct{ class string }

func (e nameError) Error() string         { return "uninitialized constant " + e.class }
func (e nameError) ExceptionName() string { return "NameError" }

// counterError says why a retry counter can't be counted; in Ruby Redis' own
// error would say it.
type counterError struct{ reason string }

func (e counterError) Error() string         { return e.reason }
func (e counterError) ExceptionName() string { return "Redis::CommandError" }

// malformedError says why a queue's element is no job.
type malformedError struct{ reason error }

func (e malformedError) Error() string         { return e.reason.Error() }
func (e malformedError) ExceptionName() string { return MalformedClass }

// maxWriteArgs bounds one write: Lua unpacks its arguments.
const maxWriteArgs = 1000

// decide turns a run's result into its outcome. Apart from the user's own
// functions (checks, callbacks, failure backends) it is pure.
func (w *Worker) decide(r *run) outcome {
	out := w.outcomeOf(r)
	if w.cfg.History > 0 {
		out.writes = append(out.writes, attemptOf(r, out.kind, out.failure, w.cfg.Clock.Now()).write(w.cfg.History))
	}
	return out
}

func (w *Worker) outcomeOf(r *run) (out outcome) {
	defer func() { // an error's own methods may panic
		if value := recover(); value != nil {
			out = w.failed(r, newPanicError(value))
		}
	}()
	err := r.err
	switch {
	case r.malformed != nil:
		err = malformedError{r.malformed}
	case r.registration == nil:
		err = nameError{r.job.Class}
	case r.counterErr != nil:
		err = r.counterErr
	case errors.Is(err, ErrAbandon):
		return outcome{}
	case err == nil:
		return outcome{kind: Done, writes: append(clearCounter(r.counter), r.kept...)}
	case errors.Is(context.Cause(r.ctx), ErrStopping):
		return w.atDeadline(r, err)
	}
	return w.failed(r, err)
}

func clearCounter(c Counter) []Write {
	if c.Key == "" {
		return nil
	}
	return []Write{clearWrite(c.Key)}
}

// failed is the outcome of a run that ended with err.
func (w *Worker) failed(r *run, err error) outcome {
	kind := AskedOutcome(err)
	if kind == Discarded {
		return outcome{kind: Discarded, writes: clearCounter(r.counter)}
	}
	w.failing(r, err)
	decision := w.askRetrier(r, err)
	if kind == Cancelled {
		decision = Decision{Err: decision.Err} // whatever the policy says
	}
	if decision.Err != nil {
		err = decision.Err
	}
	f := w.failureOf(r, err, decision)
	if kind == Cancelled {
		f.Exception = CancelledClass
	}
	out := outcome{kind: kind, failed: true, failure: f, sleep: decision.SleepAfter}
	if decision.Uncount && r.counter.Key != "" {
		out.writes = append(out.writes, Write{Command: "DECR", Key: r.counter.Key})
	}
	if decision.Retry != nil {
		out.kind = Retrying
		out.writes = append(out.writes, w.retryWrites(r, decision)...)
	} else {
		out.writes = append(out.writes, clearCounter(r.counter)...)
	}
	out.writes = append(out.writes, w.failureWrites(f)...)
	return out
}

// askRetrier asks the job's Retrier. The user's own functions may panic: the
// job then fails with both errors.
func (w *Worker) askRetrier(r *run, err error) (decision Decision) {
	if r.retrier == nil || r.malformed != nil || r.counterErr != nil {
		return Decision{}
	}
	defer func() {
		if value := recover(); value != nil {
			decision = Decision{Err: errors.Join(err, newPanicError(value))}
		}
	}()
	return r.retrier.Decide(FailedRun{
		Job: r.job, Err: err, Counter: r.counter, Attempt: r.job.Attempt, Random: r.random, Now: w.cfg.Clock.Now(), Registration: r.registration,
	})
}

// retryWrites pushes the job of a retry (resque-retry: try_again).
func (w *Worker) retryWrites(r *run, d Decision) []Write {
	var writes []Write
	if r.counter.Key != "" && !d.DropCounter {
		writes = append(writes, Write{Command: "SETNX", Key: r.counter.Key, Args: []string{"-1"}})
	}
	now := w.cfg.Clock.Now()
	if d.Retry.Delay > 0 {
		item := encodeJob(d.Retry.Class, d.Retry.Args, d.Retry.Queue)
		if !writable(item) { // Ruby's scheduler would lose it
			item = wrapMalformed(encodeJob(d.Retry.Class, d.Retry.Args, ""), d.Retry.Queue)
		}
		writes = append(writes, DelayedWrites(now.Add(d.Retry.Delay), item)...)
	} else {
		writes = append(writes, PushWrites(d.Retry.Queue, encodeJob(d.Retry.Class, d.Retry.Args, ""))...)
	}
	if r.counter.Key != "" && d.DropCounter {
		writes = append(writes, clearWrite(r.counter.Key))
	}
	return writes
}

// encodeJob writes a job as Ruby does; queue "" leaves that field out.
func encodeJob(class string, args []byte, queue string) []byte {
	dst := append(make([]byte, 0, 40+len(class)+len(args)+len(queue)), `{"class":`...)
	dst = ruby.AppendString(dst, class)
	dst = append(dst, `,"args":`...)
	dst = append(dst, args...)
	if queue != "" {
		dst = append(dst, `,"queue":`...)
		dst = ruby.AppendString(dst, queue)
	}
	return append(dst, '}')
}

// failureOf describes a failed run for the failure backends.
func (w *Worker) failureOf(r *run, err error, d Decision) *Failure {
	e := DescribeError(err)
	f := &Failure{
		Job: r.job, Err: err, FailedAt: w.cfg.Clock.Now(),
		Exception: e.Name, Message: e.Message, Backtrace: e.Backtrace,
		Malformed: r.malformed != nil || !writable(r.job.Payload),
		RetryKey:  r.counter.Key,
	}
	if d.Retry != nil && !d.DropCounter {
		f.RetryPending, f.RetryDelay = true, d.Retry.Delay
	}
	return f
}

// failureWrites asks the failure backend what to write. Whatever the backend
// does, a failure that nobody will retry is not lost.
func (w *Worker) failureWrites(f *Failure) []Write {
	writes, err := w.askBackend(f)
	if err == nil {
		return writes
	}
	w.log.Error("a failure backend failed", "class", f.Job.Class, "queue", f.Job.Queue, "error", err)
	if len(writes) == 0 && !f.RetryPending {
		return []Write{{Command: "RPUSH", Key: keyFailed, Args: []string{string(f.Record(true))}}}
	}
	return writes
}

func (w *Worker) askBackend(f *Failure) (writes []Write, err error) {
	defer func() {
		if value := recover(); value != nil {
			writes, err = nil, newPanicError(value)
		}
	}()
	if w.cfg.Failures == nil {
		return []Write{{Command: "RPUSH", Key: keyFailed, Args: []string{string(f.Record(true))}}}, nil
	}
	writes, err = w.cfg.Failures.Writes(f)
	for i, write := range writes {
		if !knownCommand(write.Command) || len(write.Args) > maxWriteArgs {
			return writes[:i], fmt.Errorf("resque: a failure backend's write %q: use RPUSH, LPUSH, SADD, ZADD, DEL, SETNX, SETEX or DECR with %d arguments at most", write.Command, maxWriteArgs)
		}
	}
	return writes, err
}

// notify tells the failure backend of a failure that has been recorded.
func (w *Worker) notify(ctx context.Context, f *Failure) {
	notifier, ok := w.cfg.Failures.(FailureNotifier)
	if !ok || f == nil {
		return
	}
	defer func() {
		if value := recover(); value != nil {
			w.log.ErrorContext(ctx, "a failure backend panicked", "class", f.Job.Class, "error", newPanicError(value))
		}
	}()
	if err := notifier.Notify(ctx, f); err != nil {
		w.log.ErrorContext(ctx, "a failure backend failed", "class", f.Job.Class, "error", err)
	}
}

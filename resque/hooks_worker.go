package resque

import (
	"bytes"
	"context"
	"fmt"
	"sync"
)

// WorkerHooks are functions that a Worker calls at the turns of its life; nil is
// none. What surrounds a single job is Middleware. None of them keeps the worker
// from its leases and heartbeats, and a panic in one is logged; only Start can
// keep a worker from working.
type WorkerHooks struct {
	// Start runs once, on the goroutine of Run or Start, before the worker
	// registers; no job begins before it has ended. Its error, or panic, is the
	// answer of Run and Start, and no job is taken (Ruby: before_first_fork,
	// whose exception ends the worker as well).
	Start func(ctx context.Context, w *Worker) error

	// Stop runs once, on the goroutine of Run or Stop, as the last thing before
	// that returns, also after a second signal, after an error of Start, and
	// where something could not be given back: the jobs have ended or been given
	// back, notifications are through, and the worker has left the registry. A
	// handler that ignores its context may still be running. ctx never ends, and
	// nothing bounds the wait for the hook (Ruby: worker_exit).
	Stop func(ctx context.Context, w *Worker)

	// QueueEmpty runs when the last working slot becomes idle, since the queues
	// have no more jobs or a pause keeps the worker from them; not again before
	// there was another job, and not at the start or during a stop. It runs on a
	// goroutine of its own; two calls never overlap, and calls that it doesn't
	// keep up with become one. A stop waits for it, ReleaseTimeout at most, which
	// is when ctx ends: so it may call Drain, but must not wait for Stop (Ruby:
	// queue_empty).
	QueueEmpty func(ctx context.Context, w *Worker)

	// BeforePause runs at each call of Worker.Pause, on the caller's goroutine,
	// before the pause begins (Ruby: before_pause). pause-all-workers calls
	// nothing, as in Ruby.
	BeforePause func(w *Worker)
	// AfterPause runs at each call of Worker.Resume, on the caller's goroutine,
	// when the pause has ended (Ruby: after_pause).
	AfterPause func(w *Worker)

	// OnFailure runs for each run that failed, on its slot's goroutine, before
	// the retry policy decides and before anything is recorded; also for a job
	// without a handler, for text that is no job, for one that is buried with its
	// worker, and for Inline. It doesn't run for a job that is discarded
	// (ErrDontPerform) or given back. err is the run's own; job is a copy. While
	// the hook runs, the job counts as running: it should end with ctx. A failure
	// may be told more than once, since the record comes behind it. To hear of what
	// was decided, implement FailureNotifier (Ruby: on_failure).
	OnFailure func(ctx context.Context, job *Job, err error)
}

// begin runs the hook Start, once.
func (w *Worker) begin(ctx context.Context) error {
	if w.begun {
		return w.startErr
	}
	w.begun = true
	if hook := w.cfg.Hooks.Start; hook != nil {
		w.startErr = callStart(func() error { return hook(ctx, w) })
	}
	return w.startErr
}

func callStart(hook func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = newPanicError(value)
		}
		if err != nil {
			err = fmt.Errorf("resque: the hook Start: %w", err)
		}
	}()
	return hook()
}

// over runs the hook Stop, once, if there was a beginning and it came to its end.
func (w *Worker) over(ctx context.Context) {
	if !w.begun || w.ended || w.dispatcher.entered && !w.dispatcher.hasEnded() {
		return
	}
	w.ended = true
	if hook := w.cfg.Hooks.Stop; hook != nil {
		w.callHook(ctx, "Stop", func() { hook(context.WithoutCancel(ctx), w) })
	}
}

// pauseHook runs BeforePause or AfterPause.
func (w *Worker) pauseHook(name string, hook func(*Worker)) {
	if hook != nil {
		w.callHook(context.Background(), name, func() { hook(w) })
	}
}

// failing runs the hook OnFailure, once a run.
func (w *Worker) failing(r *run, err error) {
	hook := w.cfg.Hooks.OnFailure
	if hook == nil || r.told {
		return
	}
	r.told = true
	w.callHook(r.ctx, "OnFailure", func() { hook(r.ctx, r.job.clone(), err) })
}

// callHook calls a hook; a panic in it is logged and goes no further.
func (w *Worker) callHook(ctx context.Context, name string, hook func()) {
	defer func() {
		if value := recover(); value != nil {
			w.log.ErrorContext(ctx, "a hook panicked", "hook", name, "error", newPanicError(value))
		}
	}()
	hook()
}

// clone is a copy that may be changed.
func (j *Job) clone() *Job {
	c := *j
	c.Args, c.Payload = bytes.Clone(j.Args), bytes.Clone(j.Payload)
	return &c
}

// emptiness tells of empty queues, one call of the hook at a time.
type emptiness struct {
	worked  bool          // a job was taken since the last time; the dispatcher's
	calling sync.Mutex    // held while the hook runs
	pending chan struct{} // holds a call that waits for its turn
}

// noticeEmpty runs QueueEmpty when the worker has become idle.
func (d *dispatcher) noticeEmpty() {
	e := &d.empty
	resting := d.paused.Load() || d.want.dry && !d.want.hungry
	if !e.worked || !resting || !d.fetching || !d.allIdle() {
		return
	}
	e.worked = false
	hook := d.cfg.Hooks.QueueEmpty
	if hook == nil {
		return
	}
	select {
	case e.pending <- struct{}{}:
	default:
		return // the call that waits is for this time, too
	}
	d.after.Go(func() {
		e.calling.Lock()
		defer e.calling.Unlock()
		<-e.pending
		d.w.callHook(d.aside, "QueueEmpty", func() { hook(d.aside, d.w) })
	})
}

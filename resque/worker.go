package resque

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Worker performs jobs. To Ruby each of its slots is a worker of its own.
//
// Run is the whole life of a worker; Start, Step and Stop are what it is made
// of, for those who want to hold the reins. Handle, Pause, Resume, Drain, Hurry
// and CancelJobs may be called at any time from any goroutine; of Start, Step,
// Heartbeat and Stop only one may run at a time, and only Stop beside Run.
type Worker struct {
	client *Client
	cfg    WorkerConfig
	queues QueueList
	log    *slog.Logger

	mu            sync.RWMutex
	registrations map[string]*Registration
	fallback      Handler
	retrier       Retrier            // of the worker
	queueRetriers map[string]Retrier // of its queues
	stopRun       context.CancelFunc // ends Run, while it runs
	ran           chan struct{}      // closed when it has returned
	stopped       bool               // before there was a beginning

	// Of Start, Step and Stop one runs at a time; so these need no lock.
	begun, ended bool  // the hooks Start and Stop had their turn
	startErr     error // of the hook Start

	dispatcher *dispatcher
	name       atomic.Value // string
	sweepFrom  atomic.Pointer[string]
	// toldOverdue says that it warned of delayed jobs that nobody moves.
	toldOverdue atomic.Bool
}

// ErrNoHandlers is what Run and Start answer for a worker without any handler:
// it would fail every job of its queues.
var ErrNoHandlers = errors.New("resque: the worker has no handlers: call Handle first, or set WorkerConfig.Fallback")

// NewWorker makes a worker; it talks to Redis only when it starts. An error is a
// *ConfigError that names the field.
func NewWorker(client *Client, cfg WorkerConfig) (*Worker, error) {
	if client == nil {
		return nil, configError("client", "is nil: make one with Open")
	}
	queues, err := ParseQueueList(cfg.Queues...)
	if err != nil {
		return nil, err
	}
	cfg, err = cfg.complete(client.options.Clock)
	if err != nil {
		return nil, err
	}
	w := &Worker{
		client: client, cfg: cfg, queues: queues, log: cfg.Logger,
		registrations: make(map[string]*Registration),
	}
	if cfg.Fallback != nil {
		w.fallback = w.wrap(cfg.Fallback)
	}
	if err := w.compileRetries(); err != nil {
		return nil, err
	}
	w.dispatcher = newDispatcher(w)
	return w, nil
}

// Handle makes h perform the jobs of class, which is matched exactly. Options
// are Queue, Timeout and a retry.Policy. A class can be handled anew; runs under
// way keep their old handler.
func (w *Worker) Handle(class string, h Handler, options ...HandleOption) error {
	if class == "" {
		return configError("class", "is empty: name the job's class, as Ruby enqueues it")
	}
	if h == nil {
		return configError("handler of "+class, "is nil")
	}
	if c, ok := h.(interface{ Check() error }); ok {
		if err := c.Check(); err != nil {
			return fmt.Errorf("resque: handler of %s: %w", class, err)
		}
	}
	r := &Registration{Class: class, Handler: w.wrap(h)}
	for _, option := range options {
		if err := option.Apply(r); err != nil {
			return fmt.Errorf("resque: options of %s: %w", class, err)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.registrations[class] = r
	return nil
}

// wrap puts the middleware round a handler.
func (w *Worker) wrap(h Handler) Handler {
	for _, m := range slices.Backward(w.cfg.Middleware) {
		h = m(h)
	}
	return h
}

// registrationOf answers who performs a class: its handler, else the fallback;
// nil where there is none.
func (w *Worker) registrationOf(class string) *Registration {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if r := w.registrations[class]; r != nil || w.fallback == nil {
		return r
	}
	return &Registration{Class: class, Handler: w.fallback}
}

// Run works until ctx ends, or Drain is called and the running jobs are done. It
// then stops as Stop does. Redis being away is no reason to return: the worker
// waits for it. nil after a clean stop, and at once where Stop came first; an
// error when it can't start or could not give everything back.
func (w *Worker) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if ok, err := w.claim(cancel); !ok {
		return err
	}
	defer close(w.ran)
	defer w.over(ctx)
	return w.run(ctx)
}

// claim notes that Run runs; not ok: it mustn't.
func (w *Worker) claim(cancel context.CancelFunc) (ok bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopRun != nil {
		return false, errors.New("resque: Run was called before: make a new worker")
	}
	if w.stopped {
		return false, nil
	}
	w.stopRun, w.ran = cancel, make(chan struct{})
	return true, nil
}

func (w *Worker) run(ctx context.Context) error {
	for err := w.Start(ctx); err != nil; err = w.Start(ctx) {
		if _, wrong := errors.AsType[*ConfigError](err); wrong || errors.Is(err, ErrNoHandlers) || w.startErr != nil || w.dispatcher.fetching || w.dispatcher.hasEnded() {
			return err
		}
		if ctx.Err() == nil {
			w.dispatcher.outage.note(w.log, err)
		}
		_ = w.cfg.Clock.Sleep(ctx, w.dispatcher.outage.wait()) // an early end is seen below
		if ctx.Err() != nil {
			return w.dispatcher.stop(context.WithoutCancel(ctx))
		}
	}
	w.dispatcher.loop(ctx)
	return w.dispatcher.stop(context.WithoutCancel(ctx))
}

// Start prunes the dead by Ruby's rules, runs the hook Start and registers the
// worker's slots.
func (w *Worker) Start(ctx context.Context) error {
	w.mu.RLock()
	none := len(w.registrations) == 0 && w.cfg.Fallback == nil
	w.mu.RUnlock()
	if none {
		return ErrNoHandlers
	}
	if err := w.dispatcher.name(); err != nil {
		return err
	}
	if err := w.prune(ctx, w.dispatcher.slots[0].id); err != nil && ctx.Err() == nil {
		w.log.WarnContext(ctx, "pruning dead workers failed", "error", err)
	}
	if err := w.begin(ctx); err != nil {
		return err
	}
	return w.dispatcher.start(ctx)
}

// Step takes one job, if there is one, performs and records it. worked says
// whether there was one. After an error the next Step goes on where it stopped.
func (w *Worker) Step(ctx context.Context) (worked bool, err error) {
	return w.dispatcher.step(ctx)
}

// Heartbeat says in Ruby's registry that the worker's slots were alive at a time
// (Ruby: Worker#heartbeat!). Zero: now, by the Redis server's clock. The text is
// Ruby's iso8601: it ends in Z for time.UTC, in the offset for every other
// location. Run sends heartbeats by itself; as Start and Step, Heartbeat is for
// those who hold the reins.
func (w *Worker) Heartbeat(ctx context.Context, at time.Time) error {
	return w.dispatcher.heartbeat(ctx, at)
}

// Stop waits for running jobs (ShutdownTimeout), cancels those left
// (CancelTimeout), gives the unfinished back to the heads of their queues and
// unregisters (ReleaseTimeout). ctx ends the waiting for jobs early. While Run
// runs, Stop ends it and waits for it, or for ctx; Run answers what went wrong.
// Where Run is still to come, on another goroutine, it returns at once.
func (w *Worker) Stop(ctx context.Context) error {
	w.mu.Lock()
	cancel, ran := w.stopRun, w.ran
	w.stopped = w.stopped || cancel == nil && !w.begun
	w.mu.Unlock()
	if cancel == nil {
		defer w.over(ctx)
		return w.dispatcher.stop(ctx)
	}
	cancel()
	select {
	case <-ran:
		defer w.over(ctx) // of a worker that Run refused, since it was started before
		return w.dispatcher.stop(ctx)
	case <-ctx.Done():
		w.Hurry()
		return context.Cause(ctx)
	}
}

// Drain makes Run take no more jobs and return when the running ones are done,
// however long that takes (Ruby: QUIT).
func (w *Worker) Drain() { w.dispatcher.drain.Store(true); w.dispatcher.poke() }

// Hurry makes a stop, this one or one to come, cancel the running jobs at once
// instead of waiting ShutdownTimeout for them (a second signal). After Drain it
// ends the waiting without limit in the same way.
func (w *Worker) Hurry() { w.dispatcher.hurry.Store(true); w.dispatcher.poke() }

// CancelJobs ends the contexts of the jobs that run now, with ErrJobsCancelled; the
// worker goes on. What a job answers then counts: no error is success, an error a
// failure like any other (Ruby: USR1).
func (w *Worker) CancelJobs() { w.dispatcher.revoke.Store(true); w.dispatcher.poke() }

// Pause makes the worker take no more jobs until Resume, after the hook
// BeforePause (Ruby: USR2).
func (w *Worker) Pause() {
	w.pauseHook("BeforePause", w.cfg.Hooks.BeforePause)
	w.dispatcher.paused.Store(true)
	w.dispatcher.poke()
}

// Resume ends a Pause; the hook AfterPause follows (Ruby: CONT).
func (w *Worker) Resume() {
	w.dispatcher.paused.Store(false)
	w.dispatcher.poke()
	w.pauseHook("AfterPause", w.cfg.Hooks.AfterPause)
}

// Inline performs a job at once, without Redis, through the same middleware and
// handler, and answers the handler's error; a class without a handler is
// NameError, ErrDontPerform nil. The client's BeforeEnqueue comes before it, and
// AfterEnqueue where there is no error, with the queue "inline"; OnFailure hears
// of an error. What the job itself enqueues is written when it has succeeded. No
// retry counter is kept and nothing is tried again (Ruby:
// Resque.inline, in which resque-retry stands aside).
func (w *Worker) Inline(ctx context.Context, class string, args ...any) error {
	if err := checkText("Class", class); err != nil {
		return err
	}
	raw, err := encodeArgs(args)
	if err != nil {
		return err
	}
	job, hooks := NewJob{Queue: "inline", Class: class, Args: args}, w.client.options.Hooks
	if err := hooks.beforeEnqueue(ctx, job, false); err != nil {
		return err
	}
	if err := w.inline(ctx, class, raw); err != nil {
		return err
	}
	hooks.afterEnqueue(ctx, job, false)
	return nil
}

func (w *Worker) inline(ctx context.Context, class string, args []byte) error {
	r := &run{
		ctx: ctx, registration: w.registrationOf(class),
		job: &Job{Class: class, Args: args, Queue: "inline", Payload: encodeJob(class, args, "")},
	}
	var err error = nameError{class}
	if r.registration != nil {
		err = w.call(r)
	}
	switch {
	case err == nil && len(r.kept) > 0:
		if err := w.client.write(ctx, r.kept); err != nil {
			return err
		}
		r.pending.tell(ctx)
		return nil
	case err == nil:
		return nil
	case AskedOutcome(err) != Discarded:
		w.failing(r, err)
	case errors.Is(err, ErrDontPerform):
		return nil
	}
	return err
}

// Name is how this start of the worker is called in Redis, "" before Start: its
// ids in Ruby's registry begin with it, unless WorkerConfig.WorkerID says
// otherwise. It changes when the data in Redis went, or the worker was taken for
// dead.
func (w *Worker) Name() string {
	name, _ := w.name.Load().(string)
	return name
}

// processName is how this start of the program is called in Redis.
func (w *Worker) processName() (string, error) {
	return newProcessName(strings.ReplaceAll(w.cfg.Hostname, ":", "."), os.Getpid())
}

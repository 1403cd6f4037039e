package resque

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// dispatcher owns a worker's talk with Redis and the state of its slots. All of
// its methods run on one goroutine, that of Run or of Start, Step and Stop;
// handlers run on goroutines of their own and hand their runs back by the
// channel done.
//
// What it does is a loop of flushes (flush.go). A flush sends, in one round
// trip, the outcomes of finished runs, the begins of reserved ones and the wish
// for more, and applies the answers. All of that can be sent again: where the
// connection broke, the next flush says the same once more.
type dispatcher struct {
	w       *Worker
	client  *Client
	cfg     WorkerConfig
	keys    Keys
	clock   Clock
	log     *slog.Logger
	scripts workerScripts

	conn    *conn
	track   *tracker // nil: Redis can't, or not yet
	outage  outage
	process string
	epoch   string
	started string // the text of the started keys
	slots   []*slot
	token   int64 // the last one given out

	done    chan *run     // runs whose handler has returned
	rested  chan *slot    // slots whose sleep after a requeue is over
	poked   chan struct{} // Pause, Resume, Drain, Hurry, CancelJobs
	ended   chan struct{} // closed when the dispatcher is through
	paused  atomic.Bool
	drain   atomic.Bool
	hurry   atomic.Bool
	revoke  atomic.Bool        // the running jobs are to be cancelled
	after   sync.WaitGroup     // notifications, hooks and pruning under way
	notices chan struct{}      // bounds the notifications
	aside   context.Context    //nolint:containedctx // of notifications, hooks and pruning
	setDown context.CancelFunc // ends aside
	perform context.Context    //nolint:containedctx // parent of the runs' contexts
	cancel  context.CancelFunc // ends perform

	entered            bool // the registration was sent, so a stop has to take it back
	fetching           bool // idle slots ask for jobs
	starting           bool // what is in hand may begin: until the stop
	single             bool // Step: only the first slot works
	want               appetite
	empty              emptiness
	renewAt            time.Time // when the lease is to be renewed
	beaten             time.Time // last heartbeat
	contact            time.Time // last answer of Redis
	server, serverSeen time.Time // the server's clock, and when it was heard of
	lost               bool      // the data went: move to a new name
	movedFrom          string    // the name and ids that a move under way leaves
	movedIDs           []string
	closed             bool // taken for dead: drop everything, new name
}

// maxNotices is how many notifications may be under way.
const maxNotices = 16

// errGoexit is the failure of a handler that ended its goroutine.
var errGoexit = errors.New("the handler ended its goroutine (runtime.Goexit)")

// appetite is what the dispatcher knows of the queues.
type appetite struct {
	// hungry: there may be jobs.
	hungry bool
	// dry: the last look left a slot empty.
	dry bool
	// armed: Redis will tell when one of the queues changes.
	armed bool
	// lookAt is when to look in any case.
	lookAt time.Time
	// names are all queues, for lists with patterns; stale: read them anew.
	names []string
	stale bool
	// blind: they could not be read, and that was logged.
	blind bool
}

func newDispatcher(w *Worker) *dispatcher {
	d := &dispatcher{
		w: w, client: w.client, cfg: w.cfg, keys: w.client.Keys(), clock: w.cfg.Clock, log: w.log,
		scripts: newWorkerScripts(),
		done:    make(chan *run, w.cfg.Concurrency),
		rested:  make(chan *slot, w.cfg.Concurrency),
		poked:   make(chan struct{}, 1),
		ended:   make(chan struct{}),
		notices: make(chan struct{}, maxNotices),
		empty:   emptiness{pending: make(chan struct{}, 1)},
	}
	d.perform, d.cancel = context.WithCancel(context.Background())
	d.aside, d.setDown = context.WithCancel(context.Background())
	for n := range w.cfg.Concurrency {
		d.slots = append(d.slots, newSlot(n))
	}
	return d
}

// start connects and registers.
func (d *dispatcher) start(ctx context.Context) error {
	if d.fetching || d.hasEnded() {
		return errors.New("resque: the worker was started before: make a new one")
	}
	if err := d.register(ctx); err != nil {
		d.drop()
		return err
	}
	d.fetching, d.starting = true, true
	d.want = appetite{hungry: true, stale: true}
	d.log.InfoContext(ctx, "worker registered", "process", d.process, "slots", len(d.slots), "queues", d.w.queues.IDText())
	return nil
}

func (d *dispatcher) hasEnded() bool {
	select {
	case <-d.ended:
		return true
	default:
		return false
	}
}

// loop works until ctx ends or the worker is drained.
func (d *dispatcher) loop(ctx context.Context) {
	d.startTracking(ctx)
	for ctx.Err() == nil {
		d.collect()
		d.noticeEmpty()
		if d.drain.Load() {
			d.fetching = false
			if d.allIdle() || d.hurry.Load() {
				return
			}
		}
		d.turn(ctx)
	}
}

// turn makes one flush, or waits for a reason to.
func (d *dispatcher) turn(ctx context.Context) {
	now := time.Now()
	if d.due(now) {
		d.mendTracking(ctx, now)
		err := d.flush(context.WithoutCancel(ctx))
		d.outage.note(d.log, err)
		if err != nil {
			d.drop()
			d.pause(ctx, d.outage.wait())
		}
		return
	}
	d.wait(ctx, d.next(now))
}

// due says that there is something to flush.
func (d *dispatcher) due(now time.Time) bool {
	if !now.Before(d.renewAt) || d.lost || d.closed {
		return true
	}
	looks := d.looks(now)
	for _, s := range d.slots {
		switch {
		case s.asked != 0 && d.starting:
			return true
		case s.state == finished && !now.Before(s.run.notBefore):
			return true
		case s.state == reserved && d.starting && !now.Before(s.run.notBefore):
			return true
		case s.state == idle && looks:
			return true
		}
	}
	return false
}

// looks says that idle slots should ask for jobs now.
func (d *dispatcher) looks(now time.Time) bool {
	return d.fetching && !d.paused.Load() && (d.want.hungry || !now.Before(d.want.lookAt))
}

// next is when something will be due without anything happening.
func (d *dispatcher) next(now time.Time) time.Time {
	at := d.renewAt
	anyIdle := false
	for _, s := range d.slots {
		anyIdle = anyIdle || s.state == idle
		if (s.state == finished || s.state == reserved && d.starting) && s.run.notBefore.Before(at) {
			at = s.run.notBefore
		}
	}
	if anyIdle && d.fetching && !d.paused.Load() && d.want.lookAt.Before(at) {
		at = d.want.lookAt
	}
	if at.Before(now) {
		return now
	}
	return at
}

// wait sleeps until something happens, at the latest until at.
func (d *dispatcher) wait(ctx context.Context, at time.Time) {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case r := <-d.done:
		d.returned(r)
	case s := <-d.rested:
		d.awake(s)
	case <-d.track.changes():
		d.changed()
	case <-d.poked:
		d.cancelJobs()
	case <-timer.C:
	case <-ctx.Done():
	}
}

// pause waits after a fault, taking back runs meanwhile.
func (d *dispatcher) pause(ctx context.Context, wait time.Duration) {
	end := time.Now().Add(wait)
	for time.Now().Before(end) && ctx.Err() == nil {
		d.wait(ctx, end)
	}
}

// collect takes in all that has happened, without waiting.
func (d *dispatcher) collect() {
	for {
		select {
		case r := <-d.done:
			d.returned(r)
		case s := <-d.rested:
			d.awake(s)
		case <-d.track.changes():
			d.changed()
		case <-d.poked:
			d.cancelJobs()
		default:
			return
		}
	}
}

// awake ends a slot's sleep after a requeue.
func (d *dispatcher) awake(s *slot) {
	if s.state == pausing {
		s.state = idle
	}
}

// returned takes back a run whose handler has returned. What a run that was
// taken away did is dropped.
func (d *dispatcher) returned(r *run) {
	s := r.slot
	if s.run != r {
		return
	}
	s.state = finished
	if kind := r.outcome.kind; kind == "" || kind == Interrupted {
		s.state = stuck
	}
}

// launch runs a job's handler on a goroutine of its own.
func (d *dispatcher) launch(r *run) {
	r.slot.state = running
	r.ctx, r.cancel = context.WithCancelCause(d.perform)
	go func() {
		r.err = errGoexit // unless perform gets to its end
		defer func() {
			if r.outcome.kind == "" && !errors.Is(r.err, ErrAbandon) {
				r.outcome = d.w.decide(r) // the handler or a hook ended the goroutine
			}
			d.handBack(r)
		}()
		d.w.perform(r)
	}()
}

// free makes a slot ready for its next job.
func (d *dispatcher) free(s *slot) {
	if s.run != nil && s.run.cancel != nil {
		s.run.cancel(nil)
	}
	s.run, s.state = nil, idle
}

func (d *dispatcher) allIdle() bool {
	for _, s := range d.slots {
		if s.state != idle && s.state != stuck || s.asked != 0 {
			return false
		}
	}
	return true
}

func (d *dispatcher) poke() {
	select {
	case d.poked <- struct{}{}:
	default:
	}
}

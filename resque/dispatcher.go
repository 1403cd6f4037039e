package resque

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
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
	poked   chan struct{} // Pause, Resume, Drain
	ended   chan struct{} // closed when the dispatcher is through
	paused  atomic.Bool
	drain   atomic.Bool
	hurry   atomic.Bool
	after   sync.WaitGroup     // notifications and pruning under way
	notices chan struct{}      // bounds the notifications
	aside   context.Context    //nolint:containedctx // of notifications and pruning
	setDown context.CancelFunc // ends aside
	perform context.Context    //nolint:containedctx // parent of the runs' contexts
	cancel  context.CancelFunc // ends perform

	entered            bool // the registration was sent, so a stop has to take it back
	fetching           bool // idle slots ask for jobs
	starting           bool // what is in hand may begin: until the stop
	single             bool // Step: only the first slot works
	want               appetite
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

// workerScripts are the scripts of a worker, each with its manual where its text
// stands.
type workerScripts struct {
	reserve, begin, record, rewrite *Script
	epoch, register, renew, beat    *Script
	move, giveBack, finish, leave   *Script
	bury, sweep                     *Script
}

func newWorkerScripts() workerScripts {
	return workerScripts{
		reserve: NewScript("reserve", reserveLua), begin: NewScript("begin", beginLua),
		record: NewScript("record", recordLua), rewrite: NewScript("rewrite", rewriteLua),
		epoch: NewScript("epoch", epochLua), register: NewScript("register", registerLua),
		renew: NewScript("renew", renewLua), beat: NewScript("beat", beatLua),
		move: NewScript("move", moveLua), giveBack: NewScript("give back", giveBackLua),
		finish: NewScript("finish", finishLua), leave: NewScript("leave", leaveLua),
		bury: NewScript("bury", buryLua), sweep: NewScript("sweep", sweepLua),
	}
}

// all are the scripts that the dispatcher sends.
func (s workerScripts) all() []*Script {
	return []*Script{
		s.reserve, s.begin, s.record, s.rewrite, s.epoch, s.register, s.renew, s.beat, s.move, s.giveBack, s.finish, s.leave,
	}
}

// load makes the scripts known to Redis: one that isn't known yet runs behind
// the others of its flush, and a hand has to be rewritten before its run begins.
func (s workerScripts) load(ctx context.Context, k *conn) error {
	var calls []Call
	for _, script := range s.all() {
		calls = append(calls, Call{Command: "SCRIPT", Args: []any{"LOAD", script.src}})
	}
	replies, err := k.pipeline(ctx, calls)
	if err != nil {
		return err
	}
	for _, reply := range replies {
		if refused, ok := reply.(error); ok {
			return fmt.Errorf("resque: loading scripts: %w", refused)
		}
	}
	return nil
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
	}
	d.perform, d.cancel = context.WithCancel(context.Background())
	d.aside, d.setDown = context.WithCancel(context.Background())
	for n := range w.cfg.Concurrency {
		d.slots = append(d.slots, newSlot(n))
	}
	return d
}

// rename takes a new process name, and with it new worker ids.
func (d *dispatcher) rename() error {
	name, err := d.w.processName()
	if err != nil {
		return err
	}
	d.process = name
	d.w.name.Store(name)
	for _, s := range d.slots {
		if d.cfg.WorkerID != nil {
			s.id = d.cfg.WorkerID(s.number)
		} else {
			s.id = name + "-" + s.field + ":" + d.w.queues.IDText()
		}
		s.asked = 0
	}
	return checkIDs(d.slots)
}

// checkIDs looks at what WorkerConfig.WorkerID answered: Ruby splits ids into
// host, pid and queues, and one of another form breaks every page of resque-web.
func checkIDs(slots []*slot) error {
	seen := make(map[string]bool, len(slots))
	for _, s := range slots {
		host, rest, _ := strings.Cut(s.id, ":")
		pid, queues, _ := strings.Cut(rest, ":")
		if host == "" || queues == "" || pid == "" || pid[0] < '0' || pid[0] > '9' || seen[s.id] {
			return configError("WorkerConfig.WorkerID", fmt.Sprintf(
				"answers %q for slot %d: answer host:pid:queues, the pid beginning with a digit, and another id for each slot", s.id, s.number))
		}
		seen[s.id] = true
	}
	return nil
}

// name takes a process name, where there is none: an earlier try to start may
// have registered one.
func (d *dispatcher) name() error {
	if d.process != "" {
		return nil
	}
	err := d.rename()
	if err != nil {
		d.process = ""
	}
	return err
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
			if r.outcome.kind == "" && errors.Is(r.err, errGoexit) {
				r.outcome = d.w.decide(r)
			}
			select {
			case d.done <- r:
			case <-d.ended: // nobody waits for it any more
			}
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

// step is one job on the first slot: flush until it is recorded.
func (d *dispatcher) step(ctx context.Context) (worked bool, err error) {
	if !d.fetching || d.hasEnded() {
		return false, errors.New("resque: Step needs a worker that was started and not stopped")
	}
	s := d.slots[0]
	d.single = true
	if s.state == stuck {
		return false, errors.New("resque: the worker abandoned a job: bury it, and make a new worker")
	}
	if s.state == idle {
		d.want.hungry = true
	}
	for first := true; first || s.state != idle || s.asked != 0; first = false {
		worked = worked || s.state != idle
		if s.state == running {
			select {
			case r := <-d.done:
				d.returned(r)
			case <-ctx.Done():
				return worked, context.Cause(ctx)
			}
		}
		if s.state == stuck {
			return true, nil
		}
		if s.run != nil && time.Now().Before(s.run.notBefore) {
			d.wait(ctx, s.run.notBefore)
			if ctx.Err() != nil {
				return worked, context.Cause(ctx)
			}
		}
		if err := d.flush(ctx); err != nil {
			d.drop()
			return worked, err
		}
		worked = worked || s.state != idle
		d.want.hungry = false
		if s.state == pausing {
			select {
			case s = <-d.rested:
				d.awake(s)
			case <-ctx.Done():
				return worked, context.Cause(ctx)
			}
		}
	}
	d.after.Wait()
	return worked, nil
}

// one sends a single call on the dispatcher's connection, which it makes where
// there is none.
func (d *dispatcher) one(ctx context.Context, call Call) (any, error) {
	replies, err := d.send(ctx, []Call{call})
	if err != nil {
		return nil, err
	}
	if refused, ok := replies[0].(error); ok {
		return nil, refused
	}
	return replies[0], nil
}

// send sends calls on the dispatcher's connection. After an error of the
// connection the replies that came before it are there.
func (d *dispatcher) send(ctx context.Context, calls []Call) ([]any, error) {
	if d.conn == nil {
		conn, err := d.client.dial(ctx)
		if err != nil {
			return nil, err
		}
		if err := d.scripts.load(ctx, conn); err != nil {
			return nil, errors.Join(err, conn.close())
		}
		d.conn = conn
		d.track.attach(ctx, d.conn)
		d.want.armed = false
	}
	return d.conn.pipeline(ctx, calls)
}

// drop closes the connection; the next call makes a new one.
func (d *dispatcher) drop() {
	if d.conn != nil {
		_ = d.conn.close() // it is of no use any more, whatever it says
		d.conn = nil
	}
	d.want.armed, d.want.hungry = false, true
}

// outage logs once per change whether Redis answers, and grows the waits.
type outage struct{ failed int }

// outageMost bounds the waits, so that work resumes within 3 s of Redis' return.
const outageMost = 2 * time.Second

func (o *outage) note(log *slog.Logger, err error) {
	switch {
	case err != nil && o.failed == 0 && ErrorCode(err) != "":
		log.Error("Redis refuses; trying again", "error", err)
	case err != nil && o.failed == 0:
		log.Error("Redis does not answer; trying again", "error", err)
	case err == nil && o.failed > 0:
		log.Info("Redis answers again", "tries", o.failed)
	}
	if err == nil {
		o.failed = 0
	} else {
		o.failed++
	}
}

func (o *outage) wait() time.Duration { return backoff{most: outageMost}.next(o.failed) }

var errProtocol = errors.New("resque: Redis answered what the protocol doesn't know")

func protocolError(what string, reply any) error {
	return fmt.Errorf("%w: %s: %v", errProtocol, what, reply)
}

package scheduler

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"example.com/understudy/resque"
)

// Scheduler moves delayed jobs to their queues, and fires recurring ones. Make it
// with New.
type Scheduler struct {
	client *resque.Client
	cfg    Config
	keys   resque.Keys
	lock   string
	source source        // nil: there are delayed jobs only
	reload atomic.Bool   // the source is to load everything anew
	poked  chan struct{} // Reload
	// watch wakes Run; nil outside of it, which alone changes it.
	watch *resque.Watcher

	mu     sync.Mutex // held through a pass and a look
	master bool
	loaded bool // the source has loaded under this mastership
	// agenda is what the last pass or look found. known: nothing was changed by
	// this scheduler since; armed: Redis tells when somebody else changes it.
	agenda       agenda
	known, armed bool
	// seen is the time of the last pass.
	seen time.Time
	// left is how many due times the last pass had to leave where they are.
	left int64
	// next is when the source wants its turn; zero: whenever.
	next time.Time
	// told are the times whose list is none, as of the last pass: each is
	// logged once.
	told map[string]bool
}

// New makes a scheduler for the client's namespace. It does nothing until Run
// or Tick.
func New(client *resque.Client, c Config) (*Scheduler, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	s := &Scheduler{
		client: client, cfg: c, keys: client.Keys(), lock: lockKey(client.Keys(), c.LockPrefix), poked: make(chan struct{}, 1),
	}
	if c.Schedules != nil {
		s.source = newFirer(s)
	}
	return s, nil
}

// Tick handles what is due now: it takes the master lock if it is free, and
// moves every delayed job up to this second to its queue, the oldest first; then
// it fires the recurring jobs whose times have come. It answers how many delayed
// jobs it moved, those included that went to the failed jobs. Where another
// scheduler is the master it does nothing.
func (s *Scheduler) Tick(ctx context.Context) (moved int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchClock(ctx)
	if err := s.keep(ctx); err != nil || !s.master {
		return 0, err
	}
	var faults []error
	for _, step := range []func(context.Context) error{
		s.renewSource,
		s.loadSource,
		func(ctx context.Context) error { moved, err = s.moveDue(ctx); return err },
		s.passSource,
	} {
		err := step(ctx)
		if errors.Is(err, errLost) {
			s.standDown() // the next pass sees whether somebody else has it
			break
		}
		faults = append(faults, err)
	}
	s.known = s.agenda.due == s.left && !s.agenda.asked
	return moved, errors.Join(faults...)
}

// watchClock has everything planned anew by a clock that was far ahead and went
// back: what it had planned would be to come for as long.
func (s *Scheduler) watchClock(ctx context.Context) {
	now := s.cfg.Clock.Now().Round(0) // what it says, not how long it has run
	if s.source != nil && now.Before(s.seen.Add(-horizon)) {
		s.cfg.Logger.WarnContext(ctx, "the clock went back far; recurring jobs are planned anew", "from", s.seen, "to", now)
		s.reload.Store(true)
	}
	s.seen = now
}

// keep takes or renews the master lock, and notes what there is to do.
func (s *Scheduler) keep(ctx context.Context) error {
	was := s.master
	whose, found, err := s.hold(ctx)
	s.master, s.agenda = err == nil && whose != heldByOther, found
	s.armed = s.armed && s.master == was
	switch {
	case err != nil:
		s.loaded = false // who knows what happened to the lock
	case !s.master:
		s.lose()
	case whose == heldAnew:
		s.loaded = false
	}
	return err
}

// moveDue moves the delayed jobs that are due.
func (s *Scheduler) moveDue(ctx context.Context) (moved int, err error) {
	p := pass{Scheduler: s, schedule: s.pagesUntil(s.cfg.Clock.Now().Unix()), bad: map[string]bool{}, broken: map[string]string{}}
	if s.agenda.due > 0 {
		err = p.run(ctx)
	}
	s.told, s.left = p.bad, int64(len(p.bad))
	if p.lost && err == nil {
		err = errLost
	}
	return p.moved, err
}

// Master says whether the last Tick found the master lock to be this
// scheduler's.
func (s *Scheduler) Master() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.master
}

// Planned are the next times of the recurring jobs by their names, as long as this
// scheduler is the master; one that doesn't fire any more isn't among them (Ruby:
// Resque::Scheduler.scheduled_jobs).
func (s *Scheduler) Planned() map[string]time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, ok := s.source.(*firer); ok && s.master {
		return f.planned()
	}
	return map[string]time.Time{}
}

// Stop releases the master lock if it is this scheduler's. A Tick takes it
// again.
func (s *Scheduler) Stop(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lose()
	return s.release(ctx)
}

// Run passes over what is due, at the second when it is due, until ctx ends, then
// releases the master lock. Redis wakes it when something has become sooner; at
// the latest after each Interval it looks in any case. It outlives any trouble
// with Redis, trying again after 0.1 s, doubling up to the Interval. The error is
// that of the release. Of one scheduler, one Run at a time.
func (s *Scheduler) Run(ctx context.Context) error {
	s.setWatch(s.client.NewWatcher(min(s.every(), betweenAttempts), s.cfg.Logger))
	defer s.setWatch(nil)
	r := reporter{Scheduler: s}
	for ctx.Err() == nil {
		moved, err := s.Tick(ctx)
		if ctx.Err() != nil {
			break
		}
		r.report(ctx, err)
		if moved > 0 {
			s.cfg.Logger.InfoContext(ctx, "moved delayed jobs to their queues", "jobs", moved)
		}
		if r.failed == 0 {
			err = s.rest(ctx, moved == 0)
			if ctx.Err() == nil && err != nil {
				r.report(ctx, err)
			}
		}
		if r.failed > 0 && s.cfg.Clock.Sleep(ctx, r.wait()) != nil {
			break
		}
	}
	return s.giveUp(context.WithoutCancel(ctx))
}

// giveUp releases the master lock, if need be with some tries: connections that
// fell while nobody used them are no reason to let it run out.
func (s *Scheduler) giveUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	err := s.Stop(ctx)
	for try := 1; err != nil && try < releaseTries && s.cfg.Clock.Sleep(ctx, firstBackoff) == nil; try++ {
		err = s.Stop(ctx)
	}
	return err
}

// setWatch sets the watcher, and closes the one before.
func (s *Scheduler) setWatch(w *resque.Watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watch != nil {
		s.watch.Close()
	}
	s.watch, s.armed = w, false
}

const (
	releaseTimeout = 5 * time.Second
	releaseTries   = 5
	firstBackoff   = 100 * time.Millisecond
	// lateAfter is how long a job may be due under another master before that
	// is worth a word.
	lateAfter = time.Minute
)

// reporter says one line for each change of the state.
type reporter struct {
	*Scheduler

	said   string
	failed int
}

// The states of a running scheduler.
const (
	stateMaster  = "master"
	stateStandby = "standby"
	stateLate    = "standby, jobs overdue"
	stateTrouble = "trouble"
)

func (r *reporter) report(ctx context.Context, err error) {
	state := stateMaster
	var overdue time.Duration
	switch {
	case err != nil:
		state = stateTrouble
	case !r.Master():
		state = stateStandby
		if overdue, err = r.Overdue(ctx); err != nil {
			state = stateTrouble
		} else if overdue > lateAfter {
			state = stateLate
		}
	}
	if state == stateTrouble {
		r.failed++
	} else {
		r.failed = 0
	}
	if state == r.said || errors.Is(err, context.Canceled) {
		return
	}
	r.said = state
	switch log := r.cfg.Logger; state {
	case stateMaster:
		log.InfoContext(ctx, "this scheduler is the master", "lock", r.lock, "value", r.cfg.Value)
	case stateStandby:
		log.InfoContext(ctx, "another scheduler is the master", "lock", r.lock)
	case stateLate:
		log.WarnContext(ctx, "delayed jobs are overdue and the master doesn't move them", "lock", r.lock, "overdue", overdue.String())
	default:
		log.ErrorContext(ctx, "the scheduler can't reach Redis and keeps trying", "error", err)
	}
}

// wait is the time until the next try after trouble.
func (r *reporter) wait() time.Duration {
	return min(r.every(), firstBackoff<<min(r.failed-1, 10)) //nolint:mnd // 0.1 s doubled ten times is more than any interval needs
}

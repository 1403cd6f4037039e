package scheduler

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"example.com/understudy/resque"
)

// Scheduler moves delayed jobs to their queues. Make it with New.
type Scheduler struct {
	client *resque.Client
	cfg    Config
	keys   resque.Keys
	lock   string

	mu     sync.Mutex // held through a pass
	master bool
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
	return &Scheduler{client: client, cfg: c, keys: client.Keys(), lock: lockKey(client.Keys(), c.LockPrefix)}, nil
}

// Tick handles what is due now: it takes the master lock if it is free, and
// moves every delayed job up to this second to its queue, the oldest first. It
// answers how many it moved, those included that went to the failed jobs. Where
// another scheduler is the master it moves nothing.
func (s *Scheduler) Tick(ctx context.Context) (moved int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.master, err = s.keep(ctx); err != nil || !s.master {
		return 0, err
	}
	p := pass{Scheduler: s, now: s.cfg.Clock.Now(), bad: map[string]bool{}, broken: map[string]string{}}
	err = p.run(ctx)
	s.told = p.bad
	if p.lost {
		s.master = false
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

// Stop releases the master lock if it is this scheduler's. A Tick takes it
// again.
func (s *Scheduler) Stop(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.master = false
	return s.release(ctx)
}

// Overdue tells for how long the oldest delayed job has been due; 0: none is.
// It grows where no scheduler runs.
func (s *Scheduler) Overdue(ctx context.Context) (time.Duration, error) {
	now := s.cfg.Clock.Now()
	for offset := 0; ; offset += timesPerCall {
		members, err := resque.Strings(s.client.Do(ctx, "ZRANGEBYSCORE", s.keys.Of(keySchedule), "-inf", now.Unix(),
			"LIMIT", offset, timesPerCall, "WITHSCORES"))
		if err != nil {
			return 0, fmt.Errorf("scheduler: read the schedule: %w", err)
		}
		if len(members) == 0 {
			return 0, nil
		}
		calls := make([]resque.Call, 0, len(members)/2) //nolint:mnd // member and score
		for i := 0; i < len(members); i += 2 {
			calls = append(calls, resque.Call{Command: "EXISTS", Keys: []string{s.keys.Of(delayedPrefix + members[i])}})
		}
		replies, err := s.client.Pipeline(ctx, calls...)
		if err != nil {
			return 0, fmt.Errorf("scheduler: read delayed jobs: %w", err)
		}
		for i, reply := range replies {
			// Ruby's removals leave times without jobs until the next pass.
			if n, err := resque.Int(reply, nil); err != nil || n == 0 {
				continue
			}
			second, err := resque.Int(members[2*i+1], nil)
			if err != nil {
				return 0, fmt.Errorf("scheduler: read the schedule: %w", err)
			}
			return now.Sub(time.Unix(second, 0)), nil
		}
	}
}

// Run passes over what is due every Interval until ctx ends, then releases the
// master lock. It outlives any trouble with Redis, trying again after 0.1 s,
// doubling up to the Interval. The error is that of the release.
func (s *Scheduler) Run(ctx context.Context) error {
	r := reporter{Scheduler: s}
	for ctx.Err() == nil {
		_, err := s.Tick(ctx)
		if ctx.Err() != nil {
			break
		}
		r.report(ctx, err)
		if s.cfg.Clock.Sleep(ctx, r.wait()) != nil {
			break
		}
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	return s.Stop(end)
}

const (
	releaseTimeout = 5 * time.Second
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

// wait is the time until the next pass: the interval, less after trouble.
func (r *reporter) wait() time.Duration {
	wait := r.cfg.Interval
	if n := r.failed; n > 0 {
		wait = min(wait, firstBackoff<<min(n-1, 10)) //nolint:mnd // 0.1 s doubled ten times is more than any interval needs
	}
	return wait
}

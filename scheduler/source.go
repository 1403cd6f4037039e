package scheduler

import (
	"context"
	"errors"
	"time"
)

// source is where jobs come from beside the delayed ones. The scheduler calls
// one method at a time.
//
// A method that finds in a script that the master lock isn't this scheduler's any
// more answers errLost and has written nothing: the scheduler then looks whose it
// is, and calls drop where it is somebody else's. Any other error is logged and
// tried again soon; it keeps neither the delayed jobs nor the other methods from
// their turn.
type source interface {
	// keys are full keys whose existence asks for a pass. While this scheduler is
	// the master, Redis wakes it when one of them appears.
	keys() []string
	// load takes everything in anew: when mastership begins, when the lock had run
	// out or the answer about it was lost meanwhile (somebody else may have been
	// the master), and after Reload. It is tried again until it answers nil, and
	// pass waits for that. What was planned before stays the source's own affair
	// until drop is called.
	load(ctx context.Context, now time.Time) error
	// pass does what is due, and answers when it wants to be called next; zero: it
	// doesn't matter. asked says that one of the keys exists. It is called in each
	// pass of a master, at least once an interval.
	pass(ctx context.Context, now time.Time, asked bool) (next time.Time, err error)
	// renew does what is due by the present plan, and then drops it, since
	// everything is to be planned anew (Reload). After an error it is called again.
	renew(ctx context.Context, now time.Time) error
	// drop says that there is no mastership, or none any more. It may be called
	// again.
	drop()
}

// errLost says that the master lock is somebody else's, or nobody's.
var errLost = errors.New("scheduler: the master lock isn't this scheduler's any more")

// asking are the keys whose existence asks for a pass.
func (s *Scheduler) asking() []string {
	if s.source == nil {
		return nil
	}
	return s.source.keys()
}

// renewSource drops the source's plan where Reload was called: the times that have
// come by then aren't lost with it.
func (s *Scheduler) renewSource(ctx context.Context) error {
	if !s.reload.Swap(false) || s.source == nil {
		return nil
	}
	if err := s.source.renew(ctx, s.cfg.Clock.Now()); err != nil {
		s.reload.Store(true)
		return err
	}
	s.loaded = false
	return nil
}

// loadSource loads the source where it has to be.
func (s *Scheduler) loadSource(ctx context.Context) error {
	if s.source == nil || s.loaded {
		return nil
	}
	err := s.source.load(ctx, s.cfg.Clock.Now())
	s.loaded = err == nil
	return err
}

// passSource gives the source its turn.
func (s *Scheduler) passSource(ctx context.Context) (err error) {
	if s.source == nil || !s.loaded {
		return nil
	}
	s.next, err = s.source.pass(ctx, s.cfg.Clock.Now(), s.agenda.asked)
	return err
}

// standDown notes that there is no mastership. What the source has planned stays:
// where nobody else had the lock meanwhile, it still holds.
func (s *Scheduler) standDown() {
	s.master, s.loaded, s.armed, s.next = false, false, false, time.Time{}
}

// lose notes that somebody else is the master.
func (s *Scheduler) lose() {
	s.standDown()
	if s.source != nil {
		s.source.drop()
	}
}

// Reload makes a running scheduler take in its schedule anew, as soon as it is
// the master. It returns at once.
func (s *Scheduler) Reload() {
	s.reload.Store(true)
	select {
	case s.poked <- struct{}{}:
	default:
	}
}

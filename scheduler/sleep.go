package scheduler

import (
	"context"
	"time"
)

// betweenLooks is how long a look at what changed keeps others away, so that a
// stream of jobs for later times doesn't keep the scheduler busy.
const betweenLooks = 100 * time.Millisecond

// betweenAttempts is how often at most Redis is asked again to tell of changes,
// after the connection on which it did was lost.
const betweenAttempts = 5 * time.Second

// every is the longest wait between two passes: the lock is renewed in each.
func (s *Scheduler) every() time.Duration {
	return min(s.cfg.Interval, s.cfg.LockTimeout/3) //nolint:mnd // two renewals may fail
}

// rest waits until the next pass: the next second that is due, the source's next
// time, the end of another's lock, the end of the interval; or Redis tells that
// something has become sooner, or Reload was called. idle says that the last pass
// moved nothing.
func (s *Scheduler) rest(ctx context.Context, idle bool) error {
	clock := s.cfg.Clock
	end := clock.Now().Add(s.every())
	for {
		next, err := s.look(ctx)
		if err != nil {
			return err
		}
		looked := clock.Now()
		until := earlier(next, end)
		if !until.After(looked) {
			if idle { // whatever it is, the last pass could do nothing about it
				return clock.Sleep(ctx, betweenLooks)
			}
			return nil
		}
		idle = false
		changed, err := s.sleep(ctx, until.Sub(looked))
		if err != nil || !changed {
			return err
		}
		now := clock.Now()
		if quiet := earlier(looked.Add(betweenLooks), until).Sub(now); quiet > 0 && !s.reload.Load() {
			if err := clock.Sleep(ctx, quiet); err != nil {
				return err
			}
		}
	}
}

// sleep waits for d, for a change in Redis or for Reload, and says whether it was
// a change.
func (s *Scheduler) sleep(ctx context.Context, d time.Duration) (changed bool, err error) {
	asleep, wake := context.WithCancel(ctx)
	changes, woken := s.watch.Changes(), make(chan bool)
	go func() {
		change := false
		select {
		case <-changes:
			change = true
		case <-s.poked:
		case <-asleep.Done():
		}
		wake()
		woken <- change
	}()
	_ = s.cfg.Clock.Sleep(asleep, d) // it fails only where asleep ended
	wake()
	if changed = <-woken; changed {
		s.mu.Lock()
		s.armed = false
		s.mu.Unlock()
	}
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	return changed, nil
}

package scheduler

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"example.com/understudy/resque"
)

// agenda is what Redis says that there is to do.
type agenda struct {
	// due is how many times of the schedule are due.
	due int64
	// next is when the next one will be; zero: there is none.
	next time.Time
	// asked says that one of the source's keys exists.
	asked bool
}

// readAgenda takes the number of due times, the first score behind them ("":
// none), and how many of the source's keys exist.
func readAgenda(row []any) (agenda, error) {
	due, err1 := resque.Int(row[0], nil)
	score, err2 := resque.String(row[1], nil)
	asked, err3 := resque.Int(row[2], nil)
	for _, err := range []error{err1, err2, err3} {
		if err != nil {
			return agenda{}, fmt.Errorf("scheduler: read what is due: %w", err)
		}
	}
	return agenda{due: due, next: secondOf(score), asked: asked > 0}, nil
}

// farAway is a second that no scheduler lives to see.
const farAway = 1 << 40

// secondOf is when a score is due: Ruby compares it with whole seconds, so one
// with a fraction at the next of them. Zero: never.
func secondOf(score string) time.Time {
	f, err := strconv.ParseFloat(score, 64)
	if err != nil || math.IsNaN(f) || f > farAway {
		return time.Time{}
	}
	return time.Unix(int64(math.Ceil(max(f, 0))), 0)
}

// look reads what there is to do, so that Redis tells when it changes, and
// answers when the next pass is to be; zero: when the interval is over. The look
// is spared where nothing has changed since the last one.
func (s *Scheduler) look(ctx context.Context) (time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.cfg.Clock.Now()
	if !s.master {
		return s.lookAtLock(ctx, now)
	}
	if !s.known || !s.armed || !s.watch.Watching() {
		if err := s.lookAtSchedule(ctx, now); err != nil {
			return time.Time{}, err
		}
	}
	if s.agenda.due > s.left || s.agenda.asked || s.reload.Load() {
		return now, nil
	}
	return earlier(s.agenda.next, s.next), nil
}

// lookAtSchedule is the look of a master.
func (s *Scheduler) lookAtSchedule(ctx context.Context, now time.Time) error {
	schedule := []string{s.keys.Of(keySchedule)}
	calls := []resque.Call{
		{Command: "ZCOUNT", Keys: schedule, Args: []any{"-inf", now.Unix()}},
		{Command: "ZRANGEBYSCORE", Keys: schedule, Args: []any{fmt.Sprintf("(%d", now.Unix()), "+inf", "WITHSCORES", "LIMIT", 0, 1}},
	}
	if keys := s.asking(); len(keys) > 0 {
		calls = append(calls, resque.Call{Command: "EXISTS", Keys: keys})
	}
	replies, watched, err := s.watch.Read(ctx, calls...)
	if err != nil {
		return fmt.Errorf("scheduler: read what is due: %w", err)
	}
	later, err := resque.Strings(replies[1], nil)
	if err != nil {
		return fmt.Errorf("scheduler: read the schedule: %w", err)
	}
	row := []any{replies[0], "", int64(0)}
	if len(later) == 2 { //nolint:mnd // member and score
		row[1] = later[1]
	}
	if len(replies) == 3 { //nolint:mnd // the source's keys, too
		row[2] = replies[2]
	}
	s.agenda, err = readAgenda(row)
	s.known, s.armed = err == nil, watched
	return err
}

// lookAtLock is the look of a standby.
func (s *Scheduler) lookAtLock(ctx context.Context, now time.Time) (time.Time, error) {
	replies, _, err := s.watch.Read(ctx, resque.Call{Command: "PTTL", Keys: []string{s.lock}})
	if err != nil {
		return time.Time{}, fmt.Errorf("scheduler: the master lock: %w", err)
	}
	left, err := resque.Int(replies[0], nil)
	switch {
	case err != nil:
		return time.Time{}, fmt.Errorf("scheduler: the master lock: %w", err)
	case left == -1: // it never ends
		return time.Time{}, nil
	default: // gone, where it is negative
		return now.Add(time.Duration(left) * time.Millisecond), nil
	}
}

// earlier is the earlier of two times, of which zero is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

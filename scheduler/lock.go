package scheduler

import (
	"context"
	"fmt"

	"example.com/understudy/resque"
)

const lockName = "resque_scheduler_master_lock"

// lockKey is the full key of the master lock. Ruby puts the namespace before
// the name and then hands it to a client that puts it there once more; without
// a namespace the first of the two colons remains.
func lockKey(keys resque.Keys, prefix string) string {
	if prefix != "" {
		prefix += ":"
	}
	return keys.Of(keys.Namespace() + ":" + prefix + lockName)
}

func (s *Scheduler) lockMillis() int64 { return s.cfg.LockTimeout.Milliseconds() }

// held says whose the master lock is.
type held int

const (
	heldByOther held = iota
	heldAsBefore
	heldAnew
)

// hold takes the master lock or renews it, says whose it is, and what there is
// to do.
func (s *Scheduler) hold(ctx context.Context) (held, agenda, error) {
	now := s.cfg.Clock.Now()
	call := resque.Call{
		Script: keepScript,
		Keys:   append([]string{s.lock, s.keys.Of(keySchedule)}, s.asking()...),
		Args:   []any{s.cfg.Value, s.lockMillis(), now.Unix()},
	}
	row, err := resque.Values(s.one(ctx, call))
	if err != nil {
		return heldByOther, agenda{}, fmt.Errorf("scheduler: the master lock: %w", err)
	}
	whose, err := resque.Int(row[0], nil)
	if err != nil {
		return heldByOther, agenda{}, fmt.Errorf("scheduler: the master lock: %w", err)
	}
	a, err := readAgenda(row[1:])
	return held(whose), a, err
}

// one sends a call on the watcher's connection, where there is one.
func (s *Scheduler) one(ctx context.Context, call resque.Call) (any, error) {
	send := s.client.Pipeline
	if s.watch != nil {
		send = s.watch.Send
	}
	replies, err := send(ctx, call)
	if err != nil {
		return nil, err
	}
	if refused, ok := replies[0].(error); ok {
		return nil, refused
	}
	return replies[0], nil
}

func (s *Scheduler) release(ctx context.Context) error {
	if _, err := s.client.Run(ctx, releaseScript, []string{s.lock}, s.cfg.Value); err != nil {
		return fmt.Errorf("scheduler: release the master lock: %w", err)
	}
	return nil
}

package scheduler

import (
	"context"
	"fmt"
	"time"

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

func (s *Scheduler) lockSeconds() int64 { return int64(s.cfg.LockTimeout / time.Second) }

// keep takes the master lock or renews it, and says whether it is ours.
func (s *Scheduler) keep(ctx context.Context) (bool, error) {
	n, err := resque.Int(s.client.Run(ctx, keepScript, []string{s.lock}, s.cfg.Value, s.lockSeconds()))
	if err != nil {
		return false, fmt.Errorf("scheduler: the master lock: %w", err)
	}
	return n == 1, nil
}

func (s *Scheduler) release(ctx context.Context) error {
	if _, err := s.client.Run(ctx, releaseScript, []string{s.lock}, s.cfg.Value); err != nil {
		return fmt.Errorf("scheduler: release the master lock: %w", err)
	}
	return nil
}

package scheduler

import (
	"context"
	"fmt"

	"example.com/understudy/resque"
)

// Locked says whether some scheduler, this one or another, Ruby's too, holds the
// master lock: where none does, delayed jobs wait until one comes.
func (s *Scheduler) Locked(ctx context.Context) (bool, error) {
	n, err := resque.Int(s.client.Do(ctx, "EXISTS", s.lock))
	if err != nil {
		return false, fmt.Errorf("scheduler: the master lock: %w", err)
	}
	return n == 1, nil
}

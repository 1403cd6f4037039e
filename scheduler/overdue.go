package scheduler

import (
	"context"
	"fmt"
	"time"

	"example.com/understudy/resque"
)

// Overdue tells for how long the oldest delayed job has been due; 0: none is.
// It grows where no scheduler runs.
func (s *Scheduler) Overdue(ctx context.Context) (time.Duration, error) {
	now := s.cfg.Clock.Now()
	schedule := s.pagesUntil(now.Unix())
	for {
		times, err := schedule.read(ctx)
		if err != nil || len(times) == 0 {
			return 0, err
		}
		calls := make([]resque.Call, 0, len(times))
		for _, t := range times {
			calls = append(calls, resque.Call{Command: "LLEN", Keys: []string{s.keys.Of(delayedPrefix + t.member)}})
			schedule.passOver(t)
		}
		replies, err := s.client.Pipeline(ctx, calls...)
		if err != nil {
			return 0, fmt.Errorf("scheduler: read delayed jobs: %w", err)
		}
		for i, reply := range replies {
			// Ruby's removals leave times without jobs until the next pass, and a key
			// of another type holds none.
			if n, err := resque.Int(reply, nil); err == nil && n > 0 {
				return now.Sub(secondOf(times[i].score)), nil
			}
		}
	}
}

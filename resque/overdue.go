package resque

import (
	"context"
	"time"
)

// overdueAfter is how long a delayed job may be due before a worker wonders
// whether any scheduler runs.
const overdueAfter = time.Minute

// watchDelays warns that delayed jobs are due and stay where they are, once until
// that is over.
func (w *Worker) watchDelays(ctx context.Context) error {
	now := w.cfg.Clock.Now()
	since, overdue, err := w.client.NextDelayedTime(ctx, now.Add(-overdueAfter))
	if err != nil {
		return err
	}
	if warned := w.toldOverdue.Swap(overdue); overdue && !warned {
		w.log.WarnContext(ctx, "delayed jobs are overdue: no scheduler moves them (understudy scheduler, package scheduler, or Ruby's)",
			"overdue", now.Sub(since).Truncate(time.Second).String())
	}
	return nil
}

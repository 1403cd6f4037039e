package resque

import (
	"context"
	"fmt"
	"iter"
	"time"
)

// DelayedSelection says which delayed jobs are meant: those that fit all of its
// fields. The zero value is all.
type DelayedSelection struct {
	// From and Until bound the times, in whole seconds: not before From, and before
	// Until. Zero: no bound.
	From, Until time.Time
	// Match says which jobs are meant; nil: all. It is called once for each job,
	// the earliest first, on the caller's goroutine, also for what is no job (Err);
	// where a second has more jobs than a page, and others take some of them
	// meanwhile, it is asked again about its first ones.
	Match func(DelayedJob) bool
	// Limit is how many jobs are meant at most, the earliest; 0: all. Those that have
	// to stay where they are, with an error, don't count.
	Limit int64
	// Progress hears after each page what has been done so far, on the caller's
	// goroutine; nil: nobody does.
	Progress func(DelayedResult)
}

// within says whether a time is within the bounds.
func (s *DelayedSelection) within(at time.Time) bool {
	return (s.From.IsZero() || at.Unix() >= s.From.Unix()) && (s.Until.IsZero() || at.Unix() < s.Until.Unix())
}

// DelayedResult says what a call about many delayed jobs has done, also beside an
// error.
type DelayedResult struct {
	// Seen is how many jobs within the bounds were looked at.
	Seen int64
	// Chosen is how many of them were meant.
	Chosen int64
	// Done is how many were removed or enqueued. Of the others those with an error
	// stay where they are; the rest was gone when their turn came.
	Done int64
}

// Delayed goes through delayed jobs, the earliest first, those of a second in their
// order. It reads a page at a time, of some thousand jobs and a few megabytes at
// most, and meets each job that stays; see Match about those met twice. An error
// is the last that it yields; the job beside it is empty.
func (c *Client) Delayed(ctx context.Context, s DelayedSelection) iter.Seq2[DelayedJob, error] {
	return func(yield func(DelayedJob, error) bool) {
		d := delayedChange{client: c, DelayedSelection: s}
		d.act = func(job DelayedJob) (Edit, bool, error) {
			d.stopped = !yield(job, nil)
			return Edit{}, false, nil
		}
		if _, err := d.run(ctx); err != nil && !d.stopped {
			yield(DelayedJob{}, err)
		}
	}
}

// CountDelayed counts delayed jobs. Where there is a Match it reads all of them
// within the bounds.
func (c *Client) CountDelayed(ctx context.Context, s DelayedSelection) (n int64, err error) {
	if s.Match != nil {
		d := delayedChange{client: c, DelayedSelection: s}
		d.act = func(DelayedJob) (Edit, bool, error) { return Edit{}, false, nil }
		result, err := d.run(ctx)
		return result.Chosen, err
	}
	err = c.eachTime(ctx, func(t delayedTime) bool {
		if s.within(t.at) {
			n += t.jobs
		}
		return s.Limit <= 0 || n < s.Limit
	})
	if s.Limit > 0 {
		n = min(n, s.Limit)
	}
	return n, err
}

// RemoveDelayedSelection removes delayed jobs (resque-scheduler:
// remove_delayed_selection). Jobs are read and removed a page at a time. After an
// error, or a panic of Match, which passes through, some are gone and the others
// untouched.
func (c *Client) RemoveDelayedSelection(ctx context.Context, s DelayedSelection) (DelayedResult, error) {
	d := delayedChange{client: c, DelayedSelection: s}
	d.act = func(job DelayedJob) (Edit, bool, error) { return Edit{Key: job.key, Raw: job.item}, true, nil }
	return d.run(ctx)
}

// EnqueueDelayedSelection puts delayed jobs into their queues now, as a scheduler
// would when their time has come (resque-scheduler: enqueue_delayed_selection).
// Removing and enqueueing a job are one step. A job that names no queue stays where
// it is; the error says so, after all others have been enqueued. The same goes for
// one that a hook refuses, and one whose queue's key is no list.
func (c *Client) EnqueueDelayedSelection(ctx context.Context, s DelayedSelection) (DelayedResult, error) {
	d := delayedChange{client: c, DelayedSelection: s}
	d.act = func(job DelayedJob) (Edit, bool, error) {
		item, err := ParseItem(job.item)
		if err != nil || item.Queue == "" {
			return Edit{}, false, fmt.Errorf("resque: %s names no class or no queue: it stays", job.shown())
		}
		if err := c.beforeDelayed(ctx, job); err != nil {
			return Edit{}, false, err
		}
		return Edit{Key: job.key, Raw: job.item, Then: PushWrites(item.Queue, item.Payload)}, true, nil
	}
	d.done = func(jobs []DelayedJob) error {
		c.afterDelayed(ctx, jobs)
		return nil
	}
	return d.run(ctx)
}

// shown is a delayed job as errors show it.
func (j DelayedJob) shown() string {
	return fmt.Sprintf("the delayed job %.200q of %d", j.item, j.At.Unix())
}

// RemoveDelayedFunc removes the delayed jobs that match says yes to, and answers
// how many: RemoveDelayedSelection with nothing but a Match.
func (c *Client) RemoveDelayedFunc(ctx context.Context, match func(DelayedJob) bool) (removed int64, err error) {
	result, err := c.RemoveDelayedSelection(ctx, DelayedSelection{Match: match})
	return result.Done, err
}

// EnqueueDelayedFunc puts the delayed jobs that match says yes to into their
// queues now, and answers how many: EnqueueDelayedSelection with nothing but a
// Match.
func (c *Client) EnqueueDelayedFunc(ctx context.Context, match func(DelayedJob) bool) (enqueued int64, err error) {
	result, err := c.EnqueueDelayedSelection(ctx, DelayedSelection{Match: match})
	return result.Done, err
}

package resque

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
)

// delayedRoom is how many delayed jobs of several seconds are read at once; a
// second with more than pageSize of them is read alone, page by page.
const delayedRoom = 5000

// maxProblems is how many errors about single jobs one call tells.
const maxProblems = 20

// delayedChange is a walk through all delayed jobs, and what becomes of them.
type delayedChange struct {
	client *Client
	// plan decides about a job. Its error is about this job and holds up no other.
	plan func(DelayedJob) (edit Edit, yes bool, err error)
	// done hears of the jobs that were changed, after each page; nil: nobody does.
	done func([]DelayedJob) error

	changed  int64
	problems []error
}

// changeDelayed walks through all delayed jobs, the earliest first, and carries
// out the edits of those that plan says yes to.
func (c *Client) changeDelayed(
	ctx context.Context, plan func(DelayedJob) (Edit, bool, error), done func([]DelayedJob) error,
) (changed int64, err error) {
	d := &delayedChange{client: c, plan: plan, done: done}
	err = d.walk(ctx)
	return d.changed, errors.Join(append(d.problems, err)...)
}

func (d *delayedChange) walk(ctx context.Context) error {
	var short []delayedTime
	waiting := int64(0)
	flush := func() error {
		times := short
		short, waiting = nil, 0
		return d.together(ctx, times)
	}
	var failed error
	err := d.client.eachTime(ctx, func(t delayedTime) bool {
		if len(short) > 0 && waiting+t.jobs > delayedRoom {
			failed = flush()
		}
		if t.jobs <= pageSize {
			short, waiting = append(short, t), waiting+t.jobs
		} else if failed == nil {
			if failed = flush(); failed == nil {
				failed = d.alone(ctx, t)
			}
		}
		return failed == nil
	})
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	return flush()
}

// together changes the jobs of several times.
func (d *delayedChange) together(ctx context.Context, times []delayedTime) error {
	if len(times) == 0 {
		return nil
	}
	calls := make([]Call, len(times))
	for i, t := range times {
		calls[i] = Call{Command: "LRANGE", Keys: []string{d.client.keys.Of(t.key)}, Args: []any{0, t.jobs - 1}}
	}
	replies, err := d.client.Pipeline(ctx, calls...)
	if err != nil {
		return err
	}
	var jobs []DelayedJob
	for i, t := range times {
		more, err := t.read(replies[i])
		if err != nil {
			return err
		}
		jobs = append(jobs, more...)
	}
	_, err = d.change(ctx, jobs, 0)
	return err
}

const (
	// anchorSize is how many jobs that stay are read again before the next page.
	anchorSize = 16
	// maxRestarts is how often a second that others change is begun anew.
	maxRestarts = 10
)

// alone changes the jobs of one time, page by page. Where others take jobs out
// of the pages that are done, the next ones move: it begins anew then, and asks
// about some jobs once more.
func (d *delayedChange) alone(ctx context.Context, t delayedTime) error {
	var anchor []DelayedJob
	kept, asked, restarts := int64(0), int64(0), 0
	for asked < t.jobs {
		count := min(pageSize, t.jobs-asked)
		back := int64(len(anchor))
		reply, err := d.client.Do(ctx, "LRANGE", d.client.keys.Of(t.key), kept-back, kept+count-1)
		if err != nil {
			return err
		}
		jobs, err := t.read(reply)
		if err != nil {
			return err
		}
		if !beginsWith(jobs, anchor) && restarts < maxRestarts {
			restarts++
			anchor, kept, asked = nil, 0, 0
			continue
		}
		page := jobs[min(len(anchor), len(jobs)):]
		if len(page) == 0 {
			return nil
		}
		stay, err := d.change(ctx, page, kept)
		if err != nil {
			return err
		}
		kept, asked = kept+int64(len(stay)), asked+int64(len(page))
		anchor = append(anchor, stay...)
		anchor = slices.Clone(anchor[max(0, len(anchor)-anchorSize):])
	}
	return nil
}

func beginsWith(jobs, anchor []DelayedJob) bool {
	return len(jobs) >= len(anchor) &&
		slices.EqualFunc(jobs[:len(anchor)], anchor, func(a, b DelayedJob) bool { return bytes.Equal(a.item, b.item) })
}

// change asks about jobs, carries out what is planned for them, and answers those
// that stay. first is the index of the first one in its list.
func (d *delayedChange) change(ctx context.Context, jobs []DelayedJob, first int64) (stay []DelayedJob, err error) {
	var edits []Edit
	var planned []DelayedJob
	place := map[string]int64{} // where in its list the next job stands
	for _, job := range jobs {
		edit, yes, err := d.plan(job)
		if yes {
			edit.Near = first + place[job.key]
			edits, planned = append(edits, edit), append(planned, job)
		} else {
			stay = append(stay, job)
		}
		place[job.key]++
		if err != nil && len(d.problems) < maxProblems {
			d.problems = append(d.problems, err)
		}
	}
	var changed []DelayedJob
	n, err := d.client.editAll(ctx, edits, func(i int) { changed = append(changed, planned[i]) })
	d.changed += n
	if d.done != nil && len(changed) > 0 {
		err = errors.Join(err, d.done(changed))
	}
	return stay, err
}

// read takes the reply with jobs of this time.
func (t delayedTime) read(reply any) ([]DelayedJob, error) {
	items, err := Values(reply, nil)
	if err != nil {
		return nil, fmt.Errorf("resque: reading the delayed jobs of %d: %w", t.at.Unix(), err)
	}
	jobs := make([]DelayedJob, len(items))
	for i, item := range items {
		jobs[i] = DelayedJob{Entry: delayedEntry(blob(item)), At: t.at, key: t.key, item: blob(item)}
	}
	return jobs, nil
}

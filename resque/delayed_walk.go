package resque

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
)

// delayedRoom is how many delayed jobs of several seconds are read at once; a
// second with more of them than a page holds is read alone, page by page.
const delayedRoom = 5000

// maxProblems is how many errors about single jobs one call tells.
const maxProblems = 20

// delayedChange is a walk through delayed jobs, and what becomes of them.
type delayedChange struct {
	client *Client
	DelayedSelection
	// act decides about a job that is meant. Its error is about this job and holds
	// up no other.
	act func(DelayedJob) (edit Edit, yes bool, err error)
	// done hears of the jobs that were changed, after each page; nil: nobody does.
	done func([]DelayedJob) error

	stopped  bool   // nobody wants more
	stuck    int64  // how many are meant, and have to stay
	twins    *twins // of the second that is walked through alone; nil: of none
	result   DelayedResult
	problems []error
}

// run walks through the jobs, the earliest first, and carries out the edits of
// those that act says yes to.
func (d *delayedChange) run(ctx context.Context) (DelayedResult, error) {
	err := d.walk(ctx)
	return d.result, errors.Join(append(d.problems, err)...)
}

// enough says that no more jobs are wanted.
func (d *delayedChange) enough() bool {
	return d.stopped || d.Limit > 0 && d.result.Chosen-d.stuck >= d.Limit
}

func (d *delayedChange) walk(ctx context.Context) error {
	var times []delayedTime
	waiting := int64(0)
	flush := func() (err error) {
		for len(times) > 0 && err == nil && !d.enough() {
			var through int
			through, err = d.some(ctx, times)
			times = times[through:]
		}
		times, waiting = nil, 0
		return err
	}
	var failed error
	err := d.client.eachTime(ctx, func(t delayedTime) bool {
		if !d.within(t.at) {
			return true
		}
		if len(times) == pageSize || waiting+t.jobs > delayedRoom {
			failed = flush()
		}
		times, waiting = append(times, t), waiting+t.jobs
		return failed == nil && !d.enough()
	})
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	return flush()
}

// some changes the jobs of the first of several times, as many of them as may be
// read at once, and answers how many.
func (d *delayedChange) some(ctx context.Context, times []delayedTime) (through int, err error) {
	if times[0].jobs > pageSize {
		return 1, d.alone(ctx, times[0])
	}
	var keys []string
	for _, t := range times {
		if t.jobs > pageSize {
			break
		}
		keys = append(keys, t.key)
	}
	pages, err := d.client.pages(ctx, 0, delayedRoom, keys...)
	if err != nil {
		return 0, err
	}
	var jobs []DelayedJob
	for i, p := range pages {
		if p.list && !p.ended {
			break
		}
		jobs = append(jobs, times[i].jobsOf(p.elements)...)
		through++
	}
	if through == 0 {
		return 1, d.alone(ctx, times[0])
	}
	_, err = d.change(ctx, jobs, 0)
	return through, err
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
func (d *delayedChange) alone(ctx context.Context, t delayedTime) (err error) {
	d.twins = newTwins(d.client, t)
	defer func() {
		err = errors.Join(err, d.twins.end(ctx))
		d.twins = nil
	}()
	var anchor []DelayedJob
	kept, asked, restarts := int64(0), int64(0), 0
	for asked < t.jobs && !d.enough() {
		back := int64(len(anchor))
		p, err := d.client.page(ctx, kept-back, back+min(pageSize, t.jobs-asked), t.key)
		if err != nil {
			return err
		}
		jobs := t.jobsOf(p.elements)
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
		if d.enough() {
			break
		}
		edit, yes, err := d.decide(job)
		if yes {
			edit.Near = first + place[job.key]
			edits, planned = append(edits, edit), append(planned, job)
		} else {
			stay = append(stay, job)
		}
		place[job.key]++
		d.problem(err)
	}
	if err := d.twins.mark(ctx, edits); err != nil {
		return nil, err
	}
	var changed []DelayedJob
	n, err := editor{
		client: d.client, edits: edits,
		done: func(i int) {
			changed = append(changed, planned[i])
			d.twins.removed(edits[i])
		},
		refused: func(i int, err error) { d.problem(fmt.Errorf("resque: %s stays: %w", planned[i].shown(), err)) },
	}.run(ctx)
	d.result.Done += n
	if d.done != nil && len(changed) > 0 {
		err = errors.Join(err, d.done(changed))
	}
	if d.Progress != nil && err == nil {
		d.Progress(d.result)
	}
	return stay, err
}

// decide is act for the jobs that are meant.
func (d *delayedChange) decide(job DelayedJob) (edit Edit, yes bool, err error) {
	d.result.Seen++
	if d.Match != nil && !d.Match(job) {
		return Edit{}, false, nil
	}
	d.result.Chosen++
	if edit, yes, err = d.act(job); err != nil {
		d.stuck++
	}
	return edit, yes, err
}

func (d *delayedChange) problem(err error) {
	if err != nil && len(d.problems) < maxProblems {
		d.problems = append(d.problems, err)
	}
}

// jobsOf are elements of this time's list.
func (t delayedTime) jobsOf(elements [][]byte) []DelayedJob {
	jobs := make([]DelayedJob, len(elements))
	for i, item := range elements {
		jobs[i] = DelayedJob{Entry: delayedEntry(item), At: t.at, key: t.key, item: item}
	}
	return jobs
}

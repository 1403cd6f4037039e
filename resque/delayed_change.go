package resque

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// RemoveDelayed removes the delayed jobs with exactly this queue, class and
// arguments, at whatever time, and answers how many there were (resque-scheduler:
// remove_delayed_in_queue, and remove_delayed, which takes the class's queue).
// They compare as the text that EnqueueAt writes.
func (c *Client) RemoveDelayed(ctx context.Context, queue, class string, args ...any) (int64, error) {
	text, err := checkDelayed(queue, class, args)
	if err != nil {
		return 0, err
	}
	keys, err := c.listsOf(ctx, encodeJob(class, text, queue))
	if err != nil {
		return 0, err
	}
	return c.editAll(ctx, editsAt(keys, encodeJob(class, text, queue), nil), nil)
}

// EnqueueDelayed puts the delayed jobs with exactly this queue, class and
// arguments into their queue now, and answers how many there were
// (resque-scheduler: enqueue_delayed_with_queue, enqueue_delayed). Removing and
// enqueueing are one step.
func (c *Client) EnqueueDelayed(ctx context.Context, queue, class string, args ...any) (int64, error) {
	text, err := checkDelayed(queue, class, args)
	if err != nil {
		return 0, err
	}
	job := NewJob{Queue: queue, Class: class, Args: args}
	return c.moveDelayed(ctx, encodeJob(class, text, queue), job, false, PushWrites(queue, encodeJob(class, text, "")))
}

// DelayOrEnqueueAt makes the delayed jobs with exactly this queue, class and
// arguments, at whatever time, wait for at instead; where there is none, one is
// enqueued for then (resque-scheduler: delay_or_enqueue_at). A time that isn't
// after now enqueues them at once. It answers how many jobs that were, and is
// one step for each: none gets lost in between.
func (c *Client) DelayOrEnqueueAt(ctx context.Context, at time.Time, queue, class string, args ...any) (int64, error) {
	text, err := checkDelayed(queue, class, args)
	if err != nil {
		return 0, err
	}
	job := NewJob{Queue: queue, Class: class, Args: args, At: at}
	writes, waits, err := c.jobTextWrites(job, text)
	if err != nil {
		return 0, err
	}
	n, err := c.moveDelayed(ctx, encodeJob(class, text, queue), job, waits, writes)
	if n > 0 || err != nil {
		return n, err
	}
	if err := c.writeJob(ctx, job, waits, writes); err != nil {
		return 0, err
	}
	return 1, nil
}

// DelayOrEnqueueIn is DelayOrEnqueueAt for d from now (resque-scheduler:
// delay_or_enqueue_in).
func (c *Client) DelayOrEnqueueIn(ctx context.Context, d time.Duration, queue, class string, args ...any) (int64, error) {
	return c.DelayOrEnqueueAt(ctx, c.options.Clock.Now().Add(d), queue, class, args...)
}

// editsAt are edits of all elements with an item's text in these lists.
func editsAt(keys []string, item []byte, then []Write) []Edit {
	edits := make([]Edit, len(keys))
	for i, key := range keys {
		edits[i] = Edit{Key: key, Raw: item, All: true, Then: then}
	}
	return edits
}

// RemoveDelayedAt removes the jobs with exactly this queue, class and arguments
// that wait for the second of at, and answers how many there were
// (resque-scheduler: remove_delayed_job_from_timestamp).
func (c *Client) RemoveDelayedAt(ctx context.Context, at time.Time, queue, class string, args ...any) (int64, error) {
	text, err := checkDelayed(queue, class, args)
	if err != nil {
		return 0, err
	}
	return c.editAll(ctx, []Edit{{Key: delayedKey(at.Unix()), Raw: encodeJob(class, text, queue), All: true}}, nil)
}

// RemoveDelayedFunc removes the delayed jobs that match says yes to, and answers
// how many (resque-scheduler: remove_delayed_selection). match is called once for
// each job, the earliest first, on the caller's goroutine. After an error removed
// is how many are gone so far.
func (c *Client) RemoveDelayedFunc(ctx context.Context, match func(DelayedJob) bool) (removed int64, err error) {
	return c.changeDelayed(ctx, func(job DelayedJob) (Edit, bool, error) {
		return Edit{Key: job.key, Raw: job.item}, match(job), nil
	}, func(DelayedJob) {})
}

// EnqueueDelayedFunc puts the delayed jobs that match says yes to into their
// queues now, and answers how many (resque-scheduler: enqueue_delayed_selection).
// match is called as RemoveDelayedFunc does. Removing and enqueueing a job are
// one step. A job that names no queue stays where it is; the error says so, after
// all others have been enqueued. The same goes for one that a hook refuses.
func (c *Client) EnqueueDelayedFunc(ctx context.Context, match func(DelayedJob) bool) (enqueued int64, err error) {
	return c.changeDelayed(ctx, func(job DelayedJob) (Edit, bool, error) {
		if !match(job) {
			return Edit{}, false, nil
		}
		class, args, err := ParsePayload(job.item)
		if err != nil || job.Queue == "" {
			return Edit{}, false, fmt.Errorf("resque: the delayed job %.200q of %d names no class or no queue: it stays", job.item, job.At.Unix())
		}
		if err := c.beforeDelayed(ctx, job); err != nil {
			return Edit{}, false, err
		}
		return Edit{Key: job.key, Raw: job.item, Then: PushWrites(job.Queue, encodeJob(class, args, ""))}, true, nil
	}, func(job DelayedJob) { c.afterDelayed(ctx, job) })
}

// delayedRoom is how many delayed jobs are read at once; those of one second are
// read together all the same.
const delayedRoom = 5000

// maxProblems is how many errors about single jobs one call tells.
const maxProblems = 20

// changeDelayed walks through all delayed jobs and carries out the edits of
// those that plan says yes to. Its errors are about one job and hold up none.
// done is called for each job that was changed.
func (c *Client) changeDelayed(
	ctx context.Context, plan func(DelayedJob) (Edit, bool, error), done func(DelayedJob),
) (changed int64, err error) {
	var problems []error
	change := func(times []delayedTime) error {
		jobs, err := c.delayedJobs(ctx, times)
		if err != nil {
			return err
		}
		var edits []Edit
		var planned []DelayedJob
		near := map[string]int64{}
		for _, job := range jobs {
			edit, yes, err := plan(job)
			if yes {
				// What stands before it in its list and goes too is gone by then.
				edit.Near = near[job.key]
				edits, planned = append(edits, edit), append(planned, job)
			} else {
				near[job.key]++
			}
			if err != nil && len(problems) < maxProblems {
				problems = append(problems, err)
			}
		}
		var edited []int
		n, err := c.editAll(ctx, edits, func(i int) { edited = append(edited, i) })
		changed += n
		for _, i := range edited {
			done(planned[i])
		}
		return err
	}
	var times []delayedTime
	var failed error
	waiting := int64(0)
	err = c.eachTime(ctx, func(t delayedTime) bool {
		if waiting+t.jobs > delayedRoom && len(times) > 0 {
			failed = change(times)
			times, waiting = nil, 0
		}
		times, waiting = append(times, t), waiting+t.jobs
		return failed == nil
	})
	if err == nil && failed == nil && len(times) > 0 {
		failed = change(times)
	}
	return changed, errors.Join(append(problems, err, failed)...)
}

// delayedJobs reads all jobs that wait for these times.
func (c *Client) delayedJobs(ctx context.Context, times []delayedTime) ([]DelayedJob, error) {
	calls := make([]Call, len(times))
	for i, t := range times {
		calls[i] = Call{Command: "LRANGE", Keys: []string{c.keys.Of(t.key)}, Args: []any{0, -1}}
	}
	replies, err := c.Pipeline(ctx, calls...)
	if err != nil {
		return nil, err
	}
	var jobs []DelayedJob
	for i, t := range times {
		items, err := Values(replies[i], nil)
		if err != nil && ErrorCode(err) != "WRONGTYPE" {
			return nil, fmt.Errorf("resque: reading the delayed jobs of %d: %w", t.at.Unix(), err)
		}
		for _, item := range items {
			jobs = append(jobs, DelayedJob{Entry: delayedEntry(blob(item)), At: t.at, key: t.key, item: blob(item)})
		}
	}
	return jobs, nil
}

// resetLua drops a time of the schedule with its jobs.
//
//	KEYS 1 delayed:<second>, 2 delayed_queue_schedule, then timestamps:<item> of
//	     each different item
//	ARGV 1 number of items that were seen there, 2 member of the schedule
//
// It answers "ok", or "changed" when the list isn't of that length any more; then
// nothing was written.
const resetLua = `
local kind = redis.call('TYPE', KEYS[1])
kind = kind.ok or kind
if kind ~= 'none' and kind ~= 'list' then return 'ok' end
if redis.call('LLEN', KEYS[1]) ~= tonumber(ARGV[1]) then return 'changed' end
redis.call('ZREM', KEYS[2], ARGV[2])
redis.call('DEL', KEYS[1])
for i = 3, #KEYS do redis.call('DEL', KEYS[i]) end
return 'ok'
`

// ResetDelayed removes all delayed jobs (resque-scheduler: reset_delayed_queue),
// time by time. A job that is delayed while it runs may stay.
func (c *Client) ResetDelayed(ctx context.Context) error {
	var failed error
	err := c.eachTime(ctx, func(t delayedTime) bool {
		failed = c.resetTime(ctx, t)
		return failed == nil
	})
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	// What is left are times without jobs, and members that are no times.
	return c.forgetEmptyTimes(ctx)
}

// resetTries bounds how often a time is tried to which jobs are added all the
// while.
const resetTries = 10

func (c *Client) resetTime(ctx context.Context, t delayedTime) error {
	for range resetTries {
		jobs, err := c.delayedJobs(ctx, []delayedTime{t})
		if err != nil {
			return err
		}
		keys := []string{c.keys.Of(t.key), c.keys.Of(keyDelayedSchedule)}
		seen := map[string]bool{}
		for _, job := range jobs {
			if !seen[string(job.item)] {
				seen[string(job.item)] = true
				keys = append(keys, c.keys.Of(timestampsKey(job.item)))
			}
		}
		answer, err := String(c.Run(ctx, c.resetScript, keys, len(jobs), strconv.FormatInt(t.at.Unix(), 10)))
		if err != nil || answer == "ok" {
			return err
		}
	}
	return fmt.Errorf("resque: jobs are delayed for %d faster than they can be removed", t.at.Unix())
}

// forgetEmptyTimes drops the members of the schedule that no jobs wait for.
func (c *Client) forgetEmptyTimes(ctx context.Context) error {
	schedule := c.keys.Of(keyDelayedSchedule)
	members, err := Strings(c.Do(ctx, "ZRANGE", schedule, 0, -1))
	if err != nil {
		return err
	}
	for chunk := range slices.Chunk(members, pageSize) {
		var calls []Call
		for _, member := range chunk {
			calls = append(calls, Call{
				Script: c.resetScript, Keys: []string{c.keys.Of(delayedPrefix + member), schedule}, Args: []any{0, member},
			})
		}
		if _, err := c.Pipeline(ctx, calls...); err != nil {
			return err
		}
	}
	return nil
}

package resque

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	n, _, err := c.takeDelayed(ctx, encodeJob(class, text, queue), nil)
	return n, err
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
	n, _, err := c.moveDelayed(ctx, encodeJob(class, text, queue), job, false, PushWrites(queue, encodeJob(class, text, "")))
	return n, err
}

// DelayOrEnqueueAt makes the delayed jobs with exactly this queue, class and
// arguments, at whatever time, wait for at instead; where there is none, one is
// enqueued for then (resque-scheduler: delay_or_enqueue_at). A time that isn't
// after now enqueues them at once. It answers how many jobs that were. Each job
// is moved in one step: none gets lost in between. Several calls at one time
// leave one job, where it has to wait.
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
	item := encodeJob(class, text, queue)
	for range takeTries {
		n, notes, err := c.moveDelayed(ctx, item, job, waits, writes)
		if n > 0 || err != nil {
			return n, err
		}
		// Only while nobody else has delayed or moved it meanwhile.
		unchanged := Write{Command: commandHolds, Key: timestampsKey(item), Args: notes}
		if err := c.writeJob(ctx, job, waits, append([]Write{unchanged}, writes...)); !errors.Is(err, errChanged) {
			return one(err)
		}
	}
	return one(c.writeJob(ctx, job, waits, writes))
}

// one is the answer of a call that wrote a job, or failed to.
func one(err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return 1, nil
}

// DelayOrEnqueueIn is DelayOrEnqueueAt for d from now (resque-scheduler:
// delay_or_enqueue_in).
func (c *Client) DelayOrEnqueueIn(ctx context.Context, d time.Duration, queue, class string, args ...any) (int64, error) {
	return c.DelayOrEnqueueAt(ctx, c.options.Clock.Now().Add(d), queue, class, args...)
}

// takeTries is how often an item is looked for that others move from one time to
// another.
const takeTries = 10

// takeDelayed takes an item out of all times, and carries out then for each. It
// answers how many it was, and where the last look found the item noted.
func (c *Client) takeDelayed(ctx context.Context, item []byte, then []Write) (n int64, notes []string, err error) {
	for range takeTries {
		if notes, err = c.notesOf(ctx, item); err != nil {
			return 0, nil, err
		}
		lists := listsOf(notes, then)
		n, err = c.takeAll(ctx, lists, item, then)
		if n > 0 || len(lists) == 0 || err != nil {
			break
		}
		// Noted, and not there: somebody has moved it, or the notes, which are mended
		// now, were wrong.
	}
	return n, notes, err
}

// How much of one item goes in one step: it keeps the server from others.
const (
	takeCopies = 1000
	takeBytes  = maxStepBytes
)

// takeAll takes all copies of an item out of lists, in several steps where they
// are many, and carries out then for each. What then pushes to one of the lists
// isn't taken again.
func (c *Client) takeAll(ctx context.Context, lists []string, item []byte, then []Write) (total int64, err error) {
	room := max(1, min(takeCopies, takeBytes/int64(max(1, len(item)))))
	var edits []Edit
	for _, key := range lists {
		edit := Edit{Key: key, Raw: item, All: true, Then: then}
		if slices.ContainsFunc(then, func(w Write) bool { return w.Key == key }) {
			length, err := Int(c.Do(ctx, "LLEN", c.keys.Of(key)))
			if err != nil {
				return 0, fmt.Errorf("resque: counting the delayed jobs of %s: %w", key, err)
			}
			edit.within = max(1, length)
		}
		edits = append(edits, edit)
	}
	for len(edits) > 0 {
		step := edits[:min(int64(len(edits)), room, editBatch)]
		for i := range step {
			step[i].most = room / int64(len(step))
		}
		found, err := c.Edit(ctx, step...)
		if err != nil {
			return total, err
		}
		edits = edits[len(step):]
		for i, n := range found {
			total += n
			if e := step[i]; n == e.most && (e.within == 0 || e.within > n) {
				e.within -= min(n, e.within)
				edits = append(edits, e)
			}
		}
	}
	return total, nil
}

// listsOf are the lists among the notes of an item. The one that then pushes to
// comes first, so that no later step meets there what an earlier one pushed.
func listsOf(notes []string, then []Write) []string {
	lists := slices.DeleteFunc(slices.Clone(notes), func(note string) bool { _, ok := secondOf(note); return !ok })
	for _, w := range then {
		if at := slices.Index(lists, w.Key); at > 0 {
			lists[0], lists[at] = lists[at], lists[0]
		}
	}
	return lists
}

// RemoveDelayedAt removes the jobs with exactly this queue, class and arguments
// that wait for the second of at, and answers how many there were
// (resque-scheduler: remove_delayed_job_from_timestamp).
func (c *Client) RemoveDelayedAt(ctx context.Context, at time.Time, queue, class string, args ...any) (int64, error) {
	text, err := checkDelayed(queue, class, args)
	if err != nil {
		return 0, err
	}
	return c.takeAll(ctx, []string{delayedKey(at.Unix())}, encodeJob(class, text, queue), nil)
}

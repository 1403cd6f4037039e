package resque

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// DelayedJob is a job that waits for its time.
type DelayedJob struct {
	Entry
	// At is the second for which it waits.
	At time.Time

	key  string // delayed:<second>
	item []byte // as it stands there
}

// DelayedTimes answers up to count times for which jobs wait, the earliest
// first, from the one with index start on (resque-scheduler: delayed_queue_peek);
// a negative start counts from the end, and takes all of them to be looked at.
// A time whose last job was removed doesn't count, here and below, though Ruby
// leaves it in the schedule for a while.
func (c *Client) DelayedTimes(ctx context.Context, start, count int64) ([]time.Time, error) {
	if start < 0 {
		n, err := c.DelayedTimesCount(ctx)
		if err != nil {
			return nil, err
		}
		start += n
		count += min(start, 0) // what would stand before the first is none
	}
	var times []time.Time
	skip := max(0, start)
	err := c.eachTime(ctx, func(t delayedTime) bool {
		if skip > 0 {
			skip--
			return true
		}
		if int64(len(times)) >= count {
			return false
		}
		times = append(times, t.at)
		return true
	})
	return times, err
}

// DelayedTimesCount is for how many times jobs wait (resque-scheduler:
// delayed_queue_schedule_size).
func (c *Client) DelayedTimesCount(ctx context.Context) (n int64, err error) {
	err = c.eachTime(ctx, func(delayedTime) bool { n++; return true })
	return n, err
}

// DelayedCount is how many jobs wait in all (resque-scheduler:
// count_all_scheduled_jobs).
func (c *Client) DelayedCount(ctx context.Context) (n int64, err error) {
	err = c.eachTime(ctx, func(t delayedTime) bool { n += t.jobs; return true })
	return n, err
}

// NextDelayedTime is the earliest time, not after before, for which jobs wait;
// ok is false where there is none (resque-scheduler: next_delayed_timestamp).
func (c *Client) NextDelayedTime(ctx context.Context, before time.Time) (at time.Time, ok bool, err error) {
	err = c.eachTime(ctx, func(t delayedTime) bool {
		at, ok = t.at, t.at.Unix() <= before.Unix()
		return false
	})
	if !ok {
		at = time.Time{}
	}
	return at, ok, err
}

// DelayedAt shows up to count jobs that wait for the second of at, from index
// start on, in the order in which they will be enqueued (resque-scheduler:
// delayed_timestamp_peek). A negative start counts from the end; a count of 0 or
// less shows none.
func (c *Client) DelayedAt(ctx context.Context, at time.Time, start, count int64) ([]Entry, error) {
	items, err := c.elements(ctx, delayedKey(at.Unix()), start, count)
	if err != nil {
		return nil, fmt.Errorf("resque: reading the delayed jobs of %d: %w", at.Unix(), err)
	}
	entries := make([]Entry, len(items))
	for i, item := range items {
		entries[i] = delayedEntry(item)
	}
	return entries, nil
}

// DelayedAtCount is how many jobs wait for the second of at (resque-scheduler:
// delayed_timestamp_size).
func (c *Client) DelayedAtCount(ctx context.Context, at time.Time) (int64, error) {
	n, err := Int(c.Do(ctx, "LLEN", c.keys.Of(delayedKey(at.Unix()))))
	if err != nil {
		return 0, fmt.Errorf("resque: counting the delayed jobs of %d: %w", at.Unix(), err)
	}
	return n, nil
}

// ScheduledAt answers the times for which a job with exactly this queue, class
// and arguments waits, the earliest first (resque-scheduler: scheduled_at).
func (c *Client) ScheduledAt(ctx context.Context, queue, class string, args ...any) ([]time.Time, error) {
	text, err := checkDelayed(queue, class, args)
	if err != nil {
		return nil, err
	}
	notes, err := c.notesOf(ctx, encodeJob(class, text, queue))
	if err != nil {
		return nil, err
	}
	var times []time.Time
	for _, note := range notes {
		if at, ok := secondOf(note); ok {
			times = append(times, at)
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	return times, nil
}

// IsDelayed says whether a job with exactly this queue, class and arguments
// waits for its time (resque-scheduler: delayed?).
func (c *Client) IsDelayed(ctx context.Context, queue, class string, args ...any) (bool, error) {
	times, err := c.ScheduledAt(ctx, queue, class, args...)
	return len(times) > 0, err
}

// checkDelayed checks what a delayed job is looked for by, and encodes its
// arguments.
func checkDelayed(queue, class string, args []any) ([]byte, error) {
	if err := errors.Join(checkText("Queue", queue), checkText("Class", class)); err != nil {
		return nil, err
	}
	return encodeArgs(args)
}

// notesOf are the lists delayed:<second> in which an item is said to stand, in
// the order of their bytes, with whatever else is noted there.
func (c *Client) notesOf(ctx context.Context, item []byte) ([]string, error) {
	notes, err := Strings(c.Do(ctx, "SMEMBERS", c.keys.Of(timestampsKey(item))))
	if err != nil {
		return nil, fmt.Errorf("resque: reading the times of a delayed job: %w", err)
	}
	slices.Sort(notes)
	return notes, nil
}

// secondOf is the time of a list delayed:<second>.
func secondOf(key string) (at time.Time, ok bool) {
	text, ok := strings.CutPrefix(key, delayedPrefix)
	second, err := strconv.ParseInt(text, 10, 64)
	return time.Unix(second, 0), ok && err == nil
}

// delayedEntry reads an element of delayed:<second>, which names its queue.
func delayedEntry(item []byte) Entry {
	order, _ := orderOf(item) // no queue, where it is no text
	return entryOf(order.queue, item)
}

// delayedTime is a time of the schedule, and how many jobs wait for it.
type delayedTime struct {
	at   time.Time
	key  string
	jobs int64
}

// timeOf is the time of a member of the schedule.
func timeOf(member, score string) time.Time {
	second, err := strconv.ParseInt(member, 10, 64)
	if err != nil {
		const never = 1 << 62 // a float that is whole seconds, unlike the largest of them
		f, _ := strconv.ParseFloat(score, 64)
		second = int64(math.Floor(min(max(f, -never), never)))
	}
	return time.Unix(second, 0)
}

// eachTime walks through the times for which jobs wait, the earliest first,
// until visit says no. A member that is no whole number of seconds is moved by a
// scheduler when its score is due, and so its score says its time; a key of the
// wrong type holds no jobs.
func (c *Client) eachTime(ctx context.Context, visit func(delayedTime) bool) error {
	from, tied := "-inf", 0 // the score that was read last, and how many members with it
	for {
		rows, err := Strings(c.Do(ctx, "ZRANGEBYSCORE", c.keys.Of(keyDelayedSchedule), from, "+inf", "WITHSCORES", "LIMIT", tied, pageSize))
		if err != nil {
			return fmt.Errorf("resque: reading the schedule: %w", err)
		}
		var times []delayedTime
		var calls []Call
		for i := 0; i+1 < len(rows); i += 2 {
			t := delayedTime{at: timeOf(rows[i], rows[i+1]), key: delayedPrefix + rows[i]}
			times, calls = append(times, t), append(calls, Call{Command: "LLEN", Keys: []string{c.keys.Of(t.key)}})
		}
		if len(calls) > 0 {
			lengths, err := c.Pipeline(ctx, calls...)
			if err != nil {
				return err
			}
			for i, t := range times {
				if t.jobs, err = lengthOf(lengths[i]); err != nil {
					return fmt.Errorf("resque: counting the delayed jobs of %d: %w", t.at.Unix(), err)
				}
				if t.jobs > 0 && !visit(t) {
					return nil
				}
			}
		}
		if len(rows) < 2*pageSize {
			return nil
		}
		last := rows[len(rows)-1]
		if last != from {
			from, tied = last, 0
		}
		for i := len(rows) - 1; i > 0 && rows[i] == last; i -= 2 {
			tied++
		}
	}
}

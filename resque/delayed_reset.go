package resque

import (
	"bytes"
	"context"
	"fmt"
	"slices"
)

// ResetDelayed removes all delayed jobs (resque-scheduler: reset_delayed_queue),
// the earliest first, in steps of a few hundred. A job that is delayed while it
// runs may stay. What stands in the schedule without jobs goes as well, also
// what is no time; a time whose list is none stays.
func (c *Client) ResetDelayed(ctx context.Context) error {
	d := delayedChange{
		client: c,
		act:    func(job DelayedJob) (Edit, bool, error) { return Edit{Key: job.key, Raw: job.item}, true, nil },
		done:   func(jobs []DelayedJob) error { return c.mendNotes(ctx, jobs) },
	}
	_, err := d.run(ctx)
	if err != nil {
		return err
	}
	return c.forgetEmptyTimes(ctx)
}

// mendNotes takes out of the notes of removed jobs the times that aren't there
// (any more).
func (c *Client) mendNotes(ctx context.Context, jobs []DelayedJob) error {
	items := make([][]byte, len(jobs))
	for i, job := range jobs {
		items[i] = job.item
	}
	slices.SortFunc(items, bytes.Compare)
	items = slices.CompactFunc(items, bytes.Equal)
	var looks []Call
	for _, item := range items {
		looks = append(looks, Call{Command: "SMEMBERS", Keys: []string{c.keys.Of(timestampsKey(item))}})
	}
	replies, err := c.Pipeline(ctx, looks...)
	if err != nil {
		return err
	}
	var noted []Edit
	looks = nil
	for i, item := range items {
		notes, err := Strings(replies[i], nil)
		if err != nil && ErrorCode(err) != "WRONGTYPE" {
			return fmt.Errorf("resque: reading the times of a delayed job: %w", err)
		}
		for _, list := range listsOf(notes, nil) {
			noted = append(noted, Edit{Key: list, Raw: item, All: true})
			looks = append(looks, Call{Command: "EXISTS", Keys: []string{c.keys.Of(list)}})
		}
	}
	replies, err = c.Pipeline(ctx, looks...)
	if err != nil {
		return err
	}
	var edits []Edit
	for i, edit := range noted {
		if there, err := Int(replies[i], nil); err == nil && there == 0 {
			edits = append(edits, edit)
		}
	}
	_, err = c.editAll(ctx, edits, nil)
	return err
}

// forgetLua drops a member of the schedule that no jobs wait for.
//
//	KEYS 1 delayed:<member>, 2 delayed_queue_schedule
//	ARGV 1 the member
//
// It answers how many members it dropped: none while that list, or whatever else
// is there, exists.
const forgetLua = `
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
return redis.call('ZREM', KEYS[2], ARGV[1])
`

// forgetEmptyTimes drops the members of the schedule that no jobs wait for.
func (c *Client) forgetEmptyTimes(ctx context.Context) error {
	schedule := c.keys.Of(keyDelayedSchedule)
	for kept := int64(0); ; {
		members, err := Strings(c.Do(ctx, "ZRANGE", schedule, kept, kept+pageSize-1))
		if err != nil {
			return fmt.Errorf("resque: reading the schedule: %w", err)
		}
		if len(members) == 0 {
			return nil
		}
		calls := make([]Call, len(members))
		for i, member := range members {
			calls[i] = Call{Script: c.forgetScript, Keys: []string{c.keys.Of(delayedPrefix + member), schedule}, Args: []any{member}}
		}
		replies, err := c.Pipeline(ctx, calls...)
		if err != nil {
			return err
		}
		for _, reply := range replies {
			dropped, err := Int(reply, nil)
			if err != nil {
				return fmt.Errorf("resque: clearing the schedule: %w", err)
			}
			kept += 1 - dropped
		}
	}
}

package resque

import (
	"context"
	"encoding/json"
	"errors"

	"example.com/understudy/compat/ruby"
)

// moveDelayed is takeDelayed with hooks. They are asked about each before anything
// is written; job is what they see, with the item's own time where it has none.
func (c *Client) moveDelayed(
	ctx context.Context, item []byte, job NewJob, waits bool, then []Write,
) (moved int64, notes []string, err error) {
	if !c.options.Hooks.enqueueing() {
		return c.takeDelayed(ctx, item, then)
	}
	if notes, err = c.notesOf(ctx, item); err != nil {
		return 0, nil, err
	}
	edits, err := c.editsEach(ctx, listsOf(notes, then), item, then)
	if err != nil {
		return 0, nil, err
	}
	jobs := make([]NewJob, len(edits))
	for i, edit := range edits {
		jobs[i] = job
		if job.At.IsZero() {
			jobs[i].At, _ = secondOf(edit.Key) // listsOf answers no others
		}
		if err := c.options.Hooks.beforeEnqueue(ctx, jobs[i], waits); err != nil {
			return 0, nil, err
		}
	}
	var done []int
	moved, err = c.editAll(ctx, edits, func(i int) { done = append(done, i) })
	for _, i := range done {
		c.options.Hooks.afterEnqueue(ctx, jobs[i], waits)
	}
	return moved, notes, err
}

// editsEach are the same edits, one for each element that is there now.
func (c *Client) editsEach(ctx context.Context, keys []string, item []byte, then []Write) ([]Edit, error) {
	calls := make([]Call, len(keys))
	for i, key := range keys {
		calls[i] = Call{Command: "LPOS", Keys: []string{c.keys.Of(key)}, Args: []any{item, "COUNT", 0}}
	}
	replies, err := c.Pipeline(ctx, calls...)
	if err != nil {
		return nil, err
	}
	var edits []Edit
	for i, key := range keys {
		places, err := Values(replies[i], nil)
		if err != nil {
			return nil, err
		}
		for _, place := range places {
			edits = append(edits, Edit{Key: key, Raw: item, Near: number(place), Then: then})
		}
	}
	return edits, nil
}

// beforeDelayed asks the hooks about a delayed job that is to be enqueued now.
func (c *Client) beforeDelayed(ctx context.Context, job DelayedJob) error {
	if !c.options.Hooks.enqueueing() {
		return nil
	}
	err := c.options.Hooks.beforeEnqueue(ctx, job.seen(), false)
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		refused.Field = job.shown()
	}
	return err
}

// afterDelayed tells the hooks of delayed jobs that have been enqueued.
func (c *Client) afterDelayed(ctx context.Context, jobs []DelayedJob) {
	if !c.options.Hooks.enqueueing() {
		return
	}
	for _, job := range jobs {
		c.options.Hooks.afterEnqueue(ctx, job.seen(), false)
	}
}

// seen is a delayed job as hooks see it.
func (j DelayedJob) seen() NewJob {
	job, args := NewJob{Queue: j.Queue, Class: j.Class, At: j.At}, j.Args
	if j.Err != nil { // what is kept as malformed is enqueued as such
		job.Class, args, _ = ParsePayload(j.item)
	}
	if item, err := ParseItem(j.item); err == nil && item.Class == job.Class { // a custom_job_class takes its place
		job.Class, args, _ = ParsePayload(item.Payload)
	}
	elements, _ := ruby.Elements(args) // it is an array
	for _, element := range elements {
		job.Args = append(job.Args, json.RawMessage(element))
	}
	return job
}

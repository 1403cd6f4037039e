package resque

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Queues answers the names of all queues in the order of their bytes, also of
// empty ones (Ruby: Resque.queues).
func (c *Client) Queues(ctx context.Context) ([]string, error) {
	names, err := Strings(c.Do(ctx, "SMEMBERS", c.keys.Of(keyQueues)))
	if err != nil {
		return nil, fmt.Errorf("resque: reading the names of the queues: %w", err)
	}
	slices.Sort(names)
	return names, nil
}

// Size is how many jobs wait in a queue, 0 for one that isn't there (Ruby:
// Resque.size). Jobs that a worker has taken, and delayed ones, don't count.
func (c *Client) Size(ctx context.Context, queue string) (int64, error) {
	n, err := Int(c.Do(ctx, "LLEN", c.keys.Of(queueKey(queue))))
	if err != nil {
		return 0, fmt.Errorf("resque: the size of the queue %s: %w", queue, err)
	}
	return n, nil
}

// Peek shows up to count jobs of a queue from index start on, the next one to
// run first, and leaves them there (Ruby: Resque.peek). A negative start counts
// from the end, -1 being the last one. A count of 0 or less shows none (Ruby's
// shows all where start is 0, too).
func (c *Client) Peek(ctx context.Context, queue string, start, count int64) ([]Entry, error) {
	elements, err := c.elements(ctx, queueKey(queue), start, count)
	if err != nil {
		return nil, fmt.Errorf("resque: looking into the queue %s: %w", queue, err)
	}
	entries := make([]Entry, len(elements))
	for i, element := range elements {
		entries[i] = entryOf(queue, element)
	}
	return entries, nil
}

// elements are the texts of a part of a list; key is without namespace.
func (c *Client) elements(ctx context.Context, key string, start, count int64) ([][]byte, error) {
	if count <= 0 {
		return nil, nil
	}
	stop := start + count - 1
	if start < 0 && stop >= 0 || stop < start { // past the end
		stop = -1
	}
	values, err := Values(c.Do(ctx, "LRANGE", c.keys.Of(key), start, stop))
	if err != nil {
		return nil, err
	}
	elements := make([][]byte, len(values))
	for i, value := range values {
		elements[i] = blob(value)
	}
	return elements, nil
}

// Pop takes the next job out of a queue (Ruby: Resque.pop). ok is false when
// there is none. The job is in nobody's hand then: a caller that ends, and a
// reply that gets lost, lose it. A Worker loses none.
func (c *Client) Pop(ctx context.Context, queue string) (e Entry, ok bool, err error) {
	element, err := Bytes(c.Do(ctx, "LPOP", c.keys.Of(queueKey(queue))))
	if errors.Is(err, ErrNil) {
		return Entry{}, false, nil
	}
	if err != nil {
		return Entry{}, false, fmt.Errorf("resque: taking a job from the queue %s: %w", queue, err)
	}
	return entryOf(queue, element), true, nil
}

// Dequeue removes from a queue all jobs of class with exactly these arguments
// (Ruby: Resque.dequeue with arguments) and answers how many there were.
// Arguments compare as the text that Enqueue writes; without any, jobs without
// arguments go (Ruby's dequeue then removes the whole class: that is
// DequeueClass). Delayed jobs, and those that a worker has taken, stay.
func (c *Client) Dequeue(ctx context.Context, queue, class string, args ...any) (int64, error) {
	if err := errors.Join(checkText("Queue", queue), checkText("Class", class)); err != nil {
		return 0, err
	}
	text, err := encodeArgs(args)
	if err != nil {
		return 0, err
	}
	call := DequeueCall{Queue: queue, Class: class, Args: args}
	return c.options.Hooks.dequeue(ctx, call, func() (int64, error) {
		// Not an Edit: of a hundred thousand twins it would keep Redis busy for a second.
		n, err := Int(c.Do(ctx, "LREM", c.keys.Of(queueKey(queue)), 0, encodeJob(class, text, "")))
		if err != nil {
			return 0, fmt.Errorf("resque: removing jobs from the queue %s: %w", queue, err)
		}
		return n, nil
	})
}

// DequeueClass removes all jobs of a class from a queue (Ruby: Resque.dequeue
// without arguments) and answers how many. Text that is no job stays. So do
// delayed jobs, and those that a worker has taken. Workers may take jobs and
// others may enqueue meanwhile; what is enqueued after the call began may stay,
// and beside others that remove jobs by their text some may be passed over. After
// an error removed is how many are gone so far.
func (c *Client) DequeueClass(ctx context.Context, queue, class string) (removed int64, err error) {
	if err := errors.Join(checkText("Queue", queue), checkText("Class", class)); err != nil {
		return 0, err
	}
	call := DequeueCall{Queue: queue, Class: class, All: true}
	return c.options.Hooks.dequeue(ctx, call, func() (int64, error) {
		n, err := c.removeClass(ctx, queueKey(queue), class)
		if err != nil {
			err = fmt.Errorf("resque: removing jobs from the queue %s: %w", queue, err)
		}
		return n, err
	})
}

// removeClass removes all jobs of a class from a list.
func (c *Client) removeClass(ctx context.Context, key, class string) (removed int64, err error) {
	// From the end to the front, counting from the end: so taking from the front
	// moves nothing, and new jobs only make it look at some once more.
	for kept := int64(0); ; {
		page, err := c.page(ctx, -kept-1, pageSize, key)
		if err == nil && !page.list {
			err = wrongType(c.keys.Of(key))
		}
		if err != nil {
			return removed, err
		}
		var edits []Edit
		for i, element := range page.elements {
			if isOfClass(element, class) {
				edits = append(edits, Edit{Key: key, Raw: element, Near: page.first + int64(i)})
			}
		}
		gone, err := c.editAll(ctx, edits, nil)
		removed += gone
		if err != nil || page.ended {
			return removed, err
		}
		kept += int64(len(page.elements)) - gone
	}
}

// isOfClass says whether an element is a job of class, or holds one as malformed.
func isOfClass(element []byte, class string) bool {
	name, args, err := ParsePayload(element)
	if inner, ok := unwrapMalformed(name, args); ok && name != class {
		name, _, err = ParsePayload(inner)
	}
	return err == nil && name == class
}

// RemoveQueue removes a queue with all of its jobs, and its name (Ruby:
// Resque.remove_queue), in one step. Jobs that a worker has taken, and delayed
// ones, stay.
func (c *Client) RemoveQueue(ctx context.Context, queue string) error {
	if err := checkText("Queue", queue); err != nil {
		return err
	}
	keys := []string{c.keys.Of(keyQueues), c.keys.Of(queueKey(queue))}
	if _, err := c.Run(ctx, c.removeScript, keys, queue); err != nil {
		return fmt.Errorf("resque: removing the queue %s: %w", queue, err)
	}
	return nil
}

// removeQueueLua removes a queue. It is a script and no transaction, which Redis
// refuses where memory is short: making room must work then.
//
//	KEYS 1 queues, 2 queue:<name>
//	ARGV 1 the queue's name
//
// It answers 1. A set of queues that is none is an error, and nothing was
// written.
const removeQueueLua = `
redis.call('SREM', KEYS[1], ARGV[1])
redis.call('DEL', KEYS[2])
return 1
`

// PauseAll makes all workers of the namespace, Ruby's too, take no more jobs
// until ResumeAll (Ruby: the key pause-all-workers). Running jobs go on.
func (c *Client) PauseAll(ctx context.Context) error {
	_, err := c.Do(ctx, "SET", c.keys.Of(keyPauseAll), "true")
	return err
}

// ResumeAll ends PauseAll.
func (c *Client) ResumeAll(ctx context.Context) error {
	_, err := c.Do(ctx, "DEL", c.keys.Of(keyPauseAll))
	return err
}

// AllPaused says whether all workers are told to take no jobs (Ruby:
// Worker#paused?): white space round the word, and its case, don't matter.
func (c *Client) AllPaused(ctx context.Context) (bool, error) {
	text, err := String(c.Do(ctx, "GET", c.keys.Of(keyPauseAll)))
	if errors.Is(err, ErrNil) {
		return false, nil
	}
	return strings.EqualFold(strings.Trim(text, " \t\n\v\f\r"), "true"), err
}

package resque

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"example.com/understudy/compat/ruby"
)

// NewJob is a job to be enqueued.
type NewJob struct {
	// Queue and Class are never empty.
	Queue string
	Class string
	// Args are encoded as Ruby would, each once; nil: none.
	Args []any
	// Front puts the job before the others of its queue (one after the other, so
	// that the last of several is the first to run). It means nothing for a job
	// that has to wait.
	Front bool
	// At is the time to wait for, cut to the second as Ruby does; zero, or not
	// after now: at once.
	At time.Time
}

// InvalidJobError says which part of a job can't be enqueued. Nothing was
// written.
type InvalidJobError struct {
	// Field is Queue, Class, At or an argument: args[0], args[0].name. Among
	// several jobs, jobs[2]. stands before it.
	Field string
	Err   error
}

func (e *InvalidJobError) Error() string { return fmt.Sprintf("resque: %s %v", e.Field, e.Err) }

// Unwrap gives the reason.
func (e *InvalidJobError) Unwrap() error { return e.Err }

var errEmpty = errors.New("is empty")

// Enqueue puts a job at the end of a queue (Ruby: Resque.enqueue_to), unless a
// hook refuses it (Options.Hooks, ErrRefused). After an error of the connection
// it is unknown whether it is there: a caller that tries again may enqueue it
// twice.
func (c *Client) Enqueue(ctx context.Context, queue, class string, args ...any) error {
	return c.enqueue(ctx, NewJob{Queue: queue, Class: class, Args: args})
}

// EnqueueFront puts a job before all others of its queue.
func (c *Client) EnqueueFront(ctx context.Context, queue, class string, args ...any) error {
	return c.enqueue(ctx, NewJob{Queue: queue, Class: class, Args: args, Front: true})
}

func (c *Client) enqueue(ctx context.Context, job NewJob) error {
	writes, waits, err := c.jobWrites(job)
	if err != nil {
		return err
	}
	return c.writeJob(ctx, job, waits, writes)
}

// writeJob writes a job between its hooks.
func (c *Client) writeJob(ctx context.Context, job NewJob, waits bool, writes []Write) error {
	if err := c.options.Hooks.beforeEnqueue(ctx, job, waits); err != nil {
		return err
	}
	if err := c.write(ctx, writes); err != nil {
		return err
	}
	c.options.Hooks.afterEnqueue(ctx, job, waits)
	return nil
}

// Push puts text at the end of a queue, whatever it is.
func (c *Client) Push(ctx context.Context, queue string, payload []byte) error {
	if err := checkText("Queue", queue); err != nil {
		return err
	}
	return c.write(ctx, PushWrites(queue, payload))
}

// How much of EnqueueMany goes in one step: it keeps the server from others.
const (
	maxStepJobs  = 1000
	maxStepBytes = 1 << 20
)

// EnqueueMany puts many jobs into their queues, in order, in one round trip and
// one step; more than a thousand jobs, or a megabyte, take several. If one job
// is invalid, or refused by a hook, none is written. The before hooks of all jobs
// run before the first step, the after hooks behind the last, for those that are
// there. After another error written says how many are there for sure; those of
// the step that failed may be there as well, all or none, if its reply was lost.
func (c *Client) EnqueueMany(ctx context.Context, jobs ...NewJob) (written int, err error) {
	all, waits := make([][]Write, len(jobs)), make([]bool, len(jobs))
	for i, job := range jobs {
		if all[i], waits[i], err = c.jobWrites(job); err != nil {
			return 0, amongMany(i, err)
		}
	}
	for i, job := range jobs {
		if err := c.options.Hooks.beforeEnqueue(ctx, job, waits[i]); err != nil {
			return 0, amongMany(i, err)
		}
	}
	written, err = c.writeMany(ctx, all)
	for i, job := range jobs[:written] {
		c.options.Hooks.afterEnqueue(ctx, job, waits[i])
	}
	return written, err
}

// writeMany writes jobs in as few steps as may be.
func (c *Client) writeMany(ctx context.Context, jobs [][]Write) (written int, err error) {
	for written < len(jobs) {
		count := stepOf(jobs[written:])
		if err := c.write(ctx, merge(jobs[written:written+count])); err != nil {
			return written, err
		}
		written += count
	}
	return written, nil
}

func amongMany(index int, err error) error {
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return &RefusedError{Hook: refused.Hook, Field: fmt.Sprintf("jobs[%d]", index), Err: refused.Err}
	}
	if invalid, ok := errors.AsType[*InvalidJobError](err); ok {
		return &InvalidJobError{Field: fmt.Sprintf("jobs[%d].%s", index, invalid.Field), Err: invalid.Err}
	}
	return err
}

// stepOf is how many of the jobs go in one step: at least one.
func stepOf(jobs [][]Write) int {
	size := 0
	for i, writes := range jobs {
		for _, w := range writes {
			for _, arg := range w.Args {
				size += len(arg)
			}
		}
		if i > 0 && (i == maxStepJobs || size > maxStepBytes) {
			return i
		}
	}
	return len(jobs)
}

// jobWrites is what enqueueing the job writes, and whether it has to wait.
func (c *Client) jobWrites(job NewJob) (writes []Write, waits bool, err error) {
	if err := checkText("Queue", job.Queue); err != nil {
		return nil, false, err
	}
	if err := checkText("Class", job.Class); err != nil {
		return nil, false, err
	}
	args, err := encodeArgs(job.Args)
	if err != nil {
		return nil, false, err
	}
	return c.jobTextWrites(job, args)
}

// jobTextWrites is what enqueueing a checked job with these encoded arguments
// writes, and whether it has to wait.
func (c *Client) jobTextWrites(job NewJob, args []byte) (writes []Write, waits bool, err error) {
	if waits, err = c.waits(job.At); err != nil {
		return nil, false, err
	}
	if waits {
		return DelayedWrites(job.At, encodeJob(job.Class, args, job.Queue)), true, nil
	}
	writes = PushWrites(job.Queue, encodeJob(job.Class, args, ""))
	if job.Front {
		for i := range writes {
			if writes[i].Command == "RPUSH" {
				writes[i].Command = "LPUSH"
			}
		}
	}
	return writes, false, nil
}

func checkText(field, text string) error {
	switch {
	case text == "":
		return &InvalidJobError{Field: field, Err: errEmpty}
	case !utf8.ValidString(text):
		return &InvalidJobError{Field: field, Err: fmt.Errorf("is %w: %q", ruby.ErrInvalidUTF8, text)}
	default:
		return nil
	}
}

func encodeArgs(args []any) ([]byte, error) {
	text, err := ruby.MarshalArgs(args...)
	if at, ok := errors.AsType[*ruby.MarshalError](err); ok {
		return nil, &InvalidJobError{Field: at.Path, Err: fmt.Errorf("can't be encoded: %w", at.Err)}
	}
	if err != nil {
		return nil, &InvalidJobError{Field: "args", Err: err}
	}
	return text, nil
}

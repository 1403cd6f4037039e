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

// Enqueue puts a job at the end of a queue (Ruby: Resque.enqueue_to). After an
// error of the connection it is unknown whether it is there: a caller that tries
// again may enqueue it twice.
func (c *Client) Enqueue(ctx context.Context, queue, class string, args ...any) error {
	return c.enqueue(ctx, NewJob{Queue: queue, Class: class, Args: args})
}

// EnqueueFront puts a job before all others of its queue.
func (c *Client) EnqueueFront(ctx context.Context, queue, class string, args ...any) error {
	return c.enqueue(ctx, NewJob{Queue: queue, Class: class, Args: args, Front: true})
}

func (c *Client) enqueue(ctx context.Context, job NewJob) error {
	writes, err := c.jobWrites(job)
	if err != nil {
		return err
	}
	return c.write(ctx, writes)
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
// is invalid, none is written. After another error written says how many are
// there for sure; those of the step that failed may be there as well, all or
// none, if its reply was lost.
func (c *Client) EnqueueMany(ctx context.Context, jobs ...NewJob) (written int, err error) {
	all := make([][]Write, len(jobs))
	for i, job := range jobs {
		if all[i], err = c.jobWrites(job); err != nil {
			return 0, amongMany(i, err)
		}
	}
	for written < len(all) {
		count := stepOf(all[written:])
		if err := c.write(ctx, merge(all[written:written+count])); err != nil {
			return written, err
		}
		written += count
	}
	return written, nil
}

func amongMany(index int, err error) error {
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

// jobWrites is what enqueueing the job writes.
func (c *Client) jobWrites(job NewJob) ([]Write, error) {
	if err := checkText("Queue", job.Queue); err != nil {
		return nil, err
	}
	if err := checkText("Class", job.Class); err != nil {
		return nil, err
	}
	args, err := encodeArgs(job.Args)
	if err != nil {
		return nil, err
	}
	return c.jobTextWrites(job, args)
}

// jobTextWrites is what enqueueing a checked job with these encoded arguments
// writes.
func (c *Client) jobTextWrites(job NewJob, args []byte) ([]Write, error) {
	wait, err := c.waits(job.At)
	if err != nil {
		return nil, err
	}
	if wait {
		return DelayedWrites(job.At, encodeJob(job.Class, args, job.Queue)), nil
	}
	writes := PushWrites(job.Queue, encodeJob(job.Class, args, ""))
	if job.Front {
		for i := range writes {
			if writes[i].Command == "RPUSH" {
				writes[i].Command = "LPUSH"
			}
		}
	}
	return writes, nil
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

package resque

import (
	"context"
	"time"
)

// Handler performs the jobs of a class. A nil error is success; what an error
// leads to is the business of the class's Retrier and of the worker's failure
// backend. The context ends when the job's timeout passes, when the worker
// gives up waiting for it at a stop, or when the run is no longer its own
// (context.Cause tells which).
type Handler interface {
	Perform(ctx context.Context, job *Job) error
}

// HandlerFunc is a function as a Handler.
type HandlerFunc func(ctx context.Context, job *Job) error

// Perform calls f.
func (f HandlerFunc) Perform(ctx context.Context, job *Job) error { return f(ctx, job) }

// Middleware wraps a Handler, as in net/http: the first one given is outermost.
type Middleware func(Handler) Handler

// Registration is what a worker knows of one class.
type Registration struct {
	// Class is the job class, matched exactly.
	Class string
	// Handler performs it.
	Handler Handler
	// Queue is the class's own queue, "" where it has none (Ruby: @queue).
	// Retries go there.
	Queue string
	// Timeout cancels a run that takes longer; the run then fails as
	// Timeout::Error. 0: none.
	Timeout time.Duration
	// AtDeadline is what becomes of a job that a stop cancels. Zero: GiveBack.
	AtDeadline AtDeadline
	// Retrier decides about failed runs. nil: that of the queue which the job
	// came from, else that of the worker (WorkerConfig.QueueRetry and Retry),
	// else no retry, as in Ruby.
	Retrier Retrier
	// NoRetry keeps those of the queue and the worker from this class.
	NoRetry bool
}

// HandleOption is an option of Worker.Handle: Queue, Timeout, AtDeadline, a
// retry.Policy.
type HandleOption interface {
	// Apply changes the registration, or says why it is refused.
	Apply(r *Registration) error
}

// HandleOptionFunc is a function as a HandleOption.
type HandleOptionFunc func(r *Registration) error

// Apply calls f.
func (f HandleOptionFunc) Apply(r *Registration) error { return f(r) }

// Queue names the class's own queue (Ruby: @queue): where its retries go. Which
// queues a worker looks at is the business of WorkerConfig.Queues.
func Queue(name string) HandleOption {
	return HandleOptionFunc(func(r *Registration) error {
		r.Queue = name
		return nil
	})
}

// NoRetry keeps a class from the retries of its queue and its worker
// (WorkerConfig.QueueRetry and Retry).
func NoRetry() HandleOption {
	return HandleOptionFunc(func(r *Registration) error {
		r.Retrier, r.NoRetry = nil, true
		return nil
	})
}

// Timeout ends a run that takes longer than d by cancelling its context; the
// run fails as Timeout::Error and goes through the retry rules. 0: no timeout.
func Timeout(d time.Duration) HandleOption {
	return HandleOptionFunc(func(r *Registration) error {
		if d < 0 {
			return configError("Timeout", "is negative: use 0 for none")
		}
		r.Timeout = d
		return nil
	})
}

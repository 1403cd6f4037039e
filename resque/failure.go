package resque

import (
	"context"
	"time"
)

// Failure is one failed run, as the failure backends see it.
type Failure struct {
	// Job is the run. For text that is no job its Class is empty and only
	// Payload, Queue and WorkerID are set.
	Job *Job
	// Err is the error itself; nil for text that is no job.
	Err error
	// FailedAt is in the location of the worker's clock.
	FailedAt time.Time
	// Exception is the Ruby class name under which the error is recorded.
	Exception string
	// Message is the error's text; valid UTF-8.
	Message string
	// Backtrace holds Ruby-like lines, outermost last; never nil.
	Backtrace []string
	// Malformed says that the payload goes into the record as MalformedClass:
	// the text is no job, or no valid UTF-8.
	Malformed bool
	// RetryKey is the job's counter, without namespace; "": it has none.
	RetryKey string
	// RetryPending says that the job will be tried again and keeps its counter.
	RetryPending bool
	// RetryDelay is the wait until then; 0 or less: none.
	RetryDelay time.Duration
}

// FailureBackend is where failures go (Ruby: Resque::Failure.backend). Package
// failure has those of Ruby.
type FailureBackend interface {
	// Writes answers what is to be written about f; it happens in the script
	// that records the outcome. Writes beside an error are still carried out;
	// the error is logged. A backend that answers nothing but an error, or
	// panics, doesn't lose the failure: it is then recorded in the list failed.
	Writes(f *Failure) ([]Write, error)
}

// FailureNotifier is what a FailureBackend implements beside it to hear of
// failures after they have been recorded (an error tracker, for example). Its
// error is logged. ctx is not cancelled by a stop before its timeouts.
type FailureNotifier interface {
	Notify(ctx context.Context, f *Failure) error
}

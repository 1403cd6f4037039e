package failure

import (
	"context"
	"strconv"
	"time"

	"example.com/understudy/resque"
)

// prefixPending begins the keys of the last failures of jobs that wait.
const prefixPending = "failure-"

// SuppressRetries keeps the failures of jobs that will be tried again from
// inner, so that it hears only of those that have failed for good (Ruby:
// Resque::Failure::MultipleWithRetrySuppression). While a job waits for its
// retry, its last failure stands in failure-<counter>, for twice the wait;
// resque-web's Retry tab shows it. A retry without a wait leaves nothing. inner
// nil: List.
func SuppressRetries(inner resque.FailureBackend) resque.FailureBackend {
	if inner == nil {
		inner = List{}
	}
	return suppressing{inner: inner}
}

type suppressing struct{ inner resque.FailureBackend }

// Writes answers the failure's place: the waiting one, none, or inner's.
func (s suppressing) Writes(f *resque.Failure) ([]resque.Write, error) {
	if pending(f) {
		return waiting(f), nil
	}
	writes, err := s.inner.Writes(f)
	if f.RetryKey == "" || err != nil && len(writes) == 0 {
		// Beside inner's error alone nothing is written, so that the worker
		// sees that the failure has no place yet.
		return writes, err
	}
	forget := resque.Write{Command: "DEL", Key: prefixPending + f.RetryKey}
	return append([]resque.Write{forget}, writes...), err
}

// Notify tells inner of what isn't suppressed.
func (s suppressing) Notify(ctx context.Context, f *resque.Failure) error {
	if pending(f) {
		return nil
	}
	if notifier, ok := s.inner.(resque.FailureNotifier); ok {
		return notifier.Notify(ctx, f)
	}
	return nil
}

// pending says that the job will be tried again. That is known by its counter:
// without one the failure is recorded.
func pending(f *resque.Failure) bool { return f.RetryPending && f.RetryKey != "" }

func waiting(f *resque.Failure) []resque.Write {
	seconds := int64(f.RetryDelay / time.Second)
	if seconds <= 0 {
		return nil
	}
	life := strconv.FormatInt(2*seconds, 10)
	return []resque.Write{{Command: "SETEX", Key: prefixPending + f.RetryKey, Args: []string{life, string(f.Record(false))}}}
}

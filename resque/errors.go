package resque

import (
	"errors"
	"fmt"
)

// ErrAbandon is for a handler to return: it leaves the job in the worker's hand, as the
// death of the process would, and nothing is recorded. It is for tests of
// burying and recovery.
var ErrAbandon = errors.New("resque: job abandoned")

// ErrDontPerform is for middleware or a handler to return, wrapped or not, for a
// job that isn't to be performed, or not any further: the job ends quietly. It
// counts as processed, its retry counter goes, and nothing is recorded, tried
// again or told (Ruby: Resque::Job::DontPerform). Worker.Inline answers nil.
var ErrDontPerform error = dontPerformError{}

type dontPerformError struct{}

func (dontPerformError) Error() string       { return "resque: the job is not to be performed" }
func (dontPerformError) RunOutcome() Outcome { return Discarded }

// ConfigError says which field of a configuration is wrong, and what to write
// instead.
type ConfigError struct {
	Field  string
	Reason string
}

func (e *ConfigError) Error() string { return fmt.Sprintf("resque: %s %s", e.Field, e.Reason) }

func configError(field, reason string) error { return &ConfigError{Field: field, Reason: reason} }

// Outcome is what became of a run.
type Outcome string

// The outcomes of a run.
const (
	// Done is success.
	Done Outcome = "done"
	// Retrying is a failure after which the job will be tried again.
	Retrying Outcome = "retrying"
	// Failed is a failure for good.
	Failed Outcome = "failed"
	// Cancelled is a failure for good by the handler's own wish, whatever the
	// retry policy says.
	Cancelled Outcome = "cancelled"
	// Discarded is an end that is neither tried again nor recorded.
	Discarded Outcome = "discarded"
	// Interrupted is a run that ended unfinished and gave its job back.
	Interrupted Outcome = "interrupted"
)

// CancelledClass is the exception under which a cancelled run is recorded.
const CancelledClass = "Understudy::Cancelled"

// OutcomeError is an error that says what becomes of the run, found through any
// wrapping: retry.Discard and retry.Cancel make such, ErrDontPerform is one.
// RunOutcome answers Discarded or Cancelled; any other answer asks for nothing.
type OutcomeError interface {
	error
	RunOutcome() Outcome
}

// AskedOutcome is what an error asks to become of its run: Discarded or
// Cancelled, whichever comes first on its way through what it wraps or joins;
// Failed: it asks for nothing.
func AskedOutcome(err error) Outcome {
	if asking, ok := any(err).(OutcomeError); ok {
		if kind := contained(asking.RunOutcome); kind == Discarded || kind == Cancelled {
			return kind
		}
	}
	for _, inner := range unwrap(err) {
		if inner == nil {
			continue
		}
		if kind := AskedOutcome(inner); kind != Failed {
			return kind
		}
	}
	return Failed
}

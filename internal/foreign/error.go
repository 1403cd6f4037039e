// Package foreign holds what those who perform jobs outside of Go, programs and
// endpoints, say about their failures.
package foreign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"example.com/understudy/resque"
)

// The Ruby classes that errors have which don't name theirs.
const (
	RuntimeError    = "RuntimeError"
	StandardError   = "StandardError"
	SystemCallError = "SystemCallError"
)

// Limit is how much of an error's text is read, in bytes: more than the worker
// records of an error.
const Limit = 256 << 10

// Error is what a program or an endpoint said about its failure.
type Error struct {
	// Exception is the Ruby class under which it is recorded.
	Exception string
	// Parents are that class's ancestors, the nearest first; the last ones are
	// StandardError and, at most, what Ruby has above it.
	Parents []string
	// Message is the error's text.
	Message string
	// Lines is the backtrace, outermost last.
	Lines []string
	// Cancel asks for no retry, whatever the policy says.
	Cancel bool
	// Cause is the error of the operating system where the program didn't start,
	// or nobody answered; nil: it says nothing more.
	Cause error
}

func (e *Error) Error() string { return e.Message }

// Unwrap is e.Cause.
func (e *Error) Unwrap() error { return e.Cause }

// ExceptionName is e.Exception.
func (e *Error) ExceptionName() string { return e.Exception }

// Ancestors are e.Parents.
func (e *Error) Ancestors() []string { return e.Parents }

// Backtrace is e.Lines.
func (e *Error) Backtrace() []string { return e.Lines }

// Outcome is e as its handler returns it: one that asks for no retry says so.
func (e *Error) Outcome() error {
	if e.Cancel {
		return &cancelError{e}
	}
	return e
}

// cancelError asks for the end of its job.
type cancelError struct{ said *Error }

func (c *cancelError) Error() string            { return c.said.Error() }
func (c *cancelError) Unwrap() error            { return c.said }
func (*cancelError) RunOutcome() resque.Outcome { return resque.Cancelled }

// Parse takes over what a JSON object says about an error: its exception,
// ancestors, error, backtrace and whether to cancel. Text that is no object, or has
// none of exception, error and cancel, changes nothing and answers false. Fields of another type
// than they should have are passed over; what is no UTF-8 becomes U+FFFD.
func (e *Error) Parse(text []byte) bool {
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil {
		return false
	}
	var name, message string
	named := textField(fields["exception"], &name)
	explained := textField(fields["error"], &message)
	if json.Unmarshal(fields["cancel"], &e.Cancel) != nil {
		e.Cancel = false
	}
	if !named && !explained {
		return e.Cancel
	}
	var ancestors []string
	if json.Unmarshal(fields["ancestors"], &ancestors) != nil {
		ancestors = nil
	}
	if named {
		e.Exception = name
		e.Parents = withRoot(name, ancestors)
	}
	e.Message = message
	if message == "" {
		e.Message = e.Exception // as Ruby's errors without a text
	}
	if json.Unmarshal(fields["backtrace"], &e.Lines) != nil {
		e.Lines = nil
	}
	return true
}

// textField reads a text that isn't empty.
func textField(raw json.RawMessage, to *string) bool {
	return json.Unmarshal(raw, to) == nil && *to != ""
}

func withRoot(name string, ancestors []string) []string {
	parents := slices.DeleteFunc(ancestors, func(a string) bool { return a == "" || a == name })
	if name == StandardError || slices.Contains(parents, StandardError) {
		return parents
	}
	return append(parents, StandardError)
}

// Cancelled is the failure of a run that was cut off by the end of its context.
// The context's cause names it; err says what became of the run.
func Cancelled(cause, err error) error {
	if errors.Is(cause, context.DeadlineExceeded) && !errors.Is(cause, resque.ErrTimeout) {
		cause = fmt.Errorf("%w: %w", resque.ErrTimeout, cause)
	}
	return fmt.Errorf("%w (%w)", cause, err)
}

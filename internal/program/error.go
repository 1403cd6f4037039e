package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"slices"
	"strings"

	"example.com/understudy/resque"
)

const (
	runtimeError    = "RuntimeError"
	standardError   = "StandardError"
	systemCallError = "SystemCallError"
)

// Error is what a program said about its failure.
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

	cause error
}

func (e *Error) Error() string { return e.Message }

// Unwrap is the error of the operating system, when the program didn't start.
func (e *Error) Unwrap() error { return e.cause }

// ExceptionName is e.Exception.
func (e *Error) ExceptionName() string { return e.Exception }

// Ancestors are e.Parents.
func (e *Error) Ancestors() []string { return e.Parents }

// Backtrace is e.Lines.
func (e *Error) Backtrace() []string { return e.Lines }

// readError makes an error of the last line that a program wrote on standard
// error: text, or an object with exception, ancestors, error and backtrace.
func readError(line string, status int) *Error {
	e := &Error{Exception: runtimeError, Parents: []string{standardError}, Message: line}
	if line == "" {
		e.Message = fmt.Sprintf("exit status %d", status)
		return e
	}
	e.parse([]byte(line))
	return e
}

// parse takes over what a JSON object says about an error; other text
// changes nothing. Fields of another type than they should have are passed over.
func (e *Error) parse(text []byte) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil {
		return
	}
	var name, message string
	named := textField(fields["exception"], &name)
	if explained := textField(fields["error"], &message); !named && !explained {
		return
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
}

// textField reads a text that isn't empty.
func textField(raw json.RawMessage, to *string) bool {
	return json.Unmarshal(raw, to) == nil && *to != ""
}

func withRoot(name string, ancestors []string) []string {
	parents := slices.DeleteFunc(ancestors, func(a string) bool { return a == "" || a == name })
	if name == standardError || slices.Contains(parents, standardError) {
		return parents
	}
	return append(parents, standardError)
}

// startError is the failure to start a program at all.
func startError(program string, err error) error {
	e := &Error{Exception: systemCallError, Parents: []string{standardError}, cause: err}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, exec.ErrNotFound):
		e.Exception = "Errno::ENOENT"
	case errors.Is(err, fs.ErrPermission):
		e.Exception = "Errno::EACCES"
	}
	if e.Exception != systemCallError {
		e.Parents = []string{systemCallError, standardError}
	}
	e.Message = "can't start " + program + ": " + strings.TrimPrefix(err.Error(), "fork/exec "+program+": ")
	return e
}

// cancelled is the failure of a program that was ended by the end of its
// context; the cause names it.
func cancelled(cause, err error) error {
	if errors.Is(cause, context.DeadlineExceeded) && !errors.Is(cause, resque.ErrTimeout) {
		cause = fmt.Errorf("%w: %w", resque.ErrTimeout, cause)
	}
	return fmt.Errorf("%w (the program was ended: %w)", cause, err)
}

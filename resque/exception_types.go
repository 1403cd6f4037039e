package resque

import (
	"context"
	"fmt"
	"path"
	"reflect"
	"runtime"
	"strings"
)

// ErrTimeout is the cause with which a run's context ends at its Timeout. It is
// recorded as Timeout::Error, and errors.Is finds context.DeadlineExceeded in
// it.
var ErrTimeout error = timeoutError{}

type timeoutError struct{}

func (timeoutError) Error() string         { return "execution expired" }
func (timeoutError) ExceptionName() string { return "Timeout::Error" }
func (timeoutError) Ancestors() []string   { return []string{runtimeError, standardError} }
func (timeoutError) Timeout() bool         { return true }
func (timeoutError) Is(target error) bool  { return target == context.DeadlineExceeded }

// The classes of jobs that were buried with their worker.
const (
	dirtyExit      = "Resque::DirtyExit"
	prunedExit     = "Resque::PruneDeadWorkerDirtyExit"
	dirtyExitText  = "Job still being processed"
	unknownJobName = "<Unknown Job>"
)

// DirtyExit is the error of a job whose worker, or whose program, ended in the
// middle of it (Ruby: Resque::DirtyExit).
type DirtyExit struct { //nolint:errname // Ruby's own name
	// Message is the text; "": that the job was still being processed.
	Message string
}

func (e DirtyExit) Error() string {
	if e.Message == "" {
		return dirtyExitText
	}
	return e.Message
}

// ExceptionName is Ruby's class.
func (DirtyExit) ExceptionName() string { return dirtyExit }

// Ancestors are those of Ruby's class.
func (DirtyExit) Ancestors() []string { return []string{runtimeError, standardError} }

// PruneDeadWorkerDirtyExit is the error of a job whose worker was found dead by
// its heartbeat (Ruby: Resque::PruneDeadWorkerDirtyExit).
type PruneDeadWorkerDirtyExit struct { //nolint:errname // Ruby's own name
	// WorkerID is the id of the dead worker.
	WorkerID string
	// Class is the class of the job in its hand; "" where that is unknown.
	Class string
}

func (e PruneDeadWorkerDirtyExit) Error() string {
	class := e.Class
	if class == "" {
		class = unknownJobName
	}
	return fmt.Sprintf("Worker %s did not gracefully exit while processing %s", e.WorkerID, class)
}

// ExceptionName is Ruby's class.
func (PruneDeadWorkerDirtyExit) ExceptionName() string { return prunedExit }

// Ancestors are those of Ruby's class.
func (PruneDeadWorkerDirtyExit) Ancestors() []string {
	return []string{dirtyExit, runtimeError, standardError}
}

// PanicError is a panic of a handler as an error. It is recorded under the name
// of the error that was the panic's value, else as RuntimeError.
type PanicError struct {
	// Value is what was given to panic.
	Value any
	// Stack holds the lines of the backtrace, innermost first.
	Stack []string
}

// newPanicError makes an error of what recover answered. The deferred function
// that called recover has to call it, so that the stack is still there. The
// stack begins where the panic happened and ends with the handler: the frames of
// the runtime, and this package's own at both ends, are left out.
func newPanicError(value any) *PanicError {
	return &PanicError{Value: value, Stack: panicStack()}
}

func (e *PanicError) Error() string {
	if err, ok := e.Value.(error); ok {
		return errorText(err)
	}
	return fmt.Sprint(e.Value)
}

// Unwrap is the panic's value where that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Backtrace is the stack.
func (e *PanicError) Backtrace() []string { return e.Stack }

// maxFrames bounds a backtrace; the innermost frames are kept.
const maxFrames = 128

func panicStack() []string {
	const callersPanicStackAndNew = 3
	pcs := make([]uintptr, maxFrames)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(callersPanicStackAndNew, pcs)])
	var all []runtime.Frame
	panicked := false
	for {
		frame, more := frames.Next()
		all = append(all, frame)
		if frame.Function == "runtime.gopanic" && !panicked {
			panicked, all = true, nil // what is further in is the recovering
		}
		if !more {
			break
		}
	}
	return frameLines(trimFrames(all))
}

// trimFrames cuts the machinery off both ends.
func trimFrames(frames []runtime.Frame) []runtime.Frame {
	own := reflect.TypeFor[PanicError]().PkgPath() + "."
	machinery := func(f runtime.Frame) bool {
		return f.Function == "" || strings.HasPrefix(f.Function, "runtime.") || strings.HasPrefix(f.Function, own)
	}
	for len(frames) > 0 && machinery(frames[0]) {
		frames = frames[1:]
	}
	for len(frames) > 0 && machinery(frames[len(frames)-1]) {
		frames = frames[:len(frames)-1]
	}
	return frames
}

func frameLines(frames []runtime.Frame) []string {
	lines := make([]string, 0, len(frames))
	for _, f := range frames {
		lines = append(lines, fmt.Sprintf("%s:%d:in `%s'", f.File, f.Line, path.Base(f.Function)))
	}
	return lines
}

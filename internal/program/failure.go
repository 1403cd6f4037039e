package program

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"

	"example.com/understudy/internal/foreign"
)

// readError makes an error of the last line that a program wrote on standard
// error: text, or an object with exception, ancestors, error and backtrace.
func readError(line string, status int) error {
	e := &foreign.Error{Exception: foreign.RuntimeError, Parents: []string{foreign.StandardError}, Message: line}
	if line == "" {
		e.Message = fmt.Sprintf("exit status %d", status)
		return e
	}
	e.Parse([]byte(line))
	return e.Outcome()
}

// startError is the failure to start a program at all.
func startError(program string, err error) error {
	e := &foreign.Error{Exception: foreign.SystemCallError, Parents: []string{foreign.StandardError}, Cause: err}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, exec.ErrNotFound):
		e.Exception = "Errno::ENOENT"
	case errors.Is(err, fs.ErrPermission):
		e.Exception = "Errno::EACCES"
	}
	if e.Exception != foreign.SystemCallError {
		e.Parents = []string{foreign.SystemCallError, foreign.StandardError}
	}
	e.Message = "can't start " + program + ": " + strings.TrimPrefix(err.Error(), "fork/exec "+program+": ")
	return e
}

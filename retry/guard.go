package retry

import (
	"fmt"

	"example.com/understudy/resque"
)

// guarded calls a function of the policy, named what; a panic is an error.
func guarded[T any](what string, f func() (T, error)) (value T, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("panic: %w", &resque.PanicError{Value: panicked})
		}
		if err != nil {
			err = fmt.Errorf("retry: %s: %w", what, err)
		}
	}()
	return f()
}

// both adds the error of one of the policy's functions to the job's own, which
// alone gives the record its exception and the rules their class.
func both(own, added error) error { return fmt.Errorf("%w (%v)", own, added) } //nolint:errorlint // on purpose only in the text

package failure

import (
	"context"
	"errors"
	"fmt"

	"example.com/understudy/resque"
)

// Several records failures in all of the backends, in their order (Ruby:
// Resque::Failure::Multiple). All are tried, whatever the others do: errors are
// joined, a panic counts as an error of its backend. Without any backend it is
// List.
func Several(backends ...resque.FailureBackend) resque.FailureBackend {
	if len(backends) == 0 {
		return List{}
	}
	return several(append([]resque.FailureBackend(nil), backends...))
}

type several []resque.FailureBackend

// Writes answers the writes of all.
func (s several) Writes(f *resque.Failure) ([]resque.Write, error) {
	var writes []resque.Write
	var problems []error
	for _, backend := range s {
		more, err := writesOf(backend, f)
		writes = append(writes, more...)
		problems = append(problems, err)
	}
	return writes, errors.Join(problems...)
}

// Notify tells all that want to hear.
func (s several) Notify(ctx context.Context, f *resque.Failure) error {
	var problems []error
	for _, backend := range s {
		problems = append(problems, notify(ctx, backend, f))
	}
	return errors.Join(problems...)
}

func writesOf(backend resque.FailureBackend, f *resque.Failure) (writes []resque.Write, err error) {
	defer containPanic(backend, &err)
	if writes, err = backend.Writes(f); err != nil {
		err = fmt.Errorf("failure: %T: %w", backend, err)
	}
	return writes, err
}

func notify(ctx context.Context, backend resque.FailureBackend, f *resque.Failure) (err error) {
	notifier, ok := backend.(resque.FailureNotifier)
	if !ok {
		return nil
	}
	defer containPanic(backend, &err)
	if err = notifier.Notify(ctx, f); err != nil {
		err = fmt.Errorf("failure: %T: %w", backend, err)
	}
	return err
}

// containPanic, deferred, makes a backend's panic an error.
func containPanic(backend resque.FailureBackend, err *error) {
	if value := recover(); value != nil {
		*err = fmt.Errorf("failure: %T panicked: %w", backend, &resque.PanicError{Value: value})
	}
}

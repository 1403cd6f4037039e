package retry

import "example.com/understudy/resque"

// Cancel wraps the error of a job that must not be tried again, whatever its
// policy says: it is recorded as failed, as Understudy::Cancelled, with err's own
// text. It works through any wrapping. Cancel(nil) is nil, which is success.
func Cancel(err error) error {
	if err == nil {
		return nil
	}
	return &cancelError{err: err}
}

type cancelError struct{ err error }

func (e *cancelError) Error() string            { return e.err.Error() }
func (e *cancelError) Unwrap() error            { return e.err }
func (*cancelError) RunOutcome() resque.Outcome { return resque.Cancelled }
func (*cancelError) ExceptionName() string      { return resque.CancelledClass }

// Discard wraps the error of a job that is neither tried again nor recorded as
// failed. It works through any wrapping. Discard(nil) is nil, which is success.
func Discard(err error) error {
	if err == nil {
		return nil
	}
	return &discardError{err: err}
}

type discardError struct{ err error }

func (e *discardError) Error() string            { return e.err.Error() }
func (e *discardError) Unwrap() error            { return e.err }
func (*discardError) RunOutcome() resque.Outcome { return resque.Discarded }

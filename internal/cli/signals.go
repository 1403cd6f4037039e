package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
)

// stopping is what a command does at TERM, INT and QUIT.
type stopping struct {
	// drain is called at a QUIT that comes first. nil: it is like the others.
	drain func()
	// hurry is called at the second signal. nil: there are no jobs to wait for,
	// and the first signal is the only one that is listened to.
	hurry func()
	// say tells of it.
	say func(format string, args ...any)
}

// untilStopped gives a context that TERM, INT or QUIT ends; done ends the
// listening. A signal that isn't listened to any more ends the process.
func (a *app) untilStopped(ctx context.Context, s stopping) (stopped context.Context, done func()) {
	stopped, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 1)
	mute := sync.OnceFunc(a.notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT))
	over, ended := make(chan struct{}), make(chan struct{})
	listen := func() os.Signal {
		select {
		case signal := <-signals:
			return signal
		case <-over:
			return nil
		}
	}
	go func() {
		defer close(ended)
		if first := listen(); first != nil {
			s.first(first, cancel, mute)
		}
		if s.hurry == nil {
			return
		}
		if second := listen(); second != nil {
			mute()
			s.say("%s: cancelling the running jobs and giving them back; once more ends at once", second)
			s.hurry()
			cancel()
		}
	}()
	return stopped, func() {
		mute()
		close(over)
		cancel()
		<-ended
	}
}

// first is the first signal.
func (s stopping) first(signal os.Signal, cancel, mute func()) {
	const again = "; once more cancels them and gives them back"
	switch {
	case s.hurry == nil:
		mute()
		s.say("%s: stopping", signal)
		cancel()
	case signal == syscall.SIGQUIT && s.drain != nil:
		s.say("%s: taking no more jobs, waiting for the running ones"+again, signal)
		s.drain()
	default:
		s.say("%s: waiting up to 10 s for the running jobs"+again, signal)
		cancel()
	}
}

// unlessStopped drops the error of work that was cut off by a stop before it had
// begun.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// say tells the person at the terminal something.
func (a *app) say(format string, args ...any) {
	_, _ = fmt.Fprintf(a.stderr, binary+": "+format+"\n", args...) // nobody listens
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// stopping is what a command does at signals.
type stopping struct {
	// drain is called at a QUIT that comes first. nil: it is like the others.
	drain func()
	// graceful makes TERM the same as QUIT (Ruby: GRACEFUL_TERM).
	graceful bool
	// hurry is called at the second signal. nil: there are no jobs to wait for,
	// and the first signal is the only one that is listened to.
	hurry func()
	// wait is how long jobs may run on after the first signal.
	wait time.Duration
	// others are further signals, each with what it does, however often it comes.
	// The context ends with the stop, which waits for what is being done.
	others map[os.Signal]func(context.Context)
	// say tells of it.
	say func(format string, args ...any)
}

// untilStopped gives a context that TERM, INT or QUIT ends; done ends the
// listening. A stop's signal that isn't listened to any more ends the process.
func (a *app) untilStopped(ctx context.Context, s stopping) (stopped context.Context, done func()) {
	stopped, cancel := context.WithCancel(ctx)
	signals, over := make(chan os.Signal, 1), make(chan struct{})
	mute := sync.OnceFunc(a.notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT))
	deafen := a.listenToOthers(stopped, s.others, over)
	ended := make(chan struct{})
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
		deafen()
	}
}

// listenToOthers answers further signals until over.
func (a *app) listenToOthers(ctx context.Context, others map[os.Signal]func(context.Context), over <-chan struct{}) (end func()) {
	if len(others) == 0 {
		return func() {}
	}
	const room = 8 // signals that arrive while one is answered
	signals, ended := make(chan os.Signal, room), make(chan struct{})
	mute := a.notify(signals, slices.Collect(maps.Keys(others))...)
	go func() {
		defer close(ended)
		for {
			select {
			case signal := <-signals:
				if answer := others[signal]; answer != nil {
					answer(ctx)
				}
			case <-over:
				return
			}
		}
	}()
	return func() {
		<-ended
		mute()
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
	case s.drain != nil && (signal == syscall.SIGQUIT || signal == syscall.SIGTERM && s.graceful):
		s.say("%s: taking no more jobs, waiting for the running ones"+again, signal)
		s.drain()
	case s.wait <= 0:
		s.say("%s: cancelling the running jobs and giving back what doesn't end", signal)
		cancel()
	default:
		s.say("%s: waiting up to %s for the running jobs"+again, signal, seconds(s.wait))
		cancel()
	}
}

// seconds is a time as people say it: 10 s, 0.5 s.
func seconds(d time.Duration) string { return fmt.Sprintf("%g s", d.Seconds()) }

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

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// untilStopped gives a context that TERM or INT ends; quit, where it isn't nil,
// is called at QUIT (else QUIT ends the context too). done ends the listening.
func (a *app) untilStopped(ctx context.Context, quit func()) (stopped context.Context, done func()) {
	stopped, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 1)
	mute := a.notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case s := <-signals:
				if s == syscall.SIGQUIT && quit != nil {
					a.say("%s: taking no more jobs, waiting for the running ones", s)
					quit()
					continue
				}
				a.say("%s: stopping", s)
				cancel()
				return
			case <-stopped.Done():
				return
			}
		}
	}()
	return stopped, func() {
		mute()
		cancel()
		<-ended
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

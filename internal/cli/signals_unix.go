//go:build unix

package cli

import (
	"context"
	"os"
	"syscall"

	"example.com/understudy/resque"
)

// workerSignals are Ruby's signals of a worker that don't stop it.
func (a *app) workerSignals(w *resque.Worker) map[os.Signal]func() {
	return map[os.Signal]func(){
		syscall.SIGUSR1: func() {
			w.CancelJobs()
			a.say("user defined signal 1: cancelling the running jobs, and going on")
		},
		syscall.SIGUSR2: func() {
			w.Pause()
			a.say("user defined signal 2: taking no more jobs until CONT")
		},
		syscall.SIGCONT: func() {
			w.Resume()
			a.say("continued: taking jobs")
		},
	}
}

// schedulerSignals are Ruby's signals of a scheduler that don't stop it.
func (a *app) schedulerSignals(ctx context.Context, p *schedulePlan) map[os.Signal]func() {
	return map[os.Signal]func(){
		syscall.SIGUSR1: func() { p.print(ctx) },
		syscall.SIGUSR2: func() { p.reload(ctx) },
	}
}

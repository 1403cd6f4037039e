//go:build unix

package cli

import (
	"context"
	"os"
	"syscall"

	"example.com/understudy/resque"
)

// workerSignals are Ruby's signals of a worker that don't stop it.
func (a *app) workerSignals(w *resque.Worker) map[os.Signal]func(context.Context) {
	return map[os.Signal]func(context.Context){
		syscall.SIGUSR1: func(context.Context) {
			w.CancelJobs()
			a.say("user defined signal 1: cancelling the running jobs, and going on")
		},
		syscall.SIGUSR2: func(context.Context) {
			w.Pause() //nolint:contextcheck // its hook has none
			a.say("user defined signal 2: taking no more jobs until CONT")
		},
		syscall.SIGCONT: func(context.Context) {
			w.Resume() //nolint:contextcheck // its hook has none
			a.say("continued: taking jobs")
		},
	}
}

// schedulerSignals are Ruby's signals of a scheduler that don't stop it.
func (a *app) schedulerSignals(p *schedulePlan) map[os.Signal]func(context.Context) {
	return map[os.Signal]func(context.Context){
		syscall.SIGUSR1: p.print,
		syscall.SIGUSR2: p.reload,
	}
}

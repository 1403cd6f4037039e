//go:build !unix

package cli

import (
	"context"
	"os"

	"example.com/understudy/resque"
)

// workerSignals are Ruby's signals of a worker that don't stop it: there are none
// on this system.
func (a *app) workerSignals(*resque.Worker) map[os.Signal]func(context.Context) { return nil }

// schedulerSignals are those of a scheduler.
func (a *app) schedulerSignals(*schedulePlan) map[os.Signal]func(context.Context) { return nil }

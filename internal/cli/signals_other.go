//go:build !unix

package cli

import (
	"os"

	"example.com/understudy/resque"
)

// workerSignals are Ruby's signals of a worker that don't stop it: there are none
// on this system.
func (a *app) workerSignals(*resque.Worker) map[os.Signal]func() { return nil }

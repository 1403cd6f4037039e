package redistest

import (
	"testing"

	"go.uber.org/goleak"
)

// Main is a package's TestMain: it runs the tests, ends the shared server, and
// fails the run when goroutines were left over.
func Main(m *testing.M) { goleak.VerifyTestMain(runner{m}) }

type runner struct{ m *testing.M }

func (r runner) Run() int {
	defer sharedServer.stop()
	return r.m.Run()
}

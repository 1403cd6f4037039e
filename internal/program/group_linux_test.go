package program_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// inherit makes this process the one that gets the children of those that end, as
// process 1 of a container is.
func inherit(t *testing.T) {
	t.Helper()
	const setChildSubreaper = 36
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0); errno != 0 {
		t.Skipf("prctl: %v", errno)
	}
}

// TestProgramIsNotHeldUpByItsDead: a child that outlives its parent and then ends
// is nobody's to wait for but ours; its remains don't use up the grace.
func TestProgramIsNotHeldUpByItsDead(t *testing.T) {
	t.Parallel()
	inherit(t)
	gate := filepath.Join(t.TempDir(), "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	const grace = 20 * time.Second
	out := newCollector()
	handler := shell(`trap 'echo gone; exit 1' TERM; (trap '' TERM; echo ready; read line <"$0") & wait`)
	handler.Command = append(handler.Command, gate)
	handler.Output, handler.Grace = out, grace
	ctx, cancel := context.WithCancel(t.Context())
	ended, began := make(chan error, 1), time.Now()
	go func() { ended <- handler.Perform(ctx, job("")) }()
	<-out.lines
	cancel()
	<-out.lines // the program waits for nobody any more
	if err := os.WriteFile(gate, []byte("go\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("the program succeeded")
	}
	if took := time.Since(began); took >= grace {
		t.Errorf("took %v", took)
	}
}

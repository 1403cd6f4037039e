//go:build unix

package program_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/understudy/resque"
)

// endLeftBehind ends the process whose id a program printed on a line of its own.
func endLeftBehind(t *testing.T, out *collector) {
	t.Helper()
	for line := range strings.Lines(out.text.String()) {
		pid, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, "DeliverSMS: ")))
		if err != nil {
			continue
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Errorf("the process left behind was touched: %v", err)
		}
		return
	}
	t.Error("the program named no process")
}

// TestProgramTakesItsGroupAlong has a child that ignores TERM and outlives its
// parent; it holds a pipe open for as long as it lives.
func TestProgramTakesItsGroupAlong(t *testing.T) {
	t.Parallel()
	for name, cause := range map[string]error{"timeout": resque.ErrTimeout, "stop": resque.ErrStopping, "context": context.Canceled} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "alive")
			if err := syscall.Mkfifo(path, 0o600); err != nil {
				t.Fatal(err)
			}
			out := newCollector()
			handler := shell(`(trap '' TERM; echo ready; exec sleep 1000) 3>"$0" & wait`)
			handler.Command = append(handler.Command, path)
			handler.Output, handler.Grace = out, 20*time.Millisecond
			ctx, cancel := context.WithCancelCause(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- handler.Perform(ctx, job("")) }()
			alive, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = alive.Close() })
			<-out.lines
			cancel(cause)
			if err := <-ended; !errors.Is(err, cause) {
				t.Errorf("got %v", err)
			}
			if err := alive.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
				t.Fatal(err)
			}
			if n, err := alive.Read(make([]byte, 1)); n != 0 || err != io.EOF {
				t.Errorf("the child lives on: %v", err)
			}
		})
	}
}

//go:build unix

package program_test

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
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

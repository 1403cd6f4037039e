package cli_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/understudy/internal/cli"
	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
)

func TestDemoOnce(t *testing.T) {
	t.Parallel()
	began := time.Now()
	got := run(t, command{args: words("demo --once")})
	if got.number != 0 || got.stderr != "" {
		t.Fatalf("ends with %d: %s", got.number, got.stderr)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
	lines := strings.Split(strings.TrimSpace(got.stdout), "\n")
	for _, line := range append(lines[:3:3], lines[len(lines)-5:]...) {
		if len(line) > 80 {
			t.Errorf("%d letters: %s", len(line), line)
		}
	}
	// What a person must be able to see, in this order.
	for _, story := range [][]string{
		{"WelcomeMail  runs", "WelcomeMail  succeeds at the first try"},
		{"DeliverSMS   runs", "DeliverSMS   fails with NetworkError: no way to +4912345; again in ", "DeliverSMS   runs (retry 1)", "DeliverSMS   succeeds at try 2"},
		{"SyncStock    fails with NetworkError", "SyncStock    runs (retry 1)", "SyncStock    fails", "SyncStock    runs (retry 2)", "SyncStock    succeeds at try 3"},
		{"ChargeCard   fails for good with CardDeclined: the bank refuses 19.90"},
		{"ResizeImage  fails with RuntimeError: no decoder for cat.png; again in ", "ResizeImage  fails for good with RuntimeError"},
		{"5 jobs in 9 runs: 3 succeeded, 2 of them after retries; 2 failed for good.", "stat:processed 9, stat:failed 6 (each failed try counts, as in Ruby),\n  2 records in failed", "0 jobs waiting"},
	} {
		rest := got.stdout
		for _, text := range story {
			_, after, found := strings.Cut(rest, text)
			if !found {
				t.Errorf("%q is missing, or out of order, in\n%s", text, got.stdout)
				break
			}
			rest = after
		}
	}
}

func TestDemoOnAnotherRedisUntilItIsStopped(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	signals, stdout := make(chan os.Signal), newWatched()
	ended := make(chan result, 1)
	go func() { ended <- run(t, command{args: on(s, "demo"), signals: signals, stdout: stdout}) }()
	stdout.await(t, "WelcomeMail  runs")
	signals <- syscall.SIGTERM
	got := <-ended
	if got.number != 0 || !strings.Contains(got.stdout, "Ctrl-C ends it.") || !strings.Contains(got.stdout, "jobs in ") {
		t.Errorf("ends with %d: %s%s", got.number, got.stdout, got.stderr)
	}
	if n := s.Do("SCARD", s.Key("workers")); n != int64(0) {
		t.Errorf("%v workers are left", n)
	}
}

// TestBoard draws the table of the demo, as a terminal shows it.
func TestBoard(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	b := cli.NewBoard(&out, true)
	cli.BoardTitle(b, "The demo.", true)
	jobs := []resque.NewJob{{Class: "Good", Queue: "q"}, {Class: "Slow", Queue: "q"}, {Class: "Bad", Queue: "q"}, {Class: "Next", Queue: "q"}}
	cli.BoardBegin(b, jobs)
	perform := func(class string, attempt int64, err error) {
		handler := cli.BoardWatch(b, resque.HandlerFunc(func(context.Context, *resque.Job) error { return err }))
		if got := handler.Perform(t.Context(), &resque.Job{Class: class, Attempt: attempt}); !errors.Is(got, err) {
			t.Errorf("the view turned %v into %v", err, got)
		}
	}
	fail := func(class, message string, pending bool, at time.Time) {
		f := &resque.Failure{Job: &resque.Job{Class: class}, Exception: "NetworkError", Message: message, FailedAt: at, RetryPending: pending, RetryDelay: 60 * time.Second}
		if err := cli.BoardFailed(b, t.Context(), f); err != nil {
			t.Error(err)
		}
	}
	now := time.Now().Truncate(time.Second)
	perform("Good", 0, nil)
	perform("Slow", 0, errors.New("x"))
	fail("Slow", strings.Repeat("ä", 100), true, now)
	perform("Bad", 1, errors.New("x"))
	fail("Bad", "gone", false, now)
	cli.BoardDraw(b, now.Add(30*time.Second))
	first := out.String()
	for _, line := range []string{
		"A worker with 3 slots and a scheduler at work.\nThe demo.\n\n",
		"  ✓ Good         succeeded  at the first try\x1b[K\n",
		"  … Slow         waits      NetworkError: " + strings.Repeat("ä", 18) + "…; again in 30.0 s\x1b[K\n",
		"  ✗ Bad          failed     NetworkError: gone\x1b[K\n",
		"  … Next         waits      in queue q\x1b[K\n",
		" 3 runs\x1b[K\n",
	} {
		if !strings.Contains(first, line) {
			t.Errorf("%q is missing in\n%q", line, first)
		}
	}
	for line := range strings.Lines(first) {
		if width := len([]rune(strings.TrimSuffix(line, "\x1b[K\n"))); width > 78 {
			t.Errorf("%d letters wide: %q", width, line)
		}
	}
	if strings.Contains(first, "\x1b[6A") {
		t.Error("the first table is drawn over something")
	}
	out.Reset()
	cli.BoardDraw(b, now.Add(90*time.Second))
	if second := out.String(); !strings.HasPrefix(second, "\x1b[?7l\r\x1b[6A") || !strings.HasSuffix(second, "\x1b[J\x1b[?7h") || !strings.Contains(second, "again in 0.0 s") {
		t.Errorf("the second table is %q", second)
	}
	// What is said while the table stands goes below it.
	out.Reset()
	cli.BoardRemark(b, "%s: waiting; once more hurries", "interrupt")
	cli.BoardDraw(b, now)
	cli.BoardDraw(b, now)
	if third := out.String(); strings.Count(third, " 3 runs\x1b[K\n  interrupt: waiting\x1b[K\n  once more hurries\x1b[K\n") != 2 || !strings.Contains(third, "\x1b[8A") {
		t.Errorf("with a remark the table is %q", third)
	}
	out.Reset()
	cli.BoardEnd(b, "That is all.")
	if end := out.String(); !strings.Contains(end, "4 jobs in 3 runs: 1 succeeded, 0 of them after retries; 1 failed for good.\nThat is all.\n") {
		t.Errorf("the end is %q", end)
	}
}

package program_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/understudy/internal/program"
	"example.com/understudy/resque"
)

func shell(script string) *program.Handler {
	return &program.Handler{Command: []string{"/bin/sh", "-c", script}}
}

func job(payload string) *resque.Job {
	return &resque.Job{Class: "DeliverSMS", Queue: "mt_messages", Attempt: 3, WorkerID: "h.go:1-a-0:*", Payload: []byte(payload)}
}

// collector is an Output that tests can wait on.
type collector struct {
	mu    sync.Mutex
	text  bytes.Buffer
	lines chan string // buffered
}

func newCollector() *collector { return &collector{lines: make(chan string, 100)} }

func (c *collector) Write(line []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case c.lines <- string(line):
	default:
	}
	return c.text.Write(line)
}

func TestProgramFails(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, script string
		exception    string
		ancestors    string // with the class itself
		message      string
		backtrace    string
	}{
		{"plain line", `echo one >&2; echo "  two  " >&2; echo " " >&2; exit 1`, "RuntimeError", "RuntimeError StandardError", "two", ""},
		{"no line end", `printf 'a\nlast' >&2; exit 1`, "RuntimeError", "RuntimeError StandardError", "last", ""},
		{"silence", `echo on stdout; exit 7`, "RuntimeError", "RuntimeError StandardError", "exit status 7", ""},
		{"only blanks", `printf '\n \n' >&2; exit 2`, "RuntimeError", "RuntimeError StandardError", "exit status 2", ""},
		{
			"object", `echo '{"exception":"NetworkError","ancestors":["IOError","StandardError"],"error":"unreachable","backtrace":["a.py:1","b.py:2"]}' >&2; exit 1`,
			"NetworkError", "NetworkError IOError StandardError", "unreachable", "a.py:1 b.py:2",
		},
		{"object with a name only", `echo '{"exception":"NetworkError"}' >&2; exit 1`, "NetworkError", "NetworkError StandardError", "NetworkError", ""},
		{"object with a text only", `echo '{"error":"boom"}' >&2; exit 1`, "RuntimeError", "RuntimeError StandardError", "boom", ""},
		{"root added", `echo '{"exception":"A","ancestors":["B","A",""],"error":"x"}' >&2; exit 1`, "A", "A B StandardError", "x", ""},
		{"root further down", `echo '{"exception":"A","ancestors":["StandardError","Exception"],"error":"x"}' >&2; exit 1`, "A", "A StandardError Exception", "x", ""},
		{"root itself", `echo '{"exception":"StandardError","error":"x"}' >&2; exit 1`, "StandardError", "StandardError", "x", ""},
		{"wrong types", `echo '{"exception":"A","ancestors":"B","error":{"code":1},"backtrace":"here"}' >&2; exit 1`, "A", "A StandardError", "A", ""},
		{"a log line", `echo '{"level":"error","msg":"boom"}' >&2; exit 1`, "RuntimeError", "RuntimeError StandardError", `{"level":"error","msg":"boom"}`, ""},
		{"cut object", `echo '{"exception":"A"' >&2; exit 1`, "RuntimeError", "RuntimeError StandardError", `{"exception":"A"`, ""},
		{"array", `echo '["A"]' >&2; exit 1`, "RuntimeError", "RuntimeError StandardError", `["A"]`, ""},
		{"invalid UTF-8", `printf 'a\377b\n' >&2; exit 1`, "RuntimeError", "RuntimeError StandardError", "a\uFFFDb", ""},
		{"progress bar", `printf '10%%\r20%%\r\n' >&2; exit 1`, "RuntimeError", "RuntimeError StandardError", "10%\r20%", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := shell(tt.script).Perform(t.Context(), job(""))
			got := resque.DescribeError(err)
			if got.Name != tt.exception || got.Message != tt.message {
				t.Errorf("error %s: %q, want %s: %q", got.Name, got.Message, tt.exception, tt.message)
			}
			if ancestors := strings.Join(got.Ancestors, " "); ancestors != tt.ancestors {
				t.Errorf("ancestors %q, want %q", ancestors, tt.ancestors)
			}
			if backtrace := strings.Join(got.Backtrace, " "); backtrace != tt.backtrace {
				t.Errorf("backtrace %q, want %q", backtrace, tt.backtrace)
			}
		})
	}
}

func TestProgramSeesTheJob(t *testing.T) {
	t.Parallel()
	handler := shell(`printf '%s|' "$0" "$RESQUE_CLASS" "$RESQUE_QUEUE" "$RESQUE_ATTEMPT" "$RESQUE_WORKER" "$PWD"; cat; exit 0`)
	handler.Command = append(handler.Command, "an argument; with $(signs)")
	handler.Dir = t.TempDir()
	out := newCollector()
	handler.Output = out
	payload := "{\"class\":\"DeliverSMS\",\"args\":[\"\xff\"]}"
	if err := handler.Perform(t.Context(), job(payload)); err != nil {
		t.Fatal(err)
	}
	want := "DeliverSMS: an argument; with $(signs)|DeliverSMS|mt_messages|3|h.go:1-a-0:*|" + handler.Dir + "|" + payload + "\n"
	if got := out.text.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestProgramOutputComesInLines(t *testing.T) {
	t.Parallel()
	out := newCollector()
	handler := shell(`echo one; printf two >&2`)
	handler.Output = out
	if err := handler.Perform(t.Context(), job("")); err != nil {
		t.Fatal(err)
	}
	got := out.text.String()
	if !strings.Contains(got, "DeliverSMS: one\n") || !strings.Contains(got, "DeliverSMS: two\n") {
		t.Errorf("got %q", got)
	}
}

// TestProgramEnds has programs that behave badly; each must end all the same.
func TestProgramEnds(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 4<<20)
	tests := []struct {
		name, script, payload string
		says                  string // "": success
	}{
		{"never reads its input", `exit 0`, big, ""},
		{"closes its input", `exec <&-; exit 0`, big, ""},
		{"floods standard error", `yes "$(head -c 8191 /dev/zero | tr '\0' x)" | head -n 1000 >&2; echo done >&2; exit 1`, "", "done"},
		{"floods it with one line", `head -c 8000000 /dev/zero | tr '\0' x >&2; exit 1`, "", strings.Repeat("x", 100)},
		{"floods standard output", `head -c 8000000 /dev/zero`, "", ""},
		{"leaves a child that holds the pipes", `sleep 1000 & echo $! ; exit 0`, "", ""},
		{"leaves a child that goes on writing", `(trap '' PIPE; while :; do echo more; done) >&2 & echo $!; exit 0`, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out := newCollector()
			handler := shell(tt.script)
			handler.Output = out
			err := handler.Perform(t.Context(), job(tt.payload))
			if strings.HasPrefix(tt.name, "leaves") {
				endLeftBehind(t, out)
			}
			switch {
			case tt.says == "" && err != nil:
				t.Errorf("failed: %.100v", err)
			case tt.says != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.says)):
				t.Errorf("error %.100v, want %.100s", err, tt.says)
			case err != nil && len(err.Error()) > 256<<10:
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
		})
	}
}

func TestProgramKilledBySignal(t *testing.T) {
	t.Parallel()
	err := shell(`echo saved >&2; kill -9 $$`).Perform(t.Context(), job(""))
	got := resque.DescribeError(err)
	if got.Name != "Resque::DirtyExit" || strings.Join(got.Ancestors, " ") != "Resque::DirtyExit RuntimeError StandardError" {
		t.Errorf("error %s of %v", got.Name, got.Ancestors)
	}
	if !strings.HasPrefix(got.Message, "Child process received unhandled signal pid ") || !strings.HasSuffix(got.Message, " SIGKILL (signal 9)") {
		t.Errorf("message %q", got.Message)
	}
}

func TestProgramThatCannotStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, command, exception, says string
		class                          string
	}{
		{"missing", filepath.Join(dir, "missing"), "Errno::ENOENT", "no such file or directory", "X"},
		{"not in PATH", "no-such-program-anywhere", "Errno::ENOENT", "executable file not found", "X"},
		{"not executable", plain, "Errno::EACCES", "permission denied", "X"},
		{"a class no environment can hold", "/bin/sh", "SystemCallError", "NUL", "X\x00Y"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			handler := &program.Handler{Command: []string{tt.command}}
			err := handler.Perform(t.Context(), &resque.Job{Class: tt.class})
			got := resque.DescribeError(err)
			if got.Name != tt.exception || !strings.HasPrefix(got.Message, "can't start "+tt.command+": ") || !strings.Contains(got.Message, tt.says) {
				t.Errorf("error %s: %s", got.Name, got.Message)
			}
			if !strings.HasSuffix(strings.Join(got.Ancestors, " "), "SystemCallError StandardError") {
				t.Errorf("ancestors %v", got.Ancestors)
			}
		})
	}
}

func TestProgramIsCancelled(t *testing.T) {
	t.Parallel()
	errStop := errors.New("stop")
	tests := []struct {
		name, script string
		cause        error
		grace        time.Duration
		exception    string // "": success
		says         string
	}{
		{"ends at TERM", `echo ready; exec sleep 1000`, errStop, time.Minute, "Resque::DirtyExit", "SIGTERM"},
		{"its children end too", `sleep 1000 & echo ready; wait`, errStop, time.Minute, "Resque::DirtyExit", "SIGTERM"},
		{"tidies up", `trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done`, errStop, time.Minute, "", ""},
		{"says why", `trap 'echo "{\"exception\":\"Interrupt\",\"error\":\"half done\"}" >&2; exit 1' TERM; echo ready; while :; do sleep 0.01; done`, errStop, time.Minute, "Interrupt", "half done"},
		{"ignores TERM", `trap '' TERM; echo ready; while :; do sleep 1000; done`, errStop, 20 * time.Millisecond, "Resque::DirtyExit", "SIGKILL"},
		{"gets no grace", `trap '' TERM; echo ready; while :; do sleep 1000; done`, errStop, -1, "Resque::DirtyExit", "SIGKILL"},
		{"a child ignores TERM", `(trap '' TERM; echo ready; while :; do sleep 1000; done) & wait`, errStop, 20 * time.Millisecond, "Resque::DirtyExit", "SIGTERM"},
		{"timeout", `echo ready; exec sleep 1000`, resque.ErrTimeout, time.Minute, "Timeout::Error", "SIGTERM"},
		{"tidies up at its timeout", `trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done`, resque.ErrTimeout, time.Minute, "Timeout::Error", "execution expired"},
		{"deadline of a plain context", `echo ready; exec sleep 1000`, context.DeadlineExceeded, time.Minute, "Timeout::Error", "SIGTERM"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			out := newCollector()
			handler := shell(tt.script)
			handler.Output, handler.Grace = out, tt.grace
			ended := make(chan error, 1)
			go func() { ended <- handler.Perform(ctx, job("")) }()
			<-out.lines
			cancel(tt.cause)
			err := <-ended
			if tt.exception == "" {
				if err != nil {
					t.Errorf("failed: %v", err)
				}
				return
			}
			if !errors.Is(err, tt.cause) {
				t.Errorf("%v doesn't wrap the cause", err)
			}
			if got := resque.DescribeError(err); got.Name != tt.exception || !strings.Contains(got.Message, tt.says) {
				t.Errorf("error %s: %s", got.Name, got.Message)
			}
		})
	}
}

func TestProgramIsNotStartedAfterACancel(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	marker := filepath.Join(t.TempDir(), "ran")
	err := shell(`touch `+marker).Perform(ctx, job(""))
	if _, statErr := os.Stat(marker); !errors.Is(err, context.Canceled) || statErr == nil {
		t.Errorf("error %v, ran: %v", err, statErr == nil)
	}
}

package resque_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"example.com/understudy/resque"
)

// classed is an error that tells its Ruby class.
type classed struct {
	name      string
	ancestors []string
	inner     error
}

func (e *classed) Error() string         { return "classed" }
func (e *classed) ExceptionName() string { return e.name }
func (e *classed) Ancestors() []string   { return e.ancestors }
func (e *classed) Unwrap() error         { return e.inner }

// typed has nothing but its type.
type typed struct{ inner error }

func (e typed) Error() string { return "typed" }
func (e typed) Unwrap() error { return e.inner }

type outcome struct{ error }

func (outcome) RunOutcome() resque.Outcome { return resque.Discarded }
func (o outcome) Unwrap() error            { return o.error }

func TestDescribeErrorNames(t *testing.T) {
	t.Parallel()
	plain := errors.New("boom")
	network := &classed{name: "NetworkError"}
	op := &net.OpError{Op: "dial", Err: network}
	tests := []struct {
		name string
		err  error
		want string
	}{
		{name: "nothing", want: "RuntimeError StandardError"},
		{name: "a plain error", err: plain, want: "RuntimeError StandardError"},
		{name: "plain errors joined", err: errors.Join(plain, fmt.Errorf("x: %w", plain)), want: "RuntimeError StandardError"},
		{name: "its own name", err: network, want: "NetworkError StandardError"},
		{name: "its own name, wrapped", err: fmt.Errorf("x: %w", network), want: "NetworkError StandardError"},
		{name: "its own name, in a join", err: errors.Join(plain, network), want: "NetworkError StandardError"},
		{name: "the first name, depth first", err: errors.Join(fmt.Errorf("x: %w", &classed{name: "A"}), network), want: "A StandardError"},
		{name: "two wrapped at once", err: fmt.Errorf("%w, %w", plain, network), want: "NetworkError StandardError"},
		{name: "a name beats a type before it", err: op, want: "NetworkError StandardError"},
		{name: "a type", err: &net.OpError{Op: "dial", Err: plain}, want: "net.OpError StandardError"},
		{name: "a type, wrapped", err: fmt.Errorf("x: %w", &fs.PathError{Err: plain}), want: "fs.PathError StandardError"},
		{name: "the first type", err: &typed{inner: &fs.PathError{Err: plain}}, want: "resque_test.typed StandardError"},
		{name: "a type without a pointer", err: typed{}, want: "resque_test.typed StandardError"},
		{name: "an outcome only wraps", err: outcome{plain}, want: "RuntimeError StandardError"},
		{name: "an empty name is none", err: &classed{inner: network}, want: "NetworkError StandardError"},
		{name: "ancestors", err: &classed{name: "A", ancestors: []string{"B", "C"}}, want: "A B C StandardError"},
		{name: "ancestors with itself", err: &classed{name: "A", ancestors: []string{"A", "StandardError", "Exception"}}, want: "A StandardError Exception"},
		{name: "ancestors that end elsewhere", err: &classed{name: "T", ancestors: []string{"SignalException", "Exception"}}, want: "T SignalException Exception"},
		{name: "ancestors that name nothing", err: &classed{name: "A", ancestors: []string{}}, want: "A StandardError"},
		{name: "ancestors of another error", err: &classed{name: "A", inner: &classed{name: "B", ancestors: []string{"C"}}}, want: "A StandardError"},
		{name: "a name that is not UTF-8", err: &classed{name: "A\xff"}, want: "A\uFFFD StandardError"},
		{name: "a timeout", err: resque.ErrTimeout, want: "Timeout::Error RuntimeError StandardError"},
		{name: "a timeout, as the worker says it", err: fmt.Errorf("%w: %w", resque.ErrTimeout, context.DeadlineExceeded), want: "Timeout::Error RuntimeError StandardError"},
		{name: "a dirty exit", err: resque.DirtyExit{}, want: "Resque::DirtyExit RuntimeError StandardError"},
		{name: "a pruned worker", err: resque.PruneDeadWorkerDirtyExit{}, want: "Resque::PruneDeadWorkerDirtyExit Resque::DirtyExit RuntimeError StandardError"},
		{name: "a panic", err: &resque.PanicError{Value: "boom"}, want: "RuntimeError StandardError"},
		{name: "a panic of a plain error", err: &resque.PanicError{Value: plain}, want: "RuntimeError StandardError"},
		{name: "a panic of an error", err: &resque.PanicError{Value: network}, want: "NetworkError StandardError"},
		{name: "an error within itself", err: endless{}, want: "resque_test.endless StandardError"},
		{name: "methods that panic", err: rude{}, want: "resque_test.rude StandardError"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := resque.DescribeError(test.err)
			if got := strings.Join(e.Ancestors, " "); got != test.want || e.Name != e.Ancestors[0] {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if e.Backtrace == nil {
				t.Error("the backtrace is nil")
			}
		})
	}
}

type endless struct{}

func (endless) Error() string { return "endless" }
func (endless) Unwrap() error { return endless{} }

type rude struct{}

func (rude) Error() string         { panic("no text") }
func (rude) ExceptionName() string { panic("no name") }
func (rude) Ancestors() []string   { panic("no ancestors") }
func (rude) Backtrace() []string   { panic("no backtrace") }
func (rude) Unwrap() error         { panic("nothing inside") }

func TestDescribeErrorTexts(t *testing.T) {
	t.Parallel()
	var null *typed
	tests := []struct {
		name string
		err  error
		want string
	}{
		{name: "the whole chain's", err: fmt.Errorf("sending: %w", &classed{}), want: "sending: classed"},
		{name: "not UTF-8", err: errors.New("a\xffb"), want: "a\uFFFDb"},
		{name: "a dirty exit", err: resque.DirtyExit{}, want: "Job still being processed"},
		{name: "a dirty exit with a text", err: resque.DirtyExit{Message: "killed"}, want: "killed"},
		{name: "a pruned worker", err: resque.PruneDeadWorkerDirtyExit{WorkerID: "h:1:q", Class: "X"}, want: "Worker h:1:q did not gracefully exit while processing X"},
		{name: "a pruned worker with nothing in hand", err: resque.PruneDeadWorkerDirtyExit{WorkerID: "h:1:q"}, want: "Worker h:1:q did not gracefully exit while processing <Unknown Job>"},
		{name: "a panic", err: &resque.PanicError{Value: 5}, want: "5"},
		{name: "a panic of an error", err: &resque.PanicError{Value: errors.New("boom")}, want: "boom"},
		{name: "a panic of an error that panics", err: &resque.PanicError{Value: null}, want: "<nil>"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if e := resque.DescribeError(test.err); e.Message != test.want {
				t.Errorf("got %q, want %q", e.Message, test.want)
			}
		})
	}
}

type traced struct {
	text  string
	lines []string
}

func (e traced) Error() string       { return e.text }
func (e traced) Backtrace() []string { return e.lines }

func TestDescribeErrorTakesBacktraces(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("x: %w", errors.Join(traced{}, traced{lines: []string{"job.rb:1", "bad\xff"}}))
	if got := resque.DescribeError(err).Backtrace; !slices.Equal(got, []string{"job.rb:1", "bad\uFFFD"}) {
		t.Errorf("got %q", got)
	}
}

func TestErrorTextsAreCapped(t *testing.T) {
	t.Parallel()
	const limit = 256_000
	many := make([]string, 100_000)
	for i := range many {
		many[i] = "some/file.go:12:in `somewhere'"
	}
	tests := []struct {
		name     string
		err      error
		message  int // at least
		lines    int // at least
		complete bool
	}{
		{name: "short", err: traced{text: "boom", lines: []string{"a"}}, message: 4, lines: 1, complete: true},
		{name: "at the limit", err: errors.New(strings.Repeat("x", limit-4)), message: limit - 4, complete: true},
		{name: "over the limit", err: errors.New(strings.Repeat("x", limit-3)), message: limit - 4},
		{name: "50 MB of letters", err: errors.New(strings.Repeat("ü", 25<<20)), message: limit - 5},
		{name: "50 MB of quotes", err: errors.New(strings.Repeat(`"`, 50<<20)), message: limit/2 - 2},
		{name: "50 MB of control characters", err: errors.New(strings.Repeat("\x01", 50<<20)), message: limit/6 - 1},
		{name: "50 MB that are not UTF-8", err: errors.New(strings.Repeat("\xff", 50<<20)), message: limit - 8},
		{name: "a long backtrace", err: traced{text: "boom", lines: many}, message: 4, lines: 7000},
		{name: "both long", err: traced{text: strings.Repeat("x", limit), lines: many}, message: limit / 2, lines: 1000},
		{name: "one endless line", err: traced{text: "boom", lines: []string{strings.Repeat("漢", limit)}}, message: 4, lines: 1},
		{name: "empty lines", err: traced{text: "boom", lines: make([]string, 1<<20)}, message: 4, lines: 80_000},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := resque.DescribeError(test.err)
			if size := len(plainJSON(t, e.Message)) + len(plainJSON(t, e.Backtrace)); size > limit {
				t.Errorf("%d bytes", size)
			}
			if !utf8.ValidString(e.Message) || !utf8.ValidString(strings.Join(e.Backtrace, "")) {
				t.Error("it is not UTF-8")
			}
			if len(e.Message) < test.message || len(e.Backtrace) < test.lines {
				t.Errorf("too much is gone: %d bytes, %d lines", len(e.Message), len(e.Backtrace))
			}
			if test.complete && e.Message != test.err.Error() {
				t.Error("it was cut")
			}
		})
	}
}

// plainJSON is JSON with no more escapes than Ruby's.
func plainJSON(t *testing.T, v any) []byte {
	t.Helper()
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return []byte(strings.TrimSuffix(b.String(), "\n"))
}

func TestATimeoutIsADeadline(t *testing.T) {
	t.Parallel()
	if !errors.Is(resque.ErrTimeout, context.DeadlineExceeded) || errors.Is(resque.ErrTimeout, context.Canceled) {
		t.Error("a timeout is a passed deadline")
	}
}

// recovered is what a worker makes of a panic in f.
func recovered(f func()) (err *resque.PanicError) {
	defer func() { err = resque.NewPanicError(recover()) }()
	f()
	return nil
}

func TestPanicBacktraceBeginsWhereItHappened(t *testing.T) {
	t.Parallel()
	_, here, _, _ := runtime.Caller(0)
	var null *time.Location
	var list []int
	tests := map[string]func(){
		"panic":        func() { panic("boom") },
		"nil pointer":  func() { _ = *null },
		"out of range": func() { _ = list[5] },
		"a panic while panicking": func() {
			defer func() { panic("second") }()
			panic("first")
		},
	}
	for name, f := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines := recovered(f).Backtrace()
			if len(lines) == 0 {
				t.Fatal("no backtrace")
			}
			if first := lines[0]; !strings.HasPrefix(first, here+":") || !strings.Contains(first, "in `resque_test.TestPanic") || filepath.Base(here) != "exception_test.go" {
				t.Errorf("it begins %s", first)
			}
			if last := lines[len(lines)-1]; strings.Contains(last, "runtime.") {
				t.Errorf("it ends %s", last)
			}
		})
	}
}

func TestLineageGoesDepthFirst(t *testing.T) {
	t.Parallel()
	a, b := &classed{name: "A", ancestors: []string{"B"}}, typed{}
	err := errors.Join(fmt.Errorf("x: %w", a), b)
	var got []string
	for _, link := range resque.ErrorLineage(err) {
		got = append(got, strings.Join(link.Names, "<"))
	}
	if want := []string{"", "", "A<B", "resque_test.typed", "StandardError<Exception"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

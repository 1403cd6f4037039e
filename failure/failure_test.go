package failure_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/understudy/failure"
	"example.com/understudy/resque"
)

const (
	record       = `{"failed_at":"2026/01/02 03:04:05 UTC","payload":{"class":"X","args":[7]},"exception":"E","error":"boom","backtrace":[],"worker":"h:1:q","queue":"q"}`
	recordNoZone = `{"failed_at":"2026/01/02 03:04:05","payload":{"class":"X","args":[7]},"exception":"E","error":"boom","backtrace":[],"worker":"h:1:q","queue":"q"}`
)

var errBackend = errors.New("backend away")

func failed(change func(*resque.Failure)) *resque.Failure {
	f := &resque.Failure{
		Job:       &resque.Job{Class: "X", Payload: []byte(`{"class":"X","args":[7]}`), Queue: "q", WorkerID: "h:1:q"},
		FailedAt:  time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Exception: "E", Message: "boom", RetryKey: "resque-retry:X:1",
	}
	if change != nil {
		change(f)
	}
	return f
}

// broken is a backend with its own writes, errors and panics.
type broken struct {
	writes []resque.Write
	err    error
	panics bool
}

func (b broken) Writes(*resque.Failure) ([]resque.Write, error) {
	if b.panics {
		panic("backend broke")
	}
	return b.writes, b.err
}

func (b broken) Notify(context.Context, *resque.Failure) error {
	if b.panics {
		panic("backend broke")
	}
	return b.err
}

// text shows writes as a person would type them.
func text(writes []resque.Write) string {
	var lines []string
	for _, w := range writes {
		lines = append(lines, strings.Join(append([]string{w.Command, w.Key}, w.Args...), " "))
	}
	return strings.Join(lines, "\n")
}

func TestWrites(t *testing.T) {
	t.Parallel()
	waiting := func(delay time.Duration) func(*resque.Failure) {
		return func(f *resque.Failure) { f.RetryPending, f.RetryDelay = true, delay }
	}
	list := "RPUSH failed " + record
	perQueue := "SADD failed_queues q_failed\nRPUSH q_failed " + record
	forget := "DEL failure-resque-retry:X:1"
	half := broken{writes: []resque.Write{{Command: "DEL", Key: "half"}}, err: errBackend}
	tests := []struct {
		name    string
		backend resque.FailureBackend
		change  func(*resque.Failure)
		want    string
		errs    string
	}{
		{name: "list", backend: failure.List{}, want: list},
		{name: "list, with a retry pending", backend: failure.List{}, change: waiting(time.Minute), want: list},
		{name: "list per queue", backend: failure.ListPerQueue{}, want: perQueue},
		{name: "several", backend: failure.Several(failure.List{}, failure.ListPerQueue{}), want: list + "\n" + perQueue},
		{name: "several, none given", backend: failure.Several(), want: list},
		{name: "several, one fails half", backend: failure.Several(half, failure.List{}), want: "DEL half\n" + list, errs: "backend away"},
		{
			name: "several, one panics and one fails", backend: failure.Several(broken{panics: true}, failure.List{}, broken{err: errBackend}),
			want: list, errs: "backend broke & backend away",
		},
		{name: "suppressing, failed for good", backend: failure.SuppressRetries(failure.List{}), want: forget + "\n" + list},
		{name: "suppressing, over lists per queue", backend: failure.SuppressRetries(failure.ListPerQueue{}), want: forget + "\n" + perQueue},
		{name: "suppressing, over nothing named", backend: failure.SuppressRetries(nil), want: forget + "\n" + list},
		{
			name: "suppressing, a class without a counter", backend: failure.SuppressRetries(failure.List{}),
			change: func(f *resque.Failure) { f.RetryKey = "" }, want: list,
		},
		{
			name: "suppressing, waiting", backend: failure.SuppressRetries(failure.List{}), change: waiting(7 * time.Second),
			want: "SETEX failure-resque-retry:X:1 14 " + recordNoZone,
		},
		{name: "suppressing, again at once", backend: failure.SuppressRetries(failure.List{}), change: waiting(0)},
		{name: "suppressing, again before now", backend: failure.SuppressRetries(failure.List{}), change: waiting(-time.Minute)},
		{
			name: "suppressing, pending without a counter", backend: failure.SuppressRetries(failure.List{}),
			change: func(f *resque.Failure) { f.RetryPending, f.RetryKey = true, "" }, want: list,
		},
		{name: "suppressing, over one that fails", backend: failure.SuppressRetries(broken{err: errBackend}), errs: "backend away"},
		{name: "suppressing, over one that fails half", backend: failure.SuppressRetries(half), want: forget + "\nDEL half", errs: "backend away"},
		{name: "suppressing, waiting, over one that fails", backend: failure.SuppressRetries(broken{panics: true}), change: waiting(0)},
		{name: "a function", backend: failure.Func(nil)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			writes, err := test.backend.Writes(failed(test.change))
			if got := text(writes); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
			checkError(t, err, test.errs)
		})
	}
}

// checkError wants each of the texts, parted by &, in err.
func checkError(t *testing.T, err error, texts string) {
	t.Helper()
	if texts == "" {
		if err != nil {
			t.Error(err)
		}
		return
	}
	for want := range strings.SplitSeq(texts, " & ") {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestNotify(t *testing.T) {
	t.Parallel()
	pending := func(f *resque.Failure) { f.RetryPending = true }
	tests := []struct {
		name   string
		wrap   func(resque.FailureBackend) resque.FailureBackend
		change func(*resque.Failure)
		told   int
		errs   string
	}{
		{name: "a function", wrap: func(b resque.FailureBackend) resque.FailureBackend { return b }, told: 1, errs: "backend away"},
		{name: "suppressed", wrap: failure.SuppressRetries, change: pending},
		{name: "not suppressed", wrap: failure.SuppressRetries, told: 1, errs: "backend away"},
		{
			name: "several", told: 2, errs: "backend away & backend broke",
			wrap: func(b resque.FailureBackend) resque.FailureBackend {
				return failure.Several(failure.List{}, b, broken{panics: true}, b)
			},
		},
		{
			name: "suppressed within several", change: pending, told: 1, errs: "backend away",
			wrap: func(b resque.FailureBackend) resque.FailureBackend {
				return failure.Several(failure.SuppressRetries(failure.List{}), failure.SuppressRetries(b), b)
			},
		},
		{
			name: "nobody to tell",
			wrap: func(resque.FailureBackend) resque.FailureBackend {
				return failure.Several(failure.SuppressRetries(failure.List{}))
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			told := 0
			backend := test.wrap(failure.Func(func(_ context.Context, f *resque.Failure) error {
				told++
				return fmt.Errorf("%w: %s", errBackend, f.Message)
			}))
			notifier, ok := backend.(resque.FailureNotifier)
			if !ok {
				t.Fatal("it can't be told")
			}
			checkError(t, notifier.Notify(t.Context(), failed(test.change)), test.errs)
			if told != test.told {
				t.Errorf("told %d times, want %d", told, test.told)
			}
		})
	}
}

func TestErrorsOfSeveralAreFound(t *testing.T) {
	t.Parallel()
	if _, err := failure.Several(broken{err: errBackend}, failure.List{}).Writes(failed(nil)); !errors.Is(err, errBackend) {
		t.Error(err)
	}
}

package retry_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

var (
	errPlain = errors.New("boom")
	network  = &rubyError{name: "NetworkError", ancestors: []string{"NetworkError", "StandardError", "Exception"}, message: "down"}
	refused  = &rubyError{name: "ConnectionRefused", ancestors: []string{"ConnectionRefused", "NetworkError", "StandardError", "Exception"}, message: "refused"}
	term     = &rubyError{name: "Resque::TermException", ancestors: []string{"Resque::TermException", "SignalException", "Exception"}, message: "SIGTERM"}
)

// decide runs a job that failed with err through the rules.
func decide(t *testing.T, p retry.Policy, err error, attempt int64) resque.Decision {
	t.Helper()
	return compile(t, p).Decide(failedRun(err, attempt))
}

func failedRun(err error, attempt int64) resque.FailedRun {
	return resque.FailedRun{
		Job:          &resque.Job{Class: "X", Args: json.RawMessage(`["7", {"b":1,"a":1.10}]`), Queue: "from", Attempt: attempt},
		Err:          err,
		Attempt:      attempt,
		Random:       0.5,
		Registration: &resque.Registration{Class: "X", Queue: "own"},
	}
}

// delayOf is the delay of the retry, or none.
func delayOf(d resque.Decision) string {
	if d.Retry == nil {
		return "none"
	}
	return d.Retry.Delay.String()
}

func TestLimits(t *testing.T) {
	t.Parallel()
	minute := []time.Duration{time.Minute, time.Minute, time.Minute}
	tests := []struct {
		name   string
		policy retry.Policy
		last   int64 // the last attempt that is retried; -1: none
	}{
		{name: "the default is one", last: 0},
		{name: "never", policy: retry.Policy{Limit: retry.Never}, last: -1},
		{name: "ten", policy: retry.Policy{Limit: 10}, last: 9},
		{name: "for ever", policy: retry.Policy{Limit: retry.Forever}, last: 1 << 40},
		{name: "any negative limit", policy: retry.Policy{Limit: -3}, last: 1 << 40},
		{name: "as many as backoff has", policy: retry.Policy{Backoff: minute}, last: 2},
		{name: "limit over backoff", policy: retry.Policy{Backoff: minute, Limit: 1}, last: 0},
		{name: "as many as the longest list", policy: retry.Policy{On: retry.Errors{
			retry.Named("A").Wait(1), retry.Named("StandardError").Wait(minute...), retry.Named("B").Wait(minute[:2]...),
		}[1:]}, last: 2},
		{name: "one delay a listed error", policy: retry.Policy{On: retry.Errors{retry.Named("StandardError").Wait(time.Minute)}}, last: 0},
		{name: "listed errors without delays", policy: retry.Policy{On: retry.Errors{retry.Named("StandardError")}}, last: 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.last >= 0 && decide(t, test.policy, errPlain, test.last).Retry == nil {
				t.Errorf("attempt %d is not retried", test.last)
			}
			if test.last < 1<<40 && decide(t, test.policy, errPlain, test.last+1).Retry != nil {
				t.Errorf("attempt %d is retried", test.last+1)
			}
		})
	}
}

func TestDelays(t *testing.T) {
	t.Parallel()
	seconds := func(list ...int) (d []time.Duration) {
		for _, n := range list {
			d = append(d, time.Duration(n)*time.Second)
		}
		return d
	}
	timeouts := retry.Errors{retry.Named("NetworkError").Wait(seconds(5, 10, 15)...)}
	tests := []struct {
		name    string
		policy  retry.Policy
		err     error
		attempt int64
		want    string
	}{
		{name: "none", err: errPlain, want: "0s"},
		{name: "every", policy: retry.Policy{Delay: retry.Every(2 * time.Minute)}, err: errPlain, want: "2m0s"},
		{name: "negative", policy: retry.Policy{Delay: retry.Every(-5 * time.Second)}, err: errPlain, want: "-5s"},
		{name: "backoff, first", policy: retry.Policy{Backoff: seconds(10, 20)}, err: errPlain, want: "10s"},
		{name: "backoff, second", policy: retry.Policy{Backoff: seconds(10, 20)}, err: errPlain, attempt: 1, want: "20s"},
		{name: "backoff, past its end", policy: retry.Policy{Limit: 9, Backoff: seconds(10, 20)}, err: errPlain, attempt: 7, want: "20s"},
		{name: "backoff, default", policy: retry.Policy{Backoff: retry.DefaultBackoff()}, err: errPlain, attempt: 5, want: "6h0m0s"},
		{name: "ignored on the first run: the last one", policy: retry.Policy{Backoff: seconds(10, 20, 30), Ignore: retry.Errors{retry.Named("NetworkError")}}, err: network, want: "30s"},
		{name: "ignored under a counter of -1: the last but one", policy: retry.Policy{Backoff: seconds(10, 20, 30), Ignore: retry.Errors{retry.Named("NetworkError")}}, err: network, attempt: -1, want: "20s"},
		{name: "far below: the last one", policy: retry.Policy{Backoff: seconds(10, 20, 30)}, err: network, attempt: -9, want: "30s"},
		{name: "jitter cuts to seconds", policy: retry.Policy{Backoff: seconds(7), Jitter: retry.Jitter{Min: 0.3, Max: 0.3}}, err: errPlain, want: "2s"},
		{name: "jitter by the draw", policy: retry.Policy{Backoff: seconds(10), Jitter: retry.Jitter{Min: 1, Max: 2}}, err: errPlain, want: "15s"},
		{name: "jitter from zero", policy: retry.Policy{Backoff: seconds(10), Jitter: retry.Jitter{Max: 1}}, err: errPlain, want: "5s"},
		{name: "by error, third failure", policy: retry.Policy{On: timeouts}, err: network, attempt: 2, want: "15s"},
		{name: "by error, fourth failure", policy: retry.Policy{On: timeouts}, err: network, attempt: 3, want: "none"},
		{name: "by error, fourth failure of five", policy: retry.Policy{Limit: 5, On: timeouts}, err: network, attempt: 3, want: "15s"},
		{name: "by error, fifth failure of five", policy: retry.Policy{Limit: 5, On: timeouts}, err: network, attempt: 4, want: "15s"},
		{
			name:   "by error, the nearest ancestor",
			policy: retry.Policy{On: retry.Errors{retry.Named("StandardError").Wait(seconds(5)...), retry.Named("NetworkError").Wait(seconds(50)...)}},
			err:    refused, want: "50s",
		},
		{
			name:   "by error, the outermost of a chain",
			policy: retry.Policy{On: retry.Errors{retry.Is(io.EOF).Wait(seconds(5)...), retry.As[*fs.PathError]().Wait(seconds(50)...)}},
			err:    fmt.Errorf("reading: %w", &fs.PathError{Op: "read", Path: "x", Err: io.EOF}), want: "50s",
		},
		{
			name:   "by error, StandardError comes last of all",
			policy: retry.Policy{On: retry.Errors{retry.Named("StandardError").Wait(seconds(5)...), retry.Is(io.EOF).Wait(seconds(50)...)}},
			err:    &fs.PathError{Op: "read", Path: "x", Err: io.EOF}, want: "50s",
		},
		{
			name:   "by error, without its own: the plain delay",
			policy: retry.Policy{On: retry.Errors{retry.Is(io.EOF).Wait(seconds(5)...), retry.Named("NetworkError")}, Delay: retry.Every(time.Minute)},
			err:    network, want: "1m0s",
		},
		{
			name: "by error, let through by a check: none",
			policy: retry.Policy{
				On: timeouts, Delay: retry.Every(time.Minute), Check: []retry.Check{func(*resque.Job, error) bool { return true }},
			},
			err: errPlain, want: "0s",
		},
		{
			name: "by argument",
			policy: retry.Policy{Delay: retry.DelayFunc(func(job *resque.Job, _ error) time.Duration {
				var number string
				if err := json.Unmarshal(job.Args, &[]any{&number, nil}); err != nil {
					panic(err)
				}
				n, _ := strconv.Atoi(number)
				return time.Duration(n) * time.Second
			})},
			err: errPlain, want: "7s",
		},
		{
			name: "by the attempt that counts, a fraction cut",
			policy: retry.Policy{
				Limit: 9, Ignore: retry.Errors{retry.Named("NetworkError")},
				Delay: retry.DelayFunc(func(job *resque.Job, _ error) time.Duration {
					return time.Duration(job.Attempt)*time.Minute + 999*time.Millisecond
				}),
			},
			err: network, attempt: 4, want: "3m0s",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := delayOf(decide(t, test.policy, test.err, test.attempt)); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestWhichErrors(t *testing.T) {
	t.Parallel()
	wrapped := fmt.Errorf("wrapped: %w", network)
	joined := errors.Join(errPlain, fmt.Errorf("second: %w", refused))
	op := &net.OpError{Op: "dial", Err: errPlain}
	tests := []struct {
		name   string
		policy retry.Policy
		err    error
		retry  bool
	}{
		{name: "on: listed", policy: retry.Policy{On: retry.Errors{retry.Named("NetworkError")}}, err: network, retry: true},
		{name: "on: descendant", policy: retry.Policy{On: retry.Errors{retry.Named("NetworkError")}}, err: refused, retry: true},
		{name: "on: ancestor", policy: retry.Policy{On: retry.Errors{retry.Named("ConnectionRefused")}}, err: network},
		{name: "on: wrapped", policy: retry.Policy{On: retry.Errors{retry.Named("NetworkError")}}, err: wrapped, retry: true},
		{name: "on: joined", policy: retry.Policy{On: retry.Errors{retry.Named("NetworkError")}}, err: joined, retry: true},
		{name: "on: a Go error by Is", policy: retry.Policy{On: retry.Errors{retry.Is(io.EOF)}}, err: fmt.Errorf("x: %w", io.EOF), retry: true},
		{name: "on: another by Is", policy: retry.Policy{On: retry.Errors{retry.Is(io.EOF)}}, err: io.ErrUnexpectedEOF},
		{name: "on: Is by the error's own method", policy: retry.Policy{On: retry.Errors{retry.Is(fs.ErrNotExist)}}, err: notExistError{}, retry: true},
		{name: "on: a Go type by As", policy: retry.Policy{On: retry.Errors{retry.As[*net.OpError]()}}, err: fmt.Errorf("x: %w", op), retry: true},
		{name: "on: an interface by As", policy: retry.Policy{On: retry.Errors{retry.As[net.Error]()}}, err: op, retry: true},
		{name: "on: another by As", policy: retry.Policy{On: retry.Errors{retry.As[*net.OpError]()}}, err: network},
		{name: "on: a Go type by name", policy: retry.Policy{On: retry.Errors{retry.Named("net.OpError")}}, err: op, retry: true},
		{name: "on: a plain error is a RuntimeError", policy: retry.Policy{On: retry.Errors{retry.Named("RuntimeError")}}, err: errPlain, retry: true},
		{name: "on: all are a StandardError", policy: retry.Policy{On: retry.Errors{retry.Named("StandardError")}}, err: op, retry: true},
		{name: "on: but for those that say otherwise", policy: retry.Policy{On: retry.Errors{retry.Named("StandardError")}}, err: term},
		{name: "on: all are an Exception", policy: retry.Policy{On: retry.Errors{retry.Named("Exception")}}, err: term, retry: true},
		{name: "on: really all", policy: retry.Policy{On: retry.Errors{retry.Named("Exception")}}, err: errPlain, retry: true},
		{name: "on: an empty list", policy: retry.Policy{On: retry.Errors{}}, err: network},
		{name: "fatal: listed", policy: retry.Policy{Fatal: retry.Errors{retry.Named("NetworkError")}}, err: refused},
		{name: "fatal: others", policy: retry.Policy{Fatal: retry.Errors{retry.Named("NetworkError")}}, err: errPlain, retry: true},
		{name: "fatal: an empty list", policy: retry.Policy{Fatal: retry.Errors{}}, err: network, retry: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := decide(t, test.policy, test.err, 0).Retry != nil; got != test.retry {
				t.Errorf("retried: %v, want %v", got, test.retry)
			}
		})
	}
}

// notExistError is an error that errors.Is takes for fs.ErrNotExist; its type can't be
// compared.
type notExistError struct{ _ []int }

func (notExistError) Error() string        { return "gone" }
func (notExistError) Is(target error) bool { return target == fs.ErrNotExist }

func TestIgnore(t *testing.T) {
	t.Parallel()
	ignore := retry.Errors{retry.Named("NetworkError"), retry.Is(io.EOF)}
	tests := []struct {
		name    string
		policy  retry.Policy
		err     error
		attempt int64
		uncount bool
		retry   bool
	}{
		{name: "its class", err: network, uncount: true, retry: true},
		{name: "wrapped", err: fmt.Errorf("x: %w", network), uncount: true, retry: true},
		{name: "no descendant", err: refused, retry: true},
		{name: "a Go error", err: fmt.Errorf("x: %w", io.EOF), uncount: true, retry: true},
		{name: "doesn't count at the limit", err: network, attempt: 1, uncount: true, retry: true},
		{name: "past the limit", err: network, attempt: 2, uncount: true},
		{name: "others count", err: errPlain, attempt: 1},
		{name: "but it isn't listed", policy: retry.Policy{On: retry.Errors{retry.Named("Other")}}, err: network, uncount: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.policy.Ignore = ignore
			d := decide(t, test.policy, test.err, test.attempt)
			if d.Uncount != test.uncount || (d.Retry != nil) != test.retry {
				t.Errorf("got %+v", d)
			}
		})
	}
}

func TestChecksAreAskedInOrder(t *testing.T) {
	t.Parallel()
	var asked []string
	check := func(name string, answer bool) retry.Check {
		return func(*resque.Job, error) bool {
			asked = append(asked, name)
			return answer
		}
	}
	policy := retry.Policy{On: retry.Errors{retry.Named("NetworkError")}, Check: []retry.Check{check("a", false), check("b", true), check("c", true)}}
	tests := []struct {
		err     error
		attempt int64
		asked   string
		retry   bool
	}{
		{err: errPlain, asked: "a b", retry: true},
		{err: network, retry: true},
		{err: errPlain, attempt: 1},
	}
	for _, test := range tests {
		asked = nil
		d := decide(t, policy, test.err, test.attempt)
		if got := strings.Join(asked, " "); got != test.asked || (d.Retry != nil) != test.retry {
			t.Errorf("%v, attempt %d: asked %q, %+v", test.err, test.attempt, got, d)
		}
	}
}

func TestWhatIsPushed(t *testing.T) {
	t.Parallel()
	kept := `["7", {"b":1,"a":1.10}]`
	tests := []struct {
		name   string
		policy retry.Policy
		change func(*resque.FailedRun)
		want   string
		drop   bool
	}{
		{name: "the same job on the class's own queue", want: "X own " + kept},
		{name: "a class without a queue: where it came from", change: func(r *resque.FailedRun) { r.Registration.Queue = "" }, want: "X from " + kept},
		{name: "no registration", change: func(r *resque.FailedRun) { r.Registration = nil }, want: "X from " + kept},
		{name: "a queue", policy: retry.Policy{Queue: retry.InQueue("slow")}, want: "X slow " + kept},
		{
			name: "a queue by error", want: "X q-boom " + kept,
			policy: retry.Policy{Queue: func(_ *resque.Job, err error) string { return "q-" + err.Error() }},
		},
		{name: "a queue function without an answer", policy: retry.Policy{Queue: retry.InQueue("")}, want: "X own " + kept},
		{name: "a delegate", policy: retry.Policy{Delegate: &retry.Delegate{Class: "Fixer", Queue: "fix"}}, want: "Fixer fix " + kept, drop: true},
		{
			name: "a delegate on another queue", want: "Fixer slow " + kept, drop: true,
			policy: retry.Policy{Delegate: &retry.Delegate{Class: "Fixer", Queue: "fix"}, Queue: retry.InQueue("slow")},
		},
		{
			name: "other arguments keep the bytes of those that stay", want: `X own ["7",{"b":1,"a":1.10},"é <boom>",1.0]`,
			policy: retry.Policy{Args: func(job *resque.Job, err error) ([]any, error) {
				return append(retry.Arguments(job), "é <"+err.Error()+">", 1.0), nil
			}},
		},
		{name: "no arguments", policy: retry.Policy{Args: func(*resque.Job, error) ([]any, error) { return nil, nil }}, want: `X own []`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			run := failedRun(errPlain, 0)
			if test.change != nil {
				test.change(&run)
			}
			d := compile(t, test.policy).Decide(run)
			if d.Retry == nil {
				t.Fatalf("no retry: %v", d.Err)
			}
			if got := d.Retry.Class + " " + d.Retry.Queue + " " + string(d.Retry.Args); got != test.want || d.DropCounter != test.drop || d.Err != nil {
				t.Errorf("got %s %+v, want %s", got, d, test.want)
			}
		})
	}
}

func TestSleep(t *testing.T) {
	t.Parallel()
	policy := retry.Policy{SleepAfterRequeue: 1500 * time.Millisecond}
	if d := decide(t, policy, errPlain, 0); d.SleepAfter != 1500*time.Millisecond {
		t.Errorf("after a retry: %v", d.SleepAfter)
	}
	if d := decide(t, policy, errPlain, 1); d.SleepAfter != 0 {
		t.Errorf("after giving up: %v", d.SleepAfter)
	}
	if d := decide(t, retry.Policy{SleepAfterRequeue: -time.Second}, errPlain, 0); d.SleepAfter != 0 {
		t.Errorf("negative: %v", d.SleepAfter)
	}
}

func TestFailingFunctionsLoseNoJob(t *testing.T) {
	t.Parallel()
	bad := errors.New("bad function")
	tests := map[string]retry.Policy{
		"TryAgain fails":  {TryAgain: []retry.Callback{func(*resque.Job, error) error { return bad }}},
		"TryAgain panics": {TryAgain: []retry.Callback{func(*resque.Job, error) error { panic(bad) }}},
		"Check panics":    {On: retry.Errors{}, Check: []retry.Check{func(*resque.Job, error) bool { panic(bad) }}},
		"Delay panics":    {Delay: retry.DelayFunc(func(*resque.Job, error) time.Duration { panic(bad) })},
		"Queue panics":    {Queue: func(*resque.Job, error) string { panic(bad) }},
		"Args fails":      {Args: func(*resque.Job, error) ([]any, error) { return nil, bad }},
		"Args panics":     {Args: func(*resque.Job, error) ([]any, error) { panic("bad function") }},
		"Args that are no JSON": {Args: func(*resque.Job, error) ([]any, error) {
			return []any{func() { panic("bad function") }, "bad function"}, nil
		}},
	}
	for name, policy := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var told error
			policy.GiveUp = []retry.Callback{func(_ *resque.Job, err error) error {
				told = err
				return nil
			}}
			d := decide(t, policy, network, 0)
			if d.Retry != nil || d.DropCounter || d.SleepAfter != 0 {
				t.Fatalf("got %+v", d)
			}
			e := resque.DescribeError(d.Err)
			if e.Name != "NetworkError" || !strings.HasPrefix(e.Message, "down (retry: ") || !errors.Is(d.Err, network) {
				t.Errorf("recorded as %s: %s", e.Name, e.Message)
			}
			if name != "Args that are no JSON" && !strings.Contains(e.Message, "bad function") {
				t.Errorf("the text lacks the function's error: %s", e.Message)
			}
			if told == nil || told.Error() != d.Err.Error() {
				t.Errorf("GiveUp was told %v", told)
			}
		})
	}
}

func TestCallbacks(t *testing.T) {
	t.Parallel()
	var calls []string
	callback := func(name string, answer error) retry.Callback {
		return func(job *resque.Job, err error) error {
			calls = append(calls, fmt.Sprintf("%s %d %v", name, job.Attempt, err))
			return answer
		}
	}
	bad := errors.New("bad")
	policy := retry.Policy{
		TryAgain: []retry.Callback{callback("again", nil), callback("again too", nil)},
		GiveUp:   []retry.Callback{callback("up", bad), func(*resque.Job, error) error { panic("worse") }, callback("up too", nil)},
	}
	if d := decide(t, policy, errPlain, 0); d.Retry == nil || strings.Join(calls, "; ") != "again 0 boom; again too 0 boom" {
		t.Errorf("retried: %v %+v", calls, d)
	}
	calls = nil
	d := decide(t, policy, errPlain, 1)
	if d.Retry != nil || strings.Join(calls, "; ") != "up 1 boom; up too 1 boom" {
		t.Errorf("given up: %v %+v", calls, d)
	}
	if text := fmt.Sprint(d.Err); text != "boom (retry: GiveUp: bad) (retry: GiveUp: panic: worse)" {
		t.Errorf("recorded: %s", text)
	}
	calls = nil
	policy.TryAgain[0] = callback("again", bad)
	if d := decide(t, policy, errPlain, 0); d.Retry != nil || len(calls) != 3 || calls[0] != "again 0 boom" {
		t.Errorf("after a failing callback: %v %+v", calls, d)
	}
}

func TestOutcomesOfTheHandler(t *testing.T) {
	t.Parallel()
	gaveUp := 0
	policy := retry.Policy{Limit: retry.Forever, GiveUp: []retry.Callback{func(*resque.Job, error) error {
		gaveUp++
		return nil
	}}}
	for _, err := range []error{retry.Cancel(network), fmt.Errorf("x: %w", retry.Cancel(network)), errors.Join(errPlain, retry.Cancel(network)), errors.Join(network, fmt.Errorf("x: %w", errors.Join(errPlain, retry.Cancel(errPlain))), network)} {
		gaveUp = 0
		if d := decide(t, policy, err, 0); d.Retry != nil || d.Err != nil || gaveUp != 1 {
			t.Errorf("%v: %+v, gave up %d times", err, d, gaveUp)
		}
		if !errors.Is(err, network) {
			t.Error("the error itself is gone")
		}
	}
	gaveUp = 0
	discarded := fmt.Errorf("x: %w", retry.Discard(network))
	if d := decide(t, policy, discarded, 0); d.Retry != nil || d.Err != nil || gaveUp != 0 {
		t.Errorf("discarded: %+v, gave up %d times", d, gaveUp)
	}
	if asked, ok := errors.AsType[resque.OutcomeError](discarded); !ok || asked.RunOutcome() != resque.Discarded {
		t.Error("the outcome of Discard isn't found")
	}
	if e := resque.DescribeError(retry.Discard(errPlain)); e.Name != "RuntimeError" {
		t.Errorf("Discard gives its name: %s", e.Name)
	}
	if retry.Cancel(nil) != nil || retry.Discard(nil) != nil {
		t.Error("nil isn't success")
	}
}

func TestErrorsThatPanic(t *testing.T) {
	t.Parallel()
	d := decide(t, retry.Policy{On: retry.Errors{retry.Is(io.EOF)}}, badIsError{}, 0)
	if d.Retry != nil || d.Err == nil || !strings.Contains(d.Err.Error(), "no Is today") {
		t.Errorf("got %+v", d)
	}
}

type badIsError struct{}

func (badIsError) Error() string { return "bad" }
func (badIsError) Is(error) bool { panic("no Is today") }

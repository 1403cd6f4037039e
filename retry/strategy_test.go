package retry_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

var strategyNow = time.Unix(1767323045, 500_000_000)

// attempts plays a job that fails again and again at the time that it was told,
// and answers the seconds between its attempts.
func attempts(t *testing.T, p retry.Policy, most int) (waits []int) {
	t.Helper()
	retrier := compile(t, p)
	for attempt := range most {
		run := failedRun(errPlain, int64(attempt))
		run.Now = strategyNow
		d := retrier.Decide(run)
		if d.Err != nil {
			t.Fatal(d.Err)
		}
		if d.Retry == nil {
			return waits
		}
		waits = append(waits, int(d.Retry.Delay/time.Second))
	}
	return waits
}

func TestWaits(t *testing.T) {
	t.Parallel()
	seconds := func(list ...int) (d []time.Duration) {
		for _, n := range list {
			d = append(d, time.Duration(n)*time.Second)
		}
		return d
	}
	for _, test := range []struct {
		name  string
		waits retry.Waits
		want  []int
	}{
		{"by default", retry.Waits{}, []int{2, 2, 5, 10, 30, 60, 300, 900, 1800}},
		{"the last one repeats", retry.Waits{MaxAttempts: 12}, []int{2, 2, 5, 10, 30, 60, 300, 900, 1800, 1800, 1800}},
		{"without end", retry.Waits{MaxAttempts: -1, Waits: seconds(1)}, []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
		{"one attempt", retry.Waits{MaxAttempts: 1}, nil},
		{"fewer than waits", retry.Waits{MaxAttempts: 3, Waits: seconds(7, 8, 9)}, []int{7, 8}},
		{"at once", retry.Waits{MaxAttempts: 3, Waits: seconds(0)}, []int{0, 0}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := attempts(t, retry.Policy{Strategy: test.waits}, 14)
			if fmt.Sprint(got) != fmt.Sprint(test.want) {
				t.Errorf("waits %v, want %v", got, test.want)
			}
		})
	}
}

// A strategy gets what it needs, and answers times of any kind.
func TestStrategy(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		next retry.StrategyFunc
		want string
	}{
		{"later", func(f retry.Failed) (time.Time, bool) { return f.Now.Add(90 * time.Second), true }, "1m30s"},
		{"a whole second", func(retry.Failed) (time.Time, bool) { return time.Unix(1767323050, 0), true }, "5s"},
		{"now", func(f retry.Failed) (time.Time, bool) { return f.Now, true }, "0s"},
		{"in the past", func(f retry.Failed) (time.Time, bool) { return f.Now.Add(-time.Hour), true }, "past"},
		{"no time", func(retry.Failed) (time.Time, bool) { return time.Time{}, true }, "past"},
		{"no more", func(f retry.Failed) (time.Time, bool) { return f.Now.Add(time.Hour), false }, "none"},
		{"by attempts", func(f retry.Failed) (time.Time, bool) {
			return f.Now.Add(time.Duration(f.Attempts) * time.Second), true
		}, "4s"},
		{"by class and error", func(f retry.Failed) (time.Time, bool) {
			return f.Now.Add(time.Second), f.Job.Class == "X" && errors.Is(f.Err, errPlain)
		}, "1s"},
		{"that writes into the job", func(f retry.Failed) (time.Time, bool) {
			f.Job.Class = "Other"
			return f.Now, true
		}, "0s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			run := failedRun(errPlain, 3)
			run.Now = strategyNow
			d := compile(t, retry.Policy{Strategy: test.next}).Decide(run)
			if d.Err != nil {
				t.Fatal(d.Err)
			}
			got := delayOf(d)
			if test.want == "past" && d.Retry != nil && d.Retry.Delay < 0 {
				got = "past"
			}
			if got != test.want || d.Retry != nil && d.Retry.Class != "X" {
				t.Errorf("got %s (%+v), want %s", got, d.Retry, test.want)
			}
		})
	}
}

// The other fields of the policy keep their meaning.
func TestStrategyBesideOtherFields(t *testing.T) {
	t.Parallel()
	p := retry.Policy{
		Strategy: retry.Waits{MaxAttempts: 3}, Fatal: retry.Errors{retry.Named("NetworkError")},
		Queue: retry.InQueue("later"), Ignore: retry.Errors{retry.Named("Resque::TermException")},
	}
	if d := decide(t, p, network, 0); d.Retry != nil {
		t.Error("a fatal error is tried again")
	}
	if d := decide(t, p, errPlain, 0); d.Retry == nil || d.Retry.Queue != "later" {
		t.Errorf("the retry is %+v", d.Retry)
	}
	if d := decide(t, p, term, 2); d.Retry == nil || !d.Uncount {
		t.Errorf("an ignored error counts: %+v", d)
	}
	if d := decide(t, p, errPlain, 2); d.Retry != nil {
		t.Error("a fourth attempt")
	}
}

func TestStrategyThatPanics(t *testing.T) {
	t.Parallel()
	told := error(nil)
	p := retry.Policy{
		Strategy: retry.StrategyFunc(func(retry.Failed) (time.Time, bool) { panic("oh") }),
		GiveUp:   []retry.Callback{func(_ *resque.Job, err error) error { told = err; return nil }},
	}
	d := decide(t, p, errPlain, 0)
	if d.Retry != nil || d.Err == nil || d.Err.Error() != "boom (retry: Strategy: panic: oh)" || !errors.Is(d.Err, errPlain) {
		t.Errorf("decided %+v with %v", d.Retry, d.Err)
	}
	if told == nil || told.Error() != d.Err.Error() {
		t.Errorf("give up was told %v", told)
	}
}

func TestStrategyRefuses(t *testing.T) {
	t.Parallel()
	waits := retry.Waits{}
	for want, p := range map[string]retry.Policy{
		"retry: Strategy and Limit both say when to try again: leave Limit out, or Strategy":     {Strategy: waits, Limit: 3},
		"retry: Strategy and Delay both say when to try again: leave Delay out, or Strategy":     {Strategy: waits, Delay: retry.Every(time.Second)},
		"retry: Strategy and Backoff both say when to try again: leave Backoff out, or Strategy": {Strategy: waits, Backoff: []time.Duration{time.Second}},
		"retry: Strategy and On both say when to try again: leave On out, or Strategy":           {Strategy: waits, On: retry.Errors{retry.Named("A").Wait(time.Second)}},
		"retry: Strategy and ExpireAfter exclude each other: ":                                   {Strategy: waits, ExpireAfter: time.Hour},
		"retry: Waits is empty: give it a wait for each retry, or leave it out":                  {Strategy: retry.Waits{Waits: []time.Duration{}}},
		"retry: Waits has -1s: write 0 for none":                                                 {Strategy: retry.Waits{Waits: []time.Duration{-time.Second}}},
		"retry: Waits has 1.5s: delays are whole seconds, write 2s":                              {Strategy: retry.Waits{Waits: []time.Duration{1500 * time.Millisecond}}},
		"retry: Waits has 60ns: Go counts nanoseconds; write 60 * time.Second":                   {Strategy: retry.Waits{Waits: []time.Duration{60}}},
	} {
		if _, err := p.Retrier(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := (retry.Policy{Strategy: waits, Jitter: retry.Jitter{Max: 1}}).Retrier(); err == nil || !strings.Contains(err.Error(), "Strategy and Jitter") {
		t.Errorf("a jitter: %v", err)
	}
}

func TestSpecWaits(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"retry_waits":"default"}`:                     "[2 2 5 10 30 60 300 900 1800]",
		`{"max_attempts":3}`:                            "[2 2]",
		`{"retry_waits":[7,8],"max_attempts":4}`:        "[7 8 8]",
		`{"retry_waits":"often"}`:                       `retry: "often" is no list of seconds, nor default`,
		`{"retry_waits":[1],"retry_limit":3}`:           "retry: retry_waits and retry_limit both say when to try again: leave retry_limit out, or retry_waits",
		`{"max_attempts":3,"backoff_strategy":[1]}`:     "retry: retry_waits and backoff_strategy both say when to try again: leave backoff_strategy out, or retry_waits",
		`{"retry_waits":[-1]}`:                          "retry: retry_waits has -1s: write 0 for none",
		`{"retry_waits":[],"expire_retry_key_after":1}`: "retry: retry_waits and expire_retry_key_after exclude each other: only the delays of the other fields are known before a run\nretry: retry_waits is empty: give it a wait for each retry, or leave it out",
	} {
		var spec retry.Spec
		err := json.Unmarshal([]byte(raw), &spec)
		var p retry.Policy
		if err == nil {
			p, err = spec.Policy()
		}
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprint(attempts(t, p, 20))
		}
		if got != want {
			t.Errorf("%s: %s\nwant %s", raw, got, want)
		}
	}
}

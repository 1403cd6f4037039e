package retry_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/understudy/compat/ruby"
	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

func TestKeysOfRecordings(t *testing.T) {
	t.Parallel()
	for name, form := range map[string]ruby.InspectForm{"keys.json": ruby.Inspect31, "keys-inspect-3.4.json": ruby.Inspect34} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			type row struct {
				ArgsJSON   string `json:"args_json"`
				Key        string
				Namespaced string `json:"namespaced_key"`
			}
			file := readJSON[struct{ Rows []row }](t, name)
			if len(file.Rows) == 0 {
				t.Fatal("no rows")
			}
			p := retry.Policy{Inspect: form}
			for _, row := range file.Rows {
				for class, want := range map[string]string{"KeyJob": row.Key, "Billing::Send": row.Namespaced} {
					if got := keyOf(t, p, class, row.ArgsJSON); got != want {
						t.Errorf("%s %s: got %s, want %s", class, row.ArgsJSON, got, want)
					}
				}
			}
		})
	}
}

func keyOf(t *testing.T, p retry.Policy, class, args string) string {
	t.Helper()
	counter, err := compile(t, p).Counter(&resque.Job{Class: class, Args: []byte(args)}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return counter.Key
}

func compile(t *testing.T, p retry.Policy) resque.Retrier {
	t.Helper()
	retrier, err := p.Retrier()
	if err != nil {
		t.Fatal(err)
	}
	return retrier
}

func TestKey(t *testing.T) {
	t.Parallel()
	id := func(id string, ok bool) retry.IdentifierFunc {
		return func(*resque.Job) (string, bool) { return id, ok }
	}
	tests := []struct {
		name   string
		policy retry.Policy
		class  string
		args   string
		want   string
	}{
		{name: "no arguments", class: "X", args: `[]`, want: "resque-retry:X"},
		{name: "an object's order counts", class: "X", args: `[{"b":1,"a":2}]`, want: "resque-retry:X:c535639864b63c370c3905b8284d6d325e6c0a36"},
		{name: "a byte that is not UTF-8", class: "X", args: "[\"\xff\"]", want: "resque-retry:X:85e53271e14006f0265921d02d4d736cdc580b0b"},
		{name: "white space in a class", class: "A\t B\n", args: `[]`, want: "resque-retry:AB"},
		{name: "no identifier", policy: retry.Policy{Identifier: id("x", false)}, class: "X", args: `[1]`, want: "resque-retry:X"},
		{name: "an empty identifier", policy: retry.Policy{Identifier: id("", true)}, class: "X", args: `[1]`, want: "resque-retry:X:"},
		{name: "white space in an identifier", policy: retry.Policy{Identifier: id("a b\v\f\r\nc", true)}, class: "X", args: `[1]`, want: "resque-retry:X:abc"},
		{name: "other white space stays", policy: retry.Policy{Identifier: id("a\u00a0b", true)}, class: "X", args: `[1]`, want: "resque-retry:X:a\u00a0b"},
		{
			name:   "a whole key keeps its white space",
			policy: retry.Policy{Key: func(job *resque.Job) string { return "my key " + job.Class }}, class: "X", args: `[1]`, want: "my key X",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := keyOf(t, test.policy, test.class, test.args); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestKeyOfALargeArgumentIsShort(t *testing.T) {
	t.Parallel()
	key := keyOf(t, retry.Policy{}, "Import", `["`+strings.Repeat("x", 5<<20)+`"]`)
	if want := len("Import") + 54; len(key) != want {
		t.Errorf("the key has %d bytes, want %d", len(key), want)
	}
}

func TestKeyFails(t *testing.T) {
	t.Parallel()
	tests := map[string]retry.Policy{
		"an empty key":          {Key: func(*resque.Job) string { return "" }},
		"a panic in Key":        {Key: func(*resque.Job) string { panic("boom") }},
		"a panic in Identifier": {Identifier: func(*resque.Job) (string, bool) { panic("boom") }},
		"arguments of no form":  {},
	}
	for name, policy := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := compile(t, policy).Counter(&resque.Job{Class: "X", Args: []byte(`[1`)}, 0); err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestTTLs(t *testing.T) {
	t.Parallel()
	byAttempt := retry.DelayFunc(func(job *resque.Job, err error) time.Duration {
		if err != nil {
			t.Error("asked with an error before the run")
		}
		return time.Duration(job.Attempt)*10*time.Second + 900*time.Millisecond
	})
	tests := []struct {
		name   string
		policy retry.Policy
		want   []int64
	}{
		{name: "no expiry", policy: retry.Policy{Delay: retry.Every(time.Minute)}},
		{name: "no delay", policy: retry.Policy{ExpireAfter: 10 * time.Second}, want: []int64{10}},
		{name: "a delay", policy: retry.Policy{Delay: retry.Every(time.Minute), ExpireAfter: 10 * time.Second}, want: []int64{70}},
		{name: "a negative delay takes off", policy: retry.Policy{Delay: retry.Every(-4 * time.Second), ExpireAfter: 10 * time.Second}, want: []int64{6}},
		{name: "but not all", policy: retry.Policy{Delay: retry.Every(-time.Minute), ExpireAfter: 10 * time.Second}, want: []int64{1}},
		{
			name: "backoff", want: []int64{160, 3700},
			policy: retry.Policy{Backoff: []time.Duration{time.Minute, time.Hour}, ExpireAfter: 100 * time.Second},
		},
		{
			name: "backoff with the draw of the run", want: []int64{11, 100},
			policy: retry.Policy{Backoff: []time.Duration{time.Second, 60 * time.Second}, Jitter: retry.Jitter{Min: 1, Max: 2}, ExpireAfter: 10 * time.Second},
		},
		{
			name: "delays by error: the plain delay", want: []int64{10},
			policy: retry.Policy{On: retry.Errors{retry.Named("X").Wait(time.Hour)}, ExpireAfter: 10 * time.Second},
		},
		{
			name: "delays by error beside a plain delay", want: []int64{13},
			policy: retry.Policy{On: retry.Errors{retry.Named("X").Wait(time.Hour)}, Delay: retry.Every(3 * time.Second), ExpireAfter: 10 * time.Second},
		},
		{name: "by attempt", policy: retry.Policy{Limit: 3, Delay: byAttempt, ExpireAfter: 5 * time.Second}, want: []int64{5, 15, 25, 35}},
		{name: "by attempt, never", policy: retry.Policy{Limit: retry.Never, Delay: byAttempt, ExpireAfter: 5 * time.Second}, want: []int64{5}},
		{
			name:   "a panic without an error",
			policy: retry.Policy{Delay: retry.DelayFunc(func(_ *resque.Job, err error) time.Duration { panic(err.Error()) }), ExpireAfter: time.Second},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			counter, err := compile(t, test.policy).Counter(&resque.Job{Class: "X", Args: []byte(`[]`)}, 0.5)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(counter.TTLs, test.want) {
				t.Errorf("got %v, want %v", counter.TTLs, test.want)
			}
		})
	}
}

func TestTTLsAreCapped(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{retry.Forever, -7, 1000} {
		policy := retry.Policy{
			Limit: limit, ExpireAfter: time.Second,
			Delay: retry.DelayFunc(func(job *resque.Job, _ error) time.Duration { return time.Duration(job.Attempt) * time.Second }),
		}
		counter, err := compile(t, policy).Counter(&resque.Job{Class: "X", Args: []byte(`[]`)}, 0)
		if err != nil || len(counter.TTLs) != 32 || counter.TTLs[31] != 32 {
			t.Errorf("limit %d: %v, %v", limit, counter.TTLs, err)
		}
	}
}

package retry_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

func TestConflictsAreRefused(t *testing.T) {
	t.Parallel()
	backoff := []time.Duration{time.Minute}
	network := retry.Named("NetworkError")
	key := func(*resque.Job) string { return "k" }
	id := func(*resque.Job) (string, bool) { return "", false }
	tests := []struct {
		name   string
		policy retry.Policy
		fields string
		reason string
	}{
		{name: "On and Fatal", policy: retry.Policy{On: retry.Errors{}, Fatal: retry.Errors{}}, fields: "On Fatal", reason: "exclude each other"},
		{name: "Backoff and waits", policy: retry.Policy{Backoff: backoff, On: retry.Errors{network.Wait(time.Second)}}, fields: "Backoff On", reason: "leave Backoff out"},
		{name: "Backoff and Delay", policy: retry.Policy{Backoff: backoff, Delay: retry.Every(time.Second)}, fields: "Backoff Delay", reason: "leave Delay out"},
		{name: "Jitter alone", policy: retry.Policy{Jitter: retry.Jitter{Max: 2}}, fields: "Jitter Backoff", reason: "belong together"},
		{name: "Key and Identifier", policy: retry.Policy{Key: key, Identifier: id}, fields: "Key Identifier", reason: "exclude each other"},
		{name: "a delegate without a queue", policy: retry.Policy{Delegate: &retry.Delegate{Class: "X"}}, fields: "Delegate Queue", reason: "set Queue"},
		{name: "a delegate without a class", policy: retry.Policy{Delegate: &retry.Delegate{Queue: "q"}}, fields: "Delegate", reason: "no class"},
		{name: "an empty Backoff", policy: retry.Policy{Backoff: []time.Duration{}}, fields: "Backoff", reason: "is empty"},
		{name: "Jitter upside down", policy: retry.Policy{Backoff: backoff, Jitter: retry.Jitter{Min: 2, Max: 1}}, fields: "Jitter", reason: "minimum of 2 above its maximum of 1"},
		{name: "Jitter without a number", policy: retry.Policy{Backoff: backoff, Jitter: retry.Jitter{Max: math.Inf(1)}}, fields: "Jitter", reason: "no number"},
		{name: "a fraction in Delay", policy: retry.Policy{Delay: retry.Every(1500 * time.Millisecond)}, fields: "Delay", reason: "write 2s"},
		{name: "a fraction in Backoff", policy: retry.Policy{Backoff: []time.Duration{time.Second / 2}}, fields: "Backoff", reason: "has 500ms: delays are whole seconds, write 1s"},
		{name: "a bare number in Backoff", policy: retry.Policy{Backoff: []time.Duration{60}}, fields: "Backoff", reason: "has 60ns: Go counts nanoseconds; write 60 * time.Second"},
		{name: "a bare number in Delay", policy: retry.Policy{Delay: retry.Every(3600)}, fields: "Delay", reason: "has 3.6µs: Go counts nanoseconds; write 3600 * time.Second"},
		{name: "a fraction in On", policy: retry.Policy{On: retry.Errors{network.Wait(time.Second, time.Second/2)}}, fields: "On", reason: "whole seconds"},
		{name: "a fraction in ExpireAfter", policy: retry.Policy{ExpireAfter: 3600}, fields: "ExpireAfter", reason: "write 3600 * time.Second"},
		{name: "a negative ExpireAfter", policy: retry.Policy{ExpireAfter: -time.Second}, fields: "ExpireAfter", reason: "negative"},
		{name: "an entry without a name", policy: retry.Policy{On: retry.Errors{retry.Named("")}}, fields: "On", reason: "without a name"},
		{name: "an entry without an error", policy: retry.Policy{Fatal: retry.Errors{retry.Is(nil)}}, fields: "Fatal", reason: "Is(nil)"},
		{name: "an entry without anything", policy: retry.Policy{Ignore: retry.Errors{{}}}, fields: "Ignore", reason: "use Named, Is or As"},
		{name: "a wait without a delay", policy: retry.Policy{On: retry.Errors{network.Wait()}}, fields: "On", reason: "NetworkError"},
		{name: "a wait of a fatal error", policy: retry.Policy{Fatal: retry.Errors{network.Wait(time.Second)}}, fields: "Fatal", reason: "only On"},
		{name: "an error twice", policy: retry.Policy{Ignore: retry.Errors{network, network}}, fields: "Ignore", reason: "twice"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var r resque.Registration
			err := test.policy.Apply(&r)
			refusal, ok := errors.AsType[*retry.ConfigError](err)
			if !ok {
				t.Fatalf("got %v", err)
			}
			if got := strings.Join(refusal.Fields, " "); got != test.fields || !strings.Contains(err.Error(), test.reason) {
				t.Errorf("got %q: %v", got, err)
			}
			if r.Retrier != nil {
				t.Error("it is registered")
			}
		})
	}
}

func TestAllConflictsAreNamed(t *testing.T) {
	t.Parallel()
	_, err := retry.Policy{On: retry.Errors{}, Fatal: retry.Errors{}, ExpireAfter: -time.Second}.Retrier()
	if text := err.Error(); !strings.Contains(text, "retry: On and Fatal ") || !strings.Contains(text, "retry: ExpireAfter ") {
		t.Error(text)
	}
}

func TestAcceptedPolicies(t *testing.T) {
	t.Parallel()
	tests := map[string]retry.Policy{
		"zero":                           {},
		"delays by error beside a delay": {On: retry.Errors{retry.Named("X").Wait(time.Second)}, Delay: retry.Every(time.Minute)},
		"listed errors beside backoff":   {On: retry.Errors{retry.Named("X")}, Backoff: retry.DefaultBackoff()},
		"a delegate on a queue":          {Delegate: &retry.Delegate{Class: "X"}, Queue: retry.InQueue("q")},
		"negative delays":                {Delay: retry.Every(-time.Second)},
		"no delay function":              {Delay: retry.DelayFunc(nil), Backoff: retry.DefaultBackoff()},
	}
	for name, policy := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r resque.Registration
			if err := policy.Apply(&r); err != nil || r.Retrier == nil {
				t.Error(err)
			}
		})
	}
}

func TestAPolicyIsCopied(t *testing.T) {
	t.Parallel()
	backoff := retry.DefaultBackoff()
	on := retry.Errors{retry.Named("StandardError")}
	retrier := compile(t, retry.Policy{Backoff: backoff, On: on})
	backoff[0], on[0] = time.Hour, retry.Named("Other")
	if got := delayOf(retrier.Decide(failedRun(errPlain, 0))); got != "0s" {
		t.Errorf("a change after the registration counts: %s", got)
	}
	if !slices.Equal(retry.DefaultBackoff(), retry.DefaultBackoff()) {
		t.Error("the default changed")
	}
}

package retry_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"example.com/understudy/compat/ruby"
	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

// readSpec reads a Spec as a jobs file or a recording holds it.
func readSpec(t *testing.T, text string) retry.Spec {
	t.Helper()
	var s retry.Spec
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSpecDelays(t *testing.T) {
	t.Parallel()
	tests := []struct {
		spec    string
		args    string
		err     error
		attempt int64
		want    string
	}{
		{spec: `{"plugin":"retry"}`, want: "0s"},
		{spec: `{"plugin":"retry"}`, attempt: 1, want: "none"},
		{spec: `{"retry_limit":0}`, want: "none"},
		{spec: `{"retry_limit":-1}`, attempt: 1000, want: "0s"},
		{spec: `{"retry_limit":3}`, attempt: 2, want: "0s"},
		{spec: `{"retry_delay":60.0}`, want: "1m0s"},
		{spec: `{"retry_delay":-5}`, want: "-5s"},
		{spec: `{"plugin":"exponential_backoff"}`, attempt: 1, want: "1m0s"},
		{spec: `{"backoff_strategy":"default"}`, attempt: 5, want: "6h0m0s"},
		{spec: `{"backoff_strategy":[10,20]}`, attempt: 1, want: "20s"},
		{spec: `{"backoff_strategy":[10,20]}`, attempt: 2, want: "none"},
		{spec: `{"backoff_strategy":[10],"retry_delay_multiplicand_min":0.5}`, want: "7s"},
		{spec: `{"backoff_strategy":[10],"retry_delay_multiplicand_max":2}`, want: "15s"},
		{spec: `{"backoff_strategy":[10],"retry_delay_multiplicand_min":0,"retry_delay_multiplicand_max":0}`, want: "0s"},
		{spec: `{"retry_exceptions":["NetworkError"]}`, err: refused, want: "0s"},
		{spec: `{"retry_exceptions":["NetworkError"]}`, want: "none"},
		{spec: `{"retry_exceptions":[]}`, want: "none"},
		{spec: `{"retry_exceptions":{"NetworkError":30,"StandardError":[120,240]}}`, err: refused, attempt: 1, want: "30s"},
		{spec: `{"retry_exceptions":{"NetworkError":30,"StandardError":[120,240]}}`, attempt: 1, want: "4m0s"},
		{spec: `{"retry_exceptions":[["NetworkError",30],["StandardError",[120,240]]]}`, attempt: 1, want: "4m0s"},
		{spec: `{"fatal_exceptions":["NetworkError"]}`, err: refused, want: "none"},
		{spec: `{"fatal_exceptions":["NetworkError"]}`, want: "0s"},
		{spec: `{"ignore_exceptions":["NetworkError"]}`, err: network, attempt: 1, want: "0s"},
		{spec: `{"retry_delay_by_exception":{"NetworkError":10,"*":1}}`, err: network, want: "10s"},
		{spec: `{"retry_delay_by_exception":{"NetworkError":10,"*":1}}`, err: refused, want: "1s"},
		{spec: `{"retry_delay_by_exception":{"NetworkError":10}}`, want: "0s"},
		{spec: `{"retry_delay_from_arg":0}`, args: `["7"]`, want: "7s"},
		{spec: `{"retry_delay_from_arg":0}`, args: `[" +1_0s "]`, want: "10s"},
		{spec: `{"retry_delay_from_arg":0}`, args: `["-_1"]`, want: "0s"},
		{spec: `{"retry_delay_from_arg":0}`, args: `["1__2"]`, want: "1s"},
		{spec: `{"retry_delay_from_arg":0}`, args: `["soon"]`, want: "0s"},
		{spec: `{"retry_delay_from_arg":-1}`, args: `[1,8.9]`, want: "8s"},
		{spec: `{"retry_delay_from_arg":5}`, args: `[1]`, want: "0s"},
		{spec: `{"retry_delay_from_arg":0}`, args: `[null]`, want: "0s"},
		{spec: `{"retry_delay_from_arg":0}`, args: `[true]`, want: "none"},
		{spec: `{"retry_delay_from_arg":0}`, args: `[1e300]`, want: "none"},
		{spec: `{"retry_delay_from_arg":0}`, args: `["99999999999999999999"]`, want: "none"},
		{spec: `{"retry_exceptions":[],"criteria_checks":[{"message_includes":"oom","returns":true}]}`, want: "0s"},
		{spec: `{"retry_exceptions":[],"criteria_checks":[{"message_includes":"oom","returns":false}]}`, want: "none"},
		{spec: `{"retry_exceptions":[],"criteria_checks":[{"message_includes":"other","returns":true}]}`, want: "none"},
	}
	for _, test := range tests {
		t.Run(test.spec+test.args, func(t *testing.T) {
			t.Parallel()
			spec := readSpec(t, test.spec)
			if !spec.Enabled() {
				t.Error("it isn't enabled")
			}
			policy, err := spec.Policy()
			if err != nil {
				t.Fatal(err)
			}
			if test.err == nil {
				test.err = errPlain
			}
			run := failedRun(test.err, test.attempt)
			if test.args != "" {
				run.Job.Args = []byte(test.args)
			}
			if got := delayOf(compile(t, policy).Decide(run)); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestSpecArguments(t *testing.T) {
	t.Parallel()
	tests := []struct{ spec, args, want string }{
		{spec: `{"replace":[ 1.10, 1e-07, {"b":1,"a":"\u00e9"} ]}`, args: `[1]`, want: `[1.1,1.0e-07,{"b":1,"a":"é"}]`},
		{spec: `{"replace":[]}`, args: `[1]`, want: `[]`},
		{spec: `{"increment":1}`, args: `[1.10,5]`, want: `[1.10,6]`},
		{spec: `{"increment":-1}`, args: `["\u00e9",-1]`, want: `["\u00e9",0]`},
		{spec: `{"increment":0}`, args: `[18446744073709551616]`, want: `[18446744073709551617]`},
		{spec: `{"increment":0}`, args: `[1.5]`, want: `[2.5]`},
		{spec: `{"increment":0}`, args: `["5"]`, want: "none"},
		{spec: `{"increment":0}`, args: `[null]`, want: "none"},
		{spec: `{"increment":3}`, args: `[1]`, want: "none"},
		{spec: `{"append_exception":true}`, args: `[1.10]`, want: `[1.10,"NetworkError: down"]`},
	}
	for _, test := range tests {
		t.Run(test.spec+test.args, func(t *testing.T) {
			t.Parallel()
			policy, err := readSpec(t, `{"retry_args":`+test.spec+`}`).Policy()
			if err != nil {
				t.Fatal(err)
			}
			run := failedRun(network, 0)
			run.Job.Args = []byte(test.args)
			got := "none"
			if d := compile(t, policy).Decide(run); d.Retry != nil {
				got = string(d.Retry.Args)
			}
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestSpecKeys(t *testing.T) {
	t.Parallel()
	tests := []struct {
		spec, args, want string
		form             ruby.InspectForm
	}{
		{spec: `{"redis_retry_key":"my key"}`, args: `[1]`, want: "my key"},
		{spec: `{"retry_identifier":{"fixed":""}}`, args: `[1]`, want: "resque-retry:X:"},
		{spec: `{"retry_identifier":{"fixed":"a b"}}`, args: `[1]`, want: "resque-retry:X:ab"},
		{spec: `{"retry_identifier":{"fields":[1,0],"join":":"}}`, args: `[1,"b c"]`, want: "resque-retry:X:bc:1"},
		{spec: `{"retry_identifier":{"fields":[0,7],"join":"-"}}`, args: `[[1,[2,null]]]`, want: "resque-retry:X:1-2--"},
		{spec: `{"retry_identifier":{"fields":[-1]}}`, args: `[1,{"a":1}]`, want: `resque-retry:X:{"a"=>1}`},
		{spec: `{"retry_identifier":{"fields":[-1]}}`, args: `[1,{"a":null}]`, want: `resque-retry:X:{"a"=>nil}`, form: ruby.Inspect34},
	}
	for _, test := range tests {
		t.Run(test.spec+test.args, func(t *testing.T) {
			t.Parallel()
			policy, err := readSpec(t, test.spec).Policy()
			if err != nil {
				t.Fatal(err)
			}
			policy.Inspect = test.form
			if got := keyOf(t, policy, "X", test.args); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestSpecOtherOptions(t *testing.T) {
	t.Parallel()
	spec := readSpec(t, `{"retry_delay":20,"expire_retry_key_after":10,"sleep_after_requeue":0.5,
		"retry_job_delegate":{"class":"Fixer","queue":"fix","plugin":"retry","retry_limit":7}}`)
	policy, err := spec.Policy()
	if err != nil {
		t.Fatal(err)
	}
	retrier := compile(t, policy)
	counter, err := retrier.Counter(&resque.Job{Class: "X", Args: []byte(`[]`)}, 0)
	if err != nil || len(counter.TTLs) != 1 || counter.TTLs[0] != 30 {
		t.Errorf("counter %+v, %v", counter, err)
	}
	d := retrier.Decide(failedRun(errPlain, 0))
	if d.Retry == nil || d.Retry.Class != "Fixer" || d.Retry.Queue != "fix" || !d.DropCounter || d.SleepAfter.String() != "500ms" {
		t.Errorf("decision %+v", d)
	}
	if limit := spec.RetryJobDelegate.RetryLimit; limit == nil || *limit != 7 {
		t.Error("the other class's own policy is lost")
	}
	policy, err = readSpec(t, `{"retry_queue":"slow"}`).Policy()
	if err != nil {
		t.Fatal(err)
	}
	if d := compile(t, policy).Decide(failedRun(errPlain, 0)); d.Retry == nil || d.Retry.Queue != "slow" {
		t.Errorf("decision %+v", d)
	}
}

func TestSpecConflicts(t *testing.T) {
	t.Parallel()
	tests := []struct{ spec, keys string }{
		{spec: `{}`, keys: "plugin"},
		{spec: `{"plugin":"none"}`, keys: "plugin"},
		{spec: `{"plugin":"retyr"}`, keys: "plugin"},
		{spec: `{"retry_exceptions":[],"fatal_exceptions":[]}`, keys: "retry_exceptions fatal_exceptions"},
		{spec: `{"backoff_strategy":[1],"retry_exceptions":{"A":1}}`, keys: "backoff_strategy retry_exceptions"},
		{spec: `{"backoff_strategy":[1],"retry_delay":1}`, keys: "backoff_strategy retry_delay"},
		{spec: `{"plugin":"exponential_backoff","retry_delay":1}`, keys: "backoff_strategy retry_delay"},
		{spec: `{"plugin":"retry","backoff_strategy":[1]}`, keys: "plugin backoff_strategy"},
		{spec: `{"plugin":"exponential_backoff","retry_delay_multiplicand_min":1.1}`, keys: "retry_delay_multiplicand_min"},
		{spec: `{"backoff_strategy":[]}`, keys: "backoff_strategy"},
		{spec: `{"retry_delay":1,"retry_delay_from_arg":0}`, keys: "retry_delay retry_delay_from_arg"},
		{spec: `{"retry_delay_by_exception":{},"retry_delay_from_arg":0}`, keys: "retry_delay_by_exception retry_delay_from_arg"},
		{spec: `{"redis_retry_key":"k","retry_identifier":{"fixed":"f"}}`, keys: "redis_retry_key retry_identifier"},
		{spec: `{"redis_retry_key":""}`, keys: "redis_retry_key"},
		{spec: `{"retry_queue":""}`, keys: "retry_queue"},
		{spec: `{"retry_identifier":{}}`, keys: "retry_identifier"},
		{spec: `{"retry_identifier":{"fixed":"f","fields":[0]}}`, keys: "retry_identifier"},
		{spec: `{"retry_args":{}}`, keys: "retry_args"},
		{spec: `{"retry_args":{"increment":0,"append_exception":true}}`, keys: "retry_args"},
		{spec: `{"retry_job_delegate":{"class":"X"}}`, keys: "retry_job_delegate retry_queue"},
		{spec: `{"expire_retry_key_after":0}`, keys: "expire_retry_key_after"},
		{spec: `{"expire_retry_key_after":-1}`, keys: "expire_retry_key_after"},
		{spec: `{"retry_exceptions":{"A":[]}}`, keys: "retry_exceptions"},
		{spec: `{"ignore_exceptions":["A","A"]}`, keys: "ignore_exceptions"},
	}
	for _, test := range tests {
		t.Run(test.spec, func(t *testing.T) {
			t.Parallel()
			_, err := readSpec(t, test.spec).Policy()
			refusal, ok := errors.AsType[*retry.ConfigError](err)
			if !ok || strings.Join(refusal.Fields, " ") != test.keys {
				t.Errorf("got %v", err)
			}
			if err != nil && strings.ContainsAny(err.Error(), "{}") {
				t.Errorf("a field kept its braces: %v", err)
			}
		})
	}
}

func TestSpecEnabled(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{}`: false, `{"plugin":"none","retry_limit":3}`: false, `{"plugin":"retry"}`: true, `{"retry_limit":0}`: true,
		`{"retry_exceptions":[]}`: true, `{"retry_exceptions":null}`: false, `{"retry_delay_multiplicand_max":2}`: true,
	} {
		if got := readSpec(t, text).Enabled(); got != want {
			t.Errorf("%s: got %v", text, got)
		}
	}
}

func TestSpecOfWrongTypes(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"retry_delay":1.5}`, `{"retry_delay":"5"}`, `{"retry_delay":99999999999}`, `{"retry_delay":1e300}`, `{"backoff_strategy":"fast"}`,
		`{"backoff_strategy":[1.5]}`, `{"retry_exceptions":"NetworkError"}`, `{"retry_exceptions":[5]}`, `{"retry_exceptions":[["A"]]}`,
		`{"retry_exceptions":[["A",1,2]]}`, `{"retry_exceptions":[[1,2]]}`, `{"retry_exceptions":{"A":"x"}}`, `{"retry_exceptions":{"A":[1,0.5]}}`,
		`{"retry_args":{"replace":{}}}`, `{"retry_limit":"3"}`,
	} {
		var s retry.Spec
		if err := json.Unmarshal([]byte(text), &s); err == nil {
			t.Errorf("%s is read as %+v", text, s)
		}
	}
}

// yamlLike hands over values as a YAML decoder does.
func yamlLike(value any) func(any) error {
	return func(into any) error {
		target, ok := into.(*any)
		if !ok {
			return fmt.Errorf("into %T", into)
		}
		*target = value
		return nil
	}
}

func TestSpecFromYAML(t *testing.T) {
	t.Parallel()
	var exceptions retry.Exceptions
	if err := exceptions.UnmarshalYAML(yamlLike(map[string]any{"NetworkError": 30, "A": []any{1, 2}})); err != nil || len(exceptions) != 2 {
		t.Errorf("exceptions %v, %v", exceptions, err)
	}
	var backoff retry.Backoff
	if err := backoff.UnmarshalYAML(yamlLike("default")); err != nil || !backoff.Default {
		t.Errorf("backoff %v, %v", backoff, err)
	}
	var values retry.Values
	if err := values.UnmarshalYAML(yamlLike([]any{999, "fallback", 1.5, nil})); err != nil || string(values.JSON()) != `[999,"fallback",1.5,null]` {
		t.Errorf("values %s, %v", values.JSON(), err)
	}
	var seconds retry.Seconds
	if err := seconds.UnmarshalYAML(yamlLike(1.5)); err == nil {
		t.Errorf("seconds %v", seconds)
	}
}

package retry_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"example.com/understudy/retry"
)

// drawSpec draws the options of a class, often with contradictions among them.
func drawSpec(t *rapid.T) map[string]any {
	name := rapid.SampledFrom([]string{"NetworkError", "StandardError", "ConnectionRefused", "Other::Error", "null", "1", "yes"})
	delay := rapid.Map(rapid.IntRange(-3, 100_000), func(n int) any { return n })
	delays := rapid.OneOf(delay, rapid.Map(rapid.SliceOfN(delay, 1, 3), func(l []any) any { return l }))
	names := rapid.Map(rapid.SliceOfN(name, 0, 2), func(l []string) any { return l })
	index := rapid.Map(rapid.IntRange(-2, 2), func(n int) any { return n })
	number := rapid.Map(rapid.Float64Range(0, 3), func(x float64) any { return x })
	fixed := func(values ...any) *rapid.Generator[any] { return rapid.SampledFrom(values) }
	options := map[string]*rapid.Generator[any]{
		"plugin": fixed("retry", "exponential_backoff"), "retry_limit": rapid.Map(rapid.IntRange(-2, 5), func(n int) any { return n }),
		"retry_delay": delay, "fatal_exceptions": names, "ignore_exceptions": names,
		"retry_exceptions":             rapid.OneOf(names, rapid.Map(rapid.MapOfN(name, delays, 0, 3), func(m map[string]any) any { return m })),
		"backoff_strategy":             rapid.OneOf(fixed("default"), rapid.Map(rapid.SliceOfN(delay, 1, 4), func(l []any) any { return l })),
		"retry_delay_multiplicand_min": number, "retry_delay_multiplicand_max": number,
		"expire_retry_key_after": rapid.Map(rapid.IntRange(1, 9999), func(n int) any { return n }), "sleep_after_requeue": number,
		"retry_queue": fixed("low", "a: b", "#1", "~"), "redis_retry_key": fixed("k", "yes", "1e3"),
		"retry_job_delegate": fixed(map[string]any{"class": "Fixer", "queue": "fix"}, map[string]any{"class": "Fixer", "queue": "0x10", "retry_limit": 2}),
		"retry_identifier":   fixed(map[string]any{"fields": []any{0, -1}, "join": ":"}, map[string]any{"fixed": "no"}, map[string]any{"fields": []any{}}),
		"retry_args": fixed(map[string]any{"replace": []any{1, "x: y", nil, true, []any{1.5}, map[string]any{"b": 1}}}, map[string]any{"increment": 1},
			map[string]any{"append_exception": true}),
		"retry_delay_by_exception": rapid.Map(rapid.MapOfN(rapid.OneOf(name, rapid.Just("*")), delay, 0, 3), func(m map[string]any) any { return m }),
		"retry_delay_from_arg":     index,
		"criteria_checks":          fixed([]any{map[string]any{"message_includes": "boom", "returns": true}}, []any{map[string]any{"message_includes": "yes", "returns": false}}),
	}
	spec := map[string]any{}
	for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom(sortedKeys(options)), 1, 5, rapid.ID[string]).Draw(t, "keys") {
		spec[key] = options[key].Draw(t, key)
	}
	return spec
}

// The same options in JSON, in YAML's own form and in JSON read as YAML are the
// same policy, or refused with the same words.
func TestSpecsInJSONAndYAMLAreTheSame(t *testing.T) {
	t.Parallel()
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		options := drawSpec(t)
		inJSON, err := json.Marshal(options)
		if err != nil {
			t.Fatal(err)
		}
		inYAML, err := yaml.Marshal(options)
		if err != nil {
			t.Fatal(err)
		}
		var specs [3]retry.Spec
		if err := errors.Join(json.Unmarshal(inJSON, &specs[0]), yaml.Unmarshal(inYAML, &specs[1]), yaml.Unmarshal(inJSON, &specs[2])); err != nil {
			t.Fatalf("%s\n%s\n%v", inJSON, inYAML, err)
		}
		want, ok := behaviour(t, specs[0])
		if ok {
			accepted++
		}
		for _, spec := range specs[1:] {
			got, _ := behaviour(t, spec)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s\n%s\n%s", inJSON, inYAML, diff)
			}
		}
	})
	if accepted == 0 {
		t.Error("no options were accepted")
	}
}

// behaviour is all that can be seen of a policy; or why it is refused.
func behaviour(t *rapid.T, s retry.Spec) (seen []string, ok bool) {
	policy, err := s.Policy()
	if err != nil {
		return []string{err.Error(), fmt.Sprint(s.Enabled())}, false
	}
	retrier, err := policy.Retrier()
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{errPlain, network, refused, term} {
		for attempt := range int64(4) {
			run := failedRun(err, attempt)
			counter, problem := retrier.Counter(run.Job, run.Random)
			d := retrier.Decide(run)
			seen = append(seen, fmt.Sprintf("%v %d: %+v %v; %v %v %v %v", err, attempt, counter, problem, d.Uncount, d.DropCounter, d.Err, d.SleepAfter))
			if d.Retry != nil {
				seen = append(seen, fmt.Sprintf("%s %s %s %v", d.Retry.Class, d.Retry.Args, d.Retry.Queue, d.Retry.Delay))
			}
		}
	}
	return seen, true
}

// sortedKeys makes draws of a map's keys repeatable.
func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}

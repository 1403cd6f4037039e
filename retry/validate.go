package retry

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// ConfigError says which fields of a Policy, or which keys of a Spec, are wrong
// or contradict each other, and what to write instead.
type ConfigError struct {
	// Fields are named as they were written: On, or retry_exceptions.
	Fields []string
	// Reason goes on after them.
	Reason string
}

func (e *ConfigError) Error() string {
	return fmt.Sprintf("retry: %s %s", strings.Join(e.Fields, " and "), e.Reason)
}

// In a reason, {Field} stands for a field's name as its author wrote it.
func goNames() *strings.Replacer { return strings.NewReplacer("{", "", "}", "") }

// problems gathers what is wrong with a policy.
type problems struct {
	names *strings.Replacer
	found []error
}

func (p *problems) add(reason string, fields ...string) {
	for i := range fields {
		fields[i] = p.names.Replace("{" + fields[i] + "}")
	}
	p.found = append(p.found, &ConfigError{Fields: fields, Reason: p.names.Replace(reason)})
}

// validate finds everything that is wrong; naming is how the reader knows the
// fields.
func (p Policy) validate(naming *strings.Replacer) error {
	found := &problems{names: naming}
	p.checkConflicts(found)
	p.checkDelays(found)
	p.checkJitter(found)
	p.checkErrors(found)
	p.checkDelegate(found)
	p.checkStrategy(found)
	return errors.Join(found.found...)
}

func (p Policy) checkConflicts(found *problems) {
	if p.On != nil && p.Fatal != nil {
		found.add("exclude each other: list the errors to try again, or those not to", "On", "Fatal")
	}
	if p.Backoff != nil && p.On.waits() {
		found.add("both set delays: leave {Backoff} out, or list the errors of {On} without delays", "Backoff", "On")
	}
	if p.Backoff != nil && !p.Delay.isZero() {
		found.add("both set delays: leave {Delay} out, or write it as the only delay of {Backoff}", "Backoff", "Delay")
	}
	if p.Backoff == nil && !p.Jitter.isZero() {
		found.add("belong together: write the delay as a list in {Backoff}, or leave {Jitter} out", "Jitter", "Backoff")
	}
	if p.Key != nil && (p.Identifier != nil || p.fields != nil) {
		found.add("exclude each other: {Key} replaces the whole key, {Identifier} its last part", "Key", "Identifier")
	}
	if p.Backoff != nil && len(p.Backoff) == 0 {
		found.add("is empty: give it a delay for each retry, or leave it out", "Backoff")
	}
}

func (p Policy) checkDelays(found *problems) {
	checkWhole(found, "Delay", p.Delay.fixed)
	for _, d := range p.Backoff {
		checkWhole(found, "Backoff", d)
	}
	for _, m := range p.On {
		for _, d := range m.waits {
			checkWhole(found, "On", d)
		}
	}
	checkWhole(found, "ExpireAfter", p.ExpireAfter)
	if p.ExpireAfter < 0 {
		found.add("is negative: leave it out for counters that don't expire", "ExpireAfter")
	}
}

// checkWhole refuses fractions of seconds.
func checkWhole(found *problems, field string, d time.Duration) {
	switch {
	case d%time.Second == 0:
	case -time.Millisecond < d && d < time.Millisecond: // a bare number
		found.add(fmt.Sprintf("has %v: Go counts nanoseconds; write %d * time.Second", d, d.Nanoseconds()), field)
	default:
		found.add(fmt.Sprintf("has %v: delays are whole seconds, write %v", d, roundUp(d)), field)
	}
}

func roundUp(d time.Duration) time.Duration {
	if d < 0 {
		return d.Truncate(time.Second)
	}
	return (d + time.Second - 1).Truncate(time.Second)
}

func (p Policy) checkJitter(found *problems) {
	bad := func(f float64) bool { return math.IsNaN(f) || math.IsInf(f, 0) }
	switch {
	case bad(p.Jitter.Min) || bad(p.Jitter.Max):
		found.add("has a factor that is no number", "Jitter")
	case p.Jitter.Min > p.Jitter.Max:
		found.add(fmt.Sprintf("has a minimum of %v above its maximum of %v: write both, the smaller one first", p.Jitter.Min, p.Jitter.Max), "Jitter")
	}
}

func (p Policy) checkErrors(found *problems) {
	for _, list := range []struct {
		field  string
		errors Errors
	}{{"On", p.On}, {"Fatal", p.Fatal}, {"Ignore", p.Ignore}} {
		for i, m := range list.errors {
			switch {
			case m.bad != "":
				found.add(m.bad, list.field)
			case m.text == "":
				found.add("has an empty entry: use Named, Is or As", list.field)
			case m.waits != nil && list.field != "On":
				found.add("has a delay for "+m.text+": only {On} gives delays", list.field)
			case m.hits == nil && slices.ContainsFunc(list.errors[:i], func(o Match) bool { return o.hits == nil && o.name == m.name }):
				found.add("lists "+m.name+" twice: keep one of them", list.field)
			}
		}
	}
}

func (p Policy) checkDelegate(found *problems) {
	if p.Delegate == nil {
		return
	}
	if p.Delegate.Class == "" {
		found.add("names no class", "Delegate")
	}
	if p.Delegate.Queue == "" && p.Queue == nil {
		found.add("name no queue for the other class: write its own in {Delegate}, or set {Queue}", "Delegate", "Queue")
	}
}

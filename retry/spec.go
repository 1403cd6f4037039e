package retry

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"example.com/understudy/resque"
)

// The values of Spec.Plugin.
const (
	PluginNone    = "none"
	PluginRetry   = "retry"
	PluginBackoff = "exponential_backoff"
)

// Spec is a Policy as data. Its keys are resque-retry's options by their own
// names, so that a Ruby class is ported by copying them, and declarative forms of
// the methods that a Ruby class overrides. A key that is absent is nil.
type Spec struct {
	// Plugin is none, retry or exponential_backoff. "": retry when any option
	// is given, with Backoff when one of its own is, else none.
	Plugin string `json:"plugin,omitempty" yaml:"plugin,omitempty"`
	// RetryLimit: 0 never, negative for ever.
	RetryLimit *int     `json:"retry_limit,omitempty" yaml:"retry_limit,omitempty"`
	RetryDelay *Seconds `json:"retry_delay,omitempty" yaml:"retry_delay,omitempty"`
	// RetryExceptions is a list of names, a list of [name, delay or delays], or
	// an object of these. Empty: only the checks decide.
	RetryExceptions  Exceptions `json:"retry_exceptions,omitempty" yaml:"retry_exceptions,omitempty"`
	FatalExceptions  []string   `json:"fatal_exceptions,omitempty" yaml:"fatal_exceptions,omitempty"`
	IgnoreExceptions []string   `json:"ignore_exceptions,omitempty" yaml:"ignore_exceptions,omitempty"`
	// BackoffStrategy is a list of delays, or the word default.
	BackoffStrategy *Backoff `json:"backoff_strategy,omitempty" yaml:"backoff_strategy,omitempty"`
	MultiplicandMin *float64 `json:"retry_delay_multiplicand_min,omitempty" yaml:"retry_delay_multiplicand_min,omitempty"`
	MultiplicandMax *float64 `json:"retry_delay_multiplicand_max,omitempty" yaml:"retry_delay_multiplicand_max,omitempty"`
	// RetryWaits is a list of waits, or the word default: Waits, with
	// MaxAttempts attempts, the first one included; 0: 10, negative: without
	// end.
	RetryWaits  *Backoff `json:"retry_waits,omitempty" yaml:"retry_waits,omitempty"`
	MaxAttempts *int     `json:"max_attempts,omitempty" yaml:"max_attempts,omitempty"`
	ExpireAfter *Seconds `json:"expire_retry_key_after,omitempty" yaml:"expire_retry_key_after,omitempty"`
	// SleepAfterRequeue is in seconds; fractions are kept.
	SleepAfterRequeue *float64        `json:"sleep_after_requeue,omitempty" yaml:"sleep_after_requeue,omitempty"`
	RetryQueue        *string         `json:"retry_queue,omitempty" yaml:"retry_queue,omitempty"`
	RetryJobDelegate  *DelegateSpec   `json:"retry_job_delegate,omitempty" yaml:"retry_job_delegate,omitempty"`
	RetryIdentifier   *IdentifierSpec `json:"retry_identifier,omitempty" yaml:"retry_identifier,omitempty"`
	// RedisRetryKey is the whole key of every job's counter.
	RedisRetryKey *string   `json:"redis_retry_key,omitempty" yaml:"redis_retry_key,omitempty"`
	RetryArgs     *ArgsSpec `json:"retry_args,omitempty" yaml:"retry_args,omitempty"`
	// RetryDelayByException is seconds by the error's exact class; * is all
	// others, which wait for nothing without it.
	RetryDelayByException map[string]Seconds `json:"retry_delay_by_exception,omitempty" yaml:"retry_delay_by_exception,omitempty"`
	// RetryDelayFromArg is the index of the argument that holds the delay, read
	// as Ruby's to_i does; negative counts from the end.
	RetryDelayFromArg *int        `json:"retry_delay_from_arg,omitempty" yaml:"retry_delay_from_arg,omitempty"`
	CriteriaChecks    []CheckSpec `json:"criteria_checks,omitempty" yaml:"criteria_checks,omitempty"`
}

// DelegateSpec is the class that a retry is handed to.
type DelegateSpec struct {
	Class string `json:"class" yaml:"class"`
	// Queue is its own queue.
	Queue string `json:"queue,omitempty" yaml:"queue,omitempty"`
	// Spec is that class's own policy. It has no part in this one's.
	Spec `yaml:",inline"`
}

// IdentifierSpec tells the counters of a class apart by some of the arguments,
// or not at all.
type IdentifierSpec struct {
	// Fields are the indices of the arguments that are joined; negative ones
	// count from the end.
	Fields []int `json:"fields,omitempty" yaml:"fields,omitempty"`
	// Join stands between them.
	Join string `json:"join,omitempty" yaml:"join,omitempty"`
	// Fixed is the same identifier for every job.
	Fixed *string `json:"fixed,omitempty" yaml:"fixed,omitempty"`
}

// ArgsSpec changes the arguments of a retry in one of three ways. Arguments that
// it doesn't touch keep their bytes.
type ArgsSpec struct {
	// Replace is the new arguments.
	Replace *Values `json:"replace,omitempty" yaml:"replace,omitempty"`
	// Increment is the index of a number that grows by one.
	Increment *int `json:"increment,omitempty" yaml:"increment,omitempty"`
	// AppendException adds "Class: message" of the error.
	AppendException bool `json:"append_exception,omitempty" yaml:"append_exception,omitempty"`
}

// CheckSpec is true when it Returns so and the error's message includes the
// text.
type CheckSpec struct {
	MessageIncludes string `json:"message_includes" yaml:"message_includes"`
	Returns         bool   `json:"returns" yaml:"returns"`
}

// specNames are the options of the fields of a Policy.
func specNames() *strings.Replacer {
	return strings.NewReplacer(
		"{On}", "retry_exceptions", "{Limit}", "retry_limit", "{Fatal}", "fatal_exceptions", "{Ignore}", "ignore_exceptions",
		"{Backoff}", "backoff_strategy", "{Delay}", "retry_delay", "{Jitter}", "retry_delay_multiplicand_min",
		"{Key}", "redis_retry_key", "{Identifier}", "retry_identifier", "{ExpireAfter}", "expire_retry_key_after",
		"{Delegate}", "retry_job_delegate", "{Queue}", "retry_queue", "{Args}", "retry_args",
		"{ByException}", "retry_delay_by_exception", "{FromArg}", "retry_delay_from_arg", "{Waits}", "retry_waits", "{Strategy}", "retry_waits", "{Plugin}", "plugin",
	)
}

// Enabled says that there is a policy: by Plugin, or by any option.
func (s Spec) Enabled() bool {
	if s.Plugin != "" {
		return s.Plugin != PluginNone
	}
	return s.backsOff() || s.waits() || s.RetryLimit != nil || s.RetryDelay != nil || s.RetryExceptions != nil ||
		s.FatalExceptions != nil || s.IgnoreExceptions != nil || s.ExpireAfter != nil || s.SleepAfterRequeue != nil ||
		s.RetryQueue != nil || s.RetryJobDelegate != nil || s.RetryIdentifier != nil || s.RedisRetryKey != nil ||
		s.RetryArgs != nil || s.RetryDelayByException != nil || s.RetryDelayFromArg != nil || s.CriteriaChecks != nil
}

// backsOff says that an option of exponential_backoff is given.
func (s Spec) backsOff() bool {
	return s.Plugin == PluginBackoff || s.BackoffStrategy != nil || s.MultiplicandMin != nil || s.MultiplicandMax != nil
}

// waits says that Waits decides.
func (s Spec) waits() bool { return s.RetryWaits != nil || s.MaxAttempts != nil }

// Policy is the policy that the options describe, checked; the errors name the
// options. Where Enabled says no, it is refused: a class without a plugin isn't
// tried again.
func (s Spec) Policy() (Policy, error) {
	found := &problems{names: specNames()}
	s.check(found)
	p := Policy{
		Limit: s.limit(), Delay: s.delay(), Backoff: s.backoff(), Jitter: s.jitter(),
		On: errorsOf(s.RetryExceptions), Fatal: named(s.FatalExceptions), Ignore: named(s.IgnoreExceptions),
		Check: s.checks(), Args: s.RetryArgs.change(), fields: s.RetryIdentifier,
	}
	if s.waits() {
		p.Strategy = s.strategy()
	}
	if s.ExpireAfter != nil {
		p.ExpireAfter = s.ExpireAfter.duration()
	}
	if s.SleepAfterRequeue != nil {
		p.SleepAfterRequeue = time.Duration(*s.SleepAfterRequeue * float64(time.Second))
	}
	if s.RetryQueue != nil {
		p.Queue = InQueue(*s.RetryQueue)
	}
	if s.RetryJobDelegate != nil {
		p.Delegate = &Delegate{Class: s.RetryJobDelegate.Class, Queue: s.RetryJobDelegate.Queue}
	}
	if s.RedisRetryKey != nil {
		p.Key = func(*resque.Job) string { return *s.RedisRetryKey }
	}
	if err := errors.Join(append(found.found, p.validate(specNames()))...); err != nil {
		return Policy{}, err
	}
	return p, nil
}

// check finds what only the data form can get wrong.
func (s Spec) check(found *problems) {
	switch s.Plugin {
	case "", PluginRetry, PluginBackoff:
	case PluginNone:
		found.add("is none: leave it out, and give an option of retry, to try again", "Plugin")
	default:
		found.add(fmt.Sprintf("is %q: write none, retry or exponential_backoff", s.Plugin), "Plugin")
	}
	if s.Plugin == "" && !s.Enabled() {
		found.add("is none by default: write retry for one retry at once", "Plugin")
	}
	if s.Plugin == PluginRetry && s.backsOff() {
		found.add("contradict each other: write exponential_backoff in {Plugin}, or leave {Backoff} and its multiplicands out", "Plugin", "Backoff")
	}
	s.checkDelays(found)
	if a := s.RetryArgs; a != nil && a.ways() != 1 {
		found.add("takes exactly one of replace, increment and append_exception", "Args")
	}
	if i := s.RetryIdentifier; i != nil && (i.Fixed != nil) == (i.Fields != nil) {
		found.add("takes either fields (and join) or fixed", "Identifier")
	}
	if s.RedisRetryKey != nil && *s.RedisRetryKey == "" {
		found.add("is empty: leave it out for the usual keys", "Key")
	}
	if s.RetryQueue != nil && *s.RetryQueue == "" {
		found.add("is empty: leave it out for the class's own queue", "Queue")
	}
	if s.ExpireAfter != nil && *s.ExpireAfter == 0 {
		found.add("is 0, with which Redis drops the counter before the retry: leave it out, or give it some seconds", "ExpireAfter")
	}
}

// checkDelays refuses two delays that hide each other.
func (s Spec) checkDelays(found *problems) {
	var given []string
	if s.RetryDelay != nil {
		given = append(given, "Delay")
	}
	if s.RetryDelayByException != nil {
		given = append(given, "ByException")
	}
	if s.RetryDelayFromArg != nil {
		given = append(given, "FromArg")
	}
	if len(given) > 1 {
		found.add("all set the delay: keep one of them", given...)
	}
}

func (s Spec) limit() int {
	switch {
	case s.RetryLimit == nil:
		return 0
	case *s.RetryLimit == 0:
		return Never
	case *s.RetryLimit < 0:
		return Forever
	default:
		return *s.RetryLimit
	}
}

func (s Spec) delay() Delay {
	switch {
	case s.RetryDelayByException != nil:
		return delayByException(s.RetryDelayByException)
	case s.RetryDelayFromArg != nil:
		return delayFromArg(*s.RetryDelayFromArg)
	case s.RetryDelay != nil:
		return Every(s.RetryDelay.duration())
	default:
		return Delay{}
	}
}

func (s Spec) backoff() []time.Duration {
	switch {
	case s.BackoffStrategy != nil && !s.BackoffStrategy.Default:
		return durations(s.BackoffStrategy.Delays)
	case s.backsOff():
		return DefaultBackoff()
	default:
		return nil
	}
}

// strategy is the Waits of retry_waits and max_attempts.
func (s Spec) strategy() Waits {
	var w Waits
	if s.MaxAttempts != nil {
		w.MaxAttempts = *s.MaxAttempts
	}
	if s.RetryWaits != nil && !s.RetryWaits.Default {
		w.Waits = durations(s.RetryWaits.Delays)
	}
	return w
}

// jitter is 1.0 to 1.0 as far as nothing else is said.
func (s Spec) jitter() Jitter {
	if s.MultiplicandMin == nil && s.MultiplicandMax == nil {
		return Jitter{}
	}
	j := Jitter{Min: 1, Max: 1, set: true}
	if s.MultiplicandMin != nil {
		j.Min = *s.MultiplicandMin
	}
	if s.MultiplicandMax != nil {
		j.Max = *s.MultiplicandMax
	}
	return j
}

func named(classes []string) Errors {
	if classes == nil {
		return nil
	}
	list := Errors{}
	for _, class := range classes {
		list = append(list, Named(class))
	}
	return list
}

package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"example.com/understudy/compat/ruby"
	"example.com/understudy/failure"
	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

// backendOf is the failure backend that a scenario names.
func backendOf(name string) (resque.FailureBackend, error) {
	switch name {
	case "redis":
		return failure.List{}, nil
	case "redis_multi_queue":
		return failure.ListPerQueue{}, nil
	case "multiple_with_retry_suppression":
		return failure.SuppressRetries(failure.List{}), nil
	case "suppression_over_multi_queue":
		return failure.SuppressRetries(failure.ListPerQueue{}), nil
	default:
		return nil, fmt.Errorf("unknown failure backend %q", name)
	}
}

// perQueue says that a backend keeps its failures in lists by queue.
func perQueue(name string) bool {
	return name == "redis_multi_queue" || name == "suppression_over_multi_queue"
}

// inspectForm is that of the Ruby of this version.
func inspectForm(version string) ruby.InspectForm {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	first, _ := strconv.Atoi(major) // 0: old
	second, _ := strconv.Atoi(minor)
	switch v := 100*first + second; {
	case v >= 304:
		return ruby.Inspect34
	case v >= 302:
		return ruby.Inspect32
	default:
		return ruby.Inspect31
	}
}

// classes are the scenario's job classes in the order of their definition; a
// class defined twice is, as in Ruby, what it was defined last.
func classes(jobs []job) []job {
	var all []job
	for _, j := range jobs {
		all = append(all, j)
		if j.Delegate != nil && j.Plugin != pluginNone {
			all = append(all, classes([]job{*j.Delegate})...)
		}
	}
	return all
}

// define makes the worker know a class.
func (r *replayer) define(w *resque.Worker, j job) error {
	options := []resque.HandleOption{resque.Queue(j.Queue)}
	if j.Plugin != pluginNone {
		policy, err := r.policy(j)
		if err != nil {
			return err
		}
		options = append(options, policy)
	}
	return w.Handle(j.Class, resque.HandlerFunc(func(ctx context.Context, run *resque.Job) error {
		return r.perform(ctx, run, j.Plugin != pluginNone)
	}), options...)
}

// policy is what package retry makes of a class's options, with its functions
// leaving a trace.
func (r *replayer) policy(j job) (retry.Policy, error) {
	var spec retry.Spec
	if err := json.Unmarshal(j.Text, &spec); err != nil {
		return retry.Policy{}, fmt.Errorf("read the options of %s: %w", j.Class, err)
	}
	policy, err := spec.Policy()
	if err != nil {
		return policy, err
	}
	policy.Inspect = inspectForm(r.file.RecordedWith["ruby"])
	for n, check := range policy.Check {
		policy.Check[n] = func(run *resque.Job, err error) bool {
			r.happened(fmt.Sprintf(`[%q,%d]`, eventCriteriaCheck, n))
			return check(run, err)
		}
	}
	for n := range j.TryAgain {
		policy.TryAgain = append(policy.TryAgain, r.callback(eventTryAgain, n))
	}
	for n := range j.GiveUp {
		policy.GiveUp = append(policy.GiveUp, r.callback(eventGiveUp, n))
	}
	return policy, nil
}

func (r *replayer) callback(event string, n int) retry.Callback {
	return func(run *resque.Job, err error) error {
		r.happened(fmt.Sprintf(`[%q,%d,%q,%s]`, event, n, resque.DescribeError(err).Name, run.Args))
		return nil
	}
}

// raisedError is an error as the scenarios raise them.
type raisedError struct {
	class, message string
	ancestors      []string
}

func (e *raisedError) Error() string         { return e.message }
func (e *raisedError) ExceptionName() string { return e.class }
func (e *raisedError) Ancestors() []string   { return e.ancestors }

// raise makes the error of an outcome.
func (r *replayer) raise(o outcome) error {
	line, ok := r.file.Exceptions[o.Raise]
	if !ok {
		return fmt.Errorf("conformance: the file doesn't say what %s descends from", o.Raise)
	}
	return &raisedError{class: o.Raise, message: o.Message, ancestors: line[1:]}
}

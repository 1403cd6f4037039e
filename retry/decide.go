package retry

import (
	"slices"
	"time"

	"example.com/understudy/compat/ruby"
	"example.com/understudy/resque"
)

// retrier is a Policy in use.
type retrier struct {
	Policy

	limit int // 0: never; negative: for ever
}

func compile(p Policy) *retrier {
	p.Backoff = slices.Clone(p.Backoff)
	p.On, p.Fatal, p.Ignore = slices.Clone(p.On), slices.Clone(p.Fatal), slices.Clone(p.Ignore)
	p.Check, p.TryAgain, p.GiveUp = slices.Clone(p.Check), slices.Clone(p.TryAgain), slices.Clone(p.GiveUp)
	if p.Delegate != nil {
		delegate := *p.Delegate
		p.Delegate = &delegate
	}
	return &retrier{Policy: p, limit: limitOf(p)}
}

func limitOf(p Policy) int {
	switch {
	case p.Limit == Never:
		return 0
	case p.Limit != 0:
		return p.Limit
	case p.Backoff != nil:
		return len(p.Backoff)
	}
	limit := 1
	for _, m := range p.On {
		limit = max(limit, len(m.waits))
	}
	return limit
}

// failed is a failed run on its way through the rules.
type failed struct {
	job     *resque.Job // with the attempt that counts
	err     error
	lineage []resque.Link
	run     resque.FailedRun
	at      time.Time // what the strategy answered
}

// Decide applies the rules. The order is resque-retry's: ignored errors, limit,
// listed errors, checks; then the callbacks, and only then the delay, the queue
// and the arguments.
func (r *retrier) Decide(run resque.FailedRun) (d resque.Decision) {
	defer func() {
		if panicked := recover(); panicked != nil { // a method of the error itself
			d = resque.Decision{Err: both(run.Err, &resque.PanicError{Value: panicked})}
		}
	}()
	f := &failed{job: copyOf(run.Job, run.Attempt), err: run.Err, lineage: resque.ErrorLineage(run.Err), run: run}
	if asked := resque.AskedOutcome(run.Err); asked != resque.Failed {
		return r.asked(f, asked)
	}
	if len(r.Ignore) > 0 && r.Ignore.exact(resque.DescribeError(f.err).Name, f.lineage) {
		d.Uncount = true
		f.job.Attempt--
		r.debug("the error is ignored: this attempt does not count", f)
	}
	retry, problem := r.retry(f)
	if retry != nil {
		d.Retry, d.DropCounter = retry, r.Delegate != nil
		d.SleepAfter = max(0, r.SleepAfterRequeue)
		return d
	}
	d.Err = r.giveUp(f, problem)
	return d
}

// asked ends a job in the way that its handler asked for.
func (r *retrier) asked(f *failed, outcome resque.Outcome) resque.Decision {
	if outcome == resque.Discarded {
		r.debug("the handler discarded the job", f)
		return resque.Decision{}
	}
	r.debug("the handler ended the job", f)
	return resque.Decision{Err: r.giveUp(f, nil)}
}

// retry is the job to push; nil: the rules, or a failing function, say no.
func (r *retrier) retry(f *failed) (*resque.Retry, error) {
	if wanted, err := r.wanted(f); !wanted || err != nil {
		return nil, err
	}
	r.debug("trying again", f)
	for _, callback := range r.TryAgain {
		if _, err := guarded("TryAgain", func() (any, error) { return nil, callback(f.job, f.err) }); err != nil {
			return nil, err
		}
	}
	delay, err := r.delay(f)
	if err != nil {
		return nil, err
	}
	retry := &resque.Retry{Class: f.job.Class, Args: f.run.Job.Args, Delay: time.Duration(delay) * time.Second}
	if r.Delegate != nil {
		retry.Class = r.Delegate.Class
	}
	if retry.Queue, err = r.queue(f); err != nil {
		return nil, err
	}
	if r.Args != nil {
		if retry.Args, err = r.arguments(f); err != nil {
			return nil, err
		}
	}
	r.debugRetry(f, retry)
	return retry, nil
}

// wanted says whether limit, errors and checks want a retry.
func (r *retrier) wanted(f *failed) (bool, error) {
	if again, err := r.within(f); !again || err != nil {
		r.debug("the retry limit is reached", f)
		return false, err
	}
	if r.listed(f) {
		r.debug("the error is sufficient for a retry", f)
		return true, nil
	}
	r.debug("the error is not sufficient for a retry", f)
	for _, check := range r.Check {
		yes, err := guarded("Check", func() (bool, error) { return check(f.job, f.err), nil })
		if err != nil {
			return false, err
		}
		if yes {
			r.debug("a check is sufficient for a retry", f)
			return true, nil
		}
	}
	return false, nil
}

// within says that one more retry is allowed.
func (r *retrier) within(f *failed) (bool, error) {
	if r.Strategy != nil {
		return r.ask(f)
	}
	return r.limit < 0 || r.limit > 0 && f.job.Attempt < int64(r.limit), nil
}

func (r *retrier) listed(f *failed) bool {
	switch {
	case r.Fatal != nil:
		return r.Fatal.nearest(f.lineage) == nil
	case r.On != nil:
		return r.On.nearest(f.lineage) != nil
	default:
		return true
	}
}

func (r *retrier) delay(f *failed) (int64, error) {
	if r.Strategy != nil {
		return f.untilNext(), nil
	}
	if !r.On.waits() {
		return r.plainDelay(f.job, f.err, f.run.Random)
	}
	match := r.On.nearest(f.lineage)
	switch {
	case match == nil:
		return 0, nil
	case match.waits == nil:
		return r.plainDelay(f.job, f.err, f.run.Random)
	default:
		return wholeSeconds(at(match.waits, f.job.Attempt)), nil
	}
}

// queue is where the retry goes.
func (r *retrier) queue(f *failed) (string, error) {
	if r.Queue != nil {
		queue, err := guarded("Queue", func() (string, error) { return r.Queue(f.job, f.err), nil })
		if queue != "" || err != nil {
			return queue, err
		}
	}
	if r.Delegate != nil && r.Delegate.Queue != "" {
		return r.Delegate.Queue, nil
	}
	if r.Delegate == nil && f.run.Registration != nil && f.run.Registration.Queue != "" {
		return f.run.Registration.Queue, nil
	}
	return f.job.Queue, nil
}

func (r *retrier) arguments(f *failed) ([]byte, error) {
	return guarded("Args", func() ([]byte, error) {
		args, err := r.Args(f.job, f.err)
		if err != nil {
			return nil, err
		}
		return ruby.MarshalArgs(args...)
	})
}

// giveUp calls the callbacks, and answers the error to record where one of the
// policy's functions failed.
func (r *retrier) giveUp(f *failed, problem error) (changed error) {
	r.debug("giving up", f)
	if problem != nil {
		r.warn("a function of the retry policy failed", f.job, f.job.Attempt, problem)
		changed = both(f.err, problem)
	}
	told := f.err
	if changed != nil {
		told = changed
	}
	for _, callback := range r.GiveUp {
		if _, err := guarded("GiveUp", func() (any, error) { return nil, callback(f.job, told) }); err != nil {
			r.warn("a function of the retry policy failed", f.job, f.job.Attempt, err)
			if changed == nil {
				changed = f.err
			}
			changed = both(changed, err)
		}
	}
	return changed
}

package retry

import (
	"fmt"
	"slices"
	"time"

	"example.com/understudy/resque"
)

// Strategy decides when a failed job is tried again, in one place: how often and
// after which waits. It stands in Policy.Strategy, whose other fields keep their
// meaning. Next is called by several goroutines at once.
type Strategy interface {
	// Next answers when the job is tried again, or that it isn't any more. A
	// time that isn't after Failed.Now means at once. The time is kept in whole
	// seconds, as all delayed jobs are. A Next that panics fails the job, with
	// both errors in the record.
	Next(f Failed) (at time.Time, again bool)
}

// Failed is a failed job, as a Strategy sees it.
type Failed struct {
	// Job is a copy.
	Job *resque.Job
	// Attempts is how many attempts have failed, this one included: 1 the first
	// time.
	Attempts int
	// Err is the error of this attempt.
	Err error
	// Now is the worker's time.
	Now time.Time
}

// StrategyFunc is a function as a Strategy.
type StrategyFunc func(f Failed) (at time.Time, again bool)

// Next calls f.
func (f StrategyFunc) Next(failed Failed) (time.Time, bool) { return f(failed) }

// Waits is a Strategy that tries a number of times, with a wait before each
// attempt but the first. The zero value tries 10 times: after 2, 2, 5, 10, 30,
// 60, 300, 900 and 1800 seconds. It can stand where a Policy does.
type Waits struct {
	// MaxAttempts is how many attempts there are at most, the first one
	// included. 0: 10. Negative: without end. 1: no retry.
	MaxAttempts int
	// Waits are the waits before the second attempt, the third, …, in whole
	// seconds; after the last one, that one again. nil: those above. 0: at once;
	// negative: refused.
	Waits []time.Duration
}

const defaultMaxAttempts = 10

// defaultWaits are those of XactJobs.
func defaultWaits() []time.Duration {
	return []time.Duration{
		2 * time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second,
		time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	}
}

// Next answers the wait's end.
func (w Waits) Next(f Failed) (at time.Time, again bool) {
	limit, waits := w.MaxAttempts, w.Waits
	if limit == 0 {
		limit = defaultMaxAttempts
	}
	if limit > 0 && f.Attempts >= limit {
		return time.Time{}, false
	}
	if waits == nil {
		waits = defaultWaits()
	}
	if len(waits) == 0 {
		return f.Now, true
	}
	return f.Now.Add(waits[min(max(f.Attempts, 1), len(waits))-1]), true
}

// Apply makes w the policy of a registered class.
func (w Waits) Apply(r *resque.Registration) error { return Policy{Strategy: w}.Apply(r) }

// Retrier compiles w, for a queue or a whole worker.
func (w Waits) Retrier() (resque.Retrier, error) { return Policy{Strategy: w}.Retrier() }

// checkStrategy refuses what a Strategy replaces.
func (p Policy) checkStrategy(found *problems) {
	if p.Strategy == nil {
		return
	}
	for _, rival := range []struct {
		field string
		given bool
	}{
		{"Limit", p.Limit != 0},
		{"Delay", !p.Delay.isZero()},
		{"Backoff", p.Backoff != nil},
		{"Jitter", !p.Jitter.isZero()},
		{"On", p.On.waits()},
	} {
		if rival.given {
			found.add("both say when to try again: leave {"+rival.field+"} out, or {Strategy}", "Strategy", rival.field)
		}
	}
	if p.ExpireAfter != 0 {
		found.add("exclude each other: only the delays of the other fields are known before a run", "Strategy", "ExpireAfter")
	}
	if w, ok := p.Strategy.(Waits); ok {
		w.check(found)
	}
}

func (w Waits) check(found *problems) {
	if w.Waits != nil && len(w.Waits) == 0 {
		found.add("is empty: give it a wait for each retry, or leave it out", "Waits")
	}
	if i := slices.IndexFunc(w.Waits, func(d time.Duration) bool { return d < 0 }); i >= 0 {
		found.add(fmt.Sprintf("has %v: write 0 for none", w.Waits[i]), "Waits")
	}
	for _, d := range w.Waits {
		checkWhole(found, "Waits", d)
	}
}

// ask asks the strategy, which may panic, once a run.
func (r *retrier) ask(f *failed) (again bool, err error) {
	again, err = guarded("Strategy", func() (yes bool, err error) {
		f.at, yes = r.Strategy.Next(Failed{Job: copyOf(f.job, f.job.Attempt), Attempts: int(f.job.Attempt) + 1, Err: f.err, Now: f.run.Now})
		return yes, nil
	})
	return again, err
}

// untilNext is the wait that the strategy answered, in seconds. A part of one
// counts whole: the sum with the worker's time is then cut to the second that was
// answered.
func (f *failed) untilNext() int64 { return wholeSeconds(f.at.Sub(f.run.Now) + time.Second - 1) }

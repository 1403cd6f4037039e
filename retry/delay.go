package retry

import (
	"math"
	"time"

	"example.com/understudy/resque"
)

// Delay is the wait before a retry: Every or DelayFunc. The zero value is none.
type Delay struct {
	fixed time.Duration
	of    func(job *resque.Job, err error) (time.Duration, error)
}

// Every is the same wait before each retry. It has to be whole seconds, written
// with their unit: Every(60 * time.Second), for Every(60) is 60 nanoseconds.
func Every(d time.Duration) Delay { return Delay{fixed: d} }

// DelayFunc is a wait by job, attempt or error; fractions of a second are cut.
//
// Where Policy.ExpireAfter is set, it is also called before each run, with a nil
// error, for each attempt up to the limit (and at most 32): the counter then
// lives as long as the wait that it answers, and ExpireAfter. If it panics there,
// the counter doesn't expire.
func DelayFunc(f func(job *resque.Job, err error) time.Duration) Delay {
	if f == nil {
		return Delay{}
	}
	return Delay{of: func(job *resque.Job, err error) (time.Duration, error) { return f(job, err), nil }}
}

func (d Delay) isZero() bool { return d.fixed == 0 && d.of == nil }

// seconds asks for the wait.
func (d Delay) seconds(job *resque.Job, err error) (int64, error) {
	if d.of == nil {
		return wholeSeconds(d.fixed), nil
	}
	wait, failure := d.of(job, err)
	return wholeSeconds(wait), failure
}

// DefaultBackoff is the Backoff of resque-retry: at once, then after 1 and 10
// minutes, 1, 3 and 6 hours.
func DefaultBackoff() []time.Duration {
	return []time.Duration{0, time.Minute, 10 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour}
}

// Jitter is the range from which the factor of a wait is drawn. Both are taken as
// they stand (so {Max: 1} begins at 0); only {} means none. The product is cut to
// whole seconds. One draw serves a run's delay and its counter's time to live.
type Jitter struct {
	Min, Max float64

	set bool // {} as well is meant as it stands
}

func (j Jitter) isZero() bool { return j.Min == 0 && j.Max == 0 && !j.set }

// of multiplies; random is from [0, 1).
func (j Jitter) of(seconds int64, random float64) int64 {
	if j.isZero() {
		return seconds
	}
	factor := j.Min
	if j.Min != j.Max {
		factor += random * (j.Max - j.Min)
	}
	product := float64(seconds) * factor
	return int64(max(-float64(maxSeconds), min(product, float64(maxSeconds))))
}

// maxSeconds is what a time.Duration can hold.
const maxSeconds = math.MaxInt64 / int64(time.Second)

func wholeSeconds(d time.Duration) int64 { return int64(d / time.Second) }

// at is the element of a list of delays for an attempt, as Ruby finds it: a
// negative one counts from the end, and past either end the last one counts.
func at[T any](list []T, attempt int64) T {
	n := int64(len(list))
	if attempt < 0 {
		attempt += n
	}
	if attempt < 0 || attempt >= n {
		attempt = n - 1
	}
	return list[attempt]
}

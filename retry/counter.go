package retry

import (
	"example.com/understudy/resque"
)

// maxTTLs bounds how often a DelayFunc is asked before a run.
const maxTTLs = 32

// Counter names the job's counter and says how long it lives.
func (r *retrier) Counter(job *resque.Job, random float64) (resque.Counter, error) {
	key, err := r.key(job)
	if err != nil {
		return resque.Counter{}, err
	}
	return resque.Counter{Key: key, TTLs: r.ttls(job, random)}, nil
}

// ttls is the class's own delay and ExpireAfter for each attempt. A negative
// delay takes off, as in Ruby; but never so much that the counter is gone before
// the retry that it counts.
func (r *retrier) ttls(job *resque.Job, random float64) []int64 {
	if r.ExpireAfter <= 0 {
		return nil
	}
	list := make([]int64, 0, r.differentDelays())
	for attempt := range int64(cap(list)) {
		delay, err := r.plainDelay(copyOf(job, attempt), nil, random)
		if err != nil {
			r.warn("no expiry for this counter", job, attempt, err)
			return nil
		}
		list = append(list, max(1, delay+wholeSeconds(r.ExpireAfter)))
	}
	return list
}

// differentDelays is for how many attempts the plain delay has to be asked.
func (r *retrier) differentDelays() int {
	switch {
	case len(r.Backoff) > 0:
		return len(r.Backoff)
	case r.Delay.of == nil:
		return 1
	case r.limit < 0:
		return maxTTLs
	default:
		return min(r.limit+1, maxTTLs)
	}
}

// plainDelay is the delay that is no error's own, in seconds.
func (r *retrier) plainDelay(job *resque.Job, err error, random float64) (int64, error) {
	if len(r.Backoff) > 0 {
		return r.Jitter.of(wholeSeconds(at(r.Backoff, job.Attempt)), random), nil
	}
	return guarded("Delay", func() (int64, error) { return r.Delay.seconds(job, err) })
}

func copyOf(job *resque.Job, attempt int64) *resque.Job {
	c := *job
	c.Attempt = attempt
	return &c
}

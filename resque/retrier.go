package resque

import (
	"fmt"
	"time"
)

// Retrier decides what becomes of the failed runs of a class. Package retry has
// the real ones; this is the seam where they plug in.
type Retrier interface {
	// Counter names the job's retry counter. random, from [0, 1), is drawn once
	// a run and given to Decide again, so that the counter's time to live and
	// the delay of the retry agree. An error fails the run.
	Counter(job *Job, random float64) (Counter, error)

	// Decide says what becomes of a run that failed. Apart from the user's own
	// functions (checks, callbacks) it is pure.
	Decide(run FailedRun) Decision
}

// RetryPolicy is what a Retrier is made from: a retry.Policy or a retry.Waits.
type RetryPolicy interface {
	// Retrier checks and compiles the policy.
	Retrier() (Retrier, error)
}

// compileRetries makes the policies of the worker and its queues ready.
func (w *Worker) compileRetries() (err error) {
	if w.retrier, err = compiled("Retry", w.cfg.Retry); err != nil {
		return err
	}
	w.queueRetriers = make(map[string]Retrier, len(w.cfg.QueueRetry))
	for queue, policy := range w.cfg.QueueRetry {
		if w.queueRetriers[queue], err = compiled("QueueRetry["+queue+"]", policy); err != nil {
			return err
		}
	}
	return nil
}

func compiled(field string, p RetryPolicy) (Retrier, error) {
	if p == nil {
		return nil, nil //nolint:nilnil // none is no error
	}
	retrier, err := p.Retrier()
	if err != nil {
		return nil, fmt.Errorf("resque: WorkerConfig.%s: %w", field, err)
	}
	return retrier, nil
}

// retrierFor is the nearest policy to a job: its class's, its queue's, the
// worker's; nil: none.
func (w *Worker) retrierFor(r *Registration, queue string) Retrier {
	switch {
	case r == nil:
		return nil
	case r.Retrier != nil || r.NoRetry:
		return r.Retrier
	}
	// A nil policy of a queue, too, is nearer than the worker's.
	if ofQueue, ok := w.queueRetriers[queue]; ok {
		return ofQueue
	}
	return w.retrier
}

// Counter is a job's retry counter in Redis.
type Counter struct {
	// Key carries no namespace: resque-retry:<class>:<id>. "": the run keeps no
	// counter, and its attempt is always 0.
	Key string
	// TTLs is the time to live that a run gives its counter, in seconds, by
	// attempt; past the end the last one counts. nil: counters live on
	// (resque-retry: expire_retry_key_after).
	TTLs []int64
}

// FailedRun is what a Retrier decides about.
type FailedRun struct {
	Job     *Job
	Err     error
	Counter Counter
	// Attempt is what the begin of the run made of the counter: 0 the first
	// time. For a job buried with its worker: the counter as it stands.
	Attempt int64
	// Random is the number that Counter was given.
	Random float64
	// Now is the worker's time.
	Now time.Time
	// Registration tells the class's own queue.
	Registration *Registration
}

// Decision is a Retrier's answer.
type Decision struct {
	// Retry is the job to push; nil: the job has failed for good.
	Retry *Retry
	// Uncount steps the counter back by one before anything else
	// (resque-retry: ignore_exceptions).
	Uncount bool
	// DropCounter deletes the counter although the job is tried again
	// (resque-retry: retry_job_delegate).
	DropCounter bool
	// Err replaces the run's error in the failure record where it isn't nil: a
	// callback failed, and its error is added to the job's own.
	Err error
	// SleepAfter keeps the slot from its next job, after the record
	// (resque-retry: sleep_after_requeue).
	SleepAfter time.Duration
}

// Retry is the job that a failed run leads to.
type Retry struct {
	Class string
	// Args is a JSON array, written as it is.
	Args []byte
	// Queue is never empty.
	Queue string
	// Delay is in whole seconds; 0 or less: at once.
	Delay time.Duration
}

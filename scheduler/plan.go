package scheduler

import "example.com/understudy/resque"

// plan is what becomes of one item.
type plan struct {
	item []byte
	// queue is where the payload goes; "": to the failed jobs, as a record.
	queue   string
	payload []byte
}

// noQueueError is why an item goes to the failed jobs.
type noQueueError struct{ reason string }

func (e noQueueError) Error() string { return e.reason }

// noQueue is how Ruby calls it.
const noQueue = "Resque::NoQueueError"

// planOf decides about an item, by Ruby's rules where Ruby doesn't lose it. broken
// says which queues can't be pushed to, and why.
func (s *Scheduler) planOf(item []byte, broken map[string]string) plan {
	job, err := resque.ParseItem(item)
	if err != nil {
		return s.failed(item, "", nil, err)
	}
	return s.deliver(job, item, broken)
}

// deliver decides where a job goes.
func (s *Scheduler) deliver(job resque.Item, item []byte, broken map[string]string) plan {
	if job.Queue == "" {
		job.Queue = s.cfg.QueueOf(job.Class)
	}
	switch why := broken[job.Queue]; {
	case job.Queue == "":
		return s.failed(item, "", job.Payload, noQueueOf(job))
	case why != "":
		return s.failed(item, job.Queue, job.Payload, noQueueError{why})
	default:
		return plan{item: item, queue: job.Queue, payload: job.Payload}
	}
}

// noQueueOf says why an item has nowhere to go.
func noQueueOf(job resque.Item) error {
	return noQueueError{"the job names no queue, and its class " + job.Class + " has none here"}
}

// failed makes the record of an item that can't go to a queue. payload nil: the
// item is no job at all.
func (s *Scheduler) failed(item []byte, queue string, payload []byte, why error) plan {
	f := resque.Failure{
		// A record needs a queue, for that is where a requeue pushes the job; one
		// of this name has no worker until somebody wants one.
		Job:       &resque.Job{Payload: payload, Queue: orphans, WorkerID: s.cfg.Value + ":scheduler"},
		Err:       why,
		FailedAt:  s.cfg.Clock.Now(),
		Exception: noQueue,
		Message:   why.Error(),
		Backtrace: []string{},
	}
	if queue != "" {
		f.Job.Queue = queue
	}
	if payload == nil {
		f.Job.Payload, f.Malformed, f.Exception = item, true, resque.MalformedClass
	}
	return plan{item: item, payload: f.Record(true)}
}

// orphans is the queue in the record of an item that has none.
const orphans = "delayed"

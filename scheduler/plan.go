package scheduler

import (
	"errors"
	"fmt"

	"example.com/understudy/compat/ruby"
	"example.com/understudy/resque"
)

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

// rubyJob is the custom job class that says that there is none.
const rubyJob = "Resque::Job"

// planOf decides about an item, by Ruby's rules where Ruby doesn't lose it. broken
// says which queues can't be pushed to, and why.
func (s *Scheduler) planOf(item []byte, broken map[string]string) plan {
	job, err := jobOf(item)
	if err != nil {
		return s.failed(item, "", nil, err)
	}
	return s.deliver(job, item, broken)
}

// deliver decides where a job goes.
func (s *Scheduler) deliver(job itemJob, item []byte, broken map[string]string) plan {
	if job.queue == "" {
		job.queue = s.cfg.QueueOf(job.class)
	}
	switch why := broken[job.queue]; {
	case job.queue == "":
		return s.failed(item, "", job.payload, job.noQueue())
	case why != "":
		return s.failed(item, job.queue, job.payload, noQueueError{why})
	default:
		return plan{item: item, queue: job.queue, payload: job.payload}
	}
}

// itemJob is the job of a delayed item or of a recurring job's configuration
// (Ruby: enqueue_from_config).
type itemJob struct {
	class string
	// queue is the item's; "": it names none.
	queue   string
	payload []byte
}

func (j itemJob) noQueue() error {
	return noQueueError{"the job names no queue, and its class " + j.class + " has none here"}
}

// jobOf reads an item. The job is class and args, whatever else the item holds.
func jobOf(item []byte) (itemJob, error) {
	class, args, err := resque.ParsePayload(item)
	if err == nil && class == "" {
		err = errors.New("scheduler: the job's class is empty")
	}
	if err != nil {
		return itemJob{}, err
	}
	o, err := orderOf(item)
	if err != nil {
		return itemJob{}, err
	}
	job := itemJob{class: class, queue: o.queue}
	if o.noArgs {
		args = []byte("[]")
	}
	// A custom job class is called in Ruby. The scheduler that doesn't have it
	// loaded enqueues it in the job's place, and so does this one.
	if o.custom != "" && o.custom != rubyJob {
		class = o.custom
	}
	job.payload = resque.EncodeJob(class, args)
	return job, nil
}

// order is what an item says beside its class and arguments.
type order struct {
	queue, custom string
	// noArgs says that the arguments are none: Ruby takes false for nothing.
	noArgs bool
}

// orderOf reads it. Ruby takes null and false for nothing, and anything else by
// its to_s.
func orderOf(item []byte) (o order, err error) {
	members, err := ruby.Members(item)
	if err != nil {
		return order{}, fmt.Errorf("scheduler: the job: %w", err)
	}
	for _, m := range members {
		switch m.Key {
		case "queue":
			o.queue, err = text(m.Value)
		case "custom_job_class":
			o.custom, err = text(m.Value)
		case "args":
			o.noArgs = string(m.Value) == "false"
		}
		if err != nil {
			return order{}, fmt.Errorf("scheduler: the job's %s: %w", m.Key, err)
		}
	}
	return o, nil
}

func text(raw []byte) (string, error) {
	if string(raw) == "false" {
		return "", nil
	}
	b, err := ruby.ToS(raw, ruby.Inspect31)
	return string(b), err
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

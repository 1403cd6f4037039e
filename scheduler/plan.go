package scheduler

import (
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

// planOf decides about an item, by Ruby's rules where Ruby doesn't lose it: the
// queue is the item's, else its class's; the job is class and args, whatever
// else the item holds. broken says which queues can't be pushed to, and why.
func (s *Scheduler) planOf(item []byte, broken map[string]string) plan {
	class, args, err := resque.ParsePayload(item)
	if err == nil && class == "" {
		err = fmt.Errorf("scheduler: the delayed item's class is empty")
	}
	if err != nil {
		return s.failed(item, "", nil, err)
	}
	queue, custom, err := addressee(item)
	if err != nil {
		return s.failed(item, "", nil, err)
	}
	if queue == "" {
		queue = s.cfg.QueueOf(class)
	}
	// A custom job class is called in Ruby. The scheduler that doesn't have it
	// loaded enqueues it in the job's place, and so does this one.
	if custom != "" && custom != rubyJob {
		class = custom
	}
	payload := resque.EncodeJob(class, args)
	switch why := broken[queue]; {
	case queue == "":
		return s.failed(item, "", payload, noQueueError{"the delayed job names no queue, and its class " + class + " has none here"})
	case why != "":
		return s.failed(item, queue, payload, noQueueError{why})
	default:
		return plan{item: item, queue: queue, payload: payload}
	}
}

// addressee reads what an item says about where it goes. Ruby takes null and
// false for nothing, and anything else by its to_s.
func addressee(item []byte) (queue, custom string, err error) {
	members, err := ruby.Members(item)
	if err != nil {
		return "", "", fmt.Errorf("scheduler: the delayed item: %w", err)
	}
	for _, m := range members {
		switch m.Key {
		case "queue":
			queue, err = text(m.Value)
		case "custom_job_class":
			custom, err = text(m.Value)
		}
		if err != nil {
			return "", "", fmt.Errorf("scheduler: the delayed item's %s: %w", m.Key, err)
		}
	}
	return queue, custom, nil
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

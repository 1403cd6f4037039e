package resque

import (
	"fmt"

	"example.com/understudy/compat/ruby"
)

// Item is what a delayed job's text, or a recurring job's, says of the job that
// it becomes.
type Item struct {
	// Class is the item's own, whatever class is enqueued.
	Class string
	// Queue is where the job goes; "": the item names none.
	Queue string
	// Payload is the text for the queue: class and arguments, whatever else the
	// item holds.
	Payload []byte
}

// ParseItem reads an item as resque-scheduler's enqueue_from_config does: null and
// false are nothing, and anything else counts by its to_s. A custom_job_class is
// enqueued in the class's place, as by a Ruby scheduler that doesn't have it
// loaded.
func ParseItem(item []byte) (Item, error) {
	class, args, err := ParsePayload(item)
	if err == nil && class == "" {
		err = fmt.Errorf("%w: its class is empty", errNotAJob)
	}
	if err != nil {
		return Item{}, err
	}
	o, err := orderOf(item)
	if err != nil {
		return Item{}, err
	}
	job := Item{Class: class, Queue: o.queue}
	if o.noArgs {
		args = []byte("[]")
	}
	if o.custom != "" && o.custom != rubyJob {
		class = o.custom
	}
	job.Payload = EncodeJob(class, args)
	return job, nil
}

// rubyJob is the custom job class that says that there is none.
const rubyJob = "Resque::Job"

// order is what an item says beside its class and arguments.
type order struct {
	queue, custom string
	// noArgs says that the arguments are none: Ruby takes false for nothing.
	noArgs bool
}

func orderOf(item []byte) (o order, err error) {
	members, err := ruby.Members(item)
	if err != nil {
		return order{}, fmt.Errorf("%w: %w", errNotAJob, err)
	}
	for _, m := range members {
		switch m.Key {
		case "queue":
			o.queue, err = textOrNothing(m.Value)
		case "custom_job_class":
			o.custom, err = textOrNothing(m.Value)
		case "args":
			o.noArgs = string(m.Value) == "false"
		}
		if err != nil {
			return order{}, fmt.Errorf("%w: its %s: %w", errNotAJob, m.Key, err)
		}
	}
	return o, nil
}

func textOrNothing(raw []byte) (string, error) {
	if string(raw) == "false" {
		return "", nil
	}
	b, err := ruby.ToS(raw, ruby.Inspect31)
	return string(b), err
}

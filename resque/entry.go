package resque

import "encoding/json"

// Entry is one element of a queue, of a hand or of the delayed jobs, as it
// stands there.
type Entry struct {
	// Raw is the element, byte for byte. What is kept as MalformedClass is shown
	// as the text that it holds.
	Raw []byte
	// Class is the job's class, "" where Raw is no job.
	Class string
	// Args is the JSON array of the job's arguments, byte for byte; nil where Raw
	// is no job.
	Args json.RawMessage
	// Queue is where the element stands; of a delayed job, the queue that it
	// names, "" where it names none.
	Queue string
	// Err says why Raw is no job; nil: it is one.
	Err error
}

// entryOf reads an element.
func entryOf(queue string, element []byte) Entry {
	e := Entry{Raw: element, Queue: queue}
	e.Class, e.Args, e.Err = ParsePayload(element)
	if inner, ok := unwrapMalformed(e.Class, e.Args); ok {
		e.Raw = inner
		e.Class, e.Args, e.Err = ParsePayload(inner)
	}
	return e
}

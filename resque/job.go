package resque

import "encoding/json"

// MalformedClass is the class under which text that is no job is kept in a
// failure record, with the text in base64 as its only argument. A worker that
// meets it in a queue (resque-web requeued the record) takes the decoded text.
const MalformedClass = "Understudy::Malformed"

// Job is one run of a job, as its handler and middleware see it.
type Job struct {
	// Class is the job's class as it stands in the payload.
	Class string
	// Args is the JSON array of the arguments, byte for byte as it arrived
	// ("[]" where there were none). Handlers may do what they like with it: the
	// worker keeps its own copy.
	Args json.RawMessage
	// Queue is the queue that the job was taken from.
	Queue string
	// Payload is the queue's element, byte for byte.
	Payload []byte
	// Attempt counts the runs before this one since the job's retry counter
	// began: 0 the first time, and always 0 for a class without a retry policy
	// (resque-retry: retry_attempt).
	Attempt int64
	// WorkerID is the id, in Ruby's registry, of the slot that runs the job.
	WorkerID string

	pending *pending // of the run; nil outside of it
}

package resque

import (
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"

	"example.com/understudy/compat/ruby"
)

// Record is the failure as Ruby writes it, one line of JSON in the order of its
// fields; withZone is off in the records of jobs that wait for their retry. It
// is valid JSON and valid UTF-8 whatever the job was: a payload that is neither
// goes in as MalformedClass, also where Malformed doesn't say so.
func (f *Failure) Record(withZone bool) []byte {
	payload, queue, worker := f.origin()
	b := make([]byte, 0, len(payload)+len(f.Message)+recordRoom)
	b = append(b, `{"failed_at":`...)
	b = ruby.AppendScrubbed(b, f.failedAt(withZone))
	b = append(b, `,"payload":`...)
	b = f.appendPayload(b, payload)
	b = append(b, `,"exception":`...)
	b = ruby.AppendScrubbed(b, f.Exception)
	b = append(b, `,"error":`...)
	b = ruby.AppendScrubbed(b, f.Message)
	b = append(b, `,"backtrace":[`...)
	for i, line := range f.Backtrace {
		if i > 0 {
			b = append(b, ',')
		}
		b = ruby.AppendScrubbed(b, line)
	}
	b = append(b, `],"worker":`...)
	b = ruby.AppendScrubbed(b, worker)
	b = append(b, `,"queue":`...)
	b = ruby.AppendScrubbed(b, queue)
	return append(b, '}')
}

// recordRoom is a guess at what a record takes beside payload and message.
const recordRoom = 1024

func (f *Failure) origin() (payload []byte, queue, worker string) {
	if f.Job == nil {
		return nil, "", ""
	}
	return f.Job.Payload, f.Job.Queue, f.Job.WorkerID
}

func (f *Failure) failedAt(withZone bool) string {
	if withZone {
		return ruby.FailureTime(f.FailedAt)
	}
	return ruby.FailureTimeNoZone(f.FailedAt)
}

func (f *Failure) appendPayload(b, payload []byte) []byte {
	if !f.Malformed && utf8.Valid(payload) && json.Valid(payload) {
		return append(b, payload...)
	}
	b = append(b, `{"class":"`+MalformedClass+`","args":["`...)
	b = base64.StdEncoding.AppendEncode(b, payload)
	return append(b, `"]}`...)
}

package resque

import (
	"crypto/sha1" //nolint:gosec // a name, as resque-retry makes them
	"encoding/hex"
	"strconv"
	"time"
	"unicode/utf8"

	"example.com/understudy/compat/ruby"
)

// maxHistoryError is how many bytes of an error's text an attempt keeps.
const maxHistoryError = 500

// jobWrapper is the class under which Active Job enqueues all its jobs.
const jobWrapper = "ActiveJob::QueueAdapters::ResqueAdapter::JobWrapper"

// JobKey tells jobs apart in the history: the digest of class and arguments, as
// they stand in the payload, or Active Job's own job_id. Jobs of a class with the
// same arguments share one, and so do all attempts of a job whose retries don't
// change its arguments.
func JobKey(class string, args []byte) string {
	if class == jobWrapper {
		if id := activeJobID(args); id != "" {
			return id
		}
	}
	sum := sha1.Sum(append(append([]byte(class), 0), args...)) //nolint:gosec // see above
	return hex.EncodeToString(sum[:])
}

func activeJobID(args []byte) string {
	elements, err := ruby.Elements(args)
	if err != nil || len(elements) == 0 {
		return ""
	}
	members, err := ruby.Members(elements[0])
	if err != nil {
		return ""
	}
	for _, m := range members {
		if m.Key == "job_id" {
			id, _ := ruby.String(m.Value) // of another type: none
			return id
		}
	}
	return ""
}

// attemptOf is a run as the history keeps it; ended and seconds are by the worker's
// clock.
func attemptOf(r *run, kind Outcome, f *Failure, now time.Time) Attempt {
	a := Attempt{
		Class: r.job.Class, Job: JobKey(r.job.Class, r.job.Args), Queue: r.job.Queue, Number: r.job.Attempt,
		WorkerID: r.job.WorkerID, Started: r.began, Duration: max(0, now.Sub(r.began)), Outcome: kind,
	}
	if r.malformed != nil {
		a.Class = MalformedClass
	}
	if f != nil {
		a.Exception, a.Error = f.Exception, cut(f.Message, maxHistoryError)
	}
	return a
}

// cut shortens a text at a rune.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}

// write adds an attempt to the history, which keeps about so many.
func (a Attempt) write(keep int) Write {
	return Write{Command: "XADD", Key: keyHistory, Args: []string{"MAXLEN", "~", strconv.Itoa(keep), "*", historyField, string(a.json())}}
}

// historyField is the one field of an entry.
const historyField = "run"

// json is the text of an attempt in the history; keys that are empty are left out.
func (a Attempt) json() []byte {
	dst := make([]byte, 0, 256)
	text := func(name, value string) {
		if value != "" {
			dst = append(ruby.AppendString(append(append(append(dst, '"'), name...), '"', ':'), value), ',')
		}
	}
	number := func(name string, n int64) {
		dst = append(strconv.AppendInt(append(append(append(dst, '"'), name...), '"', ':'), n, 10), ',')
	}
	dst = append(dst, '{')
	text("class", a.Class)
	text("job", a.Job)
	text("queue", a.Queue)
	number("attempt", a.Number)
	text("worker", a.WorkerID)
	number("started_us", a.Started.UnixMicro())
	number("took_us", a.Duration.Microseconds())
	text("outcome", string(a.Outcome))
	text("exception", a.Exception)
	text("error", a.Error)
	dst[len(dst)-1] = '}'
	return dst
}

package failure

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // a name, and one that Redis can make too
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"example.com/understudy/compat/ruby"
	"example.com/understudy/resque"
)

// Reasons why a Record can't be requeued, for errors.Is.
var (
	// ErrUnreadable says that the text is no record at all: blank, as Ruby
	// leaves it for a moment while it removes one, or no JSON object.
	ErrUnreadable = errors.New("failure: no readable record")
	// ErrNoJob says that the record holds no job that could go to a queue: its
	// payload, class or queue is missing or of another type.
	ErrNoJob = errors.New("failure: the record can't be requeued")
)

// Record is a failure as it was read from a list. What other programs wrote is
// read as far as it can be: a field that is missing is empty, one of another
// type than Ruby's shows its to_s.
type Record struct {
	// List is where it stands, without namespace.
	List string
	// Index is where it was seen in the list, 0 the oldest. It is a hint: a
	// moment later another record may stand there.
	Index int64
	// Raw is the record, byte for byte. It is what identifies it.
	Raw []byte
	// ID is a short digest of Raw, for people and links; see Find. Records with
	// the same text have the same ID. A requeue changes it.
	ID string

	// FailedAt and RetriedAt are zero where their texts are missing or no time.
	// RetriedAt is that of the last requeue.
	FailedAt  time.Time
	RetriedAt time.Time
	// FailedAtText and RetriedAtText are the texts as recorded. RetriedAtText
	// isn't empty where the job was requeued.
	FailedAtText  string
	RetriedAtText string

	// Payload is the job's payload, byte for byte.
	Payload json.RawMessage
	// Class and Args are the payload's: see resque.ParsePayload. Text that was
	// no job has the class resque.MalformedClass, see resque.UnwrapMalformed.
	Class string
	Args  json.RawMessage
	// Exception is the name of the error's class, Error its text.
	Exception string
	Error     string
	Backtrace []string
	// Worker is the id of the worker that failed.
	Worker string
	// Queue is the queue that the job was taken from, and where a requeue puts
	// it.
	Queue string

	// Blank says that there is nothing but white space.
	Blank bool
	// Err says why the job can't be requeued; nil: it can. It matches
	// ErrUnreadable or ErrNoJob.
	Err error
}

// idDigits is how much of the digest an ID shows.
const idDigits = 12

// digest is the whole digest of a record's text, as redis.sha1hex makes it.
func digest(raw []byte) string {
	sum := sha1.Sum(raw) //nolint:gosec // a name
	return hex.EncodeToString(sum[:])
}

// readRecord reads a list's element. Times without a known zone are in loc.
func readRecord(list string, index int64, raw []byte, loc *time.Location) Record {
	r := Record{List: list, Index: index, Raw: raw, ID: digest(raw)[:idDigits]}
	if r.Blank = isBlank(raw); r.Blank {
		r.Err = fmt.Errorf("%w: it is blank", ErrUnreadable)
		return r
	}
	members, err := ruby.Members(raw)
	if err != nil {
		r.Err = fmt.Errorf("%w: %w", ErrUnreadable, err)
		return r
	}
	r.Err = fmt.Errorf("%w: it has no queue", ErrNoJob)
	for _, m := range members {
		r.read(m)
	}
	r.FailedAt, r.RetriedAt = timeOf(r.FailedAtText, loc), timeOf(r.RetriedAtText, loc)
	if err := r.readJob(); err != nil {
		r.Err = fmt.Errorf("%w: %w", ErrNoJob, err)
	}
	return r
}

func isBlank(raw []byte) bool { return len(bytes.TrimSpace(raw)) == 0 }

// read takes one member of the record. A queue that can be pushed to takes Err
// away.
func (r *Record) read(m ruby.Member) {
	switch m.Key {
	case "failed_at":
		r.FailedAtText = textOf(m.Value)
	case keyRetriedAt:
		r.RetriedAtText = textOf(m.Value)
	case "payload":
		r.Payload = m.Value
	case "exception":
		r.Exception = textOf(m.Value)
	case "error":
		r.Error = textOf(m.Value)
	case "backtrace":
		r.Backtrace = linesOf(m.Value)
	case "worker":
		r.Worker = textOf(m.Value)
	case "queue":
		r.Queue = textOf(m.Value)
		r.Err = nil
		if err := pushable("queue", r.Queue); err != nil {
			r.Err = fmt.Errorf("%w: %w", ErrNoJob, err)
		} else if kind := ruby.KindOf(m.Value); kind != ruby.Text {
			r.Err = fmt.Errorf("%w: its queue is no text", ErrNoJob)
		}
	}
}

func (r *Record) readJob() (err error) {
	if r.Payload == nil {
		return errors.New("it has no payload")
	}
	if r.Class, r.Args, err = resque.ParsePayload(r.Payload); err != nil {
		return err
	}
	return pushable("class", r.Class)
}

// pushable refuses what resque.Client.Enqueue would refuse.
func pushable(field, text string) error {
	switch {
	case text == "":
		return fmt.Errorf("its %s is empty", field)
	case !utf8.ValidString(text):
		return fmt.Errorf("its %s is %w", field, ruby.ErrInvalidUTF8)
	default:
		return nil
	}
}

// textOf is a value as text: "" for null.
func textOf(value []byte) string {
	text, err := ruby.ToS(value, ruby.Inspect31)
	if err != nil {
		return string(value)
	}
	return string(text)
}

// linesOf reads a backtrace: a list, or one text with lines.
func linesOf(value []byte) []string {
	elements, err := ruby.Elements(value)
	if err != nil { // no list
		text := textOf(value)
		if text == "" {
			return nil
		}
		return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	}
	lines := make([]string, len(elements))
	for i, element := range elements {
		lines[i] = textOf(element)
	}
	return lines
}

// timeOf is a record's time; zero: its text is missing or no time.
func timeOf(text string, loc *time.Location) time.Time {
	t, err := ruby.ParseAnyTime(text, loc)
	if err != nil {
		return time.Time{}
	}
	return t
}

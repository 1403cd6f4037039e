package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"example.com/understudy/compat/ruby"
	"example.com/understudy/failure"
	"example.com/understudy/resque"
	"example.com/understudy/scheduler"
)

// oneOrMany is Ruby's way to answer a part of a list: an element, or null, when
// asked for one, else an array.
func oneOrMany[T any](count int64, elements []T) any {
	if count != 1 {
		return elements
	}
	if len(elements) == 0 {
		return nil
	}
	if len(elements) > 1 {
		return elements // more than was asked for
	}
	return elements[0]
}

// ifThere is null where there is nothing.
func ifThere(value any, ok bool) any {
	if !ok {
		return nil
	}
	return value
}

// resultOf is an answer of Go as the JSON that Ruby's result is. Where Go has
// taken something apart, its parts take the place of those in the text, so that
// each of them is compared.
func resultOf(answer any) (any, error) {
	switch v := answer.(type) {
	case nil, bool, string:
		return v, nil
	case int64:
		return json.Number(fmt.Sprint(v)), nil
	case time.Time:
		return json.Number(fmt.Sprint(v.Unix())), nil
	case []string:
		return each(v)
	case []time.Time:
		return each(v)
	case []resque.Entry:
		return each(v)
	case []failure.Record:
		return each(v)
	case resque.Entry:
		return entryResult(v)
	case *resque.Hand:
		return handResult(v)
	case resque.Info:
		return infoResult(v)
	case failure.Record:
		return recordResult(v)
	case scheduler.Scheduled:
		return decoded(v.Raw)
	case []scheduler.Scheduled:
		return scheduleResult(v)
	case passed:
		return passedResult(v)
	default:
		return nil, fmt.Errorf("conformance: an answer of type %T", answer)
	}
}

func each[T any](elements []T) (any, error) {
	all := []any{}
	var faults []error
	for _, e := range elements {
		result, err := resultOf(e)
		all, faults = append(all, result), append(faults, err)
	}
	return all, errors.Join(faults...)
}

// decoded is a JSON text with its numbers as they stand there.
func decoded(text []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// with decodes an object, and puts these members in the place of its own.
func with(raw []byte, members map[string]any) (any, error) {
	v, err := decoded(raw)
	if err != nil {
		return nil, err
	}
	object, ok := v.(map[string]any)
	if !ok {
		return v, nil
	}
	for key, value := range members {
		if text, ok := value.(json.RawMessage); ok && text != nil {
			if value, err = decoded(text); err != nil {
				return nil, err
			}
		}
		object[key] = value
	}
	return object, nil
}

func entryResult(e resque.Entry) (any, error) {
	if e.Err != nil {
		return decoded(e.Raw)
	}
	members := map[string]any{"class": e.Class, "args": e.Args}
	if named, err := decoded(e.Raw); err == nil {
		if object, ok := named.(map[string]any); ok && object["queue"] != nil {
			members["queue"] = e.Queue
		}
	}
	return with(e.Raw, members)
}

// handResult is the content of worker:<id>; {} where there is none.
func handResult(h *resque.Hand) (any, error) {
	if h == nil {
		return map[string]any{}, nil
	}
	payload, err := entryResult(h.Entry)
	return map[string]any{"queue": h.Queue, "run_at": ruby.ISO8601UTC(h.RunAt), "payload": payload}, err
}

// infoResult is what Resque.info counts. Go counts more.
func infoResult(i resque.Info) (any, error) {
	members := map[string]any{}
	for name, n := range map[string]int64{
		"pending": i.Pending, "processed": i.Processed, "queues": i.Queues,
		"workers": i.Workers, "working": i.Working, "failed": i.FailedRecords,
	} {
		members[name] = json.Number(fmt.Sprint(n))
	}
	return members, nil
}

func recordResult(r failure.Record) (any, error) {
	payload, err := with(r.Payload, map[string]any{"class": r.Class, "args": r.Args})
	if err != nil {
		return nil, err
	}
	members := map[string]any{
		"failed_at": ruby.FailureTime(r.FailedAt), "payload": payload, "exception": r.Exception, "error": r.Error,
		"backtrace": []any{}, "worker": r.Worker, "queue": r.Queue,
	}
	switch {
	case r.RetriedAtText == "":
	case r.List == "failed":
		members["retried_at"] = ruby.FailureTime(r.RetriedAt)
	default:
		members["retried_at"] = ruby.FailureTimeNoZone(r.RetriedAt)
	}
	return with(r.Raw, members)
}

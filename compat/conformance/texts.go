package conformance

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/compat/ruby"
	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

// compareKeys compares the joined text and the retry keys of a row, for the two
// classes of the recorder.
func compareKeys(form ruby.InspectForm, row keyRow) []difference {
	joined, err := ruby.Join([]byte(row.ArgsJSON), "-", form)
	if err != nil {
		return []difference{{Field: "joined", Detail: err.Error()}}
	}
	found := differ(nil, "joined", row.Joined, string(joined))
	key, err := retryKey(form, "KeyJob", row.ArgsJSON)
	if err != nil {
		return append(found, difference{Field: "key", Detail: err.Error()})
	}
	found = differ(found, "key", row.Key, key)
	var identifier *string
	if id, ok := strings.CutPrefix(key, "resque-retry:KeyJob:"); ok {
		identifier = &id
	}
	found = differ(found, "identifier", row.Identifier, identifier)
	namespaced, err := retryKey(form, "Billing::Send", row.ArgsJSON)
	if err != nil {
		return append(found, difference{Field: "namespaced_key", Detail: err.Error()})
	}
	return differ(found, "namespaced_key", row.NamespacedKey, namespaced)
}

// retryKey is the key of a job that arrives with these arguments.
func retryKey(form ruby.InspectForm, class, args string) (string, error) {
	retrier, err := retry.Policy{Inspect: form}.Retrier()
	if err != nil {
		return "", err
	}
	name, raw, err := resque.ParsePayload([]byte(`{"class":"` + class + `","args":` + args + `}`))
	if err != nil {
		return "", err
	}
	counter, err := retrier.Counter(&resque.Job{Class: name, Args: raw}, 0)
	return counter.Key, err
}

// compareText compares how a payload is written again, and what a worker reads
// in it.
func compareText(row textRow) []difference {
	encoded, err := ruby.Reencode([]byte(row.Raw))
	if err != nil {
		return []difference{{Field: "encoded", Detail: err.Error()}}
	}
	found := differ(nil, "encoded", row.Encoded, string(encoded))
	_, args, err := resque.ParsePayload([]byte(row.Raw))
	if err != nil {
		return append(found, difference{Field: "args_encoded", Detail: err.Error()})
	}
	again, err := ruby.Reencode(args)
	if err != nil {
		return append(found, difference{Field: "args_encoded", Detail: err.Error()})
	}
	return differ(found, "args_encoded", asArguments(row.ArgsEncoded), string(again))
}

// asArguments is what a field args means to a worker: none, or one that isn't in
// an array.
func asArguments(args string) string {
	switch {
	case args == "null":
		return "[]"
	case strings.HasPrefix(args, "["):
		return args
	default:
		return "[" + args + "]"
	}
}

// notUTF8 stands in a recording for a value that Ruby read but couldn't write.
const notUTF8 = `"not UTF-8"`

// compareMalformed compares whether a text can be read, what it then is, and
// whether it is a job. Ruby's decoder takes whatever is JSON.
func compareMalformed(row malformedRow) []difference {
	raw, err := hex.DecodeString(row.RawHex)
	if err != nil {
		return []difference{{Field: "raw_hex", Detail: err.Error()}}
	}
	if (row.Error == "") == (row.Decoded == nil) {
		return []difference{{Field: fieldError, Detail: "a row has either error or decoded"}}
	}
	_, _, jobErr := resque.ParsePayload(raw)
	readErr := ruby.Check(raw)
	if row.Error != "" {
		if readErr == nil || jobErr == nil {
			return []difference{{Field: fieldError, Detail: fmt.Sprintf("Ruby %s; ours reads it: %t, as a job: %t", row.Error, readErr == nil, jobErr == nil)}}
		}
		return nil
	}
	var found []difference
	switch encoded, err := ruby.Reencode(raw); {
	case readErr != nil:
		found = append(found, difference{Field: "decoded", Detail: "Ruby reads it, ours: " + readErr.Error()})
	case string(row.Decoded) == notUTF8 && errors.Is(err, ruby.ErrInvalidUTF8):
	case err != nil:
		found = append(found, difference{Field: "decoded", Detail: err.Error()})
	default:
		found = differ(found, "decoded", normal(string(row.Decoded)), string(encoded))
	}
	if jobErr != nil {
		found = append(found, difference{Field: fieldJob, Detail: "Ruby takes it, ours: " + jobErr.Error()})
	}
	return found
}

// fieldJob is what differs where a text is a job to one side only.
const fieldJob = "job"

func differ[T any](found []difference, field string, want, got T) []difference {
	if diff := cmp.Diff(want, got); diff != "" {
		return append(found, difference{Field: field, Detail: "(-Ruby +ours)\n" + diff, Got: got})
	}
	return found
}

// decodedJob says that a recorded value is an object with a text as its class.
func decodedJob(decoded json.RawMessage) bool {
	var job struct {
		Class *string `json:"class"`
	}
	return json.Unmarshal(decoded, &job) == nil && job.Class != nil
}

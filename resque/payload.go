package resque

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"example.com/understudy/compat/ruby"
)

// errNotAJob is wrapped by every reason why a queue's element is no job.
var errNotAJob = errors.New("not a job")

// ParsePayload reads a queue's element by Ruby's rules. args is a JSON array
// with the arguments' bytes as they arrived: missing or null is none, and
// anything that is no array is one argument. An error says why the text is no
// job; it matches nothing in particular.
func ParsePayload(element []byte) (class string, args json.RawMessage, err error) {
	if err := ruby.Check(element); err != nil {
		return "", nil, fmt.Errorf("%w: %w", errNotAJob, err)
	}
	if ruby.KindOf(element) != ruby.Object {
		return "", nil, fmt.Errorf("%w: its JSON is no object", errNotAJob)
	}
	members, err := ruby.Members(element)
	if err != nil {
		return "", nil, fmt.Errorf("%w: %w", errNotAJob, err)
	}
	named := false
	args = json.RawMessage("[]")
	for _, m := range members {
		switch m.Key {
		case "class":
			if ruby.KindOf(m.Value) != ruby.Text {
				return "", nil, fmt.Errorf("%w: its class is no text", errNotAJob)
			}
			if class, err = ruby.String(m.Value); err != nil {
				return "", nil, fmt.Errorf("%w: its class: %w", errNotAJob, err)
			}
			named = true
		case "args":
			args = argsOf(m.Value)
		}
	}
	if !named {
		return "", nil, fmt.Errorf("%w: it has no class", errNotAJob)
	}
	return class, args, nil
}

func argsOf(value []byte) json.RawMessage {
	kind := ruby.KindOf(value)
	if kind == ruby.Array {
		return value
	}
	if kind == ruby.Null {
		return json.RawMessage("[]")
	}
	return append(append(json.RawMessage("["), value...), ']')
}

// unwrapMalformed gives the text that a requeued failure record of malformed
// text holds, and whether the job is one.
func unwrapMalformed(class string, args json.RawMessage) (text []byte, ok bool) {
	if class != MalformedClass {
		return nil, false
	}
	var list []string
	if json.Unmarshal(args, &list) != nil || len(list) != 1 {
		return nil, false
	}
	text, err := base64.StdEncoding.DecodeString(list[0])
	return text, err == nil
}

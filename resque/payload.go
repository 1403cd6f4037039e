package resque

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

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

// EncodeJob writes a job as it stands in a queue, in Ruby's form. args is a JSON
// array, whose bytes are kept.
func EncodeJob(class string, args json.RawMessage) []byte { return encodeJob(class, args, "") }

// UnwrapMalformed answers the text that a payload of MalformedClass holds; ok is
// false where payload is none.
func UnwrapMalformed(payload []byte) (text []byte, ok bool) {
	class, args, err := ParsePayload(payload)
	if err != nil {
		return nil, false
	}
	return unwrapMalformed(class, args)
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

// wrapMalformed is the job under which text that Ruby couldn't carry is kept
// where Ruby may meet it: a hand, a delayed item. queue "" leaves that field out.
func wrapMalformed(text []byte, queue string) []byte {
	args := append(make([]byte, 0, 4+base64.StdEncoding.EncodedLen(len(text))), '[', '"')
	args = base64.StdEncoding.AppendEncode(args, text)
	return encodeJob(MalformedClass, append(args, '"', ']'), queue)
}

// writable says that Ruby can write the JSON text again inside a hand or a
// record: it reads more than it writes (bytes that are no UTF-8, half
// surrogates, 1e400, a hundred levels), and what it can't write stops its
// pruning and is lost by its scheduler. Most texts are seen through in one pass.
func writable(text []byte) bool {
	levels, digits := 0, 0
	ascii := true
	for i, c := range text {
		switch {
		case c >= utf8.RuneSelf:
			ascii = false
		case c == '[' || c == '{':
			levels++
		case c == 'u' && i > 0 && text[i-1] == '\\', (c == 'e' || c == 'E') && digits > 0:
			return writableForSure(text)
		}
		if c >= '0' && c <= '9' || c == '.' && digits > 0 {
			digits++
		} else {
			digits = 0
		}
		if levels >= 99 || digits > 300 {
			return writableForSure(text)
		}
	}
	return ascii || utf8.Valid(text)
}

// writableForSure asks Ruby's own way of writing, one level deeper.
func writableForSure(text []byte) bool {
	nested := append(append(append(make([]byte, 0, len(text)+2), '['), text...), ']')
	if ruby.Check(nested) != nil {
		return false
	}
	_, err := ruby.Reencode(nested)
	return err == nil
}

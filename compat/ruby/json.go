package ruby

import (
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"
)

// MarshalError says which part of a Go value has no Ruby JSON form.
type MarshalError struct {
	// Path leads to the value: args[0].name, as a Go programmer would write it. Empty is the whole value.
	Path string
	// Err is the reason.
	Err error
}

// Error gives the path and the reason.
func (e *MarshalError) Error() string {
	if e.Path == "" {
		return "ruby: " + e.Err.Error()
	}
	return "ruby: " + e.Path + ": " + e.Err.Error()
}

// Unwrap gives the reason.
func (e *MarshalError) Unwrap() error { return e.Err }

// ErrInvalidUTF8 is the reason of a MarshalError for text that Ruby would refuse to write.
var ErrInvalidUTF8 = errors.New("invalid UTF-8")

// Marshal writes a Go value as Ruby's JSON.generate would: no spaces, only quotes, backslashes and control characters
// escaped, floats as 1.0 and 1.0e+20.
//
// It reads Go values as encoding/json does: field tags (name, omitempty, omitzero, string, "-"), embedded structs,
// sorted map keys, []byte as base64, json.Marshaler and encoding.TextMarshaler, each called once. What a json.Marshaler
// gives is put into Ruby's form, its numbers kept as they are; a json.RawMessage is kept byte for byte.
//
// It refuses what Ruby refuses, with a *MarshalError that names the place: text that is not UTF-8, NaN and infinities,
// more than 100 levels. Nothing is replaced silently.
func Marshal(v any) ([]byte, error) {
	return marshal(nil, "", reflect.ValueOf(v))
}

// MarshalArgs writes a job's arguments as one array. Errors name them args[0], args[1] and so on.
func MarshalArgs(args ...any) ([]byte, error) {
	if len(args) == 0 {
		return []byte("[]"), nil
	}
	return marshal(nil, "args", reflect.ValueOf(args))
}

// AppendMarshal is Marshal that appends to dst; after an error it gives dst back as it was.
func AppendMarshal(dst []byte, v any) ([]byte, error) {
	text, err := marshal(dst, "", reflect.ValueOf(v))
	if err != nil {
		return dst, err
	}
	return text, nil
}

// usualSize is room for the arguments of most jobs.
const usualSize = 128

func marshal(dst []byte, root string, v reflect.Value) ([]byte, error) {
	if dst == nil {
		dst = make([]byte, 0, usualSize)
	}
	e := encoder{dst: dst}
	if err := e.value(v); err != nil {
		at := inside(root, err)
		return nil, &MarshalError{Path: at.path, Err: at.reason}
	}
	return e.dst, nil
}

// placeError is an error on its way up, which gathers its path step by step: a path costs nothing as long as all is
// well. It is not MarshalError, so that one of those from somebody's MarshalJSON stays a reason of its own.
type placeError struct {
	path   string
	reason error
}

func (e *placeError) Error() string { return e.path + ": " + e.reason.Error() }

// inside puts one step in front of the path.
func inside(step string, err error) *placeError {
	if at, ok := errors.AsType[*placeError](err); ok {
		return &placeError{path: step + at.path, reason: at.reason}
	}
	return &placeError{path: step, reason: err}
}

// AppendString appends a string as JSON.generate writes it. The string must be valid UTF-8, as Ruby demands.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		dst = appendEscape(dst, c)
		start = i + 1
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	default:
		return append(dst, '\\', 'u', '0', '0', "0123456789abcdef"[c>>4], "0123456789abcdef"[c&0xF])
	}
}

// AppendScrubbed appends a string of any bytes as JSON, with what is not UTF-8 replaced as by Scrub.
func AppendScrubbed(dst []byte, s string) []byte {
	return AppendString(dst, Scrub(s))
}

// checkUTF8 refuses what the json gem refuses to write, and says at which byte.
func checkUTF8(s string) error {
	if utf8.ValidString(s) {
		return nil
	}
	at := 0
	for validChar(s[at:]) {
		at += charLen(s[at:])
	}
	return fmt.Errorf("%w (0x%02X) at byte %d", ErrInvalidUTF8, s[at], at)
}

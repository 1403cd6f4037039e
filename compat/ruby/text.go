package ruby

import "strings"

// InspectForm says which Ruby's inspect is written. Ruby 3.4 changed the form of a Hash, and every new Unicode version
// makes more characters printable; the retry keys of jobs with objects among their arguments depend on both.
type InspectForm uint8

// The forms of inspect.
const (
	// Inspect31 is Ruby up to 3.1: {"a"=>1}, Unicode 13.0.
	Inspect31 InspectForm = iota
	// Inspect32 is Ruby 3.2 and 3.3: {"a"=>1}, Unicode 15.0, and U+0085 is escaped.
	Inspect32
	// Inspect34 is Ruby 3.4 and later: {"a" => 1}, Unicode 16.0, and U+0085 is escaped.
	Inspect34
)

// arrow stands between a key and its value.
func (f InspectForm) arrow() string {
	if f >= Inspect34 {
		return " => "
	}
	return "=>"
}

// Join is Array#join of a raw JSON array after JSON.parse: inner arrays are joined with the same separator, nil is
// empty, strings are their bytes, everything else is to_s.
func Join(args []byte, sep string, form InspectForm) ([]byte, error) {
	return AppendJoin(nil, args, sep, form)
}

// AppendJoin is Join that appends to dst. With an error dst holds a part of the text.
func AppendJoin(dst, args []byte, sep string, form InspectForm) ([]byte, error) {
	w := textWriter{scanner: scanner{src: args}, dst: dst, sep: sep, form: form}
	return w.document('[', "no array", w.join)
}

// ToS is to_s of a raw JSON value after JSON.parse: nil is empty, a string is its bytes, arrays and objects are as by
// Inspect.
func ToS(raw []byte, form InspectForm) ([]byte, error) {
	w := textWriter{scanner: scanner{src: raw}, form: form}
	return w.document(0, "", w.toS)
}

// Inspect is inspect of a raw JSON value after JSON.parse, in a Ruby whose default external encoding is UTF-8.
func Inspect(raw []byte, form InspectForm) ([]byte, error) {
	w := textWriter{scanner: scanner{src: raw}, form: form}
	return w.document(0, "", w.inspect)
}

// Strip removes what Ruby's \s matches anywhere in the text: space, tab, newline, vertical tab, form feed, carriage
// return. It is what resque-retry does to its keys; other white space, such as U+00A0, stays.
func Strip(text string) string {
	if strings.IndexFunc(text, isSpace) < 0 {
		return text
	}
	kept := make([]byte, 0, len(text))
	for i := range len(text) {
		if !isSpace(rune(text[i])) {
			kept = append(kept, text[i])
		}
	}
	return string(kept)
}

func isSpace(r rune) bool {
	return r == ' ' || '\t' <= r && r <= '\r'
}

// textWriter reads a JSON text and writes its to_s, inspect or join in the same pass.
type textWriter struct {
	scanner

	dst  []byte
	sep  string
	form InspectForm
}

// document writes the one value of the text. first is the byte it must begin with, 0 for any.
func (w *textWriter) document(first byte, otherwise string, write func() error) ([]byte, error) {
	if err := w.blank(); err != nil {
		return nil, err
	}
	if first != 0 && w.peek() != first {
		return nil, w.fail(otherwise)
	}
	if err := write(); err != nil {
		return w.dst, err
	}
	return w.dst, w.end()
}

// join writes an array's elements with the separator between them.
func (w *textWriter) join() error {
	return w.list(w.sep, func() error {
		if w.peek() == '[' {
			return w.join()
		}
		return w.toS()
	})
}

// list writes an array's elements.
func (w *textWriter) list(sep string, write func() error) error {
	if err := w.open(); err != nil {
		return err
	}
	if w.peek() == ']' {
		w.shut()
		return nil
	}
	for {
		if err := write(); err != nil {
			return err
		}
		done, err := w.next(']')
		if done || err != nil {
			return err
		}
		w.dst = append(w.dst, sep...)
	}
}

// toS writes a value as to_s, which differs from inspect for strings and nil only.
func (w *textWriter) toS() error {
	start := w.pos
	switch w.peek() {
	case '"':
		if err := w.str(); err != nil {
			return err
		}
		w.dst = appendUnquoted(w.dst, w.src[start:w.pos])
		return nil
	case 'n':
		return w.literal("null")
	default:
		return w.inspect()
	}
}

// inspect writes a value as inspect.
func (w *textWriter) inspect() error {
	start := w.pos
	switch c := w.peek(); c {
	case '[':
		return w.inspectArray()
	case '{':
		return w.inspectObject()
	case 'n':
		w.dst = append(w.dst, "nil"...)
		return w.literal("null")
	default:
		if err := w.value(); err != nil {
			return err
		}
		w.dst = appendScalar(w.dst, w.src[start:w.pos], w.form)
		return nil
	}
}

func (w *textWriter) inspectArray() error {
	w.dst = append(w.dst, '[')
	if err := w.list(", ", w.inspect); err != nil {
		return err
	}
	w.dst = append(w.dst, ']')
	return nil
}

// appendScalar appends inspect of a string, a number, true or false that has been scanned.
func appendScalar(dst, raw []byte, form InspectForm) []byte {
	switch {
	case raw[0] == '"':
		return AppendInspect(dst, unquote(raw), form)
	case raw[0] == '-' || isDigit(raw[0]):
		return appendNumber(dst, raw)
	default:
		return append(dst, raw...)
	}
}

// inspectObject writes a Hash. What a key that comes twice is worth is known only at the end, so the members are
// gathered first and their values written from their own bytes; gathering has also counted the levels.
func (w *textWriter) inspectObject() error {
	h, err := w.gather()
	if err != nil {
		return err
	}
	w.dst = append(w.dst, '{')
	for i, m := range h.members {
		if i > 0 {
			w.dst = append(w.dst, ", "...)
		}
		w.dst = AppendInspect(w.dst, m.Key, w.form)
		w.dst = append(w.dst, w.form.arrow()...)
		inner := textWriter{scanner: scanner{src: m.Value}, dst: w.dst, form: w.form}
		if err := inner.inspect(); err != nil {
			return err
		}
		w.dst = inner.dst
	}
	w.dst = append(w.dst, '}')
	return nil
}

// gather takes an object and lists its members as a Ruby Hash holds them.
func (s *scanner) gather() (hash, error) {
	h, src := hash{}, s.src
	err := s.object(func(p pair) {
		h.set(Member{Key: unquote(src[p.key:p.keyEnd]), RawKey: src[p.key:p.keyEnd:p.keyEnd], Value: src[p.value:p.valueEnd:p.valueEnd]})
	})
	return h, err
}

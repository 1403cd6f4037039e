package ruby

import (
	"errors"
	"math"
)

var errNotFinite = errors.New("a number too large for a Float: Ruby reads it as Infinity and can't write that")

// Reencode gives what Ruby writes after it has read the text and writes it again: JSON.generate(JSON.parse(raw)).
// Blanks and comments go, keys that come twice become one, numbers and escapes take Ruby's form. It fails where Ruby
// can read but not write: strings that are not UTF-8, floats that became infinite.
func Reencode(raw []byte) ([]byte, error) {
	w := rewriter{scanner: scanner{src: raw}, dst: make([]byte, 0, len(raw))}
	if err := w.document(); err != nil {
		return nil, err
	}
	return w.dst, nil
}

// rewriter reads a JSON text and writes it in Ruby's form in the same pass.
type rewriter struct {
	scanner

	dst         []byte
	keepNumbers bool
}

func (w *rewriter) document() error {
	if err := w.blank(); err != nil {
		return err
	}
	if err := w.rewrite(); err != nil {
		return err
	}
	return w.end()
}

func (w *rewriter) rewrite() error {
	switch w.peek() {
	case '[':
		return w.rewriteArray()
	case '{':
		return w.rewriteObject()
	default:
		start := w.pos
		if err := w.value(); err != nil {
			return err
		}
		return w.rewriteScalar(w.src[start:w.pos])
	}
}

func (w *rewriter) rewriteScalar(raw []byte) error {
	switch c := raw[0]; {
	case c == '"':
		return w.text(unquote(raw))
	case w.keepNumbers || c != '-' && !isDigit(c):
		w.dst = append(w.dst, raw...)
	case isFloat(raw) && math.IsInf(parseFloat(raw), 0):
		return errNotFinite
	default:
		w.dst = appendNumber(w.dst, raw)
	}
	return nil
}

func (w *rewriter) text(s string) error {
	if err := checkUTF8(s); err != nil {
		return err
	}
	w.dst = AppendString(w.dst, s)
	return nil
}

func (w *rewriter) rewriteArray() error {
	w.dst = append(w.dst, '[')
	if err := w.open(); err != nil {
		return err
	}
	if w.peek() == ']' {
		w.shut()
		w.dst = append(w.dst, ']')
		return nil
	}
	for {
		if err := w.rewrite(); err != nil {
			return err
		}
		done, err := w.next(']')
		if err != nil {
			return err
		}
		if done {
			w.dst = append(w.dst, ']')
			return nil
		}
		w.dst = append(w.dst, ',')
	}
}

func (w *rewriter) rewriteObject() error {
	h, err := w.gather()
	if err != nil {
		return err
	}
	w.dst = append(w.dst, '{')
	for i, m := range h.members {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		if err := w.rewriteMember(m); err != nil {
			return err
		}
	}
	w.dst = append(w.dst, '}')
	return nil
}

func (w *rewriter) rewriteMember(m Member) error {
	if err := w.text(m.Key); err != nil {
		return err
	}
	inner := rewriter{scanner: scanner{src: m.Value}, dst: append(w.dst, ':'), keepNumbers: w.keepNumbers}
	err := inner.rewrite()
	w.dst = inner.dst
	return err
}

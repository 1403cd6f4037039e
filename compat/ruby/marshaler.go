package ruby

import (
	"encoding"
	"encoding/json"
	"reflect"
	"unicode/utf8"
)

// marshaler writes a value that writes itself. done is false for all others.
func (e *encoder) marshaler(v reflect.Value) (done bool, err error) {
	t := v.Type()
	if t == reflect.TypeFor[json.RawMessage]() {
		return true, e.rawMessage(v.Bytes())
	}
	if t.NumMethod() == 0 && t.PkgPath() == "" && t.Kind() != reflect.Struct {
		return false, nil // Go's own types and those made of them, nearly all there is: no need to ask twice
	}
	if m, ok := asOne[json.Marshaler](v); ok {
		return true, e.jsonMarshaler(m)
	}
	if m, ok := asOne[encoding.TextMarshaler](v); ok {
		return true, e.textMarshaler(m)
	}
	return false, nil
}

// asOne gives the value as an M if it is one, or if its pointer is and the value can be pointed at. m is nil for a nil
// pointer or interface, which is null and whose method isn't called.
func asOne[M any](v reflect.Value) (m M, ok bool) {
	t, want := v.Type(), reflect.TypeFor[M]()
	if t.Kind() != reflect.Pointer && v.CanAddr() && reflect.PointerTo(t).Implements(want) {
		return reflect.TypeAssert[M](v.Addr())
	}
	if !t.Implements(want) {
		return m, false
	}
	if isNil(v) {
		return m, true
	}
	return reflect.TypeAssert[M](v)
}

func (e *encoder) jsonMarshaler(m json.Marshaler) error {
	if m == nil {
		return e.null()
	}
	text, err := m.MarshalJSON()
	if err != nil {
		return err
	}
	return e.foreign(text)
}

func (e *encoder) textMarshaler(m encoding.TextMarshaler) error {
	if m == nil {
		return e.null()
	}
	text, err := m.MarshalText()
	if err != nil {
		return err
	}
	return e.str(string(text))
}

func isNil(v reflect.Value) bool {
	return (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && v.IsNil()
}

// foreign takes the text of a json.Marshaler over in Ruby's form.
func (e *encoder) foreign(text []byte) error {
	w := rewriter{scanner: scanner{src: text, depth: e.depth}, dst: e.dst, keepNumbers: true}
	if err := w.document(); err != nil {
		return err
	}
	e.dst = w.dst
	return nil
}

// rawMessage keeps JSON that somebody else wrote, after a look at whether Ruby could read and write it.
func (e *encoder) rawMessage(raw []byte) error {
	if raw == nil {
		return e.null()
	}
	s := scanner{src: raw, depth: e.depth}
	if err := s.document(); err != nil {
		return err
	}
	if !utf8.Valid(raw) {
		return checkUTF8(string(raw))
	}
	e.dst = append(e.dst, raw...)
	return nil
}

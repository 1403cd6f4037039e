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
	for _, write := range []func(reflect.Value) (bool, error){e.jsonMarshaler, e.textMarshaler} {
		// A method of the pointer counts as soon as the value can be pointed at.
		if t.Kind() != reflect.Pointer && v.CanAddr() {
			if done, err := write(v.Addr()); done {
				return done, err
			}
		}
		if done, err := write(v); done {
			return done, err
		}
	}
	return false, nil
}

func (e *encoder) jsonMarshaler(v reflect.Value) (bool, error) {
	if !v.Type().Implements(reflect.TypeFor[json.Marshaler]()) {
		return false, nil
	}
	if isNil(v) {
		return true, e.null()
	}
	m, ok := v.Interface().(json.Marshaler)
	if !ok {
		return false, nil
	}
	text, err := m.MarshalJSON()
	if err != nil {
		return true, err
	}
	return true, e.foreign(text)
}

func (e *encoder) textMarshaler(v reflect.Value) (bool, error) {
	if !v.Type().Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return false, nil
	}
	if isNil(v) {
		return true, e.null()
	}
	m, ok := v.Interface().(encoding.TextMarshaler)
	if !ok {
		return false, nil
	}
	text, err := m.MarshalText()
	if err != nil {
		return true, err
	}
	return true, e.str(string(text))
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

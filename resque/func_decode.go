package resque

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"example.com/understudy/compat/ruby"
)

// decodeFunc sets to, which is zero, to the value of one JSON text. Its errors
// are *decodeError, or those of a type's own unmarshalling.
type decodeFunc func(raw []byte, to reflect.Value) error

// decodeError says what an argument is and what it should be.
type decodeError struct {
	what  string // "wrong type"
	path  string // where inside the argument: [3].price
	given string
	want  string
	cause error
}

func (e *decodeError) Error() string { return e.at(e.path) }

func (e *decodeError) at(place string) string {
	text := fmt.Sprintf("%s of %s (given %s, expected %s)", e.what, place, e.given, e.want)
	if e.cause != nil {
		text += ": " + e.cause.Error()
	}
	return text
}

func (e *decodeError) Unwrap() error { return e.cause }

func mismatch(raw []byte, t reflect.Type) error {
	return &decodeError{what: "wrong type", given: rubyClass(raw), want: t.String()}
}

// within puts a step of the way to the value before an error's place.
func within(step string, err error) error {
	if d, ok := errors.AsType[*decodeError](err); ok {
		d.path = step + d.path
		return d
	}
	return fmt.Errorf("%s: %w", step, err)
}

// rubyClass is the class that Ruby would name in such a message.
func rubyClass(raw []byte) string {
	switch ruby.KindOf(raw) {
	case ruby.Null:
		return "nil"
	case ruby.Bool:
		return string(raw)
	case ruby.Number:
		if isInteger(raw) {
			return "Integer"
		}
		return "Float"
	case ruby.Text:
		return "String"
	case ruby.Array:
		return "Array"
	case ruby.Object:
		return "Hash"
	case ruby.Invalid:
	}
	return "no JSON"
}

func isInteger(raw []byte) bool {
	for _, c := range raw {
		if c != '-' && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// newDecoder prepares the decoding of values of type t.
func newDecoder(t reflect.Type) (decodeFunc, error) {
	return (&decoderBuilder{known: map[reflect.Type]*decodeFunc{}}).build(t)
}

// decoderBuilder remembers the types it is at work on: they may hold themselves.
type decoderBuilder struct{ known map[reflect.Type]*decodeFunc }

func (b *decoderBuilder) build(t reflect.Type) (decodeFunc, error) {
	if known := b.known[t]; known != nil {
		return func(raw []byte, to reflect.Value) error { return (*known)(raw, to) }, nil
	}
	slot := new(decodeFunc)
	b.known[t] = slot
	decode, err := b.forType(t)
	*slot = decode
	return decode, err
}

func (b *decoderBuilder) forType(t reflect.Type) (decodeFunc, error) {
	switch pointer := reflect.PointerTo(t); {
	case t == reflect.TypeFor[json.Number]():
		return decodeNumber, nil
	case t.Kind() == reflect.Pointer:
		return b.pointer(t)
	case pointer.Implements(reflect.TypeFor[json.Unmarshaler]()):
		return decodeByItself, nil
	case pointer.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return decodeItsText, nil
	}
	if decode := scalar(t); decode != nil {
		return decode, nil
	}
	compounds := map[reflect.Kind]func(reflect.Type) (decodeFunc, error){
		reflect.Slice: b.slice, reflect.Array: b.array, reflect.Map: b.mapping, reflect.Struct: b.structure,
	}
	if build := compounds[t.Kind()]; build != nil {
		return build(t)
	}
	if t.Kind() == reflect.Interface {
		return nil, fmt.Errorf("no argument can become a %s: take any, a struct or a type with UnmarshalJSON", t)
	}
	return nil, fmt.Errorf("no argument can become a %s", t)
}

// scalar is the decoder of a type that holds no others; nil: t does.
func scalar(t reflect.Type) decodeFunc {
	switch zero := reflect.Zero(t); {
	case t.Kind() == reflect.String:
		return decodeString
	case t.Kind() == reflect.Bool:
		return decodeBool
	case zero.CanInt():
		return decodeInt
	case zero.CanUint():
		return decodeUint
	case zero.CanFloat():
		return decodeFloat
	case t.Kind() == reflect.Interface && t.NumMethod() == 0:
		return decodeAny
	default:
		return nil
	}
}

func decodeString(raw []byte, to reflect.Value) error {
	if ruby.KindOf(raw) != ruby.Text {
		return mismatch(raw, to.Type())
	}
	text, err := ruby.String(raw)
	to.SetString(text)
	return err
}

func decodeBool(raw []byte, to reflect.Value) error {
	if ruby.KindOf(raw) != ruby.Bool {
		return mismatch(raw, to.Type())
	}
	to.SetBool(raw[0] == 't')
	return nil
}

func outOfRange(raw []byte, t reflect.Type) error {
	return &decodeError{what: "wrong size", given: string(raw), want: t.String()}
}

func decodeInt(raw []byte, to reflect.Value) error {
	if ruby.KindOf(raw) != ruby.Number || !isInteger(raw) {
		return mismatch(raw, to.Type())
	}
	n, err := strconv.ParseInt(string(raw), 10, to.Type().Bits())
	if err != nil {
		return outOfRange(raw, to.Type())
	}
	to.SetInt(n)
	return nil
}

func decodeUint(raw []byte, to reflect.Value) error {
	if ruby.KindOf(raw) != ruby.Number || !isInteger(raw) {
		return mismatch(raw, to.Type())
	}
	n, err := strconv.ParseUint(string(raw), 10, to.Type().Bits())
	if err != nil {
		return outOfRange(raw, to.Type())
	}
	to.SetUint(n)
	return nil
}

func decodeFloat(raw []byte, to reflect.Value) error {
	if ruby.KindOf(raw) != ruby.Number {
		return mismatch(raw, to.Type())
	}
	f, err := strconv.ParseFloat(string(raw), to.Type().Bits())
	if err != nil {
		return outOfRange(raw, to.Type())
	}
	to.SetFloat(f)
	return nil
}

func decodeNumber(raw []byte, to reflect.Value) error {
	if ruby.KindOf(raw) != ruby.Number {
		return mismatch(raw, to.Type())
	}
	to.SetString(string(raw))
	return nil
}

// decodeByItself leaves the value to the type's own UnmarshalJSON.
func decodeByItself(raw []byte, to reflect.Value) error {
	u, _ := reflect.TypeAssert[json.Unmarshaler](to.Addr())
	return refused(raw, to.Type(), u.UnmarshalJSON(raw))
}

// refused is the error of a type's own unmarshalling.
func refused(raw []byte, t reflect.Type, err error) error {
	if err == nil {
		return nil
	}
	return &decodeError{what: "wrong value", given: rubyClass(raw), want: t.String(), cause: err}
}

// decodeItsText leaves a string to the type's own UnmarshalText.
func decodeItsText(raw []byte, to reflect.Value) error {
	if ruby.KindOf(raw) != ruby.Text {
		return mismatch(raw, to.Type())
	}
	text, err := ruby.String(raw)
	if err != nil {
		return err
	}
	u, _ := reflect.TypeAssert[encoding.TextUnmarshaler](to.Addr())
	return refused(raw, to.Type(), u.UnmarshalText([]byte(text)))
}

func decodeAny(raw []byte, to reflect.Value) error {
	value, err := anyValue(raw)
	if err != nil || value == nil {
		return err
	}
	to.Set(reflect.ValueOf(value))
	return nil
}

// anyValue is the value of a JSON text as encoding/json has it with UseNumber,
// but with strings byte for byte.
func anyValue(raw []byte) (any, error) {
	switch ruby.KindOf(raw) {
	case ruby.Null:
		return nil, nil
	case ruby.Bool:
		return raw[0] == 't', nil
	case ruby.Number:
		return json.Number(raw), nil
	case ruby.Text:
		return ruby.String(raw)
	case ruby.Array:
		return anySlice(raw)
	case ruby.Object:
		return anyMap(raw)
	case ruby.Invalid:
	}
	return nil, ruby.Check(raw)
}

func anySlice(raw []byte) (any, error) {
	elements, err := ruby.Elements(raw)
	if err != nil {
		return nil, err
	}
	values := make([]any, len(elements))
	for i := range elements {
		if values[i], err = anyValue(elements[i]); err != nil {
			return nil, err
		}
	}
	return values, nil
}

func anyMap(raw []byte) (any, error) {
	members, err := ruby.Members(raw)
	if err != nil {
		return nil, err
	}
	values := make(map[string]any, len(members))
	for i := range members {
		if values[members[i].Key], err = anyValue(members[i].Value); err != nil {
			return nil, err
		}
	}
	return values, nil
}

func decodeBytes(raw []byte, to reflect.Value) error {
	text, err := ruby.String(raw)
	if err != nil {
		return err
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return refused(raw, to.Type(), err)
	}
	to.SetBytes(data)
	return nil
}

package ruby

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// The reasons of a MarshalError besides ErrInvalidUTF8.
var (
	errTooDeep = errors.New("nested more than 100 levels deep, which Ruby refuses (or a value that holds itself)")
	errCycle   = errors.New("a pointer that leads back to itself")
)

// maxPointers bounds a chain of pointers; only a cycle is that long.
const maxPointers = 1000

// encoder writes Go values. Cycles end at the nesting limit, so it keeps no book of pointers.
type encoder struct {
	dst      []byte
	depth    int
	pointers int
	fields   map[reflect.Type][]field
}

// value writes any value.
func (e *encoder) value(v reflect.Value) error {
	if !v.IsValid() {
		return e.null()
	}
	if done, err := e.marshaler(v); done {
		return err
	}
	switch v.Kind() { //nolint:exhaustive // kinds are Go's, and the default refuses the rest
	case reflect.Pointer, reflect.Interface:
		return e.pointer(v)
	case reflect.Struct:
		return e.object(v)
	case reflect.Map:
		return e.dict(v)
	case reflect.Slice, reflect.Array:
		return e.list(v)
	default:
		return e.scalar(v)
	}
}

func (e *encoder) null() error {
	e.dst = append(e.dst, "null"...)
	return nil
}

func (e *encoder) scalar(v reflect.Value) error {
	switch v.Kind() { //nolint:exhaustive // kinds are Go's, and the default refuses the rest
	case reflect.String:
		return e.text(v)
	case reflect.Bool:
		e.dst = strconv.AppendBool(e.dst, v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		e.dst = strconv.AppendInt(e.dst, v.Int(), 10)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		e.dst = strconv.AppendUint(e.dst, v.Uint(), 10)
	case reflect.Float32, reflect.Float64:
		return e.float(v)
	default:
		return fmt.Errorf("a %s has no JSON form", v.Type())
	}
	return nil
}

func (e *encoder) text(v reflect.Value) error {
	if v.Type() == reflect.TypeFor[json.Number]() {
		return e.jsonNumber(v.String())
	}
	return e.str(v.String())
}

func (e *encoder) str(s string) error {
	if err := checkUTF8(s); err != nil {
		return err
	}
	e.dst = AppendString(e.dst, s)
	return nil
}

// jsonNumber keeps the digits; the empty number is 0, as for encoding/json.
func (e *encoder) jsonNumber(n string) error {
	if n == "" {
		n = "0"
	}
	s := scanner{src: []byte(n)}
	if KindOf(s.src) != Number || s.number() != nil || s.pos < len(n) {
		return fmt.Errorf("json.Number %q is no number", n)
	}
	e.dst = append(e.dst, n...)
	return nil
}

func (e *encoder) float(v reflect.Value) error {
	f := v.Float()
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Errorf("%v has no JSON form", f)
	}
	e.dst = appendFloat(e.dst, f, v.Type().Bits())
	return nil
}

func (e *encoder) pointer(v reflect.Value) error {
	if v.IsNil() {
		return e.null()
	}
	if e.pointers++; e.pointers > maxPointers {
		return errCycle
	}
	err := e.value(v.Elem())
	e.pointers--
	return err
}

// enter opens an array or object; leave closes it.
func (e *encoder) enter(opening byte) error {
	if e.depth++; e.depth > maxNesting {
		return errTooDeep
	}
	e.dst = append(e.dst, opening)
	return nil
}

// leave closes an array or object, whose last element left a comma.
func (e *encoder) leave(closing byte) {
	e.depth--
	if last := len(e.dst) - 1; e.dst[last] == ',' {
		e.dst[last] = closing
		return
	}
	e.dst = append(e.dst, closing)
}

func (e *encoder) list(v reflect.Value) error {
	if v.Kind() == reflect.Slice {
		if v.IsNil() {
			return e.null()
		}
		if isBytes(v.Type()) {
			return e.base64(v.Bytes())
		}
	}
	if err := e.enter('['); err != nil {
		return err
	}
	for i := range v.Len() {
		if err := e.value(v.Index(i)); err != nil {
			return inside("["+strconv.Itoa(i)+"]", err)
		}
		e.dst = append(e.dst, ',')
	}
	e.leave(']')
	return nil
}

// isBytes tells a byte slice from a slice of numbers or of values that write themselves.
func isBytes(t reflect.Type) bool {
	element := t.Elem()
	return element.Kind() == reflect.Uint8 && !writesItself(reflect.PointerTo(element))
}

func writesItself(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

func (e *encoder) base64(b []byte) error {
	e.dst = append(e.dst, '"')
	e.dst = base64.StdEncoding.AppendEncode(e.dst, b)
	e.dst = append(e.dst, '"')
	return nil
}

// entry is one pair of a map.
type entry struct {
	key   string
	value reflect.Value
}

func (e *encoder) dict(v reflect.Value) error {
	if v.IsNil() {
		return e.null()
	}
	if err := e.enter('{'); err != nil {
		return err
	}
	entries, err := sortedEntries(v)
	if err != nil {
		return err
	}
	for _, en := range entries {
		if err := e.member(en); err != nil {
			return inside(keyStep(en.key), err)
		}
	}
	e.leave('}')
	return nil
}

func (e *encoder) member(en entry) error {
	if err := e.str(en.key); err != nil {
		return fmt.Errorf("key: %w", err)
	}
	e.dst = append(e.dst, ':')
	if err := e.value(en.value); err != nil {
		return err
	}
	e.dst = append(e.dst, ',')
	return nil
}

func keyStep(key string) string { return "[" + strconv.Quote(key) + "]" }

func sortedEntries(v reflect.Value) ([]entry, error) {
	entries := make([]entry, 0, v.Len())
	for it := v.MapRange(); it.Next(); {
		key, err := keyText(it.Key())
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{key, it.Value()})
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	return entries, nil
}

// keyText gives a map key's text: strings first, then what writes itself, then numbers.
func keyText(k reflect.Value) (string, error) {
	if k.Kind() == reflect.String {
		return k.String(), nil
	}
	if tm, ok := reflect.TypeAssert[encoding.TextMarshaler](k); ok {
		if k.Kind() == reflect.Pointer && k.IsNil() {
			return "", nil
		}
		text, err := tm.MarshalText()
		return string(text), err
	}
	switch {
	case k.CanInt():
		return strconv.FormatInt(k.Int(), 10), nil
	case k.CanUint():
		return strconv.FormatUint(k.Uint(), 10), nil
	default:
		return "", fmt.Errorf("a map key of type %s has no JSON form", k.Type())
	}
}

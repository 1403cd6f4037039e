package resque

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"example.com/understudy/compat/ruby"
)

// nullable tells whether decoders of type t take null.
func nullable(t reflect.Type) bool {
	kinds := []reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface}
	return slices.Contains(kinds, t.Kind()) || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// inner decodes a value inside an argument: there null leaves the zero value.
func inner(decode decodeFunc, nullable bool, raw []byte, to reflect.Value) error {
	if !nullable && ruby.KindOf(raw) == ruby.Null {
		return nil
	}
	return decode(raw, to)
}

func (b *decoderBuilder) pointer(t reflect.Type) (decodeFunc, error) {
	decode, err := b.build(t.Elem())
	return func(raw []byte, to reflect.Value) error {
		if ruby.KindOf(raw) == ruby.Null {
			return nil
		}
		to.Set(reflect.New(t.Elem()))
		return decode(raw, to.Elem())
	}, err
}

func (b *decoderBuilder) slice(t reflect.Type) (decodeFunc, error) {
	decode, err := b.build(t.Elem())
	isBytes, takesNull := t.Elem().Kind() == reflect.Uint8, nullable(t.Elem())
	return func(raw []byte, to reflect.Value) error {
		switch kind := ruby.KindOf(raw); {
		case kind == ruby.Null:
			return nil
		case kind == ruby.Text && isBytes:
			return decodeBytes(raw, to)
		case kind != ruby.Array:
			return mismatch(raw, t)
		}
		elements, err := ruby.Elements(raw)
		if err != nil {
			return err
		}
		to.Set(reflect.MakeSlice(t, len(elements), len(elements)))
		return decodeElements(decode, takesNull, elements, to)
	}, err
}

func (b *decoderBuilder) array(t reflect.Type) (decodeFunc, error) {
	decode, err := b.build(t.Elem())
	takesNull := nullable(t.Elem())
	return func(raw []byte, to reflect.Value) error {
		if ruby.KindOf(raw) != ruby.Array {
			return mismatch(raw, t)
		}
		elements, err := ruby.Elements(raw)
		if err != nil {
			return err
		}
		if len(elements) != t.Len() {
			return &decodeError{what: "wrong length", given: strconv.Itoa(len(elements)), want: t.String()}
		}
		return decodeElements(decode, takesNull, elements, to)
	}, err
}

func decodeElements(decode decodeFunc, takesNull bool, elements [][]byte, to reflect.Value) error {
	for i, raw := range elements {
		if err := inner(decode, takesNull, raw, to.Index(i)); err != nil {
			return within("["+strconv.Itoa(i)+"]", err)
		}
	}
	return nil
}

func (b *decoderBuilder) mapping(t reflect.Type) (decodeFunc, error) {
	setKey, err := keyDecoder(t.Key())
	if err != nil {
		return nil, err
	}
	decode, err := b.build(t.Elem())
	takesNull := nullable(t.Elem())
	return func(raw []byte, to reflect.Value) error {
		switch kind := ruby.KindOf(raw); {
		case kind == ruby.Null:
			return nil
		case kind != ruby.Object:
			return mismatch(raw, t)
		}
		members, err := ruby.Members(raw)
		if err != nil {
			return err
		}
		to.Set(reflect.MakeMapWithSize(t, len(members)))
		for i := range members {
			key, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
			if err := setKey(members[i].Key, key); err != nil {
				return within(".key "+strconv.Quote(members[i].Key), err)
			}
			if err := inner(decode, takesNull, members[i].Value, value); err != nil {
				return within("["+strconv.Quote(members[i].Key)+"]", err)
			}
			to.SetMapIndex(key, value)
		}
		return nil
	}, err
}

// keyDecoder sets a map's key from the text of an object's key.
func keyDecoder(t reflect.Type) (func(key string, to reflect.Value) error, error) {
	number := func(decode decodeFunc) func(string, reflect.Value) error {
		return func(key string, to reflect.Value) error {
			if key == "" || ruby.Check([]byte(key)) != nil {
				return &decodeError{what: "wrong type", given: "String", want: to.Type().String()}
			}
			return decode([]byte(key), to)
		}
	}
	switch {
	case reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return func(key string, to reflect.Value) error {
			u, _ := reflect.TypeAssert[encoding.TextUnmarshaler](to.Addr())
			return refused([]byte(`""`), t, u.UnmarshalText([]byte(key)))
		}, nil
	case t.Kind() == reflect.String:
		return func(key string, to reflect.Value) error {
			to.SetString(key)
			return nil
		}, nil
	case reflect.Zero(t).CanInt():
		return number(decodeInt), nil
	case reflect.Zero(t).CanUint():
		return number(decodeUint), nil
	default:
		return nil, fmt.Errorf("no key of an object can become a %s", t)
	}
}

// structField is one field of a struct as JSON has it.
type structField struct {
	name      string
	index     []int
	decode    decodeFunc
	nullable  bool
	inQuotes  bool // the tag's option string
	fieldType reflect.Type
}

func (b *decoderBuilder) structure(t reflect.Type) (decodeFunc, error) {
	fields, err := b.fields(t)
	if err != nil {
		return nil, err
	}
	exact := make(map[string]*structField, len(fields))
	folded := make(map[string]*structField, len(fields))
	for i := range fields {
		exact[fields[i].name] = &fields[i]
		if lower := strings.ToLower(fields[i].name); folded[lower] == nil {
			folded[lower] = &fields[i]
		}
	}
	return func(raw []byte, to reflect.Value) error {
		if ruby.KindOf(raw) != ruby.Object {
			return mismatch(raw, t)
		}
		members, err := ruby.Members(raw)
		if err != nil {
			return err
		}
		for i := range members {
			f := exact[members[i].Key]
			if f == nil {
				f = folded[strings.ToLower(members[i].Key)]
			}
			if f == nil {
				continue
			}
			if err := f.set(members[i].Value, to); err != nil {
				return within("."+f.name, err)
			}
		}
		return nil
	}, nil
}

func (f *structField) set(raw []byte, to reflect.Value) error {
	for _, i := range f.index[:len(f.index)-1] {
		if to = to.Field(i); to.Kind() != reflect.Pointer {
			continue
		}
		if to.IsNil() {
			to.Set(reflect.New(to.Type().Elem()))
		}
		to = to.Elem()
	}
	to = to.Field(f.index[len(f.index)-1])
	if f.inQuotes && ruby.KindOf(raw) == ruby.Text {
		text, err := ruby.String(raw)
		if err != nil || ruby.Check([]byte(text)) != nil {
			return mismatch(raw, f.fieldType)
		}
		raw = []byte(text)
	}
	return inner(f.decode, f.nullable, raw, to)
}

// fields lists the fields that take a member of an object, as encoding/json
// finds them: exported, renamed or left out by their tags, those of embedded
// structs included. Of two with one name the outer one counts.
func (b *decoderBuilder) fields(t reflect.Type) ([]structField, error) {
	var fields []structField
	for _, sf := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if !takesMember(t, sf, name) {
			continue
		}
		decode, err := b.build(sf.Type)
		if err != nil {
			return nil, fmt.Errorf("field %s of %s: %w (json:\"-\" leaves it out)", sf.Name, t, err)
		}
		fields = addField(fields, structField{
			name: cmp.Or(name, sf.Name), index: sf.Index, decode: decode, nullable: nullable(sf.Type), fieldType: sf.Type,
			inQuotes: strings.Contains(","+options+",", ",string,") && quotable(sf.Type),
		})
	}
	return fields, nil
}

func addField(fields []structField, f structField) []structField {
	for i := range fields {
		if fields[i].name != f.name {
			continue
		}
		if len(f.index) < len(fields[i].index) {
			fields[i] = f
		}
		return fields
	}
	return append(fields, f)
}

func takesMember(t reflect.Type, sf reflect.StructField, name string) bool {
	if !sf.IsExported() || sf.Tag.Get("json") == "-" {
		return false
	}
	if flattened(sf, name) {
		return false // its own fields are listed too
	}
	for depth := 1; depth < len(sf.Index); depth++ {
		outer := t.FieldByIndex(sf.Index[:depth])
		outerName, _, _ := strings.Cut(outer.Tag.Get("json"), ",")
		unreachable := !outer.IsExported() && outer.Type.Kind() == reflect.Pointer
		if !flattened(outer, outerName) || outer.Tag.Get("json") == "-" || unreachable {
			return false
		}
	}
	return true
}

// flattened tells whether the fields of an embedded struct count as those of the outer one.
func flattened(sf reflect.StructField, name string) bool {
	t := sf.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return sf.Anonymous && name == "" && t.Kind() == reflect.Struct &&
		!reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// quotable tells whether the tag's option string means anything for t.
func quotable(t reflect.Type) bool {
	zero := reflect.Zero(t)
	return zero.CanInt() || zero.CanUint() || zero.CanFloat() || t.Kind() == reflect.Bool || t.Kind() == reflect.String
}

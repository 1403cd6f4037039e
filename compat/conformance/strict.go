package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// decodeStrict decodes a recording and refuses what it doesn't know, at every
// level: a field that no struct names exactly (encoding/json alone would accept
// another case), a field twice, a field that is missing though its tag has no
// omitempty. A recording with something new in it must never pass by being
// ignored.
func decodeStrict(data []byte, into any) error {
	if err := checkShape(data, reflect.TypeOf(into).Elem(), ""); err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	return nil
}

// shaped is a type that checks its own JSON: one whose fields depend on its
// content.
type shaped interface {
	// shape answers the type whose fields data must have; nil: it has none, and
	// is as it should be.
	shape(data []byte) (reflect.Type, error)
}

var _ = []shaped{
	(*step)(nil), (*outcome)(nil), (*event)(nil), (*entry)(nil),
	(*job)(nil), (*plugin)(nil), (*listedError)(nil), (*retryArgs)(nil), (*identifier)(nil), (*raises)(nil),
}

func checkShape(data []byte, t reflect.Type, path string) error {
	if s, ok := reflect.TypeAssert[shaped](reflect.New(t)); ok {
		inner, err := s.shape(data)
		if err != nil {
			return at(path, err)
		}
		if inner == nil {
			return nil
		}
		t = inner
	}
	if t == reflect.TypeFor[json.RawMessage]() {
		return nil
	}
	switch t.Kind() { //nolint:exhaustive // the others have no fields
	case reflect.Pointer:
		if isNull(data) {
			return nil
		}
		return checkShape(data, t.Elem(), path)
	case reflect.Struct:
		return checkStruct(data, t, path)
	case reflect.Slice:
		return checkSlice(data, t, path)
	case reflect.Map:
		fields, err := objectFields(data)
		if err != nil {
			return at(path, err)
		}
		for _, f := range fields {
			if err := checkShape(f.value, t.Elem(), join(path, f.name)); err != nil {
				return err
			}
		}
	default:
	}
	return nil
}

func checkStruct(data []byte, t reflect.Type, path string) error {
	fields, err := objectFields(data)
	if err != nil {
		return at(path, err)
	}
	known := map[string]reflect.Type{}
	required := map[string]bool{}
	collectFields(t, known, required)
	for _, f := range fields {
		ft, ok := known[f.name]
		if !ok {
			return at(path, fmt.Errorf("unknown field %q", f.name))
		}
		delete(required, f.name)
		if err := checkShape(f.value, ft, join(path, f.name)); err != nil {
			return err
		}
	}
	for name := range required {
		return at(path, fmt.Errorf("field %q is missing", name))
	}
	return nil
}

func checkSlice(data []byte, t reflect.Type, path string) error {
	var elements []json.RawMessage
	if err := json.Unmarshal(data, &elements); err != nil {
		return at(path, err)
	}
	if elements == nil {
		return at(path, errors.New("null where an array belongs"))
	}
	for i, e := range elements {
		if err := checkShape(e, t.Elem(), fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return err
		}
	}
	return nil
}

func collectFields(t reflect.Type, known map[string]reflect.Type, required map[string]bool) {
	for f := range t.Fields() {
		if f.Anonymous {
			collectFields(f.Type, known, required)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		known[name] = f.Type
		if !strings.Contains(options, "omitempty") {
			required[name] = true
		}
	}
}

type field struct {
	name  string
	value json.RawMessage
}

// objectFields are the fields of a JSON object in their order; a name that
// stands there twice is refused.
func objectFields(data []byte) ([]field, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	first, err := d.Token()
	if err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	if first != json.Delim('{') {
		return nil, fmt.Errorf("%.20q where an object belongs", data)
	}
	var fields []field
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("decode: %w", err)
		}
		name, ok := token.(string)
		if !ok || seen[name] {
			return nil, fmt.Errorf("field %q stands there twice", name)
		}
		seen[name] = true
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, fmt.Errorf("field %q: %w", name, err)
		}
		fields = append(fields, field{name, value})
	}
	return fields, nil
}

func isNull(data []byte) bool { return string(bytes.TrimSpace(data)) == "null" }

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func at(path string, err error) error {
	if path == "" {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

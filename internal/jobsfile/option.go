package jobsfile

import (
	"errors"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"example.com/understudy/internal/spelling"
	"example.com/understudy/internal/yamlfile"
	"example.com/understudy/retry"
)

// ownKeys are the keys of a job that aren't options of resque-retry.
func ownKeys() []string { return []string{"queue", "exec", "http", "timeout", "at_deadline"} }

// option reads one of the options of resque-retry.
func (p *parser) option(spec *retry.Spec, class string, e entry) {
	fields := fieldsOf(reflect.TypeFor[retry.Spec]())
	field, ok := fields[e.name]
	if !ok {
		p.unknown(e, class, append(ownKeys(), names(fields)...))
		return
	}
	if yamlfile.IsNull(e.value) {
		p.wrongType(class, e, nil)
		return
	}
	if !p.checkKeys(e.value, field.Type, class+": "+e.name) {
		return
	}
	to := reflect.ValueOf(spec).Elem().FieldByIndex(field.Index)
	if err := e.value.Decode(to.Addr().Interface()); err != nil {
		p.wrongType(class, e, err)
	}
}

// wrongType is a value that its key doesn't take. err may say more.
func (p *parser) wrongType(class string, e entry, err error) {
	line, reason := e.line, ""
	if typeErr, ok := errors.AsType[*yaml.TypeError](err); ok {
		if at, _ := yamlfile.CutLine(typeErr.Errors[0]); at > 0 {
			line = at
		}
	} else if err != nil {
		reason = moreThan(e, strings.ReplaceAll(err.Error(), "retry: ", ""))
	}
	p.fail(line, "%s: %s is %s%s: write %s", class, e.name, yamlfile.KindOf(e.value), reason, howTo(e.name))
}

// moreThan is what an error says beyond the value and what to write.
func moreThan(e entry, text string) string {
	scalar := e.value.Kind == yaml.ScalarNode
	if strings.Contains(text, "json: ") || strings.HasPrefix(text, e.name+" is ") || scalar && strings.Contains(text, " is no ") {
		return ""
	}
	return " (" + text + ")"
}

// unknown is a key that nobody knows.
func (p *parser) unknown(e entry, where string, known []string) {
	if where != "" {
		where += ": "
	}
	name := strings.TrimLeft(e.name, "@:")
	if text := onlyInGo(name); text != "" {
		p.fail(e.line, "%s%s: %s", where, e.name, text)
		return
	}
	if near := spelling.Nearest(name, known); near != "" {
		p.fail(e.line, "%sunknown key %s: did you mean %s?", where, e.name, near)
		return
	}
	p.fail(e.line, "%sunknown key %s: known here are %s", where, e.name, strings.Join(known, ", "))
}

// checkKeys refuses unknown keys inside of an option's value, which decoding
// would pass over.
func (p *parser) checkKeys(node *yaml.Node, t reflect.Type, where string) bool {
	node = yamlfile.Resolve(node)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	before := len(p.problems)
	switch {
	case reflect.PointerTo(t).Implements(reflect.TypeFor[unmarshaler]()):
	case node.Kind == yaml.ScalarNode && node.Tag == "!!float" && t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64:
		p.fail(node.Line, "%s is %s: write a whole number", where, node.Value) // decoding would cut it
	case t.Kind() == reflect.Slice && node.Kind == yaml.SequenceNode:
		for _, element := range node.Content {
			p.checkKeys(element, t.Elem(), where)
		}
	case t.Kind() == reflect.Struct && node.Kind == yaml.MappingNode:
		fields := fieldsOf(t)
		entries, _ := p.entries(node)
		for _, e := range entries {
			if field, ok := fields[e.name]; ok {
				p.checkKeys(e.value, field.Type, where+": "+e.name)
			} else {
				p.unknown(e, where, names(fields))
			}
		}
	}
	return len(p.problems) == before
}

// unmarshaler is what types with a form of their own have.
type unmarshaler interface {
	UnmarshalYAML(unmarshal func(any) error) error
}

// fieldsOf lists the keys that a struct takes.
func fieldsOf(t reflect.Type) map[string]reflect.StructField {
	fields := map[string]reflect.StructField{}
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		if name != "" && name != "-" {
			fields[name] = field
		}
	}
	return fields
}

func names(fields map[string]reflect.StructField) []string {
	list := make([]string, 0, len(fields))
	for name := range fields {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

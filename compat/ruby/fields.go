package ruby

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// field is one struct field as JSON sees it.
type field struct {
	name      string
	index     []int
	tagged    bool
	omitEmpty bool
	omitZero  bool
	quoted    bool
}

// object writes a struct.
func (e *encoder) object(v reflect.Value) error {
	if err := e.enter('{'); err != nil {
		return err
	}
	for _, f := range e.fieldsOf(v.Type()) {
		fv, ok := descend(v, f.index)
		if !ok || f.omitEmpty && isEmpty(fv) || f.omitZero && isZero(fv) {
			continue
		}
		if err := e.field(f, fv); err != nil {
			return inside("."+f.name, err)
		}
	}
	e.leave('}')
	return nil
}

func (e *encoder) field(f field, v reflect.Value) error {
	if err := e.str(f.name); err != nil {
		return err
	}
	e.dst = append(e.dst, ':')
	if err := e.fieldValue(f, v); err != nil {
		return err
	}
	e.dst = append(e.dst, ',')
	return nil
}

// fieldValue writes the value, inside quotes if its tag says string.
func (e *encoder) fieldValue(f field, v reflect.Value) error {
	if !f.quoted || writesItself(v.Type()) {
		return e.value(v)
	}
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return e.null()
		}
		v = v.Elem()
	}
	inner := encoder{}
	if err := inner.value(v); err != nil {
		return err
	}
	return e.str(string(inner.dst))
}

// descend walks to a field through embedded structs; a nil pointer on the way means that there is none.
func descend(v reflect.Value, index []int) (reflect.Value, bool) {
	for i, x := range index {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return reflect.Value{}, false
			}
			v = v.Elem()
		}
		v = v.Field(x)
	}
	return v, true
}

func isEmpty(v reflect.Value) bool {
	switch v.Kind() { //nolint:exhaustive // kinds are Go's; structs and functions are never empty
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct, reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		return false
	default:
		return v.IsZero()
	}
}

// zeroer is what omitzero asks.
type zeroer interface{ IsZero() bool }

// isZero asks the IsZero method of the field's type, if it has one, be it the pointer's.
func isZero(v reflect.Value) bool {
	t, want := v.Type(), reflect.TypeFor[zeroer]()
	switch {
	case isNil(v):
		return true
	case t.Implements(want):
		return v.Kind() == reflect.Interface && isNil(v.Elem()) || saysZero(v)
	case reflect.PointerTo(t).Implements(want):
		box := reflect.New(t)
		box.Elem().Set(v)
		return saysZero(box)
	default:
		return v.IsZero()
	}
}

func saysZero(v reflect.Value) bool {
	z, ok := reflect.TypeAssert[zeroer](v)
	return ok && z.IsZero()
}

// fieldsOf lists a struct's fields in their order. It remembers them for this one text: a list of a thousand structs
// asks once.
func (e *encoder) fieldsOf(t reflect.Type) []field {
	if known, ok := e.fields[t]; ok {
		return known
	}
	if e.fields == nil {
		e.fields = map[reflect.Type][]field{}
	}
	found := collect(t)
	e.fields[t] = found
	return found
}

// embedded is a struct whose fields are still to be looked at.
type embedded struct {
	typ   reflect.Type
	index []int
}

// collector gathers fields level by level, so that outer ones come before those of embedded structs.
type collector struct {
	found []field
	seen  map[reflect.Type]bool
	next  []embedded
}

// collect lists a struct's fields. Most structs embed nothing and have no clashes, and are done after one level.
func collect(t reflect.Type) []field {
	c := collector{found: make([]field, 0, t.NumField())}
	c.structFields(embedded{typ: t}, false)
	if len(c.next) == 0 && !clash(c.found) {
		return c.found
	}
	c.seen = map[reflect.Type]bool{t: true}
	c.descend()
	return dominant(c.found)
}

func clash(found []field) bool {
	for i := range found {
		for j := range i {
			if found[i].name == found[j].name {
				return true
			}
		}
	}
	return false
}

// descend looks at the embedded structs, level by level.
func (c *collector) descend() {
	for len(c.next) > 0 {
		level := c.next
		c.next = nil
		times := map[reflect.Type]int{}
		for _, s := range level {
			times[s.typ]++
		}
		for _, s := range level {
			if !c.seen[s.typ] {
				c.seen[s.typ] = true
				c.structFields(s, times[s.typ] > 1)
			}
		}
	}
}

// structFields looks at one struct. One that is embedded twice on a level is listed twice, so that its fields clash.
func (c *collector) structFields(s embedded, twice bool) {
	for i := range s.typ.NumField() {
		sf := s.typ.Field(i)
		index := sf.Index
		if len(s.index) > 0 {
			index = append(slices.Clone(s.index), i)
		}
		before := len(c.found)
		c.structField(sf, index)
		if twice && len(c.found) > before {
			c.found = append(c.found, c.found[before])
		}
	}
}

func (c *collector) structField(sf reflect.StructField, index []int) {
	tag := sf.Tag.Get("json")
	if tag == "-" || hidden(sf) {
		return
	}
	name, options, _ := strings.Cut(tag, ",")
	if !validName(name) {
		name = ""
	}
	t := sf.Type
	if t.Name() == "" && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if name == "" && sf.Anonymous && t.Kind() == reflect.Struct {
		c.next = append(c.next, embedded{typ: t, index: index})
		return
	}
	c.found = append(c.found, field{
		name: cmp.Or(name, sf.Name), index: index, tagged: name != "",
		omitEmpty: hasOption(options, "omitempty"), omitZero: hasOption(options, "omitzero"),
		quoted: hasOption(options, "string") && quotable(t),
	})
}

// hidden tells whether a field is unexported. The exported fields of an unexported embedded struct still count.
func hidden(sf reflect.StructField) bool {
	if !sf.Anonymous {
		return !sf.IsExported()
	}
	t := sf.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return !sf.IsExported() && t.Kind() != reflect.Struct
}

func hasOption(options, name string) bool {
	for option := range strings.SplitSeq(options, ",") {
		if option == name {
			return true
		}
	}
	return false
}

func quotable(t reflect.Type) bool {
	k := t.Kind()
	return k >= reflect.Bool && k <= reflect.Float64 || k == reflect.String
}

func validName(name string) bool {
	for _, c := range name {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			return false
		}
	}
	return name != ""
}

// dominant drops the fields that another of the same name hides: the less embedded wins, then the tagged; two equals
// hide each other.
func dominant(found []field) []field {
	slices.SortStableFunc(found, func(a, b field) int {
		return cmp.Or(
			strings.Compare(a.name, b.name),
			cmp.Compare(len(a.index), len(b.index)),
			boolCompare(b.tagged, a.tagged),
		)
	})
	kept := found[:0:0]
	for len(found) > 0 {
		n := 1
		for n < len(found) && found[n].name == found[0].name {
			n++
		}
		if n == 1 || len(found[1].index) > len(found[0].index) || found[0].tagged != found[1].tagged {
			kept = append(kept, found[0])
		}
		found = found[n:]
	}
	slices.SortFunc(kept, func(a, b field) int { return slices.Compare(a.index, b.index) })
	return kept
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}

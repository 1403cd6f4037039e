package ruby_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"example.com/understudy/compat/ruby"
)

// The struct rules are encoding/json's. Each value here has no floats and nothing that only Ruby's form changes.

type (
	base    struct{ ID, Only int }
	baseTag struct {
		Number int `json:"ID"`
	}
	left     struct{ Clash, Left int }
	right    struct{ Clash, Right int }
	shared   struct{ Shared int }
	viaA     struct{ shared }
	viaB     struct{ shared }
	hiddenP  struct{ P int }
	Exported struct{ X int }
	recurse  struct {
		Name string     `json:"name"`
		Sub  []*recurse `json:"sub,omitempty"`
	}
	number int
	word   string
	octets []byte
	zero   struct{ n int }
	zeroP  struct{ n int }
)

func (z zero) IsZero() bool   { return z.n == 1 }
func (z *zeroP) IsZero() bool { return z.n == 1 }

//nolint:modernize,staticcheck // tags that say nothing, or nonsense, are what encoding/json's rules are compared for
func structValues() []any {
	return []any{
		struct{ base }{base{1, 2}},
		struct {
			base
			ID string
		}{base{1, 2}, "outer"},
		struct {
			base
			baseTag
		}{base{1, 2}, baseTag{3}},
		struct {
			left
			right
		}{left{1, 2}, right{3, 4}},
		struct {
			viaA
			viaB
		}{viaA{shared{1}}, viaB{shared{2}}},
		struct{ *Exported }{},
		struct {
			A int `json:"B"`
			B int
			C int
		}{1, 2, 3},
		twins(),
		struct{ *Exported }{&Exported{5}},
		struct {
			hiddenP
			Exported `json:"named"`
		}{hiddenP{1}, Exported{2}},
		struct {
			number
			Word word
		}{1, "w"},
		recurse{"a", []*recurse{{Name: "b"}, nil, {Name: "c", Sub: []*recurse{{Name: "d"}}}}},
		struct {
			A int     `json:",omitempty"`
			B int     `json:",string"`
			C string  `json:"c,string"`
			D *int    `json:"d,string"`
			E bool    `json:"e,string,omitempty"`
			F *bool   `json:"f,omitempty,string"`
			G []int   `json:"g,string"`
			H any     `json:"h,string"`
			I string  `json:"-,"`
			J string  `json:"bad\"name"`
			K string  `json:"$%-/.ok"`
			L int     `json:"é"`
			M *string `json:"m,string"`
		}{B: 1, C: "q\"uo", E: true, F: new(false), I: "i", J: "j", K: "k", D: new(2), H: 1, M: new("s")},
		struct {
			A [0]int          `json:",omitempty"`
			B map[int]int     `json:",omitempty"`
			C any             `json:",omitempty"`
			D *int            `json:",omitempty"`
			E time.Time       `json:",omitempty"`
			F uint8           `json:",omitempty"`
			G struct{}        `json:",omitempty"`
			H [1]int          `json:",omitempty"`
			I json.RawMessage `json:",omitempty"`
		}{},
		struct {
			A zero              `json:",omitzero"`
			B zero              `json:",omitzero"`
			C zeroP             `json:",omitzero"`
			D *zeroP            `json:",omitzero"`
			E *zero             `json:",omitzero"`
			F struct{ A []int } `json:",omitzero"`
			G []int             `json:",omitzero"`
			H []int             `json:",omitzero"`
			I any               `json:",omitzero"`
		}{A: zero{1}, C: zeroP{1}, E: &zero{1}, H: []int{}},
		[]octets{{1, 2}, nil},
		map[netip.Addr]netip.Addr{netip.MustParseAddr("::1"): netip.MustParseAddr("10.0.0.1")},
		map[word]int{"b": 1, "a": 2},
		map[number]word{2: "x"},
		[]any{big.NewInt(12), *big.NewInt(13), []big.Int{*big.NewInt(14)}, new(big.NewInt(15))},
		[]any{time.Second, time.January, fmt.Stringer(time.Second)},
		[2][]int{{1}, nil},
		map[string]any{"z": map[string]any{"b": nil, "a": []any{}}},
	}
}

// twins is a struct with two fields of the same JSON name, which hide each other; vet would not let it be written.
func twins() any {
	field := func(name, tag string) reflect.StructField {
		return reflect.StructField{Name: name, Type: reflect.TypeFor[int](), Tag: reflect.StructTag(tag)}
	}
	return reflect.Zero(reflect.StructOf([]reflect.StructField{
		field("A", `json:"x"`), field("B", `json:"x"`), field("C", ``),
	})).Interface()
}

func TestStructsLikeEncodingJSON(t *testing.T) {
	t.Parallel()
	for i, v := range structValues() {
		for _, value := range []any{v, &v, []any{v}} {
			var want bytes.Buffer
			enc := json.NewEncoder(&want)
			enc.SetEscapeHTML(false)
			if err := enc.Encode(value); err != nil {
				t.Fatal(err)
			}
			got, err := ruby.Marshal(value)
			if err != nil || string(got)+"\n" != want.String() {
				t.Errorf("value %d: %s, %v; encoding/json: %s", i, got, err, want.String())
			}
		}
	}
}

// Addressable values have the methods of their pointers.
func TestAddressableLikeEncodingJSON(t *testing.T) {
	t.Parallel()
	value := struct {
		A pointerText
		B zeroP `json:",omitzero"`
		C struct{ big.Int }
		D []pointerText
	}{A: pointerText{"a"}, B: zeroP{1}, D: []pointerText{{"d"}}}
	for _, v := range []any{value, &value} {
		want, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ruby.Marshal(v); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s, %v; encoding/json: %s", got, err, want)
		}
	}
}

package ruby_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"example.com/understudy/compat/ruby"
)

func TestMarshal(t *testing.T) {
	t.Parallel()
	var nilMap map[string]int
	var nilSlice []int
	var nilPointer *int
	tests := map[string]struct {
		value any
		want  string
	}{
		"nil":                {nil, `null`},
		"nil map":            {nilMap, `null`},
		"nil slice":          {nilSlice, `null`},
		"nil pointer":        {nilPointer, `null`},
		"nil in a list":      {[]any{nil, nilPointer}, `[null,null]`},
		"booleans":           {[]bool{true, false}, `[true,false]`},
		"integers":           {[]any{-1, int8(2), uint64(math.MaxUint64), int64(math.MinInt64)}, `[-1,2,18446744073709551615,-9223372036854775808]`},
		"big integer":        {new(big.Int).Exp(big.NewInt(10), big.NewInt(30), nil), `1` + strings.Repeat("0", 30)},
		"floats":             {[]float64{1, 1e20, 1e-7, 0.1, math.Copysign(0, -1)}, `[1.0,1.0e+20,1.0e-07,0.1,-0.0]`},
		"float32":            {float32(0.1), `0.1`},
		"html":               {"<a href='x'>&/</a>", `"<a href='x'>&/</a>"`},
		"separators":         {"\u2028\u2029\u007f", "\"\u2028\u2029\u007f\""},
		"control":            {"\x00\b\t\n\v\f\r\x1b\x1f", `"\u0000\b\t\n\u000b\f\r\u001b\u001f"`},
		"quotes":             {`"\`, `"\"\\"`},
		"not ascii":          {"é漢🙂", `"é漢🙂"`},
		"bytes":              {[]byte("hi"), `"aGk="`},
		"byte array":         {[2]byte{1, 2}, `[1,2]`},
		"empty":              {[]any{[]int{}, map[string]int{}, struct{}{}, ""}, `[[],{},{},""]`},
		"map order":          {map[string]int{"b": 1, "a": 2, "é": 3, "B": 4}, `{"B":4,"a":2,"b":1,"é":3}`},
		"integer keys":       {map[int]int{10: 1, 9: 2, -1: 3}, `{"-1":3,"10":1,"9":2}`},
		"unsigned keys":      {map[uint8]int{7: 1}, `{"7":1}`},
		"text keys":          {map[textKey]int{{"k"}: 1}, `{"<k>":1}`},
		"number":             {json.Number("1.10"), `1.10`},
		"no number":          {json.Number(""), `0`},
		"raw message":        {json.RawMessage(`{ "a" : 1.10, "\u003c": [ ] }`), `{ "a" : 1.10, "\u003c": [ ] }`},
		"nil raw message":    {json.RawMessage(nil), `null`},
		"raw in a struct":    {struct{ A json.RawMessage }{json.RawMessage(`[1.10]`)}, `{"A":[1.10]}`},
		"time":               {time.Date(2026, 1, 2, 3, 4, 5, 600_000_000, time.UTC), `"2026-01-02T03:04:05.6Z"`},
		"marshaler":          {foreign(` { "a" : "\u003c\u00e9\/" , "b" : [1.10] } `), `{"a":"<é/","b":[1.10]}`},
		"marshaler's keys":   {foreign(`{"a":1,"b":2,"a":3}`), `{"a":3,"b":2}`},
		"text marshaler":     {textKey{"<"}, `"<<>"`},
		"pointer's method":   {[]pointerText{{"a"}}, `["*a"]`},
		"nil marshaler":      {(*pointerText)(nil), `null`},
		"interface":          {[]json.Marshaler{nil, foreign(`1`)}, `[null,1]`},
		"struct":             {sample(), `{"id":7,"name":"x","Plain":1.0,"quoted":"5","e":true}`},
		"deep enough":        {nested(100), strings.Repeat("[", 100) + strings.Repeat("]", 100)},
		"pointer to pointer": {new(new(3)), `3`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ruby.Marshal(test.value)
			if err != nil || string(got) != test.want {
				t.Errorf("%s, %v; want %s", got, err, test.want)
			}
		})
	}
}

// nested puts n lists into one another.
func nested(n int) any {
	list := []any{}
	for range n - 1 {
		list = []any{list}
	}
	return list
}

type foreign string

func (f foreign) MarshalJSON() ([]byte, error) { return []byte(f), nil }

type textKey struct{ s string }

func (k textKey) MarshalText() ([]byte, error) { return []byte("<" + k.s + ">"), nil }

type pointerText struct{ s string }

func (p *pointerText) MarshalText() ([]byte, error) { return []byte("*" + p.s), nil }

type failing struct{}

var errFailing = errors.New("no form today")

func (failing) MarshalJSON() ([]byte, error) { return nil, errFailing }

type tagged struct {
	ID      int               `json:"id"`
	Name    string            `json:"name,omitempty"`
	Empty   string            `json:"empty,omitempty"`
	Zero    time.Time         `json:"zero,omitzero"`
	Skipped string            `json:"-"`
	Plain   float64           //
	Quoted  int               `json:"quoted,string"`
	Map     map[string]string `json:"map,omitempty"`
	hidden  int
	inner
}

type inner struct {
	E    bool   `json:"e"`
	Name string `json:"name"`
}

func sample() tagged {
	return tagged{ID: 7, Name: "x", Skipped: "s", Plain: 1, Quoted: 5, hidden: 1, inner: inner{E: true, Name: "hidden"}}
}

func TestMarshalRefuses(t *testing.T) {
	t.Parallel()
	type named struct {
		Name string `json:"name"`
		List []any
	}
	cycle := &struct{ Next any }{}
	cycle.Next = cycle
	var loop any
	loop = &loop
	tests := map[string]struct {
		value any
		path  string
		text  string
	}{
		"string":             {"a\xff", "", "invalid UTF-8 (0xFF) at byte 1"},
		"field":              {named{Name: "é\xc3"}, ".name", "invalid UTF-8 (0xC3) at byte 2"},
		"list in a field":    {named{List: []any{1, "\xff"}}, ".List[1]", "invalid UTF-8"},
		"map value":          {map[string]any{"k": "\xff"}, `["k"]`, "invalid UTF-8"},
		"map key":            {map[string]any{"\xff": 1}, `["\xff"]`, "key: invalid UTF-8"},
		"raw message":        {json.RawMessage("\"\xff\""), "", "invalid UTF-8"},
		"broken raw message": {[]any{json.RawMessage(`{`)}, "[0]", "unexpected end"},
		"empty raw message":  {json.RawMessage{}, "", "unexpected end"},
		"marshaler":          {[]any{foreign("\"\xff\"")}, "[0]", "invalid UTF-8"},
		"half a character":   {foreign(`"\ude00"`), "", "invalid UTF-8"},
		"broken marshaler":   {foreign(`[1`), "", "unexpected end"},
		"failing marshaler":  {named{List: []any{failing{}}}, ".List[0]", "no form today"},
		"not a number":       {[]float64{1, math.NaN()}, "[1]", "NaN has no JSON form"},
		"infinity":           {math.Inf(-1), "", "-Inf has no JSON form"},
		"channel":            {map[string]any{"c": make(chan int)}, `["c"]`, "a chan int has no JSON form"},
		"function":           {func() {}, "", "a func() has no JSON form"},
		"complex":            {complex(1, 1), "", "a complex128 has no JSON form"},
		"struct key":         {map[struct{}]int{{}: 1}, "", "a map key of type struct {} has no JSON form"},
		"json number":        {json.Number("1x"), "", `json.Number "1x" is no number`},
		"too deep":           {nested(101), strings.Repeat("[0]", 100), "100 levels"},
		"deep raw message":   {wrap(json.RawMessage(`[]`), 100), strings.Repeat("[0]", 100), "too deep"},
		"deep marshaler":     {wrap(foreign(`[]`), 100), strings.Repeat("[0]", 100), "too deep"},
		"cycle":              {cycle, strings.Repeat(".Next", 100), "100 levels"},
		"pointer cycle":      {loop, "", "leads back to itself"},
		"string option": {struct {
			A string `json:"a,string"`
		}{"\xff"}, ".a", "invalid UTF-8"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ruby.Marshal(test.value)
			var at *ruby.MarshalError
			if got != nil || !errors.As(err, &at) || at.Path != test.path || !strings.Contains(at.Err.Error(), test.text) {
				t.Fatalf("%s, %v; want %q at %q", got, err, test.text, test.path)
			}
			if strings.Contains(test.text, "invalid UTF-8") != errors.Is(err, ruby.ErrInvalidUTF8) {
				t.Errorf("errors.Is(%v, ErrInvalidUTF8) is wrong", err)
			}
		})
	}
}

// wrap puts a value into n lists.
func wrap(v any, n int) any {
	for range n {
		v = []any{v}
	}
	return v
}

func TestMarshalErrorTexts(t *testing.T) {
	t.Parallel()
	_, err := ruby.MarshalArgs(struct {
		Name string `json:"name"`
	}{"x\xff"})
	if want := "ruby: args[0].name: invalid UTF-8 (0xFF) at byte 1"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	_, err = ruby.Marshal("\xff")
	if want := "ruby: invalid UTF-8 (0xFF) at byte 0"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := ruby.Marshal(failing{}); !errors.Is(err, errFailing) {
		t.Errorf("%v does not lead to the marshaler's own error", err)
	}
}

func TestMarshalArgs(t *testing.T) {
	t.Parallel()
	if got, err := ruby.MarshalArgs(); err != nil || string(got) != `[]` {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := ruby.MarshalArgs(1, nil, "é", []string{"<"}); err != nil || string(got) != `[1,null,"é",["<"]]` {
		t.Errorf("%s, %v", got, err)
	}
}

func TestAppendMarshal(t *testing.T) {
	t.Parallel()
	if got, err := ruby.AppendMarshal([]byte("x:"), []int{1}); err != nil || string(got) != `x:[1]` {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := ruby.AppendMarshal([]byte("x:"), []any{1, "\xff"}); err == nil || string(got) != `x:` {
		t.Errorf("%s, %v", got, err)
	}
}

// counting counts how often it is asked.
type counting struct{ calls *int }

func (c counting) MarshalJSON() ([]byte, error) {
	*c.calls++
	return []byte(`1`), nil
}

type countingText struct{ calls *int }

func (c countingText) MarshalText() ([]byte, error) {
	*c.calls++
	return []byte(`t`), nil
}

func TestMarshalersAreCalledOnce(t *testing.T) {
	t.Parallel()
	var asJSON, asText, asKey int
	value := struct {
		A *counting
		B []countingText
		C map[countingText]int
	}{&counting{&asJSON}, []countingText{{&asText}}, map[countingText]int{{&asKey}: 1}}
	got, err := ruby.Marshal(&value)
	if err != nil || string(got) != `{"A":1,"B":["t"],"C":{"t":1}}` {
		t.Errorf("%s, %v", got, err)
	}
	if asJSON != 1 || asText != 1 || asKey != 1 {
		t.Errorf("called %d, %d and %d times", asJSON, asText, asKey)
	}
}

func TestReencode(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		` [ 1.10 , 1e2 , -0 , 1E400 ] `:       "", // Infinity can't be written
		"[\"\xff\"]":                          "",
		"{\"\xff\":1}":                        "",
		`["\ude00"]`:                          "",
		`[1,]`:                                "",
		`{"a":[1}`:                            "",
		`[1] 2`:                               "",
		`/`:                                   "",
		`[ 1.10 , 1e2 , -0 , /**/ -0.0 ]`:     `[1.1,100.0,0,-0.0]`,
		`{ "a" : 1 , "b" : [ ] , "a" : { } }`: `{"a":{},"b":[]}`,
		`"\u003c\/\u00e9\u0001\u007f\ud83d\ude00"`: "\"</é\\u0001\u007f😀\"",
	}
	for text, want := range tests {
		got, err := ruby.Reencode([]byte(text))
		if (err != nil) != (want == "") || string(got) != want {
			t.Errorf("Reencode(%s) = %s, %v; Ruby: %s", text, got, err, want)
		}
	}
}

package resque_test

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"example.com/understudy/resque"
)

// FuzzFunc compares what reaches a handler with what encoding/json makes of the
// same text, where both should agree: JSON of the standard, in valid UTF-8.
func FuzzFunc(f *testing.F) {
	for _, seed := range []string{
		`[]`, `[null,true,1,-0.5e3,"a\né"]`, `{"a":[{"b":null}],"a":1}`, `"x"`, `5`, `[[[[]]]]`, `["\u00e9\/"]`,
		`[12345678901234567890,1.10]`, ` [ 1 , { } ] `,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var got []any
		err := resque.Func(func(_ context.Context, args ...any) { got = args }).
			Perform(t.Context(), &resque.Job{Args: text})
		if !json.Valid(text) || !utf8.Valid(text) || strings.Contains(string(text), `\u`) || err != nil {
			return // Ruby's rules are the business of compat/ruby
		}
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		var want any
		if err := decoder.Decode(&want); err != nil {
			t.Fatal(err)
		}
		list, ok := want.([]any)
		if !ok && want != nil {
			list = []any{want}
		}
		if len(got) != len(list) || len(list) > 0 && !reflect.DeepEqual(got, list) {
			t.Errorf("%s became %#v, not %#v", text, got, list)
		}
	})
}

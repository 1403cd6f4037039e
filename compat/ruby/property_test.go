package ruby_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.com/understudy/compat/ruby"
)

// anyValue draws a Go value of the kinds that jobs have as arguments.
func anyValue() *rapid.Generator[any] {
	leaf := rapid.OneOf(
		rapid.Just[any](nil),
		rapid.Map(rapid.Bool(), box[bool]),
		rapid.Map(rapid.String(), box[string]),
		rapid.Map(rapid.Float64Range(-1e300, 1e300), box[float64]),
	)
	return rapid.Custom(func(t *rapid.T) any { return drawTree(t, leaf, 4) })
}

func box[T any](v T) any { return v }

func drawTree(t *rapid.T, leaf *rapid.Generator[any], depth int) any {
	kind := rapid.IntRange(0, 3).Draw(t, "kind")
	if depth == 0 || kind < 2 {
		return leaf.Draw(t, "leaf")
	}
	n := rapid.IntRange(0, 4).Draw(t, "size")
	if kind == 2 {
		list := []any{}
		for range n {
			list = append(list, drawTree(t, leaf, depth-1))
		}
		return list
	}
	dict := map[string]any{}
	for range n {
		dict[rapid.String().Draw(t, "key")] = drawTree(t, leaf, depth-1)
	}
	return dict
}

// What Marshal writes is read back as the same value, and is the form that Ruby would write again.
func TestMarshalRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := anyValue().Draw(t, "value")
		text, err := ruby.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if err := ruby.Check(text); err != nil {
			t.Fatal(err)
		}
		var back any
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(value, back); diff != "" {
			t.Fatalf("(-value +back)\n%s", diff)
		}
		if again, err := ruby.Reencode(text); err != nil || string(again) != string(text) {
			t.Fatalf("Ruby would write %s, %v, not %s", again, err, text)
		}
	})
}

// Join of flat scalars is nothing but their ToS with separators, however deep they are nested.
func TestJoinIsFlat(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sep := rapid.String().Draw(t, "sep")
		values := rapid.SliceOfN(rapid.String(), 1, 6).Draw(t, "values")
		text := "["
		for i, v := range values {
			quoted := string(ruby.AppendString(nil, v))
			if rapid.Bool().Draw(t, "nested") {
				quoted = "[[" + quoted + "]]"
			}
			if i > 0 {
				text += ","
			}
			text += quoted
		}
		got, err := ruby.Join([]byte(text+"]"), sep, ruby.Inspect31)
		if err != nil || string(got) != strings.Join(values, sep) {
			t.Fatalf("%q, %v; want %q", got, err, strings.Join(values, sep))
		}
	})
}

func TestStringsRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		back, err := ruby.String(ruby.AppendString(nil, s))
		if err != nil || back != s {
			t.Fatalf("%q came back as %q, %v", s, back, err)
		}
		clean := ruby.Scrub(s)
		if !utf8.ValidString(clean) || utf8.ValidString(s) && clean != s {
			t.Fatalf("%q scrubbed to %q", s, clean)
		}
		if escaped := ruby.AppendInspect(nil, s, ruby.Inspect34); !utf8.Valid(escaped) {
			t.Fatalf("inspect of %q is not UTF-8: %q", s, escaped)
		}
	})
}

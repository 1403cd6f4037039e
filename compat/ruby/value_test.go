package ruby_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/compat/ruby"
)

func TestKindOf(t *testing.T) {
	t.Parallel()
	tests := map[string]ruby.Kind{
		`{"a":1}`: ruby.Object, ` [1]`: ruby.Array, `"x"`: ruby.Text, `-1`: ruby.Number, `7`: ruby.Number,
		`true`: ruby.Bool, `false`: ruby.Bool, `null`: ruby.Null, `/* c */ {}`: ruby.Object,
		``: ruby.Invalid, `x`: ruby.Invalid, `+1`: ruby.Invalid, `/`: ruby.Invalid, ` `: ruby.Invalid,
	}
	for text, want := range tests {
		if got := ruby.KindOf([]byte(text)); got != want {
			t.Errorf("KindOf(%q) = %d, want %d", text, got, want)
		}
	}
}

// show lists members one a line.
func show(members []ruby.Member) []string {
	lines := []string{}
	for _, m := range members {
		lines = append(lines, fmt.Sprintf("%q %s %s", m.Key, m.RawKey, m.Value))
	}
	return lines
}

func TestMembers(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want []string
	}{
		"empty":           {`{ }`, []string{}},
		"order":           {`{"b":1,"a":2}`, []string{`"b" "b" 1`, `"a" "a" 2`}},
		"first place":     {`{"a":1,"b":2,"a":3}`, []string{`"a" "a" 3`, `"b" "b" 2`}},
		"same when read":  {`{"a":1,"\u0061":3}`, []string{`"a" "a" 3`}},
		"trimmed":         {` { "a" /*x*/ : [ 1 ] , "b" : {} } `, []string{`"a" "a" [ 1 ]`, `"b" "b" {}`}},
		"bytes as a key":  {"{\"\xff\":1,\"\xff\":2}", []string{"\"\\xff\" \"\xff\" 2"}},
		"escapes in keys": {`{"\n\u00e9":null}`, []string{`"\né" "\n\u00e9" null`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			members, err := ruby.Members([]byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, show(members)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestManyMembers(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 200 {
		fmt.Fprintf(&text, `"k%d":%d,`, i%100, i)
	}
	members, err := ruby.Members([]byte("{" + strings.TrimSuffix(text.String(), ",") + "}"))
	if err != nil || len(members) != 100 {
		t.Fatalf("%d members, %v", len(members), err)
	}
	for i, m := range members {
		if m.Key != fmt.Sprintf("k%d", i) || string(m.Value) != fmt.Sprint(i+100) {
			t.Errorf("member %d is %s: %s", i, m.Key, m.Value)
		}
	}
}

func TestElements(t *testing.T) {
	t.Parallel()
	elements, err := ruby.Elements([]byte(" [ 1.10 , \"\xff\" /*c*/,{ \"a\" : 1 }, [] ,null ] "))
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, e := range elements {
		got = append(got, string(e))
	}
	if diff := cmp.Diff([]string{"1.10", "\"\xff\"", `{ "a" : 1 }`, "[]", "null"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if empty, err := ruby.Elements([]byte("[ ]")); err != nil || empty == nil || len(empty) != 0 {
		t.Errorf("empty array: %v, %v", empty, err)
	}
}

// Appending to what was handed out must not write into the text.
func TestSlicesAreCapped(t *testing.T) {
	t.Parallel()
	text := []byte(`[[1],{"a":[2],"b":3}]`)
	elements, err := ruby.Elements(text)
	if err != nil {
		t.Fatal(err)
	}
	members, err := ruby.Members(elements[1])
	if err != nil {
		t.Fatal(err)
	}
	_ = append(elements[0], 'X')
	_ = append(members[0].Value, 'X')
	_ = append(members[0].RawKey, 'X')
	if string(text) != `[[1],{"a":[2],"b":3}]` {
		t.Errorf("the text became %s", text)
	}
}

func TestWrongKinds(t *testing.T) {
	t.Parallel()
	for _, text := range []string{``, `1`, `"x"`, `null`, `{`, `[`, `[1] x`, `{"a":1} x`, `"x" y`, `/`, `[1`, `{"a"`, `"x"/`} {
		if m, err := ruby.Members([]byte(text)); err == nil {
			t.Errorf("Members(%q) = %v", text, m)
		}
		if e, err := ruby.Elements([]byte(text)); err == nil {
			t.Errorf("Elements(%q) = %v", text, e)
		}
		if s, err := ruby.String([]byte(text)); err == nil && text != `"x"` {
			t.Errorf("String(%q) = %q", text, s)
		}
	}
}

// The right sides were put to Ruby 3.1.2.
func TestString(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		`""`:                         "",
		"\t\"plain\"\n":              "plain",
		`"\b\f\n\r\t\"\\\/"`:         "\b\f\n\r\t\"\\/",
		`"\q\é\0"`:                   "qé0",
		"\"\\\xff\xfe\"":             "\xff\xfe",
		`"\u00e9\u00E9\u2028\u0000"`: "éé\u2028\x00",
		`"\ud83d\ude00"`:             "😀",
		`"\uD83D\uDE00"`:             "😀",
		`"\udbff\udfff"`:             "\U0010ffff",
		`"\ude00"`:                   "\xed\xb8\x80",
		`"\ud83d\ud83d"`:             "🐽",
		`"\ud83d\u0041b"`:            "👁b",
		`"\ud800\uffff"`:             "\U000103ff",
		`"\ud83d\ud83d\ude00"`:       "🐽\xed\xb8\x80",
		`"z\ud83dabcdef"`:            "z?bcdef",
		`"\ud83d\nabcd"`:             "?nabcd",
		`"\ud83d\\u004142"`:          "?A42",
		`"\ud83dé漢字"`:                "?\xa9漢字",
		`"\ud83d\\\\\\"`:             "?\\\\\"",
		`"\ud83d\\12345"`:            "?12345",
	}
	for text, want := range tests {
		if got, err := ruby.String([]byte(text)); err != nil || got != want {
			t.Errorf("String(%s) = %q, %v; Ruby: %q", text, got, err, want)
		}
	}
}

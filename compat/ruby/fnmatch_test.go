package ruby_test

import (
	"strings"
	"testing"

	"example.com/understudy/compat/ruby"
)

// The right sides were put to Ruby 3.1.2.
func TestFnmatch(t *testing.T) {
	t.Parallel()
	tests := []struct {
		pattern string
		yes, no []string
	}{
		{"", []string{""}, []string{"a", ".", "*"}},
		{"*", []string{"", "a", "a/b", "é", "a.b", "\xff"}, []string{".", ".a"}},
		{"**", []string{"", "a"}, []string{".a"}},
		{"a*", []string{"a", "ab", "a/b", "a.b"}, []string{"", "ba", "A"}},
		{"*a", []string{"a", "ba", "b/.a", "aa"}, []string{".a", "ab"}},
		{"*mid*", []string{"mid", "amid", "midb", "a mid b"}, []string{"mi", ".mid"}},
		{"?", []string{"a", "é", "漢", "/", "\xff"}, []string{"", ".", "ab"}},
		{"?a", []string{"ba"}, []string{".a", "a"}},
		{".*", []string{".", ".a"}, []string{"a", ""}},
		{`\.a`, []string{".a"}, []string{"a", `\.a`}},
		{"[.]a", nil, []string{".a", "a"}},
		{"[ab]", []string{"a", "b"}, []string{"", "c", "ab", "[ab]"}},
		{"[!a]", []string{"b", "é", "!"}, []string{"a", "", "."}},
		{"[^a]", []string{"b", "^"}, []string{"a"}},
		{"[a-c]", []string{"a", "b", "c"}, []string{"d", "-", "B"}},
		{"[c-a]", []string{"c", "a"}, []string{"b"}},
		{"[a-]", []string{"a", "-"}, []string{"b", "]"}},
		{"[-a]", []string{"a", "-"}, []string{"b"}},
		{"[é-漢]", []string{"é", "漢", "ü"}, []string{"a"}},
		{"[]a]", nil, []string{"]", "a", "]a]", "a]"}},
		{"[a", nil, []string{"a", "[a", ""}},
		{"[", nil, []string{"[", "", "a"}},
		{"[a-", nil, []string{"a", "[a-"}},
		{`[\]]`, []string{"]"}, []string{`\`, `\]`}},
		{`[a\-c]`, []string{"a", "-", "c"}, []string{"b", `\`}},
		{"]", []string{"]"}, []string{"a"}},
		{"{a,b}", []string{"{a,b}"}, []string{"a", "b"}},
		{`\*`, []string{"*"}, []string{"a", `\*`}},
		{`\[a]`, []string{"[a]"}, []string{"a"}},
		{`a\`, []string{"a"}, []string{`a\`}},
		{`*\`, []string{"", "ab", `ab\`}, []string{".a"}},
		{`\`, []string{""}, []string{`\`}},
		{`\\`, []string{`\`}, []string{"", `\\`}},
		{"é*", []string{"é", "éa"}, []string{"e", "\xc3"}},
		{"\xff", nil, []string{"\xff"}},
	}
	for _, test := range tests {
		for _, name := range test.yes {
			if !ruby.Fnmatch(test.pattern, name) {
				t.Errorf("%q does not match %q, in Ruby it does", test.pattern, name)
			}
		}
		for _, name := range test.no {
			if ruby.Fnmatch(test.pattern, name) {
				t.Errorf("%q matches %q, in Ruby it does not", test.pattern, name)
			}
		}
	}
}

// A matcher that tries every division of the name among the stars would not come back from this.
func TestFnmatchStaysLinear(t *testing.T) {
	t.Parallel()
	pattern, name := strings.Repeat("*a", 50)+"b", strings.Repeat("a", 5000)
	if ruby.Fnmatch(pattern, name) || !ruby.Fnmatch(pattern, name+"b") {
		t.Error("wrong answer")
	}
}

func TestIsPattern(t *testing.T) {
	t.Parallel()
	for _, queue := range []string{"*", "a?", "[a", "a]", "{a", "b}"} {
		if !ruby.IsPattern(queue) {
			t.Errorf("%q is no pattern", queue)
		}
	}
	for _, queue := range []string{"", "high", "a.b", "!a", `a\b`, "a^b", "é", "a,b"} {
		if ruby.IsPattern(queue) {
			t.Errorf("%q is a pattern", queue)
		}
	}
}

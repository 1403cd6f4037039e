package ruby_test

import (
	"errors"
	"strings"
	"testing"

	"example.com/understudy/compat/ruby"
)

// accepted and refused were put to JSON.parse of json 2.6.3 on Ruby 3.1.2.
var accepted = []string{
	`[]`, `{}`, `[ ]`, `{ }`, `1`, `-1`, `-0`, `0`, `-0.0`, `1e5`, `1E+2`, `0e0`, `1e400`, `-1e-400`, `"x"`, ` "x" `,
	`null`, `true`, `false`, `[1,null ]`, " \t\r\n[1]\t ", `12345678901234567890`, `[[]]`, `{"a":{"b":[1]}}`,
	// Comments stand wherever white space may.
	`/* */[1]`, `[1]/* */`, "// x\n[1]", "[1] // x\n", `[/*a*/1/*b*/,/*c*/2]`, `{/*a*/"a"/*b*/:/*c*/1/*d*/}`,
	`[1]/*/*/`, `/***/[1]`, "/*\x00*/1",
	// Strings: unknown escapes, DEL and bytes that are not UTF-8.
	`["\q"]`, `["\x41"]`, "[\"\\é\"]", "[\"\\\xff\"]", "[\"a\x7fb\"]", "[\"\xff\"]", "{\"\xff\":1,\"\xff\":2}",
	`["\u0000"]`, `["\ud83d\ude00"]`, `["\ude00"]`, `["\ud83d\ud83d"]`, `["\ud83d\u0041"]`, `["\ud83dabcdef"]`,
	`{"a":1,"b":2,"a":3}`,
}

var refused = []string{
	``, `  `, "\n", `-`, `+1`, `01`, `-01`, `00`, `1.`, `.5`, `1.e5`, `1e`, `1e+`, `-.5`, `- 1`, `--1`, `0x10`, `1_000`,
	`NaN`, `Infinity`, `-Infinity`, `[1.0.0]`, `[1a]`, `[1 2]`, `[12"a"]`, `[,1]`, `[1,]`, `[1,,2]`, `[1`, `[`, `{`,
	`{"a"`, `{"a":`, `{"a":1`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{a:1}`, `{'a':1}`, `{1:2}`, `{"a" 1}`,
	`{"a":1 "b":2}`, `nullx`, `nul`, `trUe`, `[truex]`, `t`, `[[][]]`, `"x"y`, `"x`, `["\"]`, `[1]]`, `[1] [2]`,
	"[1]\x00", "\x00[1]", "\f[1]", "[1]\v", "\u00a0[1]", "\ufeff[1]", "[\ufeff1]",
	`// x`, `[1] // x`, `[1]/`, `[1]/*`, `[1]/* *`, `/**/`, `/*/[1]`, `[1]//`,
	"[\"a\nb\"]", "[\"a\tb\"]", "[\"a\x00b\"]", "[\"a\x1fb\"]", "[\"\\\n\"]", `["\u12"]`, `["\u"]`, `["\u12G4"]`,
	`["\ud83d"]`, `["\ud83dabcde"]`, `["\ud83d\n"]`, `["\ud83d\\"]`, `["\ude00\ud83d"]`, `["\ud900"]`, `["\uDa00"]`, `["\uDBff"]`, `{"\ud83d":1}`,
	`["\ud83d","abcdefgh"]`,
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, text := range accepted {
		if err := ruby.Check([]byte(text)); err != nil {
			t.Errorf("Check(%q) = %v, but Ruby parses it", text, err)
		}
	}
	for _, text := range refused {
		if err := ruby.Check([]byte(text)); err == nil {
			t.Errorf("Check(%q) = nil, but Ruby refuses it", text)
		}
	}
}

func TestCheckSaysWhere(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text   string
		offset int
	}{
		"end of text":       {`{"class":"X"`, 12},
		"trailing text":     {`[1] x`, 4},
		"control character": {"[\"a\nb\"]", 3},
		"escape":            {`["ab\u12"]`, 4},
		"number":            {`[1,2.]`, 3},
		"missing colon":     {`{"a" 1}`, 5},
		"half a pair":       {`["ab\ud83d"]`, 4},
		"open string":       {`"abc`, 4},
		"word":              {`[nul]`, 1},
		"byte order mark":   {"\ufeff[]", 0},
		"comment":           {`[1]/*`, 3},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var syntax *ruby.SyntaxError
			if err := ruby.Check([]byte(test.text)); !errors.As(err, &syntax) || syntax.Offset != test.offset {
				t.Errorf("Check(%q) = %v, want offset %d", test.text, err, test.offset)
			}
		})
	}
}

func TestNestingLimit(t *testing.T) {
	t.Parallel()
	arrays := func(n int) []byte { return []byte(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	objects := func(n int) []byte { return []byte(strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n)) }
	for _, nested := range []func(int) []byte{arrays, objects} {
		if err := ruby.Check(nested(100)); err != nil {
			t.Errorf("100 levels: %v", err)
		}
		if err := ruby.Check(nested(101)); err == nil {
			t.Error("101 levels are accepted")
		}
		for name, read := range map[string]func([]byte) ([]byte, error){
			"Reencode": ruby.Reencode,
			"Inspect":  func(raw []byte) ([]byte, error) { return ruby.Inspect(raw, ruby.Inspect34) },
		} {
			if _, err := read(nested(100)); err != nil {
				t.Errorf("%s of 100 levels: %v", name, err)
			}
			if _, err := read(nested(101)); err == nil {
				t.Errorf("%s of 101 levels succeeds", name)
			}
		}
	}
}

//nolint:paralleltest // counts the allocations of the whole process
func TestCheckAllocatesNothing(t *testing.T) {
	payload := []byte(samplePayload)
	if n := testing.AllocsPerRun(100, func() {
		if err := ruby.Check(payload); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("Check allocates %v times", n)
	}
}

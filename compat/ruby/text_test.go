package ruby_test

import (
	"crypto/sha1"
	"fmt"
	"math"
	"testing"
	"unicode/utf8"

	"example.com/understudy/compat/ruby"
)

// The right sides were put to Ruby 3.1.2.
func TestJoin(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		`[]`: "", `[null]`: "", `[null,null]`: "-", `[[]]`: "", `[[],[]]`: "-", `[[1,[2,[3,null]]],4]`: "1-2-3--4",
		`["\ud83d\ude00",[null,"a",[]],{"a":[null,1e400,-1e400,-0,-0.0,1E2]},true]`: `😀--a--{"a"=>[nil, Infinity, -Infinity, 0, -0.0, 100.0]}-true`,
		`[1e400,-1e400,-0,-0e0,12345678901234567890123]`:                            "Infinity--Infinity-0--0.0-12345678901234567890123",
		"[\"\xff\",{\"\xff\":\"é\xc3\"}]":                                           "\xff-{\"\\xFF\"=>\"é\\xC3\"}",
		`[ 1 , /* c */ "a\tb" ]`:                                                    "1-a\tb",
		`[{"a":1,"b":2,"a":{"c":3,"c":4}}]`:                                         `{"a"=>{"c"=>4}, "b"=>2}`,
	}
	for text, want := range tests {
		if got, err := ruby.Join([]byte(text), "-", ruby.Inspect31); err != nil || string(got) != want {
			t.Errorf("Join(%s) = %q, %v; Ruby: %q", text, got, err, want)
		}
	}
}

func TestJoinRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{``, `/`, `{}`, `"a"`, `null`, `[`, `[1`, `[1,]`, `["a]`, `[{"a":1]`, `[{"a":[}]`, `[nul]`, `[[1}]`, `[1] 2`} {
		if got, err := ruby.Join([]byte(text), "-", ruby.Inspect31); err == nil {
			t.Errorf("Join(%q) = %q", text, got)
		}
	}
}

func TestAppendJoin(t *testing.T) {
	t.Parallel()
	got, err := ruby.AppendJoin([]byte("key:"), []byte(`[1,[2]]`), ", ", ruby.Inspect34)
	if err != nil || string(got) != "key:1, 2" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestToS(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		`null`: "", `"a\n"`: "a\n", `true`: "true", `false`: "false", `1.10`: "1.1", `-0`: "0", `{}`: "{}", `[]`: "[]",
		`[1,[2,null,"x"],{"a":"b"}]`: `[1, [2, nil, "x"], {"a" => "b"}]`,
	}
	for text, want := range tests {
		if got, err := ruby.ToS([]byte(text), ruby.Inspect34); err != nil || string(got) != want {
			t.Errorf("ToS(%s) = %q, %v; Ruby: %q", text, got, err, want)
		}
	}
}

func TestInspectForms(t *testing.T) {
	t.Parallel()
	const raw = `{"a":1,"b":[null,2.0],"c":{}}`
	tests := map[ruby.InspectForm]string{
		ruby.Inspect31: `{"a"=>1, "b"=>[nil, 2.0], "c"=>{}}`,
		ruby.Inspect32: `{"a"=>1, "b"=>[nil, 2.0], "c"=>{}}`,
		ruby.Inspect34: `{"a" => 1, "b" => [nil, 2.0], "c" => {}}`,
	}
	for form, want := range tests {
		if got, err := ruby.Inspect([]byte(raw), form); err != nil || string(got) != want {
			t.Errorf("form %d: %s, %v; want %s", form, got, err, want)
		}
	}
}

// The Unicode version of each Ruby decides what is printable.
func TestInspectFollowsUnicode(t *testing.T) {
	t.Parallel()
	tests := []struct {
		char                   string
		ruby31, ruby32, ruby34 string
	}{
		{"\u0378", `\u0378`, `\u0378`, `\u0378`},                // unassigned in all
		{"\u0870", `\u0870`, "\u0870", "\u0870"},                // new in 14.0
		{"\U0001FAE0", `\u{1FAE0}`, "\U0001FAE0", "\U0001FAE0"}, // new in 14.0
		{"\U0001F6DC", `\u{1F6DC}`, "\U0001F6DC", "\U0001F6DC"}, // new in 15.0
		{"\u0897", `\u0897`, `\u0897`, "\u0897"},                // new in 16.0
		{"\U0001FAE9", `\u{1FAE9}`, `\u{1FAE9}`, "\U0001FAE9"},  // new in 16.0
		{"\u0085", "\u0085", `\u0085`, `\u0085`},                // no longer taken for printable
		{"\u0080", `\u0080`, `\u0080`, `\u0080`},
		{"\u00a0", "\u00a0", "\u00a0", "\u00a0"},
		{"\u00ad\u200b\ufeff\ue000", "\u00ad\u200b\ufeff\ue000", "\u00ad\u200b\ufeff\ue000", "\u00ad\u200b\ufeff\ue000"},
		{"\u2028\u2029", `\u2028\u2029`, `\u2028\u2029`, `\u2028\u2029`},
		{"\ufffe\U0010ffff", `\uFFFE\u{10FFFF}`, `\uFFFE\u{10FFFF}`, `\uFFFE\u{10FFFF}`},
		{"\ufffd", "\ufffd", "\ufffd", "\ufffd"},
	}
	for _, test := range tests {
		for form, want := range []string{test.ruby31, test.ruby32, test.ruby34} {
			got := string(ruby.AppendInspect(nil, test.char, ruby.InspectForm(form)))
			if got != `"`+want+`"` {
				t.Errorf("form %d of %+q = %s, want %s", form, test.char, got, want)
			}
		}
	}
}

// Every character there is. The first line was put to Ruby 3.1.2: the SHA-1 of all its answers. The others are counts:
// the code points that Unicode 15.0 and 16.0 leave unassigned, 65 controls, two separators, the quote, the backslash.
func TestInspectOfEveryCharacter(t *testing.T) {
	t.Parallel()
	tests := map[ruby.InspectForm]struct {
		escaped int
		sum     string
	}{
		ruby.Inspect31: {830740, "6dc50560e27e5a8cbc4662f70a7689538c0a5bbc"},
		ruby.Inspect32: {825345 + 69, ""},
		ruby.Inspect34: {819533 + 69, ""},
	}
	for form, want := range tests {
		escaped, all := 0, make([]byte, 0, 12<<20)
		for r := range rune(utf8.MaxRune + 1) {
			if !utf8.ValidRune(r) {
				continue
			}
			start := len(all)
			all = ruby.AppendInspect(all, string(r), form)
			if len(all)-start != utf8.RuneLen(r)+2 {
				escaped++
			}
			all = append(all, '\n')
		}
		sum := fmt.Sprintf("%x", sha1.Sum(all))
		if escaped != want.escaped || want.sum != "" && sum != want.sum {
			t.Errorf("form %d: %d characters escaped, sum %s; want %d, %s", form, escaped, sum, want.escaped, want.sum)
		}
	}
}

func TestInspectEscapes(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"\x00\x01\x06\x0e\x1a\x1c\x1f\x7f": `\u0000\u0001\u0006\u000E\u001A\u001C\u001F\u007F`,
		"\a\b\t\n\v\f\r\x1b":               `\a\b\t\n\v\f\r\e`,
		"#{a} #$b #@c # #a ##{ #":          `\#{a} \#$b \#@c # #a #\#{ #`,
		`"\'/`:                             `\"\\'/`,
		"\xff\xc3a\xe2\x82\xed\xa0\x80":    `\xFF\xC3a\xE2\x82\xED\xA0\x80`,
		"\xf4\x90\x80\x80\xc0\x80":         `\xF4\x90\x80\x80\xC0\x80`,
		"é漢🙂":                              "é漢🙂",
	}
	for text, want := range tests {
		if got := string(ruby.AppendInspect(nil, text, ruby.Inspect31)); got != `"`+want+`"` {
			t.Errorf("inspect of %q = %s; Ruby: %s", text, got, want)
		}
	}
}

// The right sides were put to Ruby 3.1.2.
func TestAppendFloat(t *testing.T) {
	t.Parallel()
	tests := map[float64]string{
		0: "0.0", math.Copysign(0, -1): "-0.0", 1: "1.0", 100: "100.0", -1.5: "-1.5",
		1e14: "100000000000000.0", 1e15: "1.0e+15", 1e16: "1.0e+16", 1e100: "1.0e+100", 123e18: "1.23e+20",
		123456789012345.0: "123456789012345.0", 123456789012345.6: "123456789012345.6",
		1234567890123456.0: "1.234567890123456e+15", 1234567890123456.8: "1234567890123456.8",
		12345678901234567.0: "1.2345678901234568e+16", 9007199254740993.0: "9.007199254740992e+15",
		0.1: "0.1", 0.001: "0.001", 0.0001: "0.0001", 0.00012345: "0.00012345", 0.00001: "1.0e-05", 1e-7: "1.0e-07",
		1.5e-10: "1.5e-10", 5e-324: "5.0e-324", math.MaxFloat64: "1.7976931348623157e+308",
		0.30000000000000004: "0.30000000000000004",
		math.Inf(1):         "Infinity", math.Inf(-1): "-Infinity", math.NaN(): "NaN",
	}
	for f, want := range tests {
		if got := string(ruby.AppendFloat(nil, f)); got != want {
			t.Errorf("%v is %s; Ruby: %s", f, got, want)
		}
	}
}

func TestStrip(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"":                         "",
		"plain":                    "plain",
		" a b\tc\nd\ve\ff\rg ":     "abcdefg",
		"\u00a0\u2003\u0085\ufeff": "\u00a0\u2003\u0085\ufeff",
		"\x1ca\x00 \xff":           "\x1ca\x00\xff",
		"é 漢":                      "é漢",
	}
	for text, want := range tests {
		if got := ruby.Strip(text); got != want {
			t.Errorf("Strip(%q) = %q, want %q", text, got, want)
		}
	}
}

// The right sides were put to Ruby 3.1.2: one U+FFFD for each character that breaks off.
func TestScrub(t *testing.T) {
	t.Parallel()
	const r = "\ufffd"
	tests := map[string]string{
		"é": "é", "a\xffb": "a" + r + "b", "\xff\xff": r + r, "\xe2\x82": r, "\xe2\x82a": r + "a", "\xe2a": r + "a",
		"\xf0\x9f\x99": r, "\xf0\x9f\x99a": r + "a", "\xf0\x9fa\x99": r + "a" + r, "\xed\xa0\x80": r + r + r,
		"\xc0\x80": r + r, "\xe0\x80\x80": r + r + r, "\xf4\x90\x80\x80": r + r + r + r, "\xf0\x80\x80": r + r + r,
		"\xc3\xc3\xa9": r + "é", "\x80": r, "\xf8\x88\x80\x80\x80": r + r + r + r + r, "\ufffd": "\ufffd",
	}
	for text, want := range tests {
		if got := ruby.Scrub(text); got != want {
			t.Errorf("Scrub(%q) = %q; Ruby: %q", text, got, want)
		}
	}
	if got := string(ruby.AppendScrubbed([]byte("x:"), "a\xff\n\"")); got != `x:"a`+r+`\n\""` {
		t.Errorf("AppendScrubbed: %s", got)
	}
}

package schedulefile_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/understudy/compat/ruby"
	"example.com/understudy/scheduler/schedulefile"
)

func berlin(t *testing.T) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// args is what becomes of a text of YAML as the arguments of a job.
func args(t *testing.T, text string) (string, error) {
	t.Helper()
	file, err := schedulefile.Parse("s.yml", []byte("a:\n  every: 1h\n  v: "+strings.ReplaceAll(text, "\n", "\n    ")+"\n"), berlin(t))
	if err != nil {
		return "", err
	}
	config, err := file.Entries[0].Job.Config()
	if err != nil {
		t.Fatal(err)
	}
	members, err := ruby.Members(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range members {
		if m.Key == "v" {
			return string(m.Value), nil
		}
	}
	t.Fatalf("%s has no v", config)
	return "", nil
}

// TestValuesAsInRuby holds what Psych 4.0.3 and resque-scheduler make of a text
// of YAML, in a process of Berlin.
func TestValuesAsInRuby(t *testing.T) {
	t.Parallel()
	tests := []struct{ yaml, want string }{
		{`yes`, `true`},
		{`Yes`, `true`},
		{`no`, `false`},
		{`on`, `true`},
		{`Off`, `false`},
		{`y`, `"y"`},
		{`n`, `"n"`},
		{`tRUE`, `true`},
		{`~`, `null`},
		{`nULL`, `null`},
		{`nil`, `"nil"`},
		{`""`, `""`},
		{`0`, `0`},
		{`010`, `8`},
		{`0o10`, `"0o10"`},
		{`08`, `"08"`},
		{`0x1F`, `31`},
		{`0b101`, `5`},
		{`-0x1F`, `-31`},
		{`1_000`, `1000`},
		{`1,000`, `1000`},
		{`1,000.5`, `1000.5`},
		{`+5`, `5`},
		{`-5`, `-5`},
		{`1.5`, `1.5`},
		{`1.`, `1.0`},
		{`.5`, `0.5`},
		{`.`, `"."`},
		{`1e3`, `"1e3"`},
		{`1.0e3`, `"1.0e3"`},
		{`1.0e+3`, `1000.0`},
		{`1e+3`, `"1e+3"`},
		{`12:30`, `45000`},
		{`12:30:45`, `45045`},
		{`1:30.5`, `5430.0`},
		{`190:20:30`, `685230`},
		{`12:3`, `43380`},
		{`1:60`, `"1:60"`},
		{`-1:30`, `-1800`},
		{`+1:30`, `5400`},
		{`03:04:05.5`, `11045.5`},
		{`2026-01-02`, `"2026-01-02"`},
		{`2026-1-2`, `"2026-01-02"`},
		{`2026-13-45`, `"2026-13-45"`},
		{`2026-02-30`, `"2026-02-30"`},
		{`2026-01-02 03:04:05`, `"2026-01-02 04:04:05 +0100"`},
		{`2026-01-02t03:04:05`, `"2026-01-02 04:04:05 +0100"`},
		{`2026-01-02 03:04:05 Z`, `"2026-01-02 03:04:05 UTC"`},
		{`2026-01-02T03:04:05Z`, `"2026-01-02 03:04:05 UTC"`},
		{`2026-01-02 03:04:05 +02:00`, `"2026-01-02 03:04:05 +0200"`},
		{`2026-01-02 03:04:05.678 +0200`, `"2026-01-02 03:04:05 +0200"`},
		{`2026-01-02 03:04:05 -5`, `"2026-01-02 03:04:05 -0500"`},
		{`2026-01-02 03:04`, `"2026-01-02 03:04"`},
		{`2026-01-02 25:00:00`, `"2026-01-02 25:00:00"`},
		{`:now`, `"now"`},
		{`:"now x"`, `"now x"`},
		{`":now"`, `":now"`},
		{`':now'`, `":now"`},
		{`:first in`, `"first in"`},
		{`"a: b"`, `"a: b"`},
		{`!ruby/symbol now`, `"now"`},
		{`!ruby/sym now`, `"now"`},
		{`!str 5`, `"5"`},
		{`!!str 5`, `"5"`},
		{`!!int "5"`, `5`},
		{`!!int 010`, `8`},
		{`!!float "5"`, `5.0`},
		{`!!float 5`, `5.0`},
		{`!!bool yes`, `true`},
		{`!!null x`, `"x"`},
		{`!!set {a, b}`, `{"a":null,"b":null}`},
		{`!!omap [a: 1]`, `{"a":1}`},
		{`!!binary aGVsbG8=`, `"hello"`},
		{`!!timestamp 2026-01-02`, `"2026-01-02"`},
		{`!foo bar`, `"bar"`},
		{`!foo [1]`, `[1]`},
		{`!foo {a: 1}`, `{"a":1}`},
		{`[a, ":b", 1.0, 010, [], {}]`, `["a",":b",1.0,8,[],{}]`},
		{"\n- a\n- :b\n- 1.10", `["a","b",1.1]`},
		{"\na: 1\n:b: :c\n3: 4\ntrue: 5\n~: 6\n1.5: 7\n2026-01-02: 8", `{"a":1,"b":"c","3":4,"true":5,"":6,"1.5":7,"2026-01-02":8}`},
		{`[&x 1, *x]`, `[1,1]`},
		{`[&x {a: 1}, {<<: *x, b: 2}]`, `[{"a":1},{"a":1,"b":2}]`},
		{`{<<: {a: 1}, b: 2}`, `{"a":1,"b":2}`},
		{`{b: 2, <<: {a: 1, b: 3}}`, `{"b":3,"a":1}`},
		{`{<<: {a: 1, b: 3}, b: 2}`, `{"a":1,"b":2}`},
		{`{<<: [{a: 1}, {a: 2, c: 3}]}`, `{"a":1,"c":3}`},
		{`{"<<": {a: 1}}`, `{"a":1}`},
		{`{"a": 1, b: "x"}`, `{"a":1,"b":"x"}`},
		{`1234567890123456789012345678901234567890`, `1234567890123456789012345678901234567890`},
		{`1.1000000000000000000001`, `1.1`},
		{`0.1e-10`, `1.0e-11`},
		{`100000000000000000000.0`, `1.0e+20`},
		{`1e400`, `"1e400"`},
		{`0.`, `0.0`},
		{`00`, `0`},
		{`-010`, `-8`},
		{`0x`, `"0x"`},
		{`0_1`, `1`},
		{`_1`, `"_1"`},
		{`1__0`, `"1__0"`},
		{`1_`, `"1_"`},
		{`1.5_5`, `"1.5_5"`},
		{`'it''s'`, `"it's"`},
		{"|\n  a\n  b", `"a\nb\n"`},
		{">\n  a\n  b", `"a b\n"`},
		{"|\n  5", `"5\n"`},
		{"1\n\n2", `"1\n2"`},
		{`"\u00e9 \x41 \e"`, `"é A \u001b"`},
		{`=`, `"="`},
		{`0777`, `511`},
		{`0888`, `"0888"`},
		{`1_000.5`, `1000.5`},
		{`5 minutes`, `"5 minutes"`},
	}
	for _, tt := range tests {
		t.Run(tt.yaml, func(t *testing.T) {
			t.Parallel()
			got, err := args(t, tt.yaml)
			if err != nil || got != tt.want {
				t.Errorf("reads %s, %v, Ruby %s", got, err, tt.want)
			}
			if !json.Valid([]byte(got)) {
				t.Errorf("%s is no JSON", got)
			}
		})
	}
}

// TestValuesThatAreRefused has what Ruby can't write as JSON, what is an object of
// Ruby, and what can't be meant.
func TestValuesThatAreRefused(t *testing.T) {
	t.Parallel()
	tests := []struct{ yaml, says string }{
		{`.inf`, "put it in quotes"},
		{`-.INF`, "put it in quotes"},
		{`.nan`, "put it in quotes"},
		{`1.0e+400`, "put it in quotes"},
		{`.e+3`, "put it in quotes"},
		{`0b_`, "put it in quotes"},
		{`!!float x`, "no number"},
		{`!ruby/regexp /a/`, "object of Ruby"},
		{`!ruby/range 1..2`, "object of Ruby"},
		{`!ruby/object:Object {a: 1}`, "object of Ruby"},
		{`!ruby/array:Array [1]`, "object of Ruby"},
		{`!!binary "%"`, "base64"},
		{`!!binary /w==`, "base64"},
		{`{a: 1, a: 2}`, "a stands here for the second time (line 3)"},
		{"\na: 1\n:a: 2", "a stands here for the second time"},
		{`{[1]: 2}`, "a list stands where a name belongs"},
		{`{<<: 5}`, "<< takes a mapping"},
		{`&x [1, *x]`, "more than 100 levels, or itself"},
		{`&x [*x, *x]`, "more than 100 levels, or itself"},
		{strings.Repeat("[", 102) + strings.Repeat("]", 102), "more than 100 levels"},
		{bomb(), "1 MB"},
	}
	for _, tt := range tests {
		t.Run(tt.yaml[:min(len(tt.yaml), 30)], func(t *testing.T) {
			t.Parallel()
			got, err := args(t, tt.yaml)
			if err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), "s.yml:") {
				t.Errorf("reads %.200s, %v, want %q", got, err, tt.says)
			}
		})
	}
}

// bomb grows by aliases of aliases.
func bomb() string {
	text := "\n- &a0 [x, x]"
	for i := range 40 {
		text += fmt.Sprintf("\n- &a%d [*a%d, *a%d]", i+1, i, i)
	}
	return text
}

// TestManyMerges would take for ever if each mapping were listed as often as it
// is merged in.
func TestManyMerges(t *testing.T) {
	t.Parallel()
	text := "\n- &a0 {x: 1}"
	for i := range 60 {
		text += fmt.Sprintf("\n- &a%d {<<: [*a%d, *a%d]}", i+1, i, i)
	}
	if got, err := args(t, text); err != nil || strings.Count(got, `{"x":1}`) != 61 {
		t.Errorf("reads %s, %v", got, err)
	}
	if got, err := args(t, "&a {<<: *a, b: 1}"); err != nil || got != `{"b":1}` {
		t.Errorf("what merges itself is %s, %v", got, err)
	}
}

package ruby_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/compat/ruby"
)

func addTexts(f *testing.F) {
	f.Helper()
	for _, text := range append(accepted, refused...) {
		f.Add([]byte(text))
	}
	f.Add([]byte(samplePayload))
}

// FuzzCheck holds the scanner against itself and against encoding/json, of which Ruby's parser accepts everything but
// deep nesting and half surrogates.
func FuzzCheck(f *testing.F) {
	addTexts(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := string(raw)
		err := ruby.Check(raw)
		var syntax *ruby.SyntaxError
		if err != nil && (!errors.As(err, &syntax) || syntax.Offset < 0 || syntax.Offset > len(raw)) {
			t.Fatalf("an error without place: %v", err)
		}
		special := strings.Contains(strings.ToLower(before), `\ud`) || strings.Count(before, "[")+strings.Count(before, "{") > 100
		if err != nil && json.Valid(raw) && !special {
			t.Fatalf("refused: %v", err)
		}
		checkReaders(t, raw, err)
		if string(raw) != before {
			t.Fatal("the text was changed")
		}
	})
}

// checkReaders expects each reader to accept just what Check accepts, of its own kind.
func checkReaders(t *testing.T, raw []byte, err error) {
	t.Helper()
	kind := ruby.KindOf(raw)
	_, membersErr := ruby.Members(raw)
	_, elementsErr := ruby.Elements(raw)
	_, stringErr := ruby.String(raw)
	_, joinErr := ruby.Join(raw, "-", ruby.Inspect31)
	_, inspectErr := ruby.Inspect(raw, ruby.Inspect34)
	ok := err == nil
	for name, same := range map[string]bool{
		"Members":  (membersErr == nil) == (ok && kind == ruby.Object),
		"Elements": (elementsErr == nil) == (ok && kind == ruby.Array),
		"String":   (stringErr == nil) == (ok && kind == ruby.Text),
		"Join":     (joinErr == nil) == (ok && kind == ruby.Array),
		"Inspect":  (inspectErr == nil) == ok,
	} {
		if !same {
			t.Fatalf("%s does not agree with Check: %v", name, err)
		}
	}
	checkReencode(t, raw, ok)
}

// checkReencode expects Ruby's form to be final: valid everywhere, and the same when written once more.
func checkReencode(t *testing.T, raw []byte, ok bool) {
	t.Helper()
	text, err := ruby.Reencode(raw)
	if err != nil {
		return
	}
	if !ok || !json.Valid(text) || !utf8.Valid(text) {
		t.Fatalf("Reencode gave %q", text)
	}
	if again, err := ruby.Reencode(text); err != nil || string(again) != string(text) {
		t.Fatalf("%q, %v; then %q", text, err, again)
	}
}

// FuzzJoin holds Join against Elements and ToS.
func FuzzJoin(f *testing.F) {
	addTexts(f)
	f.Add([]byte(`[[1,[2,[3,null]]],4,{"a":[null,"\ud83dabcdef"]}]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := ruby.Join(raw, "-", ruby.Inspect34)
		if err != nil {
			return
		}
		elements, err := ruby.Elements(raw)
		if err != nil {
			t.Fatal(err)
		}
		texts := []string{}
		for _, element := range elements {
			read := func(raw []byte) ([]byte, error) { return ruby.ToS(raw, ruby.Inspect34) }
			if ruby.KindOf(element) == ruby.Array {
				read = func(raw []byte) ([]byte, error) { return ruby.Join(raw, "-", ruby.Inspect34) }
			}
			text, err := read(element)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(text))
		}
		if want := strings.Join(texts, "-"); string(got) != want {
			t.Fatalf("Join gave %q, its elements %q", got, want)
		}
	})
}

// FuzzFnmatch holds the matcher against the rules written down as they are said, one choice after the other.
func FuzzFnmatch(f *testing.F) {
	for _, pattern := range []string{"*", "a*b?c", "[a-c]*", "[!x]", `\*`, "*a*b", "[é-漢]", "[", "**a", ".*"} {
		f.Add(pattern, "abc")
		f.Add(pattern, ".a*b[")
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if len(pattern) > 12 || len(name) > 12 || !utf8.ValidString(pattern) || !utf8.ValidString(name) {
			return
		}
		want := slowMatch([]rune(pattern), []rune(name))
		if strings.HasPrefix(name, ".") {
			want = want && (strings.HasPrefix(pattern, ".") || strings.HasPrefix(pattern, `\.`))
		}
		if got := ruby.Fnmatch(pattern, name); got != want {
			t.Fatalf("Fnmatch(%q, %q) = %v", pattern, name, got)
		}
	})
}

func slowMatch(p, n []rune) bool {
	switch {
	case len(p) == 0:
		return len(n) == 0
	case p[0] == '*':
		return slowMatch(p[1:], n) || len(n) > 0 && slowMatch(p, n[1:])
	case p[0] == '\\' && len(p) == 1:
		return len(n) == 0
	case len(n) == 0:
		return false
	case p[0] == '?':
		return slowMatch(p[1:], n[1:])
	case p[0] == '[':
		rest, in := slowSet(p[1:], n[0])
		return in && slowMatch(rest, n[1:])
	case p[0] == '\\':
		return p[1] == n[0] && slowMatch(p[2:], n[1:])
	default:
		return p[0] == n[0] && slowMatch(p[1:], n[1:])
	}
}

// slowSet reads the set to its end; without an end nothing is in it.
func slowSet(p []rune, c rune) (rest []rune, in bool) {
	not := len(p) > 0 && (p[0] == '!' || p[0] == '^')
	if not {
		p = p[1:]
	}
	take := func() rune {
		if len(p) > 1 && p[0] == '\\' {
			p = p[1:]
		}
		r := p[0]
		p = p[1:]
		return r
	}
	for len(p) > 0 && p[0] != ']' {
		lo := take()
		hi := lo
		if len(p) > 1 && p[0] == '-' && p[1] != ']' {
			p = p[1:]
			hi = take()
		}
		in = in || lo <= c && c <= hi || c == lo || c == hi
	}
	if len(p) == 0 {
		return nil, false
	}
	return p[1:], in != not
}

// FuzzMarshal holds Marshal against encoding/json: the same values are written, in Ruby's form.
func FuzzMarshal(f *testing.F) {
	f.Add("text", "key", int64(1), 1.5, []byte("bytes"))
	f.Add("a\xff", "\u2028<", int64(math.MinInt64), math.Copysign(0, -1), []byte{0})
	f.Add("\x00\x1f\x7f", "", int64(0), 1e21, []byte(nil))
	f.Fuzz(func(t *testing.T, text, key string, n int64, x float64, b []byte) {
		type item struct {
			Text string  `json:"text"`
			N    int64   `json:"n,string"`
			X    float64 `json:"x,omitempty"`
			B    []byte  `json:"b"`
		}
		value := map[string]any{key: []any{item{text, n, x, b}, &text, n}}
		got, err := ruby.Marshal(value)
		clean := utf8.ValidString(text) && utf8.ValidString(key) && !math.IsNaN(x) && !math.IsInf(x, 0)
		if (err == nil) != clean {
			t.Fatalf("Marshal: %v", err)
		}
		if err != nil {
			return
		}
		std, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		var gotBack, stdBack any
		if err := errors.Join(json.Unmarshal(got, &gotBack), json.Unmarshal(std, &stdBack)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(stdBack, gotBack); diff != "" {
			t.Fatalf("(-encoding/json +ruby)\n%s", diff)
		}
		if again, err := ruby.Reencode(got); err != nil || string(again) != string(got) {
			t.Fatalf("Ruby would write %s, %v, not %s", again, err, got)
		}
	})
}

package cli_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"example.com/understudy/internal/cli"
)

func TestVisible(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text string
		most int
		want string
	}{
		{"plain ü 😀 \"quoted\" 'too' a\\b", 0, "plain ü 😀 \"quoted\" 'too' a\\b"},
		{"\x1b[31mred\x07\r\n\t\x00\x7f", 0, `\x1b[31mred\a\r\n\t\x00\x7f`},
		{"\u009b2J \u202eevil\u2028 \ufeff", 0, `\u009b2J \u202eevil\u2028 \ufeff`},
		{"cut \xff\xc3", 0, `cut \xff\xc3`},
		{"\ufffd", 0, "\ufffd"}, // it may stand in a text
		{"12345", 5, "12345"},
		{"123456", 5, "1234…"},
		{"\x1b\x1b", 5, `\x1b…`},
		{"\x1b\x1b", 3, "…"},
		{"漢字漢", 5, "漢字…"},
		{"漢字漢", 4, "漢…"},
		{"", 5, ""},
	} {
		if got := cli.Visible(test.text, test.most); got != test.want {
			t.Errorf("%q in %d: %q, want %q", test.text, test.most, got, test.want)
		}
	}
}

func TestInHow(t *testing.T) {
	t.Parallel()
	const now = 1_000_000
	for seconds, want := range map[int64]string{
		0: "now", 1: "1s", 59: "59s", 60: "1m00s", 3599: "59m59s", 3600: "1h00m", 86399: "23h59m", 86400: "1d00h", 90061: "1d01h",
		-1: "1s ago", -3661: "1h01m ago", 1<<63 - 1 - now: "106751991167289d01h", -1<<63 + now: "53375995583661d21h ago",
	} {
		if got := cli.InHow(time.Unix(now+seconds, 0), time.Unix(now, 999)); got != want {
			t.Errorf("%d: %s, want %s", seconds, got, want)
		}
	}
}

// A table writes its rows as they come, in columns that the first rows decide.
func TestTable(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	table := cli.NewTable(&out, 30, cli.NewColumn("NAME", 8, false), cli.NewColumn("N", 0, true), cli.NewColumn("TEXT", 0, false))
	rows := [][]string{{"a", "1", "short"}, {"a\x1blong name", "123", strings.Repeat("x", 1000)}, {"", "", ""}}
	for len(rows) < 200 {
		rows = append(rows, []string{"b", "2", "y"})
	}
	for _, row := range rows {
		if out.Len() > 0 {
			t.Fatal("it has begun early")
		}
		if err := cli.TableRow(table, row...); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(cli.TableRow(table, "c", "12345", "late"), cli.TableEnd(table)); err != nil {
		t.Fatal(err)
	}
	want := `NAME        N  TEXT
a           1  short
a\x1blo…  123  xxxxxxxxxxxxxx…

` + strings.Repeat("b           2  y\n", 197) + "c         12345  late\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	var none strings.Builder
	if err := cli.TableEnd(cli.NewTable(&none, 0, cli.NewColumn("NAME", 0, false))); err != nil || none.Len() > 0 {
		t.Errorf("%q, %v", none.String(), err)
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("a\x1b[2J\xff漢", 3)
	f.Fuzz(func(t *testing.T, text string, most int) {
		got := cli.Visible(text, most)
		if strings.ContainsFunc(got, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) {
			t.Errorf("%q becomes %q", text, got)
		}
		if n := len([]rune(got)); most > 0 && n > most {
			t.Errorf("%q has %d characters, not %d", got, n, most)
		}
	})
}

// On a terminal the line changes, elsewhere there are few.
func TestProgress(t *testing.T) {
	t.Parallel()
	for screen, want := range map[bool]string{true: "\r2\x1b[K\r4\x1b[K\r5\x1b[K\r\x1b[K", false: "4\n"} {
		var out strings.Builder
		now := time.Unix(0, 0)
		p := cli.NewProgress(&out, screen, func() time.Time { return now })
		for i, wait := range []time.Duration{100 * time.Millisecond, 150 * time.Millisecond, 50 * time.Millisecond, 10 * time.Second, time.Second} {
			now = now.Add(wait)
			cli.ProgressTell(p, "%d", i+1)
		}
		cli.ProgressEnd(p)
		if out.String() != want {
			t.Errorf("%v: %s", screen, fmt.Sprintf("%q", out.String()))
		}
	}
}

package cli

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"example.com/understudy/compat/ruby"
)

// filterFlags say which jobs are meant.
func filterFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "class", Usage: "only jobs of this class: a `NAME`, or a pattern such as 'Mail*'; '' for what is no job"},
		&cli.StringFlag{Name: "queue", Usage: "only jobs for this queue: a `NAME` or a pattern; '' for those that name none"},
		&cli.StringFlag{Name: "args", Usage: "only jobs with exactly these arguments: a JSON `ARRAY`"},
		&cli.StringFlag{Name: "match", Usage: "only jobs with this `TEXT` in their arguments"},
	}
}

// timeFlags bound the time for which jobs wait.
func timeFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "after", Usage: "only jobs due at this `MOMENT` or later: 2026-12-31T23:59:00Z, '2026-12-31 23:59' (of this machine), seconds since 1970, or from now, 2h and -2h"},
		&cli.StringFlag{Name: "before", Usage: "only jobs due before this `MOMENT`"},
	}
}

// filter says which jobs are meant: those that fit all that was asked for.
type filter struct {
	class, queue *string // nil: any
	args         []byte  // in Ruby's form; nil: any
	match        []byte  // nil: any
	escaped      []byte  // match, as JSON writes it
}

func (s settings) filter() (f filter, err error) {
	f.class, f.queue = s.given("class"), s.given("queue")
	if text := s.given("args"); text != nil {
		if ruby.KindOf([]byte(*text)) == ruby.Array {
			f.args, err = ruby.Reencode([]byte(*text))
		}
		if err != nil || f.args == nil {
			return f, refuse(s.line(`--args '[7,"hello"]'`), "--args is %q: write a JSON array", *text)
		}
	}
	if text := s.given("match"); text != nil {
		if *text == "" {
			return f, refuse(s.line("--match hello"), "--match is empty, and so stands in all arguments: leave it out")
		}
		f.match = []byte(*text)
		quoted, err := json.Marshal(*text)
		if err != nil {
			return f, err
		}
		f.escaped = bytes.Trim(quoted, `"`)
	}
	return f, nil
}

// given is an option's value; nil: it wasn't given.
func (s settings) given(option string) *string {
	if !s.c.IsSet(option) {
		return nil
	}
	text := s.c.String(option)
	return &text
}

// any says that every job fits.
func (f filter) any() bool {
	return f.class == nil && f.queue == nil && f.args == nil && f.match == nil
}

// fits says whether a job is meant. raw is the element as it stands; what is no job
// has neither class nor arguments, and is looked through as a whole.
func (f filter) fits(queue, class string, args, raw []byte) bool {
	if f.class != nil && !named(*f.class, class) || f.queue != nil && !named(*f.queue, queue) {
		return false
	}
	if f.args == nil && f.match == nil {
		return true
	}
	normal, err := ruby.Reencode(args)
	if f.args != nil && (err != nil || !bytes.Equal(normal, f.args)) {
		return false
	}
	if f.match == nil {
		return true
	}
	if len(args) == 0 {
		args = raw
	}
	return bytes.Contains(args, f.match) || bytes.Contains(normal, f.match) || bytes.Contains(normal, f.escaped)
}

// named says whether a name is the one that was asked for, or fits the pattern.
func named(pattern, name string) bool {
	return pattern == name || ruby.IsPattern(pattern) && ruby.Fnmatch(pattern, name)
}

// bound reads one of the timeFlags; zero: it wasn't given.
func (s settings) bound(option string, now time.Time) (time.Time, error) {
	text := s.given(option)
	if text == nil {
		return time.Time{}, nil
	}
	if at, ok := readMoment(*text); ok {
		return at, nil
	}
	d, err := time.ParseDuration(strings.TrimSpace(*text))
	if err != nil {
		return time.Time{}, refuse(s.line("--"+option+" 2h"),
			"--%s: %q is no moment: write it as 2026-12-31T23:59:00Z, 2026-12-31 23:59, in seconds since 1970, or from now, as 2h or -2h", option, *text)
	}
	return now.Add(d), nil
}

// limit is how many jobs are meant at most; 0: all.
func (s settings) limit() (int64, error) {
	text := s.given("limit")
	if text == nil {
		return 0, nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(*text), 10, 64)
	if err != nil || n < 1 {
		return 0, refuse(s.line("--limit 10"), "--limit: %q is no number of at least 1", *text)
	}
	return n, nil
}

func limitFlag() cli.Flag {
	return &cli.StringFlag{Name: "limit", Usage: "only the first `NUMBER` of them"}
}

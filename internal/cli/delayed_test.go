package cli_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/cli"
	"example.com/understudy/internal/redistest"
)

// seedDelayed delays items: those of a second, then the next.
func seedDelayed(s *redistest.Server, items map[int64][]string) {
	schedule, keys := redistest.ZSet{}, map[string]any{"delayed_queue_schedule": nil}
	notes := map[string]redistest.Set{}
	for second, list := range items {
		text := strconv.FormatInt(second, 10)
		schedule[text] = float64(second)
		keys["delayed:"+text] = redistest.List(list)
		for _, item := range list {
			notes[item] = append(notes[item], "delayed:"+text)
		}
	}
	for item, lists := range notes {
		keys["timestamps:"+item] = lists
	}
	keys["delayed_queue_schedule"] = schedule
	s.Seed(keys)
}

// The jobs of the tests: some of today, some far away, and hostile ones.
const (
	sms      = `{"class":"DeliverSMS","args":[7,"fish & chips"],"queue":"mt"}`
	bill     = `{"class":"Mail::Bill","args":[{"id": 1.50},"Stra\u00dfe"],"queue":"mail"}`
	report   = `{"class":"Report","args":[],"queue":"reports"}`
	homeless = `{"class":"Report","args":[1]}`
	hostile  = "{\"class\":\"Evil\u202e\\u001b]0;x\\u0007\",\"args\":[\"\xff\\u001b[2J\"],\"queue\":\"q\\n\"}"
	broken   = "\x1b[31mno job\xff"
)

var far = time.Now().Add(1000 * time.Hour).Unix()

func seedAll(s *redistest.Server) {
	soon := time.Now().Add(time.Hour).Unix()
	seedDelayed(s, map[int64][]string{100: {sms}, soon: {bill, sms, report}, far: {homeless, hostile, broken}})
}

// Each filter shows, counts and hits the same jobs.
func TestDelayedFilters(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args []string
		want []string
	}{
		"all":                 {nil, []string{sms, bill, sms, report, homeless, hostile, broken}},
		"class":               {words("--class DeliverSMS"), []string{sms, sms}},
		"a class's pattern":   {words("--class Mail::*"), []string{bill}},
		"no job":              {words("--class", ""), []string{broken}},
		"queue":               {words("--queue mail"), []string{bill}},
		"no queue":            {words("--queue", ""), []string{homeless, broken}},
		"args":                {words("--args", ` [7 ,"fish & chips"]`), []string{sms, sms}},
		"args in Ruby's form": {words("--args", `[{"id":1.5},"Straße"]`), []string{bill}},
		"no args":             {words("--args []"), []string{report}},
		"match":               {words("--match", "sh & ch"), []string{sms, sms}},
		"match, escaped":      {words("--match", "Straße"), []string{bill}},
		"match in no job":     {words("--match", "no job"), []string{broken}},
		"match of a byte":     {words("--match", "\xff"), []string{hostile, broken}},
		"both":                {words("--class DeliverSMS --queue mail"), nil},
		"before":              {words("--before 2h"), []string{sms, bill, sms, report}},
		"before now":          {words("--before 0s"), []string{sms}},
		"after":               {words("--after 2h"), []string{homeless, hostile, broken}},
		"after, in the past":  {words("--after -2h --before 2h"), []string{bill, sms, report}},
		"seconds":             {words("--before 101 --after 100"), []string{sms}},
		"a moment":            {words("--before 1970-01-01T00:01:40Z"), nil},
		"limit":               {words("--limit 2"), []string{sms, bill}},
		"limit of some":       {words("--class Report --limit 1"), []string{report}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.New(t)
			seedAll(s)
			line := func(verb string, more ...string) result {
				return run(t, command{args: on(s, append(append(words("delayed "+verb), test.args...), more...)...)})
			}
			var shown []string
			for text := range strings.Lines(line("ls", "--output", "json").stdout) {
				shown = append(shown, classOf(t, text))
			}
			var want []string
			for _, item := range test.want {
				want = append(want, map[string]string{sms: "DeliverSMS", bill: "Mail::Bill", report: "Report", homeless: "Report", hostile: "Evil\u202e\x1b]0;x\a", broken: ""}[item])
			}
			if diff := cmp.Diff(want, shown); diff != "" {
				t.Error("ls:", diff)
			}
			if got := line("count"); got.stdout != fmt.Sprintln(len(want)) {
				t.Errorf("count: %q %s", got.stdout, got.stderr)
			}
			if got := line("rm", "--all", "--dry-run"); got.stdout != fmt.Sprintf("would remove %d\n", len(want)) {
				t.Errorf("dry run: %q %s", got.stdout, got.stderr)
			}
			if got := line("rm", "--all", "--yes"); got.stdout != fmt.Sprintf("removed %d of %d\n", len(want), len(want)) || got.number != 0 || got.stderr != "" {
				t.Errorf("rm: %q %s", got.stdout, got.stderr)
			}
			left := run(t, command{args: on(s, words("delayed count")...)})
			if left.stdout != fmt.Sprintln(7-len(want)) {
				t.Errorf("%s are left", left.stdout)
			}
		})
	}
}

// classOf is the class of a line of JSON.
func classOf(t *testing.T, line string) string {
	t.Helper()
	var job struct {
		Class string `json:"class"`
	}
	if err := json.Unmarshal([]byte(line), &job); err != nil || !strings.HasSuffix(line, "}\n") {
		t.Errorf("%q: %v", line, err)
	}
	return job.Class
}

// The table shows what waits, without anything that a terminal would obey.
func TestDelayedTable(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		long := `{"class":"Long","args":["` + strings.Repeat("x", 2_000_000) + `"],"queue":"` + strings.Repeat("q", 300) + `"}`
		seedDelayed(s, map[int64][]string{far: {bill, homeless, hostile, broken, long}})
		got := run(t, command{args: on(s, words("delayed ls")...), env: map[string]string{"COLUMNS": "100"}})
		at := time.Unix(far, 0).Format("2006-01-02 15:04:05")
		in := strings.Fields(got.stdout[strings.Index(got.stdout, at)+len(at):])[0] // some 41d
		line := func(queue, class, rest string) string {
			return strings.TrimRight(fmt.Sprintf("%s  %s  %-24s  %-20s  %s", at, in, queue, class, rest), " ") + "\n"
		}
		want := fmt.Sprintf("%-19s  %*s  %-24s  %-20s  ARGUMENTS\n", "DUE", len(in), "IN", "QUEUE", "CLASS") +
			line("mail", "Mail::Bill", `[{"id": 1.50},"Stra\u0…`) +
			line("", "Report", "[1]") +
			line(`q\n`, `Evil\u202e\x1b]0;x\a`, `["\xff\u001b[2J"]`) +
			line("", "(no job)", `\x1b[31mno job\xff`) +
			line(strings.Repeat("q", 23)+"…", "Long", `["xxxxxxxxxxxxxxxxxxxx…`)
		if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got.stdout, "\n")); diff != "" || got.number != 0 || got.stderr != "" {
			t.Errorf("ends with %d: %s%s", got.number, got.stderr, diff)
		}
		whole := run(t, command{args: on(s, words("delayed ls --class Long")...)})
		if !strings.Contains(whole.stdout, `xxx"]`+"\n") {
			t.Error("it is cut where nobody says how wide it may be")
		}
	})
}

// JSON has all of a job, and its bytes where they are no JSON.
func TestDelayedJSON(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	commented := "{\"class\":\"A\",\"args\":[1 /* one */\n,18446744073709551616]}"
	seedDelayed(s, map[int64][]string{100: {bill, hostile, broken, commented}})
	got := run(t, command{args: on(s, words("delayed ls --output json")...)})
	base := base64.StdEncoding.EncodeToString
	head := `{"time":"1970-01-01T00:01:40Z","at":100,`
	want := []string{
		head + `"queue":"mail","class":"Mail::Bill","args":[{"id":1.50},"Stra\u00dfe"]}`,
		head + `"queue":"q\n","class":"Evil` + "\u202e" + `\u001b]0;x\u0007","args":null,"raw_base64":"` + base([]byte(hostile)) + `"}`,
		head + `"queue":"","class":"","args":null,"error":"not a job: json: no JSON value at byte 0","raw_base64":"` + base([]byte(broken)) + `"}`,
		head + `"queue":"","class":"A","args":[1,18446744073709551616]}`,
		"",
	}
	if diff := cmp.Diff(want, strings.Split(got.stdout, "\n")); diff != "" || got.number != 0 || got.stderr != "" {
		t.Errorf("ends with %d: %s%s", got.number, got.stderr, diff)
	}
	scanner := bufio.NewScanner(strings.NewReader(got.stdout))
	for scanner.Scan() {
		if !json.Valid(scanner.Bytes()) {
			t.Errorf("no JSON: %q", scanner.Text())
		}
	}
}

func TestDelayedCount(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	seedAll(s)
	for line, want := range map[string]string{
		"":                          "7\n",
		"--output json":             `{"count":7}` + "\n",
		"--by class --before 2h":    "COUNT  CLASS\n    2  DeliverSMS\n    1  Mail::Bill\n    1  Report\n",
		"--by queue --class Report": "COUNT  QUEUE\n    1  (none)\n    1  reports\n",
		"--by queue --class Nobody": "",
		"--by class --after 2h":     "COUNT  CLASS\n    1  (none)\n    1  Evil\\u202e\\x1b]0;x\\a\n    1  Report\n",
		"--by class --output json --before 2h": `{"class":"DeliverSMS","count":2}` + "\n" +
			`{"class":"Mail::Bill","count":1}` + "\n" + `{"class":"Report","count":1}` + "\n",
	} {
		got := run(t, command{args: on(s, words("delayed count "+line)...)})
		if got.stdout != want || got.number != 0 || got.stderr != "" {
			t.Errorf("%s: %q, %s", line, got.stdout, got.stderr)
		}
	}
	empty := redistest.New(t)
	if got := run(t, command{args: on(empty, words("delayed ls")...)}); got.stdout != "" || got.stderr != "no delayed jobs\n" || got.number != 0 {
		t.Errorf("%+v", got)
	}
}

// run enqueues what it can, as a scheduler would, and says what stays.
func TestDelayedRun(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		seedAll(s)
		got := run(t, command{args: on(s, words("delayed run --all --yes")...)})
		if got.stdout != "enqueued 5 of 7\n" || got.number != 1 || strings.Count(got.stderr, "names no class or no queue: it stays") != 2 || strings.Contains(got.stderr, "\x1b") {
			t.Errorf("ends with %d: %q %q", got.number, got.stdout, got.stderr)
		}
		want := map[string]any{
			"queues":     redistest.Set{"mail", "mt", "q\n", "reports"},
			"queue:mt":   redistest.List{`{"class":"DeliverSMS","args":[7,"fish & chips"]}`, `{"class":"DeliverSMS","args":[7,"fish & chips"]}`},
			"queue:mail": redistest.List{`{"class":"Mail::Bill","args":[{"id": 1.50},"Stra\u00dfe"]}`},
		}
		for name, value := range want {
			if diff := cmp.Diff(value, s.Get(name)); diff != "" {
				t.Error(name, diff)
			}
		}
		if got := run(t, command{args: on(s, words("delayed run --all --yes --output json")...)}); got.stdout != `{"enqueued":0,"of":2}`+"\n" {
			t.Errorf("%q", got.stdout)
		}
	})
}

// On a terminal it asks, and a no changes nothing.
func TestDelayedAsks(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		answer, line string
		number       int
		stdout       string
		stderr       string
	}{
		{"y\n", "rm --class DeliverSMS", 0, "removed 2 of 2\n", "remove 2 delayed jobs? [y/N] "},
		{"YES", "rm --class DeliverSMS", 0, "removed 2 of 2\n", "remove 2 delayed jobs? [y/N] "},
		{"\n", "rm --class DeliverSMS", 1, "", "remove 2 delayed jobs? [y/N] understudy: nothing was changed\n"},
		{"n\ny\n", "run --queue mail", 1, "", "enqueue 1 delayed job? [y/N] understudy: nothing was changed\n"},
		{"", "rm --all", 2, "", "remove 7 delayed jobs? [y/N] \nunderstudy: there is no terminal"},
		{"n\n", "rm --all --dry-run", 0, "would remove 7\n", ""},
		{"n\n", "rm --class Nobody", 0, "removed 0 of 0\n", ""},
		{"n\n", "rm --all --yes", 0, "removed 7 of 7\n", ""},
	} {
		t.Run(test.answer+test.line, func(t *testing.T) {
			t.Parallel()
			s := redistest.New(t)
			seedAll(s)
			before := s.Dump()
			got := run(t, command{args: on(s, words("delayed "+test.line)...), answer: &test.answer})
			if got.number != test.number || got.stdout != test.stdout || !strings.HasPrefix(got.stderr, test.stderr) || test.stderr == "" && got.stderr != "" {
				t.Errorf("ends with %d: %q %q", got.number, got.stdout, got.stderr)
			}
			if test.number != 0 {
				if diff := cmp.Diff(before, s.Dump()); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// A signal ends long work between two steps, with what is done by then.
func TestDelayedStops(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	var items []string
	for i := range 3000 {
		items = append(items, fmt.Sprintf(`{"class":"A","args":[%d],"queue":"q"}`, i))
	}
	seedDelayed(s, map[int64][]string{far: items})
	proxy := redistest.NewProxy(t, s.URL())
	signals, stderr, edits := make(chan os.Signal), newWatched(), 0
	proxy.SetRule(func(r redistest.Request) redistest.Verdict {
		if r.Is("EVALSHA") && len(r.Args) > 100 {
			if edits++; edits == 3 {
				signals <- syscall.SIGINT
				stderr.await(t, "interrupt: stopping")
			}
		}
		return redistest.Pass
	})
	got := run(t, command{
		args: append(words("delayed rm --all --yes --redis"), proxy.URL(), "--namespace", s.Namespace()), signals: signals, stderr: stderr,
	})
	left, _ := s.Do("LLEN", s.Key("delayed:"+strconv.FormatInt(far, 10))).(int64)
	var removed, of int64
	if _, err := fmt.Sscanf(got.stdout, "removed %d of %d", &removed, &of); err != nil || got.number != 1 || left == 0 || 3000-left < removed || removed < 500 {
		t.Errorf("ends with %d: %q %q; %d left", got.number, got.stdout, got.stderr, left)
	}
}

// closedPipe is what is left when head has seen enough.
type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// Who reads only the first lines ends a list, and that is no error.
func TestDelayedListUnread(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	seedAll(s)
	for _, line := range []string{"delayed ls", "delayed ls --output json", "delayed count", "delayed count --by class", "delayed count --by queue --output json"} {
		stderr := newWatched()
		number := cli.Main(t.Context(), cli.Environment{Args: on(s, words(line)...), Stdout: closedPipe{}, Stderr: stderr})
		if number != 0 || stderr.String() != "" {
			t.Errorf("%s ends with %d: %s", line, number, stderr.String())
		}
	}
}

// Jobs that can't be enqueued are none of those that a dry run promises, take no
// place of a limit, and are told of each in a line of its own.
func TestDelayedRunOfJobsWithoutAQueue(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	seedDelayed(s, map[int64][]string{far: {
		`{"class":"A","args":[1]}`, `{"class":"A","args":[2]}`, `no job`,
		`{"class":"B","args":[3],"queue":"q"}`, `{"class":"B","args":[4],"queue":"q"}`,
	}})
	delayed := func(line string) result { return run(t, command{args: on(s, words("delayed "+line)...)}) }
	const stay = "understudy: 3 delayed jobs without a class or queue: such a job stays\n"
	if got := delayed("run --all --dry-run"); got.stdout != "would enqueue 2\n" || got.stderr != stay || got.number != 0 {
		t.Errorf("ends with %d: %q %q", got.number, got.stdout, got.stderr)
	}
	got := delayed("run --all --limit 1 --yes")
	if got.stdout != "enqueued 1 of 4\n" || got.number != 1 || strings.Count(got.stderr, ": it stays") != 3 || strings.Contains(got.stderr, "resque: ") {
		t.Errorf("ends with %d: %q %q", got.number, got.stdout, got.stderr)
	}
	if got := delayed("rm --all --dry-run"); got.stdout != "would remove 4\n" || got.stderr != "" {
		t.Errorf("%q %q", got.stdout, got.stderr)
	}
}

// Where nobody was asked about any job, nothing is done with those that come.
func TestDelayedChangesNothingUnasked(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{"rm --class Late": "removed 0 of 0\n", "run --class Late": "enqueued 0 of 0\n"} {
		s := redistest.New(t)
		seedAll(s)
		proxy := redistest.NewProxy(t, s.URL())
		walks := 0
		proxy.SetRule(func(r redistest.Request) redistest.Verdict {
			if r.Is("ZRANGEBYSCORE") {
				if walks++; walks == 2 {
					seedDelayed(s, map[int64][]string{far + 100: {`{"class":"Late","args":[],"queue":"q"}`}})
				}
			}
			return redistest.Pass
		})
		answer := "n\n"
		got := run(t, command{args: append(words("delayed "+line), "--redis", proxy.URL(), "--namespace", s.Namespace()), answer: &answer})
		if got.stdout != want || s.Do("EXISTS", s.Key("queue:q")) != int64(0) {
			t.Errorf("%s: %q %q", line, got.stdout, got.stderr)
		}
	}
}

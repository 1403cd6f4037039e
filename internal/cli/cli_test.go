package cli_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/alicebob/miniredis/v2"
	urfave "github.com/urfave/cli/v2"

	"example.com/understudy/internal/cli"
	"example.com/understudy/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// command is a run of understudy.
type command struct {
	args    []string
	env     map[string]string
	signals chan os.Signal // TERM and the like, sent to the command; nil: none
	others  chan os.Signal // further ones
	stdout  *watched       // nil: one of its own; stderr too
	stderr  *watched
	answer  *string // there is a terminal, and this is what is typed; nil: there is none
}

// terminal is a stream that people look at.
type terminal struct{ io.ReadWriter }

func (terminal) Stat() (os.FileInfo, error) { return os.Stat(os.DevNull) } // a device, as terminals are

// result is what it left behind.
type result struct {
	number         int
	stdout, stderr string
}

func run(t *testing.T, c command) result {
	t.Helper()
	if c.stdout == nil {
		c.stdout = newWatched()
	}
	if c.stderr == nil {
		c.stderr = newWatched()
	}
	var stdin io.Reader
	var stderr io.Writer = c.stderr
	if c.answer != nil {
		stdin = terminal{struct {
			io.Reader
			io.Writer
		}{strings.NewReader(*c.answer), nil}}
		stderr = terminal{struct {
			io.Reader
			io.Writer
		}{nil, c.stderr}}
	}
	number := cli.Main(t.Context(), cli.Environment{
		Args: c.args, Stdin: stdin, Stdout: c.stdout, Stderr: stderr,
		LookupEnv: func(name string) (string, bool) {
			value, ok := c.env[name]
			return value, ok
		},
		Notify: func(to chan<- os.Signal, list ...os.Signal) func() {
			from := c.others
			if slices.Contains(list, os.Interrupt) {
				from = c.signals
			}
			ended, gone := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(gone)
				for {
					select {
					case s := <-from:
						to <- s
					case <-ended:
						return
					}
				}
			}()
			return func() {
				close(ended)
				<-gone
			}
		},
	})
	return result{number, c.stdout.String(), c.stderr.String()}
}

// words splits a line at blanks.
func words(line string, more ...string) []string { return append(strings.Fields(line), more...) }

// on is a command line on a test's Redis.
func on(s *redistest.Server, args ...string) []string {
	return append(args, "--redis", s.URL(), "--namespace", s.Namespace())
}

// watched is a standard error that tests can wait on.
type watched struct {
	mu    sync.Mutex
	text  bytes.Buffer
	grown chan struct{}
}

func newWatched() *watched { return &watched{grown: make(chan struct{}, 1)} }

func (w *watched) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case w.grown <- struct{}{}:
	default:
	}
	return w.text.Write(data)
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// await waits until the text holds some other.
func (w *watched) await(t *testing.T, text string) {
	t.Helper()
	for !strings.Contains(w.String(), text) {
		select {
		case <-w.grown:
		case <-t.Context().Done():
			t.Fatalf("%q never came, only\n%s", text, w.String())
		}
	}
}

// jobsFile writes a jobs file in which classes are shell scripts.
func jobsFile(t *testing.T, scripts map[string]string, options ...string) string {
	t.Helper()
	var text strings.Builder
	text.WriteString("jobs:\n")
	for class, script := range scripts {
		text.WriteString("  " + class + ":\n    queue: own\n    exec: [/bin/sh, -c, '" + strings.ReplaceAll(script, "'", "''") + "']\n")
		for _, option := range options {
			text.WriteString("    " + option + "\n")
		}
	}
	return writeFile(t, "jobs.yml", text.String())
}

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestArrange(t *testing.T) {
	t.Parallel()
	tests := []struct {
		line string // arguments with blanks between
		want string // or the start of the refusal, after !
	}{
		{"", "--help"},
		{"--help", "--help"},
		{"-h", "--help"},
		{"help", "--help"},
		{"help work", "work --help --"},
		{"work --help", "work --help --"},
		{"--version", "version"},
		{"version", "version --"},
		{"work --queues a", "work --queues a --"},
		{"--queues a work", "work --queues a --"},
		{"--queues=a work --until-empty", "work --queues=a --until-empty --"},
		{"-queues a work", "work -queues a --"},
		{"enqueue X 1 --queue q 2 --front 3", "enqueue --queue q --front -- X 1 2 3"},
		{"enqueue X -5 -0.5 -.5 --queue q", "enqueue --queue q -- X -5 -0.5 -.5"},
		{"enqueue X - --queue q", "enqueue --queue q -- X -"},
		{"enqueue X --queue q -- --front -x", "enqueue --queue q -- X --front -x"},
		{"enqueue --queue -5 X", "enqueue --queue -5 -- X"},
		{"enqueue --queue q -- -- X", "enqueue --queue q -- -- X"},
		{"enqueue X --args [-1]", "enqueue --args [-1] -- X"},
		{"enqueue X --redis --front", "!--redis needs a value behind it"},
		{"enqueue X --queue", "!--queue needs a value behind it"},
		{"wrk --queues a", "!unknown command wrk: did you mean work?"},
		{"work --queue a", "!unknown option --queue: did you mean --queues?"},
		{"enqueue X --untilempty", "!unknown option --untilempty: those known here are --args, "},
		{"--qeueus a", "!unknown option --qeueus: did you mean --queues?"},
		{"enqueue X -q", "!unknown option --q: those known here are --args, "},
		{"delayed", "delayed --help"},
		{"delayed --help", "delayed --help"},
		{"help delayed", "delayed --help"},
		{"help delayed count", "delayed count --help --"},
		{"delayed count -h", "delayed count -h --"},
		{"delayed --redis a count", "delayed count --redis a --"},
		{"--redis=a delayed count b -- --c", "delayed count --redis=a -- b --c"},
		{"delayed -- count", "delayed count --"},
		{"delayed cuont", "!unknown command delayed cuont: did you mean delayed count?"},
		{"delayed frobnicate", "!unknown command delayed frobnicate: the commands are "},
		{"delayed --redis a", "!delayed needs a command behind it: "},
		{"delayed count --front", "!unknown option --front: those known here are --"},
		{"delayed count --redis", "!--redis needs a value behind it"},
		{"count delayed", "!unknown command count"},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			t.Parallel()
			argv, err := cli.Arrange(words(tt.line))
			got := strings.Join(argv, " ")
			if err != nil {
				got = "!" + err.Error()
			}
			if got != tt.want && (tt.want == "" || tt.want[0] != '!' || !strings.HasPrefix(got, tt.want)) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// An option means the same in every command, for it may stand before the command.
func TestOptionsTakeTheSameEverywhere(t *testing.T) {
	t.Parallel()
	takes := map[string]bool{}
	for _, c := range cli.Commands() {
		for _, f := range c.Flags {
			documented, ok := f.(urfave.DocGenerationFlag)
			if !ok {
				t.Errorf("%s has %v, which says nothing of values", c.Name, f.Names())
				continue
			}
			for _, name := range f.Names() {
				if before, known := takes[name]; known && before != documented.TakesValue() {
					t.Errorf("--%s of %s takes a value, or none, otherwise than another command's", name, c.Name)
				}
				takes[name] = documented.TakesValue()
			}
		}
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	tests := []struct{ line, holds string }{
		{"", "understudy demo"},
		{"--help", "understudy COMMAND"},
		{"help", "scheduler"},
		{"work --help", "understudy work --queues mt_messages --jobs jobs.yml"},
		{"work -h", "$REDIS_PROVIDER"},
		{"help enqueue", "--args '[7,\"hello\"]' --jobs jobs.yml"},
		{"scheduler --help", "$RESQUE_SCHEDULER_INTERVAL"},
		{"demo --help", "understudy demo --once"},
		{"version --help", "tell the version"},
		{"", "look at delayed jobs"},
		{"delayed", "count delayed jobs"},
		{"delayed --help", "understudy delayed COMMAND"},
		{"delayed count --help", "understudy delayed count"},
		{"delayed ls --help", "understudy delayed ls --limit 20"},
		{"delayed run --help", "understudy delayed run --all --dry-run"},
		{"delayed rm --help", "don't ask"},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			t.Parallel()
			got := run(t, command{args: words(tt.line)})
			if got.number != 0 || !strings.Contains(got.stdout, tt.holds) || got.stderr != "" {
				t.Errorf("ends with %d, stderr %q, stdout\n%s", got.number, got.stderr, got.stdout)
			}
			for line := range strings.Lines(got.stdout) {
				if len([]rune(line)) > 81 || strings.Contains(line, "default: false") || strings.HasSuffix(line, " \n") {
					t.Errorf("a line too long, or noise: %q", line)
				}
			}
		})
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"version", "--version"} {
		got := run(t, command{args: words(line)})
		if got.number != 0 || !strings.HasPrefix(got.stdout, "understudy devel") || !strings.Contains(got.stdout, "(go1.") {
			t.Errorf("%s ends with %d: %s%s", line, got.number, got.stdout, got.stderr)
		}
	}
}

// TestRefusals ends each command that can't be tried with 2, a reason, and a
// line that works.
func TestRefusals(t *testing.T) {
	t.Parallel()
	jobs := jobsFile(t, map[string]string{"A": "exit 0"})
	broken := writeFile(t, "broken.yml", "jobs:\n  A:\n    exec: [./missing]\n    retry_limt: 3\n")
	missing := writeFile(t, "missing.yml", "jobs:\n  A:\n    exec: [./missing]\n")
	noQueue := writeFile(t, "noqueue.yml", "jobs:\n  A:\n    exec: [sh]\n")
	tests := []struct {
		name string
		args []string
		env  map[string]string
		says string
		try  string
	}{
		{"unknown command", words("wrk"), nil, "unknown command wrk", "understudy work --help"},
		{"unknown option", words("work --qeues a"), nil, "did you mean --queues?", "understudy work --help"},
		{"a switch with a value", words("demo --once=maybe"), nil, `invalid boolean value "maybe" for -once`, "understudy demo --help"},

		{"no queues", words("work --jobs", jobs), nil, "no queues: name them by --queues (or QUEUES)", "understudy work --queues high,low --jobs " + jobs},
		{"empty queues", words("work --jobs "+jobs, "--queues", ""), nil, "--queues: Queues is empty", "understudy work --queues high,low --jobs " + jobs},
		{"only commas", words("work --queues ,, --jobs", jobs), nil, "--queues: Queues is empty", "understudy work --queues high,low --jobs " + jobs},
		{"only commas in the variable", words("work --jobs", jobs), map[string]string{"QUEUES": ",,"}, "QUEUES: Queues is empty", "--queues high,low"},
		{"an empty variable", words("work --jobs", jobs), map[string]string{"QUEUES": "", "QUEUE": ""}, "no queues", "--queues high,low"},
		{"a weight", words("work --queues high=0 --jobs", jobs), nil, "a weight is a number from 1", "understudy work --queues high,low"},
		{"no handlers", words("work --queues a,*"), nil, "no handlers, so every job would fail", "understudy work --queues 'a,*' --jobs jobs.yml"},
		{"queues with blanks", []string{"work", "--queues", " a "}, nil, "no handlers", "understudy work --queues a --jobs jobs.yml"},
		{"no such file", words("work --queues a --jobs /nowhere/jobs.yml"), nil, "can't read the jobs file: open /nowhere/jobs.yml: no such file or directory: write it, such as\njobs:\n", ""},
		{"a wrong key", words("work --queues a --jobs", broken), nil, broken + ":4: A: unknown key retry_limt: did you mean retry_limit?", ""},
		{"a missing program", words("work --queues a --jobs", missing), nil, missing + ":3: A: exec: no program at ", ""},
		{"concurrency", words("work --queues a --concurrency many --jobs", jobs), nil, `--concurrency: "many" is no number from 1 to 10000`, "--concurrency 5"},
		{"COUNT", words("work --queues a --jobs", jobs), map[string]string{"COUNT": "0"}, `COUNT: "0" is no number`, "understudy work --queues a"},
		{"interval", words("work --queues a --interval soon --jobs", jobs), nil, `--interval: "soon" is no duration`, "--interval 5"},
		{"INTERVAL", words("work --queues a --jobs", jobs), map[string]string{"INTERVAL": "-1"}, `INTERVAL: "-1" is negative`, "--interval 5"},
		{"failures", words("work --queues a --failures redis --jobs", jobs), nil, `--failures is "redis": write list or per-queue`, "--failures per-queue"},
		{"FAILURE_BACKEND", words("work --queues a --jobs", jobs), map[string]string{"FAILURE_BACKEND": "multiple"}, `FAILURE_BACKEND is "multiple": write redis or redis_multi_queue`, "--failures per-queue"},
		{"an argument", words("work mail --queues a --jobs", jobs), nil, `work takes no arguments, but got "mail"`, "understudy work --queues a"},
		{"a wrong address", words("work --queues a --redis http://localhost --jobs", jobs), nil, "redis://", "--redis redis://localhost:6379"},
		{"an address as provider", words("work --queues a --jobs", jobs), map[string]string{"REDIS_PROVIDER": "redis://x"}, "REDIS_PROVIDER holds an address", "--redis redis://localhost:6379"},
		{"an empty provider", words("work --queues a --jobs", jobs), map[string]string{"REDIS_PROVIDER": "MY_REDIS", "REDIS_URL": "redis://localhost"}, "REDIS_PROVIDER names the variable MY_REDIS, which is empty", "understudy work"},

		{"no class", words("enqueue --queue q"), nil, "no class", "understudy enqueue DeliverSMS 7 --queue mt_messages"},
		{"no queue", words("enqueue Deliver::SMS 1"), nil, "no queue for Deliver::SMS", "understudy enqueue Deliver::SMS 1 --queue mt_messages"},
		{"no queue, options and odd words", words("enqueue A --front --args [7] --namespace", "a b"), nil, "no queue for A", "understudy enqueue A --queue mt_messages --args '[7]' --namespace 'a b' --front"},
		{"no queue, an argument like an option", words("enqueue A --in 5 -- --x"), nil, "no queue for A", "understudy enqueue --queue mt_messages --in 5 -- A --x"},
		{"no command like it", words("frobnicate"), nil, "unknown command frobnicate: the commands are work, enqueue, scheduler, schedule, delayed, demo, version", "understudy --help"},
		{"an option of others", words("enqueue A --queue q --verbose"), nil, "unknown option --verbose: those known here are --args, --at, --front, --help, --in, --jobs, --namespace, --queue, --redis (", "understudy enqueue --help"},
		{"an unknown class", words("enqueue B --jobs", jobs), nil, "knows no class B", "understudy enqueue B --queue mt_messages"},
		{"a class without queue", words("enqueue A --jobs", noQueue), nil, "gives A no queue", "understudy enqueue A --queue mt_messages"},
		{"a broken file", words("enqueue A --jobs", broken), nil, broken + ":4: A: unknown key retry_limt", "understudy enqueue A --queue mt_messages"},
		{"args twice", words("enqueue A 1 --args [2] --queue q"), nil, `not from both: got "1" too`, "understudy enqueue"},
		{"args no array", words("enqueue A --args {} --queue q"), nil, "--args is {}: write a JSON array", `--args '[7,"hello"]'`},
		{"args no JSON", words("enqueue A --args [1 --queue q"), nil, "--args is [1: write a JSON array", "understudy enqueue"},
		{"in and at", words("enqueue A --in 5 --at 5 --queue q"), nil, "--in and --at both say when", "--in 10m"},
		{"in", words("enqueue A --in soon --queue q"), nil, `--in: "soon" is no duration`, "--in 5"},
		{"at", words("enqueue A --at noon --queue q"), nil, `--at: "noon" is no moment`, "--at '2"},
		{"front and in", words("enqueue A --front --in 5 --queue q"), nil, "--front has no meaning for a job that waits", "--front"},

		{"scheduler argument", words("scheduler now"), nil, `scheduler takes no arguments, but got "now"`, "understudy scheduler"},
		{"scheduler interval", words("scheduler --interval often"), nil, `--interval: "often" is no duration`, "understudy scheduler --interval 5"},
		{"scheduler interval 0", words("scheduler --interval 0"), nil, "--interval is 0", "understudy scheduler --interval 1"},
		{"delayed argument", words("delayed ls all"), nil, `delayed ls takes no arguments, but got "all"`, "understudy delayed ls"},
		{"delayed args", words("delayed ls --args 7"), nil, `--args is "7": write a JSON array`, "understudy delayed ls --args '[7,\"hello\"]'"},
		{"delayed broken args", words("delayed ls --args [7"), nil, `--args is "[7": write a JSON array`, "understudy delayed ls --args"},
		{"delayed match", words("delayed ls --match", ""), nil, "--match is empty", "understudy delayed ls --match hello"},
		{"delayed before", words("delayed ls --before noon"), nil, `--before: "noon" is no moment`, "understudy delayed ls --before 2h"},
		{"delayed after", words("delayed count --after", "\x1b[2J"), nil, `--after: "\x1b[2J" is no moment`, "understudy delayed count --after 2h"},
		{"delayed limit", words("delayed ls --limit 0"), nil, `--limit: "0" is no number of at least 1`, "understudy delayed ls --limit 10"},
		{"delayed output", words("delayed ls --output yaml"), nil, `--output is "yaml": write text or json`, "understudy delayed ls --output json"},
		{"delayed by", words("delayed count --by age"), nil, `--by is "age": write class or queue`, "understudy delayed count --by class"},
		{"delayed all", words("delayed rm --redis redis://nowhere"), nil, "this would remove all delayed jobs: say --all", "understudy delayed rm --redis redis://nowhere --all --dry-run"},
		{"delayed all with a limit", words("delayed run --limit 5"), nil, "this would enqueue all delayed jobs", "understudy delayed run --limit 5 --all --dry-run"},
		{"delayed without a terminal", words("delayed rm --redis redis://:secret@nowhere --all --class", "it's"), nil, "no terminal to ask at", `understudy delayed rm --class 'it'\''s' --all --yes`},
		{"demo argument", words("demo twice"), nil, `demo takes no arguments`, "understudy demo --once"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := run(t, command{args: tt.args, env: tt.env})
			last := got.stderr[strings.LastIndex(strings.TrimSuffix(got.stderr, "\n"), "\n")+1:]
			if got.number != 2 || !strings.HasPrefix(got.stderr, "understudy: ") || !strings.Contains(got.stderr, tt.says) {
				t.Errorf("ends with %d and says\n%s", got.number, got.stderr)
			}
			if tt.try == "" {
				if strings.Contains(got.stderr, "try: ") {
					t.Errorf("suggests something in\n%s", got.stderr)
				}
			} else if !strings.HasPrefix(last, "try: understudy ") || last != strings.TrimSpace(last)+"\n" || !strings.Contains(last, tt.try) {
				t.Errorf("its last line is %q, want one with %q", last, tt.try)
			}
			if got.stdout != "" {
				t.Errorf("writes %q", got.stdout)
			}
		})
	}
}

func TestNoRedis(t *testing.T) {
	t.Parallel()
	port := redistest.FreePort(t)
	address := "redis://user:secret@127.0.0.1:" + port
	got := run(t, command{args: words("enqueue A --queue q --redis", address)})
	if got.number != 1 || !strings.Contains(got.stderr, "no Redis at redis://user:xxxxx@127.0.0.1:"+port) || strings.Contains(got.stderr, "secret") {
		t.Errorf("ends with %d: %s", got.number, got.stderr)
	}
}

// TestRedisRefuses: a server that answers isn't one that doesn't run.
func TestRedisRefuses(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	server.RequireAuth("right")
	for _, address := range []string{"redis://" + server.Addr(), "redis://:wrong-secret@" + server.Addr()} {
		got := run(t, command{args: words("enqueue A --queue q --redis", address)})
		if got.number != 1 || !strings.Contains(got.stderr, " refuses: Redis refused the login") || strings.Contains(got.stderr, "Is it running") || strings.Contains(got.stderr, "wrong-secret") {
			t.Errorf("ends with %d: %s", got.number, got.stderr)
		}
	}
}

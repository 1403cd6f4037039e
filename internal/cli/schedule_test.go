package cli_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
)

const goodSchedule = `
caches:
  cron: "30 2 * * *"
  class: ClearCaches
  queue: low
poll:
  every: ["6h", {first_in: "5m"}]
  class: PollFeeds
berlin:
  cron: "15,45 2 * * * Europe/Berlin"
  queue: low
mail:
  every: 90m
  queue: low
  rails_env: production
`

func TestScheduleCheck(t *testing.T) {
	t.Parallel()
	good := writeFile(t, "good.yml", goodSchedule)
	bad := writeFile(t, "bad.yml", "a:\n  cron: \"99 * * * *\"\nb:\n  every: soon\n  class: X\n")
	odd := writeFile(t, "odd.yml", "a:\n  every: 1h30\n  queue: q\n")
	never := writeFile(t, "never.yml", "a:\n  cron: [\"0 0 1 1 *\", {last_at: \"2020-01-01 00:00:00 UTC\"}]\n  queue: q\n")
	jobs := writeFile(t, "jobs.yml", "jobs:\n  PollFeeds: {queue: feeds, exec: [/bin/true]}\n")
	poll := "warning: " + good + ":6: poll: has no queue, and its class PollFeeds has none here"
	mail := "warning: " + good + `:12: mail: is only for "production", and never fires`
	for name, c := range map[string]struct {
		args   []string
		env    map[string]string
		number int
		lines  []string // beginnings of those on standard output
		says   string
	}{
		"good, nothing known":    {words(good), nil, 0, []string{poll, mail + " without an environment", good + ": 4 jobs, no fault, 2 warnings"}, ""},
		"its environment":        {words(good + " --env production --jobs " + jobs), nil, 0, []string{good + ": 4 jobs, no fault, 0 warnings"}, ""},
		"by Ruby's variable":     {words(good + " --jobs " + jobs), map[string]string{"RAILS_ENV": "production"}, 0, []string{good + ": 4 jobs, no fault, 0 warnings"}, ""},
		"another environment":    {words(good + " --env test --jobs " + jobs), map[string]string{"RAILS_ENV": "production"}, 0, []string{mail + ` in "test"`, good + ": 4 jobs, no fault, 1 warning"}, ""},
		"every fault":            {words(bad), nil, 1, []string{"fault: " + bad + `:2: a: cron "99 * * * *": minute 99: 0 to 59`, "fault: " + bad + `:4: b: every "soon"`}, "understudy: 2 faults: a scheduler would not start"},
		"several files":          {words(bad + " " + odd), nil, 1, []string{"fault: " + bad, "fault: " + bad, "warning: " + odd + ":2: a: ", odd + ": 1 job, no fault, 1 warning"}, "2 faults"},
		"an hour and 30 seconds": {words(odd), nil, 0, []string{"warning: " + odd + `:2: a: `, odd + ": 1 job, no fault, 1 warning"}, ""},
		"never fires":            {words(never), nil, 0, []string{"warning: " + never + ":1: a: never fires again", never + ": 1 job, no fault, 1 warning"}, ""},
		"no file":                {nil, nil, 2, nil, "which file? Name it, or - for standard input\ntry: understudy schedule check schedule.yml"},
		"no such file":           {words("gone.yml"), nil, 2, nil, "there is no file gone.yml: write it, such as\n"},
		"no such zone":           {words(good + " --tz Mars/Olympus"), nil, 2, nil, `"Mars/Olympus" is no time zone: write a name such as Europe/Stockholm or UTC` + "\ntry: understudy schedule check " + good + " --tz Europe/Stockholm"},
		"a device":               {words("/dev/zero"), nil, 1, []string{"fault: /dev/zero: holds more than 16 MB"}, "1 fault"},
		"no such jobs":           {words(good + " --jobs gone.yml"), nil, 2, nil, "gone.yml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := run(t, command{args: append(words("schedule check"), c.args...), env: c.env})
			if got.number != c.number || !strings.Contains(got.stderr, c.says) {
				t.Errorf("ends with %d: %s", got.number, got.stderr)
			}
			lines := strings.Split(strings.TrimSuffix(got.stdout, "\n"), "\n")
			if got.stdout == "" {
				lines = nil
			}
			if len(lines) != len(c.lines) {
				t.Fatalf("%d lines, want %d:\n%s", len(lines), len(c.lines), got.stdout)
			}
			for i, want := range c.lines {
				if !strings.HasPrefix(lines[i], want) {
					t.Errorf("line %d is\n%s\nwant\n%s", i, lines[i], want)
				}
			}
		})
	}
}

func TestScheduleCheckForPrograms(t *testing.T) {
	t.Parallel()
	path := writeFile(t, "s.yml", "a:\n  cron: \"99 * * * *\"\n")
	odd := writeFile(t, "o.yml", "a:\n  every: 1h30\n  queue: q\n")
	got := run(t, command{args: words("schedule check --output json " + path + " " + odd)})
	var kinds []string
	for line := range strings.Lines(got.stdout) {
		f := map[string]any{}
		if err := json.Unmarshal([]byte(line), &f); err != nil || f["line"] != 2.0 || f["name"] != "a" || f["text"] == "" || f["file"] == nil {
			t.Errorf("%s: %v", line, err)
		}
		kinds = append(kinds, fmt.Sprint(f["kind"]))
	}
	if diff := cmp.Diff([]string{"fault", "warning"}, kinds); diff != "" || got.number != 1 {
		t.Errorf("ends with %d: %s", got.number, diff)
	}
}

// Every firing is listed, the times that clocks skip and those that come twice
// among them.
func TestScheduleNext(t *testing.T) {
	t.Parallel()
	path := writeFile(t, "good.yml", goodSchedule)
	const gone = "doesn't exist: clocks go forward, so it doesn't fire"
	for name, c := range map[string]struct {
		args string
		want []string // time, name, note
	}{
		"clocks go forward": {"caches berlin --from 2026-03-28T12:00 --to 48h --tz Europe/Stockholm", []string{
			"2026-03-29 02:15:00 ----- berlin low berlin 02:15:00 " + gone,
			"2026-03-29 02:45:00 ----- berlin low berlin 02:45:00 " + gone,
			"2026-03-29 02:30:00 ----- caches low ClearCaches 02:30:00 " + gone,
			"2026-03-30 02:15:00 +0200 CEST berlin low berlin",
			"2026-03-30 02:30:00 +0200 CEST caches low ClearCaches",
			"2026-03-30 02:45:00 +0200 CEST berlin low berlin",
		}},
		"clocks go back": {"caches berlin --from 2026-10-24T12:00 --to 24h --tz Europe/Stockholm", []string{
			"2026-10-25 02:15:00 +0200 CEST berlin low berlin clocks go back: the first of two such times",
			"2026-10-25 02:30:00 +0200 CEST caches low ClearCaches clocks go back: the first of two such times",
			"2026-10-25 02:45:00 +0200 CEST berlin low berlin clocks go back: the first of two such times",
			"2026-10-25 02:15:00 +0100 CET berlin low berlin clocks went back: the second of two such times",
			"2026-10-25 02:45:00 +0100 CET berlin low berlin clocks went back: the second of two such times",
		}},
		"in the line's own zone": {"berlin --from 2026-03-28T12:00 --to 2026-03-29T12:00 --tz UTC", []string{
			"2026-03-29 02:15:00 ----- berlin low berlin 02:15:00 " + gone,
			"2026-03-29 02:45:00 ----- berlin low berlin 02:45:00 " + gone,
		}},
		"some, and no more": {"poll caches --from 2026-01-01T00:00:00Z --tz UTC --limit 3", []string{
			"2026-01-01 00:05:00 +0000 UTC poll PollFeeds",
			"2026-01-01 02:30:00 +0000 UTC caches low ClearCaches",
			"2026-01-01 06:05:00 +0000 UTC poll PollFeeds",
		}},
		"a century": {"berlin --from 2040-01-01T00:00:00Z --to 2140-01-01 --tz UTC --limit 1", []string{
			"2040-01-01 01:15:00 +0000 UTC berlin low berlin",
		}},
		"the last year": {"mail --env production --from 9999-12-31T00:00:00Z --to 3h --tz Europe/Berlin --limit 1", []string{
			"9999-12-31 02:30:00 +0100 CET mail low mail",
		}},
		"an environment": {"mail --from 2026-01-01T00:00:00Z --to 3h --tz UTC --env production", []string{
			"2026-01-01 01:30:00 +0000 UTC mail low mail", "2026-01-01 03:00:00 +0000 UTC mail low mail",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := run(t, command{args: words("schedule next " + path + " " + c.args)})
			lines := strings.Split(strings.TrimSpace(got.stdout), "\n")
			for i := range lines {
				lines[i] = strings.Join(strings.Fields(lines[i]), " ")
			}
			if diff := cmp.Diff(append([]string{"TIME NAME QUEUE CLASS NOTE"}, c.want...), lines); diff != "" || got.number != 0 {
				t.Errorf("ends with %d: %s\n%s", got.number, got.stderr, diff)
			}
		})
	}
}

func TestScheduleNextForPrograms(t *testing.T) {
	t.Parallel()
	path := writeFile(t, "good.yml", goodSchedule)
	got := run(t, command{args: words("schedule next " + path + " berlin --from 2026-03-28T12:00 --to 47h --tz Europe/Berlin --limit 3 --output json")})
	want := `{"at":"2026-03-29T03:00:00+02:00","name":"berlin","class":"berlin","queue":"low","fires":false,"note":"02:15:00 doesn't exist: clocks go forward, so it doesn't fire"}
{"at":"2026-03-29T03:00:00+02:00","name":"berlin","class":"berlin","queue":"low","fires":false,"note":"02:45:00 doesn't exist: clocks go forward, so it doesn't fire"}
{"at":"2026-03-30T02:15:00+02:00","name":"berlin","class":"berlin","queue":"low","fires":true}
`
	if diff := cmp.Diff(want, got.stdout); diff != "" {
		t.Error(diff)
	}
}

func TestScheduleNextSaysWhyNothingIsThere(t *testing.T) {
	t.Parallel()
	path := writeFile(t, "good.yml", goodSchedule)
	for args, says := range map[string]string{
		path + " caches --from 2026-01-01T03:00:00Z --to 1h --tz UTC": "nothing fires between 2026-01-01 03:00:00 +0000 UTC and 2026-01-01 04:00:00 +0000 UTC; the next is caches at 2026-01-02 02:30:00 +0000 UTC",
		path + " mail --tz UTC":               ", nor later",
		path + " nobody":                      "has no job \"nobody\"\ntry: understudy schedule next " + path + "\n",
		path + " --to -1h":                    "--to is not behind --from",
		path + " --to soon":                   `"soon" is no moment`,
		path + " --limit 0":                   "is no number of at least 1",
		"":                                    "which file?",
		writeFile(t, "b.yml", "a: {cron: x}"): "b.yml:1: a: cron",
	} {
		if got := run(t, command{args: words("schedule next " + args)}); !strings.Contains(got.stderr, says) || got.stdout != "" {
			t.Errorf("%s: %d, %s%s", args, got.number, got.stdout, got.stderr)
		}
	}
}

// A scheduler fires the jobs of its file, prints them at USR1, and reads them anew
// at USR2; a file with a fault changes nothing.
func TestSchedulerFollowsItsFile(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	path := writeFile(t, "s.yml", "soon:\n  every: [1h, {first_in: 0s}]\n  class: Soon\nother:\n  every: [1h, {first_in: 0s}]\n  queue: q\n  env: test\n")
	jobs := writeFile(t, "jobs.yml", "jobs:\n  Soon: {queue: q, exec: [/bin/true]}\n")
	signals, others, stderr, ended := make(chan os.Signal), make(chan os.Signal), newWatched(), make(chan result, 1)
	env := map[string]string{"RAILS_ENV": "production", "LOCK_TIMEOUT": "20", "DELAYED_REQUEUE_BATCH_SIZE": "7", "LOGFILE": "x.log"}
	go func() {
		ended <- run(t, command{args: on(s, words("scheduler --interval 0.05 --tz UTC --schedule "+path+" --jobs "+jobs)...), env: env, signals: signals, others: others, stderr: stderr})
	}()
	stderr.await(t, "enqueueing 2 recurring jobs of "+path)
	stderr.await(t, "variable=LOGFILE")
	queued := func(job string) {
		t.Helper()
		for began := time.Now(); s.Do("LPOS", s.Key("queue:q"), job) == nil; {
			if time.Since(began) > 10*time.Second {
				t.Fatalf("%s is never enqueued: %s", job, stderr)
			}
		}
	}
	queued(`{"class":"Soon","args":[]}`)
	if ttl, ok := s.Do("PTTL", s.Key(s.Namespace()+":resque_scheduler_master_lock")).(int64); !ok || ttl > 20_000 || ttl < 1 {
		t.Errorf("the lock lives %d ms", ttl)
	}
	others <- syscall.SIGUSR1
	stderr.await(t, "2 recurring jobs in the schedule")
	stderr.await(t, "\nsoon          Soon   1h     20")

	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("soon:\n  cron: nonsense\nlater:\n  every: x\n")
	others <- syscall.SIGUSR2
	stderr.await(t, "s.yml:2: soon: cron")
	stderr.await(t, "s.yml:4: later: every")
	if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	others <- syscall.SIGUSR2
	stderr.await(t, "is no file that can be read again at USR2")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write("later:\n  every: [1h, {first_in: 0s}]\n  class: Later\n  queue: q\n")
	others <- syscall.SIGUSR2
	stderr.await(t, "read the schedule anew")
	queued(`{"class":"Later","args":[]}`)
	others <- syscall.SIGUSR1
	stderr.await(t, "1 recurring job in the schedule")
	signals <- syscall.SIGTERM
	if got := <-ended; got.number != 0 {
		t.Errorf("ends with %d: %s", got.number, got.stderr)
	}
	if n := s.Do("LLEN", s.Key("queue:q")); n != int64(2) {
		t.Errorf("the queue holds %v", s.Do("LRANGE", s.Key("queue:q"), 0, -1))
	}
}

// Ruby's set_schedule reaches a running scheduler that is dynamic, by option or by
// Ruby's variable.
func TestSchedulerIsDynamic(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args string
		env  map[string]string
	}{"option": {"--dynamic", nil}, "variable": {"", map[string]string{"DYNAMIC_SCHEDULE": "1"}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.New(t)
			signals, stderr, ended := make(chan os.Signal), newWatched(), make(chan result, 1)
			go func() {
				ended <- run(t, command{args: on(s, words("scheduler --verbose --interval 0.05 "+c.args)...), env: c.env, signals: signals, stderr: stderr})
			}()
			stderr.await(t, "this scheduler is the master")
			s.Do("HSET", s.Key("persistent_schedules"), "soon", `{"every":["1h",{"first_in":"0s"}],"class":"Soon","queue":"q"}`)
			s.Do("SADD", s.Key("schedules_changed"), "soon")
			for began := time.Now(); s.Do("LLEN", s.Key("queue:q")) == int64(0); {
				if time.Since(began) > 10*time.Second {
					t.Fatalf("it never fires: %s", stderr)
				}
			}
			signals <- syscall.SIGTERM
			if got := <-ended; got.number != 0 {
				t.Errorf("ends with %d: %s", got.number, got.stderr)
			}
		})
	}
}

func TestSchedulerRefuses(t *testing.T) {
	t.Parallel()
	bad := writeFile(t, "bad.yml", "a:\n  cron: x\nb:\n  every: y\n")
	for args, says := range map[string]string{
		"--schedule " + bad:       "bad.yml:4: b: every",
		"--schedule gone.yml":     "there is no file gone.yml: write it, such as\n",
		"--tz Mars":               "--tz: \"Mars\" is no time zone",
		"--lock-timeout soon":     "--lock-timeout: ",
		"--lock-timeout 0.5":      "LockTimeout is less than a second: use 0 for Ruby's 180 s\ntry: understudy scheduler --lock-timeout 180",
		"--batch 0":               "--batch: ",
		"--batch 9000":            "Batch is 9000: use 1 to 5000",
		"--schedule /dev/null":    "/dev/null is no file that can be read again at USR2",
		"--jobs gone.yml":         "gone.yml",
		"--schedule " + bad + " ": "try: understudy schedule check " + bad,
	} {
		s := redistest.New(t)
		if got := run(t, command{args: on(s, words("scheduler "+args)...)}); got.number != 2 || !strings.Contains(got.stderr, says) {
			t.Errorf("%s: %d, %s", args, got.number, got.stderr)
		}
	}
}

// What ends before it works leaves no process id behind.
func TestARefusedScheduleLeavesNoPIDFile(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	s.Seed(map[string]any{"persistent_schedules": "a text"})
	path := writeFile(t, "s.yml", "a:\n  every: 1h\n  queue: q\n  persist: true\n")
	pid := filepath.Join(t.TempDir(), "pid")
	got := run(t, command{args: on(s, words("scheduler --schedule "+path+" --pidfile "+pid)...)})
	if _, err := os.Stat(pid); got.number != 1 || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("ends with %d, %v: %s", got.number, err, got.stderr)
	}
}

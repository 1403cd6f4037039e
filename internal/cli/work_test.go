package cli_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/understudy/internal/redistest"
)

func TestWorkUntilEmpty(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		t.Helper()
		out := filepath.Join(t.TempDir(), "out")
		jobs := jobsFile(t, map[string]string{
			"Good": `payload=$(cat); echo "$payload" >> "` + out + `"`,
			"Bad":  `echo boom >&2; exit 1`,
			"Flaky": `test "$RESQUE_ATTEMPT" = 2 && exit 0
				echo '{"exception":"NetworkError","error":"attempt '$RESQUE_ATTEMPT'"}' >&2; exit 1`,
		}, "retry_limit: 2")
		past := strconv.FormatInt(time.Now().Unix()-60, 10)
		delayed := `{"class":"Good","args":["delayed"],"queue":"own"}`
		s.Seed(map[string]any{
			"queues":                 redistest.Set{"own", "other"},
			"queue:own":              redistest.List{`{"class":"Good","args":[1]}`, `{"class":"Bad","args":[]}`, `{"class":"Flaky","args":[]}`, `{"class":"Unknown","args":[]}`},
			"queue:other":            redistest.List{`{"class":"Good","args":[2]}`},
			"delayed_queue_schedule": redistest.ZSet{past: float64(time.Now().Unix() - 60), "9999999999": 9999999999},
			"delayed:" + past:        redistest.List{delayed},
			"delayed:9999999999":     redistest.List{delayed},
			"timestamps:" + delayed:  redistest.Set{"delayed:" + past, "delayed:9999999999"},
		})
		got := run(t, command{args: on(s, "work", "--queues", "*", "--jobs", jobs, "--until-empty")})
		if got.number != 0 {
			t.Fatalf("ends with %d: %s", got.number, got.stderr)
		}
		text, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`{"class":"Good","args":[1]}`, `{"class":"Good","args":[2]}`, `{"class":"Good","args":["delayed"]}`} {
			if strings.Count(string(text), want+"\n") != 1 {
				t.Errorf("%s is not once in\n%s", want, text)
			}
		}
		// 3 good ones, 3 runs each of Bad and Flaky, 1 unknown.
		for key, want := range map[string]any{"stat:processed": "10", "stat:failed": "6"} {
			if n := s.Do("GET", s.Key(key)); n != want {
				t.Errorf("%s is %v, want %v", key, n, want)
			}
		}
		records := fmt.Sprint(s.Do("LRANGE", s.Key("failed"), 0, -1))
		if strings.Count(records, `"failed_at"`) != 2 || !strings.Contains(records, `"exception":"RuntimeError","error":"boom"`) || !strings.Contains(records, `"error":"uninitialized constant Unknown"`) {
			t.Errorf("failed holds %s", records)
		}
		if n := s.Do("SCARD", s.Key("workers")); n != int64(0) {
			t.Errorf("%v workers are left", n)
		}
		if n := s.Do("ZCARD", s.Key("delayed_queue_schedule")); n != int64(1) {
			t.Errorf("%v times are left", n)
		}
		if n := s.Do("EXISTS", s.Key(s.Namespace()+":resque_scheduler_master_lock"), s.Key("resque:resque_scheduler_master_lock")); n != int64(0) {
			t.Error("the scheduler's lock is left")
		}
	})
}

// TestWorkUntilEmptyWaitsForTheMaster: another scheduler moves what is due.
func TestWorkUntilEmptyWaitsForTheMaster(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	past := strconv.FormatInt(time.Now().Unix()-60, 10)
	item := `{"class":"Good","args":[],"queue":"own"}`
	lock := s.Namespace() + ":resque_scheduler_master_lock"
	s.Seed(map[string]any{
		lock:                     "other:1",
		"delayed:" + past:        redistest.List{item},
		"timestamps:" + item:     redistest.Set{"delayed:" + past},
		"delayed_queue_schedule": redistest.ZSet{past: float64(time.Now().Unix() - 60)},
	})
	jobs := jobsFile(t, map[string]string{"Good": "exit 0"})
	stderr, ended := newWatched(), make(chan result, 1)
	go func() {
		ended <- run(t, command{args: on(s, words("work --queues * --until-empty --verbose --jobs", jobs)...), stderr: stderr})
	}()
	stderr.await(t, "worker registered")
	for range 100 {
		s.Do("PING")
	}
	s.Do("DEL", s.Key(lock)) // the master dies
	if got := <-ended; got.number != 0 || s.Do("GET", s.Key("stat:processed")) != "1" {
		t.Errorf("ends with %d before the job is done: %s", got.number, got.stderr)
	}
}

func TestWorkFollowsTheFailureOptions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		args    []string
		env     map[string]string
		list    string
		records int64
	}{
		{"default", nil, nil, "failed", 1},
		{"no-suppress", []string{"--no-suppress"}, nil, "failed", 2},
		{"per queue", words("--failures per-queue"), nil, "own_failed", 1},
		{"per queue, all", words("--no-suppress --failures per-queue"), nil, "own_failed", 2},
		{"by the variable", nil, map[string]string{"FAILURE_BACKEND": "redis_multi_queue"}, "own_failed", 1},
		{"Ruby's default by the variable", nil, map[string]string{"FAILURE_BACKEND": "redis"}, "failed", 1},
		{"an empty variable", nil, map[string]string{"FAILURE_BACKEND": ""}, "failed", 1},
		{"the option first", words("--failures list"), map[string]string{"FAILURE_BACKEND": "redis_multi_queue"}, "failed", 1},
	}
	jobs := jobsFile(t, map[string]string{"Bad": "exit 1"}, "retry_limit: 1")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := redistest.New(t)
			s.Seed(map[string]any{"queues": redistest.Set{"own"}, "queue:own": redistest.List{`{"class":"Bad","args":[]}`}})
			env := map[string]string{"INTERVAL": "0", "QUEUE": "own"} // Ruby: ends when nothing is left
			maps.Copy(env, tt.env)
			got := run(t, command{args: on(s, append(words("work --jobs", jobs), tt.args...)...), env: env})
			if got.number != 0 {
				t.Fatalf("ends with %d: %s", got.number, got.stderr)
			}
			if n := s.Do("LLEN", s.Key(tt.list)); n != tt.records {
				t.Errorf("%s holds %v records, want %d", tt.list, n, tt.records)
			}
		})
	}
}

func TestWorkFollowsTheJobsFile(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	s.Seed(map[string]any{"queues": redistest.Set{"q"}, "queue:q": redistest.List{`{"class":"Bad","args":[]}`, `{"class":"Slow","args":[]}`}})
	path := writeFile(t, "jobs.yml", `
jobs:
  Bad: {queue: own, exec: [sh, -c, exit 1], retry_limit: 1}
  Slow: {exec: [sleep, 1000], timeout: 0.05}
`)
	if got := run(t, command{args: on(s, words("work --queues q --until-empty --jobs", path)...)}); got.number != 0 {
		t.Fatalf("ends with %d: %s", got.number, got.stderr)
	}
	if job := s.Do("LINDEX", s.Key("queue:own"), 0); job != `{"class":"Bad","args":[]}` {
		t.Errorf("the retry is not in the class's own queue: %v", job)
	}
	if records := fmt.Sprint(s.Do("LRANGE", s.Key("failed"), 0, -1)); strings.Count(records, "failed_at") != 1 || !strings.Contains(records, `"exception":"Timeout::Error"`) {
		t.Errorf("failed holds %s", records)
	}
}

func TestWorkStops(t *testing.T) {
	t.Parallel()
	tests := []struct {
		signal os.Signal
		says   string
	}{
		{syscall.SIGTERM, "terminated: waiting up to 10 s for the running jobs; once more cancels them and gives them back"},
		{os.Interrupt, "interrupt: waiting up to 10 s"},
		{syscall.SIGQUIT, "quit: taking no more jobs, waiting for the running ones; once more cancels"},
	}
	for _, tt := range tests {
		t.Run(tt.signal.String(), func(t *testing.T) {
			t.Parallel()
			s := redistest.New(t)
			gate := filepath.Join(t.TempDir(), "gate")
			if err := syscall.Mkfifo(gate, 0o600); err != nil {
				t.Fatal(err)
			}
			jobs := jobsFile(t, map[string]string{"Slow": `echo begun; read line < "` + gate + `"`})
			s.Seed(map[string]any{"queues": redistest.Set{"q"}, "queue:q": redistest.List{
				`{"class":"Slow","args":[1]}`, `{"class":"Slow","args":[2]}`,
			}})
			signals, stderr := make(chan os.Signal), newWatched()
			ended := make(chan result, 1)
			go func() {
				ended <- run(t, command{
					args:    on(s, words("work --queues q --interval 0.05 --jobs", jobs)...),
					env:     map[string]string{"COUNT": "1", "VERBOSE": "1"},
					signals: signals, stderr: stderr,
				})
			}()
			stderr.await(t, "Slow: begun")
			signals <- tt.signal
			stderr.await(t, tt.says)
			if err := os.WriteFile(gate, []byte("go\n"), 0o600); err != nil { // the running job may finish
				t.Fatal(err)
			}
			got := <-ended
			if got.number != 0 || !strings.Contains(got.stderr, "job finished") {
				t.Errorf("ends with %d: %s", got.number, got.stderr)
			}
			if n := s.Do("LLEN", s.Key("queue:q")); n != int64(1) {
				t.Errorf("%v jobs are left in the queue", n)
			}
			if n := s.Do("GET", s.Key("stat:processed")); n != "1" {
				t.Errorf("%v jobs were processed", n)
			}
			if n := s.Do("SCARD", s.Key("workers")); n != int64(0) {
				t.Errorf("%v workers are left", n)
			}
		})
	}
}

// TestASecondSignalHurries: the running job is cancelled and given back at once,
// and a third signal is nobody's here.
func TestASecondSignalHurries(t *testing.T) {
	t.Parallel()
	for _, first := range []os.Signal{syscall.SIGTERM, os.Interrupt, syscall.SIGQUIT} {
		t.Run(first.String(), func(t *testing.T) {
			t.Parallel()
			s := redistest.New(t)
			jobs := jobsFile(t, map[string]string{"Slow": `echo begun; exec sleep 60`})
			const job = `{"class":"Slow","args":[1]}`
			s.Seed(map[string]any{"queues": redistest.Set{"q"}, "queue:q": redistest.List{job}})
			signals, stderr := make(chan os.Signal), newWatched()
			ended := make(chan result, 1)
			go func() {
				ended <- run(t, command{
					args: on(s, words("work --queues q --jobs", jobs)...), signals: signals, stderr: stderr,
				})
			}()
			stderr.await(t, "Slow: begun")
			signals <- first
			stderr.await(t, "once more cancels")
			signals <- syscall.SIGTERM
			stderr.await(t, "terminated: cancelling the running jobs")
			select {
			case signals <- syscall.SIGTERM:
				t.Error("the third signal is caught")
			case got := <-ended:
				if got.number != 0 {
					t.Errorf("ends with %d: %s", got.number, got.stderr)
				}
			}
			if got := s.Do("LINDEX", s.Key("queue:q"), 0); got != job {
				t.Errorf("the queue holds %v", got)
			}
			if n := s.Do("EXISTS", s.Key("stat:failed"), s.Key("failed")); n != int64(0) {
				t.Error("the job was recorded as failed")
			}
		})
	}
}

func TestWorkLogsAsMuchAsAsked(t *testing.T) {
	t.Parallel()
	jobs := jobsFile(t, map[string]string{"Bad": "exit 1"}, "retry_limit: 1")
	tests := []struct {
		env       map[string]string
		args      []string
		has, lack string
	}{
		{nil, nil, "level=WARN", "level=INFO"},
		{map[string]string{"VERBOSE": "", "LOGGING": ""}, nil, "level=WARN", "level=INFO"},
		{map[string]string{"VERBOSE": "0"}, nil, "level=INFO", "level=DEBUG"},
		{map[string]string{"LOGGING": "1"}, nil, "level=INFO", "level=DEBUG"},
		{map[string]string{"VVERBOSE": "yes"}, nil, "level=DEBUG", "level=ERROR"},
		{nil, []string{"--verbose"}, "level=INFO", "level=DEBUG"},
		{nil, []string{"--vverbose"}, "level=DEBUG", "level=ERROR"},
		{map[string]string{"VERBOSE": "1"}, []string{"--verbose=false"}, "level=WARN", "level=INFO"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.env, tt.args), func(t *testing.T) {
			t.Parallel()
			s := redistest.New(t)
			s.Seed(map[string]any{"queues": redistest.Set{"q"}, "queue:q": redistest.List{`{"class":"Bad","args":[]}`}})
			got := run(t, command{args: on(s, append(words("work --queues q --until-empty --jobs", jobs), tt.args...)...), env: tt.env})
			if got.number != 0 || !strings.Contains(got.stderr, tt.has) || strings.Contains(got.stderr, tt.lack) {
				t.Errorf("ends with %d and says\n%s", got.number, got.stderr)
			}
		})
	}
}

// TestWorkTellsOfFailures: the log says when a job is tried again, how long a run
// took in numbers that people read, and what to do about an unknown class.
func TestWorkTellsOfFailures(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	jobs := jobsFile(t, map[string]string{"Bad": "exit 1"}, "retry_delay: 90")
	s.Seed(map[string]any{"queues": redistest.Set{"q"}, "queue:q": redistest.List{`{"class":"Bad","args":[]}`, `{"class":"Unknown","args":[]}`}})
	got := run(t, command{args: on(s, words("work --queues q --until-empty --jobs", jobs)...)})
	for _, want := range []string{
		` class=Bad queue=q attempt=0 duration=\d+(\.\d\d?)?m?s outcome=\S+ exception=RuntimeError error="exit status 1" retry_in=1m30s\n`,
		` class=Unknown .* exception=NameError error="uninitialized constant Unknown" hint="whoever works a queue must know every class on it`,
	} {
		if !regexp.MustCompile(want).MatchString(got.stderr) {
			t.Errorf("%s doesn't match\n%s", want, got.stderr)
		}
	}
}

func TestWorkAnnouncesItself(t *testing.T) {
	t.Parallel()
	const warning = "no scheduler runs here: retries with a delay wait until one does (understudy scheduler, or Ruby's)"
	tests := []struct {
		name, option, prefix, lock string
		warns                      int
	}{
		{"no delay", "retry_limit: 3", "", "", 0},
		{"a delay", "retry_delay: 60", "", "", 1},
		{"a scheduler", "retry_delay: 60", "", "resque_scheduler_master_lock", 0},
		{"a scheduler of another prefix", "retry_delay: 60", "mine", "resque_scheduler_master_lock", 1},
		{"a scheduler with a prefix", "retry_delay: 60", "mine", "mine:resque_scheduler_master_lock", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := redistest.New(t)
			if tt.lock != "" {
				s.Do("SET", s.Key(s.Namespace()+":"+tt.lock), "host:1")
			}
			signals, stderr := make(chan os.Signal), newWatched()
			ended := make(chan result, 1)
			jobs := jobsFile(t, map[string]string{"A": "exit 0"}, tt.option)
			go func() {
				ended <- run(t, command{
					args: on(s, words("work --verbose --queues q,* --jobs", jobs)...), signals: signals, stderr: stderr,
					env: map[string]string{"RESQUE_SCHEDULER_MASTER_LOCK_PREFIX": tt.prefix},
				})
			}()
			stderr.await(t, "msg=performing classes=A queues=q,*")
			signals <- syscall.SIGTERM
			if got := <-ended; got.number != 0 || strings.Count(got.stderr, warning) != tt.warns {
				t.Errorf("ends with %d: %s", got.number, got.stderr)
			}
		})
	}
}

// C13 lantins/resque-retry#37: nobody knew what happens where no scheduler runs.
// Jobs run, retries with a delay wait where any scheduler finds them, and the log
// says that they do.
func TestReportWithoutAScheduler(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	jobs := jobsFile(t, map[string]string{"Good": "exit 0", "Bad": "exit 1"}, "retry_delay: 1")
	s.Seed(map[string]any{"queues": redistest.Set{"own"}, "queue:own": redistest.List{`{"class":"Bad","args":[]}`, `{"class":"Good","args":[]}`}})
	signals, stderr, ended := make(chan os.Signal), newWatched(), make(chan result, 1)
	go func() {
		ended <- run(t, command{args: on(s, words("work --verbose --queues own --jobs", jobs)...), signals: signals, stderr: stderr})
	}()
	stderr.await(t, "no scheduler runs here: retries with a delay wait until one does")
	stderr.await(t, "class=Bad queue=own")
	stderr.await(t, "class=Good queue=own")
	signals <- syscall.SIGTERM
	if got := <-ended; got.number != 0 {
		t.Errorf("ends with %d: %s", got.number, got.stderr)
	}
	times, _ := s.Do("ZRANGE", s.Key("delayed_queue_schedule"), 0, -1).([]any)
	if len(times) != 1 {
		t.Fatalf("the times are %v", times)
	}
	if waiting := s.Do("LRANGE", s.Key("delayed:"+fmt.Sprint(times[0])), 0, -1); fmt.Sprint(waiting) != `[{"class":"Bad","args":[],"queue":"own"}]` {
		t.Errorf("%v is waiting", waiting)
	}
}

func TestWorkWritesItsPIDFile(t *testing.T) {
	t.Parallel()
	jobs := jobsFile(t, map[string]string{"A": "exit 0"})
	for _, by := range []string{"option", "variable"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			s := redistest.New(t)
			path := filepath.Join(t.TempDir(), "pid")
			c := command{args: on(s, words("work --queues q --until-empty --jobs", jobs)...)}
			if by == "option" {
				c.args = append(c.args, "--pidfile", path)
			} else {
				c.env = map[string]string{"PIDFILE": path}
			}
			if got := run(t, c); got.number != 0 {
				t.Fatal(got.stderr)
			}
			text, err := os.ReadFile(path)
			if err != nil || string(text) != strconv.Itoa(os.Getpid()) {
				t.Errorf("the file holds %q, %v", text, err)
			}
		})
	}
	s := redistest.New(t)
	got := run(t, command{args: on(s, words("work --queues q --until-empty --pidfile /nowhere/pid --jobs", jobs)...)})
	if got.number != 1 || !strings.Contains(got.stderr, "--pidfile: open /nowhere/pid") {
		t.Errorf("ends with %d: %s", got.number, got.stderr)
	}
}

// TestWorkIsRefusedBeforeItIsSeen: what is refused leaves no worker behind.
// G9 resque/resque#1377: without a queue the error didn't say what was missing.
func TestWorkNamesTheMissingQueues(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	file := jobsFile(t, map[string]string{"X": "true"})
	for _, queues := range []string{"", ",,", " , ", "=2", "!"} {
		for name, c := range map[string]command{
			"--queues": {args: on(s, "work", "--queues", queues, "--jobs", file)},
			"$QUEUES":  {args: on(s, "work", "--jobs", file), env: map[string]string{"QUEUES": queues}},
		} {
			got := run(t, c)
			if got.number != 2 || !strings.Contains(got.stderr, "--queues") {
				t.Errorf("%s of %q ends with %d: %s", name, queues, got.number, got.stderr)
			}
		}
	}
	if names := s.Names(); len(names) > 0 {
		t.Errorf("something was written: %v", names)
	}
}

func TestWorkIsRefusedBeforeItIsSeen(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	for _, args := range [][]string{words("work --queues ,, --jobs x"), words("work --queues a"), words("work")} {
		if got := run(t, command{args: on(s, args...)}); got.number != 2 {
			t.Errorf("%v ends with %d", args, got.number)
		}
	}
	if n := s.Do("EXISTS", s.Key("workers")); n != int64(0) {
		t.Error("something was written")
	}
}

//go:build unix

package cli_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"example.com/understudy/internal/redistest"
)

// Every wait of a stop has its option, and Ruby's variable.
func TestWorkWaitsAsToldTo(t *testing.T) {
	t.Parallel()
	const cancels = "terminated: cancelling the running jobs and giving back what doesn't end"
	// Whoever waits for it the usual 10 s sees it end well.
	jobs := jobsFile(t, map[string]string{"Slow": `echo begun; exec sleep 9`})
	for _, c := range []struct {
		args string
		env  map[string]string
		says string
	}{
		{"", nil, "waiting up to 10 s for"},
		{"--shutdown-timeout 90", nil, "waiting up to 90 s for"},
		{"--shutdown-timeout 1m", map[string]string{"RESQUE_PRE_SHUTDOWN_TIMEOUT": "3"}, "waiting up to 60 s for"},
		{"--shutdown-timeout 0", nil, cancels},
		{"", map[string]string{"RESQUE_PRE_SHUTDOWN_TIMEOUT": "2.5"}, "waiting up to 2.5 s for"},
		{"", map[string]string{"TERM_CHILD": "1"}, cancels},
		{"", map[string]string{"TERM_CHILD": "1", "RESQUE_PRE_SHUTDOWN_TIMEOUT": "7"}, "waiting up to 7 s for"},
		{"--shutdown-timeout 8s", map[string]string{"TERM_CHILD": "1"}, "waiting up to 8 s for"},
		{"", map[string]string{"GRACEFUL_TERM": "1"}, "terminated: taking no more jobs, waiting for the running ones"},
	} {
		name := c.args
		for key, value := range c.env {
			name += " " + key + "=" + value
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.New(t)
			const job = `{"class":"Slow","args":[1]}`
			s.Seed(map[string]any{"queues": redistest.Set{"q"}, "queue:q": redistest.List{job}})
			signals, stderr, ended := make(chan os.Signal), newWatched(), make(chan result, 1)
			go func() {
				ended <- run(t, command{args: on(s, words("work --queues q --jobs "+jobs, words(c.args)...)...), env: c.env, signals: signals, stderr: stderr})
			}()
			stderr.await(t, "Slow: begun")
			signals <- syscall.SIGTERM
			stderr.await(t, c.says)
			if c.says != cancels {
				signals <- syscall.SIGTERM
			}
			if got := <-ended; got.number != 0 {
				t.Errorf("ends with %d: %s", got.number, got.stderr)
			}
			if got := s.Do("LINDEX", s.Key("queue:q"), 0); got != job {
				t.Errorf("the queue holds %v", got)
			}
		})
	}
}

func TestWorkRefusesOddTimeouts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args string
		env  map[string]string
		want string
	}{
		{"--shutdown-timeout soon", nil, "--shutdown-timeout: "},
		{"--shutdown-timeout -1", nil, "--shutdown-timeout: "},
		{"--cancel-timeout x", nil, "--cancel-timeout: "},
		{"--release-timeout 0", nil, "--release-timeout: \"0\" is no time to give jobs back in"},
		{"", map[string]string{"RESQUE_TERM_TIMEOUT": "soon"}, "RESQUE_TERM_TIMEOUT: "},
		{"", map[string]string{"RESQUE_PRE_SHUTDOWN_TIMEOUT": "soon"}, "RESQUE_PRE_SHUTDOWN_TIMEOUT: "},
	} {
		jobs := jobsFile(t, map[string]string{"Slow": "exit 0"})
		got := run(t, command{args: words("work --queues q --jobs "+jobs, words(c.args)...), env: c.env})
		if got.number != 2 || !strings.Contains(got.stderr, c.want) || !strings.Contains(got.stderr, "\ntry: understudy work --queues q --jobs ") {
			t.Errorf("%s %v ends with %d: %s", c.args, c.env, got.number, got.stderr)
		}
	}
}

// TestWorkFollowsRubysSignals: USR2 pauses, CONT goes on, USR1 cancels what runs;
// none of them ends the worker, also during a stop.
//
// E12 seomoz/qless#234: a paused worker still took one more job.
func TestWorkFollowsRubysSignals(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		gate := filepath.Join(t.TempDir(), "gate")
		if err := syscall.Mkfifo(gate, 0o600); err != nil {
			t.Fatal(err)
		}
		jobs := jobsFile(t, map[string]string{"Quick": "echo quick", "Slow": "echo begun; exec sleep 60", "Gate": `echo open; read line < "` + gate + `"`})
		signals, others, stderr, ended := make(chan os.Signal), make(chan os.Signal), newWatched(), make(chan result, 1)
		env := map[string]string{"COUNT": "1", "VERBOSE": "1"}
		go func() {
			ended <- run(t, command{args: on(s, words("work --queues q --interval 0.02 --jobs", jobs)...), env: maps.Clone(env), signals: signals, others: others, stderr: stderr})
		}()
		stderr.await(t, "worker registered")
		push := func(class string) { s.Do("RPUSH", s.Key("queue:q"), `{"class":"`+class+`","args":[]}`) }

		others <- syscall.SIGUSR2
		stderr.await(t, "taking no more jobs until CONT")
		push("Quick")
		for range 100 { // the worker looks several times
			s.Do("PING")
		}
		if n := s.Do("LLEN", s.Key("queue:q")); n != int64(1) || strings.Contains(stderr.String(), "Quick: quick") {
			t.Errorf("a paused worker took a job, %v are left", n)
		}
		others <- syscall.SIGCONT
		stderr.await(t, "Quick: quick")

		push("Slow")
		stderr.await(t, "Slow: begun")
		others <- syscall.SIGUSR1
		stderr.await(t, "job failed")
		push("Gate")
		stderr.await(t, "Gate: open")
		signals <- syscall.SIGQUIT
		stderr.await(t, "taking no more jobs, waiting")
		others <- syscall.SIGUSR1 // also now
		if got := <-ended; got.number != 0 {
			t.Errorf("ends with %d: %s", got.number, got.stderr)
		}
		for key, want := range map[string]any{"stat:processed": "3", "stat:failed": "2"} {
			if n := s.Do("GET", s.Key(key)); n != want {
				t.Errorf("%s is %v, want %v: %s", key, n, want, stderr)
			}
		}
	})
}

// E11 gitlabhq/gitlabhq#984: a restart left workers paused. A pause ends with its
// process, and keeps it from no stop.
func TestReportAPauseEndsWithItsProcess(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	jobs := jobsFile(t, map[string]string{"Quick": "echo quick"})
	args := on(s, words("work --queues q --jobs", jobs)...)
	signals, others, stderr, ended := make(chan os.Signal), make(chan os.Signal), newWatched(), make(chan result, 1)
	go func() { ended <- run(t, command{args: args, signals: signals, others: others, stderr: stderr}) }()
	stderr.await(t, "working q")
	others <- syscall.SIGUSR2
	stderr.await(t, "taking no more jobs until CONT")
	s.Do("RPUSH", s.Key("queue:q"), `{"class":"Quick","args":[]}`)
	signals <- syscall.SIGTERM
	if got := <-ended; got.number != 0 || strings.Contains(got.stderr, "Quick: quick") {
		t.Fatalf("ends with %d: %s", got.number, got.stderr)
	}
	if got := run(t, command{args: append(args, "--until-empty")}); got.number != 0 || !strings.Contains(got.stderr, "Quick: quick") {
		t.Errorf("the next one ends with %d: %s", got.number, got.stderr)
	}
}

// A class says in the jobs file what becomes of a job that the stop cancels.
func TestWorkFollowsAtDeadline(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		choice        string
		queue, failed int64
	}{{"give_back", 1, 0}, {"fail", 0, 1}, {"drop", 0, 0}} {
		t.Run(c.choice, func(t *testing.T) {
			t.Parallel()
			s := redistest.New(t)
			jobs := jobsFile(t, map[string]string{"Slow": `echo begun; exec sleep 60`}, "at_deadline: "+c.choice)
			s.Seed(map[string]any{"queues": redistest.Set{"q"}, "queue:q": redistest.List{`{"class":"Slow","args":[1]}`}})
			signals, stderr, ended := make(chan os.Signal), newWatched(), make(chan result, 1)
			go func() {
				ended <- run(t, command{args: on(s, words("work --queues q --shutdown-timeout 0 --jobs", jobs)...), signals: signals, stderr: stderr})
			}()
			stderr.await(t, "Slow: begun")
			signals <- syscall.SIGTERM
			if got := <-ended; got.number != 0 {
				t.Errorf("ends with %d: %s", got.number, got.stderr)
			}
			if queue, failed := s.Do("LLEN", s.Key("queue:q")), s.Do("LLEN", s.Key("failed")); queue != c.queue || failed != c.failed {
				t.Errorf("%v in the queue, %v failed: %v", queue, failed, s.Dump())
			}
		})
	}
}

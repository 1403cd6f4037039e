package resque_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/failure"
	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

func TestRegistration(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b := newBench(t, s)
		w := b.worker(func(c *resque.WorkerConfig) {
			c.WorkerID = nil
			c.Hostname = "web:1"
			c.Concurrency = 3
			c.Queues = []string{"tenant:42:mail", "!slow", "low*"}
		}, map[string]resque.Handler{"Good": resque.HandlerFunc(good)})
		if err := w.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		ids, _ := s.Get("workers").(redistest.Set)
		if len(ids) != 3 {
			t.Fatalf("workers: %v", ids)
		}
		form := regexp.MustCompile(`^web\.1\.go:\d+-[0-9a-f]{12}-[012]:tenant:42:mail,low\*$`)
		beats, _ := s.Get("workers:heartbeat").(redistest.Hash)
		for _, id := range ids {
			if !form.MatchString(id) {
				t.Errorf("id %q", id)
			}
			if started := s.Get("worker:" + id + ":started"); started != "2026-01-02 03:04:05 +0000" {
				t.Errorf("started %v", started)
			}
			// Heartbeats go by the server's clock, not by the worker's.
			if beat, err := time.Parse("2006-01-02T15:04:05+00:00", beats[id]); err != nil || time.Since(beat).Abs() > time.Minute {
				t.Errorf("heartbeat %q: %v", beats[id], err)
			}
		}
		if err := w.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, name := range s.Names() {
			if !strings.HasPrefix(name, "understudy:") && name != "pruning_dead_workers_in_progress" {
				t.Errorf("%s is left", name)
			}
		}
	})
}

// A heartbeat at the caller's wish has Ruby's form for the time's location, and
// is no business of a worker that isn't registered.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	at := time.Unix(1767323045, 0)
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b := newBench(t, s)
		w := b.worker(func(c *resque.WorkerConfig) { c.WorkerID, c.Concurrency = nil, 3 },
			map[string]resque.Handler{"Good": resque.HandlerFunc(good)})
		if err := w.Heartbeat(t.Context(), at); err == nil || s.Get("workers:heartbeat") != nil {
			t.Errorf("before Start: %v, %v", err, s.Get("workers:heartbeat"))
		}
		if err := w.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		for text, at := range map[string]time.Time{
			"2026-01-02T03:04:05Z":      at.UTC(),
			"2026-01-02T03:04:05+00:00": at.In(time.FixedZone("UTC", 0)),
			"2026-01-02T05:04:05+02:00": at.In(time.FixedZone("", 7200)),
		} {
			if err := w.Heartbeat(t.Context(), at); err != nil {
				t.Error(err)
			}
			beats, _ := s.Get("workers:heartbeat").(redistest.Hash)
			for id, beat := range beats {
				if beat != text || len(beats) != 3 {
					t.Errorf("%s: %q, want %q; %d of them", id, beat, text, len(beats))
				}
			}
		}
		if err := w.Heartbeat(t.Context(), time.Time{}); err != nil {
			t.Error(err)
		}
		beats, _ := s.Get("workers:heartbeat").(redistest.Hash)
		for id, text := range beats {
			if beat, err := time.Parse("2006-01-02T15:04:05+00:00", text); err != nil || time.Since(beat).Abs() > time.Minute {
				t.Errorf("%s: heartbeat %q: %v", id, text, err)
			}
		}
		if err := w.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if err := w.Heartbeat(t.Context(), at); err == nil {
			t.Error("a worker that has stopped sends heartbeats")
		}
	})
}

// fast renews and beats in a moment.
func fast(c *resque.WorkerConfig) {
	own(c)
	c.Interval = 5 * time.Millisecond
	c.Lease = 30 * time.Millisecond
	c.Heartbeat = 10 * time.Millisecond
}

func TestRegistrationHeals(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b := newBench(t, s)
		w := b.worker(fast, map[string]resque.Handler{"Good": resque.HandlerFunc(good)})
		run(t, w)
		eventually(t, "the worker registers", func() bool { return s.Get("workers") != nil })
		id := s.Get("workers").(redistest.Set)[0] //nolint:errcheck // it was there
		s.Do("DEL", s.Key("workers"), s.Key("workers:heartbeat"), s.Key("worker:"+id+":started"))
		eventually(t, "it registers again", func() bool {
			return s.Get("workers") != nil && s.Get("workers:heartbeat") != nil && s.Get("worker:"+id+":started") != nil
		})
	})
}

// Redis comes back empty, or somebody deletes our keys, while a job runs: the
// worker goes on under a new name, and the run is recorded once.
func TestDataGoes(t *testing.T) {
	t.Parallel()
	for name, pattern := range map[string]string{"all": "*", "our own": "understudy:*"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				b := newBench(t, s)
				jobs := make(calls)
				w := b.worker(fast, nil)
				if err := w.Handle("Counted", jobs, retry.Policy{}); err != nil {
					t.Fatal(err)
				}
				run(t, w)
				if err := b.client.Enqueue(t.Context(), "q", "Counted", 1); err != nil {
					t.Fatal(err)
				}
				one := jobs.next(t)
				first := one.job.WorkerID
				for _, key := range s.Names() {
					if pattern == "*" || strings.HasPrefix(key, "understudy:") {
						s.Do("DEL", s.Key(key))
					}
				}
				eventually(t, "the worker takes a new name", func() bool {
					ids, ok := s.Get("workers").(redistest.Set)
					return ok && s.Get("understudy:processes") != nil && !strings.Contains(strings.Join(ids, " "), first)
				})
				hands := 0
				for _, key := range s.Names() {
					if hand, ok := s.Get(key).(string); ok && strings.Contains(hand, `"payload":{"class":"Counted","args":[1]}`) {
						hands++
					}
				}
				if hands != 1 {
					t.Errorf("%d hands hold the job, want 1", hands)
				}
				one.answer <- errors.New("boom")
				again := jobs.next(t) // the retry, under the new name
				if again.job.WorkerID == first {
					t.Error("the retry ran under the old name")
				}
				again.answer <- nil
				eventually(t, "both are recorded", func() bool { return s.Get("stat:processed") == "2" })
				if s.Get("stat:failed") != "1" {
					t.Errorf("stat:failed is %v, want 1", s.Get("stat:failed"))
				}
			})
		})
	}
}

// The fields of the process go, but not its lease, while a job runs.
func TestFieldsGo(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b := newBench(t, s)
		jobs := make(calls)
		w := b.worker(func(c *resque.WorkerConfig) { own(c); c.Interval = 5 * time.Millisecond }, nil)
		if err := w.Handle("Counted", jobs, retry.Policy{}); err != nil {
			t.Fatal(err)
		}
		run(t, w)
		for i := range 2 {
			if err := b.client.Enqueue(t.Context(), "q", "Counted", i); err != nil {
				t.Fatal(err)
			}
		}
		one := jobs.next(t)
		id := one.job.WorkerID
		s.Do("DEL", s.Key("understudy:runs:"+id[:strings.LastIndex(id, "-")]))
		one.answer <- nil
		two := jobs.next(t)
		if string(two.job.Args) != "[1]" {
			t.Errorf("ran %s again", two.job.Args)
		}
		two.answer <- nil
		eventually(t, "both are recorded", func() bool { return s.Get("stat:processed") == "2" })
	})
}

// A process that was taken for dead drops its runs and starts anew.
func TestTakenForDead(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b := newBench(t, s)
		jobs := make(calls)
		w := b.worker(fast, map[string]resque.Handler{"Good": jobs})
		run(t, w)
		if err := b.client.Enqueue(t.Context(), "q", "Good", 1); err != nil {
			t.Fatal(err)
		}
		one := jobs.next(t)
		closeProcess(s, one.job.WorkerID)
		<-one.ctx.Done()
		if !errors.Is(context.Cause(one.ctx), resque.ErrRunLost) {
			t.Errorf("the cause is %v", context.Cause(one.ctx))
		}
		one.answer <- nil
		if err := b.client.Enqueue(t.Context(), "q", "Good", 2); err != nil {
			t.Fatal(err)
		}
		two := jobs.next(t)
		if two.job.WorkerID == one.job.WorkerID || string(two.job.Args) != "[2]" {
			t.Errorf("the next job is %s of %s", two.job.Args, two.job.WorkerID)
		}
		two.answer <- nil
		eventually(t, "one is recorded", func() bool { return s.Get("stat:processed") == "1" })
	})
}

func TestBury(t *testing.T) {
	t.Parallel()
	const id = "ruby:7:q"
	hand := func(payload string) string {
		return `{"queue":"q","run_at":"2026-01-01T00:00:00Z","payload":` + payload + `}`
	}
	record := func(payload string) string {
		return `{"failed_at":"2026/01/02 03:04:05 UTC","payload":` + payload + `,"exception":"Resque::DirtyExit","error":"Job still being processed","backtrace":[],"worker":"ruby:7:q","queue":"q"}`
	}
	for _, c := range []struct {
		name string
		keys map[string]any
		want map[string]any
	}{
		{"nothing in hand", nil, map[string]any{}},
		{"no policy", map[string]any{"worker:" + id: hand(`{"class":"Good","args":[1.10]}`)}, map[string]any{"failed": redistest.List{record(`{"class":"Good","args":[1.10]}`)}}},
		{
			"a policy, and tries left",
			map[string]any{"worker:" + id: hand(`{"class":"Counted","args":[]}`), "resque-retry:Counted": "0"},
			map[string]any{"resque-retry:Counted": "0", "queue:q": redistest.List{`{"class":"Counted","args":[]}`}, "queues": redistest.Set{"q"}},
		},
		{
			"a policy at its end",
			map[string]any{"worker:" + id: hand(`{"class":"Counted","args":[]}`), "resque-retry:Counted": "1"},
			map[string]any{"failed": redistest.List{record(`{"class":"Counted","args":[]}`)}},
		},
		{"other keys first", map[string]any{"worker:" + id: `{"payload":{"class":"Good","args":[]},"queue":"q"}`}, map[string]any{"failed": redistest.List{record(`{"class":"Good","args":[]}`)}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				b := newBench(t, s)
				w := b.worker(func(c *resque.WorkerConfig) { c.Failures = failure.SuppressRetries(failure.List{}) },
					map[string]resque.Handler{"Good": resque.HandlerFunc(good)})
				if err := w.Handle("Counted", resque.HandlerFunc(good), retry.Policy{}); err != nil {
					t.Fatal(err)
				}
				s.Seed(map[string]any{
					"workers": redistest.Set{id}, "worker:" + id + ":started": "x", "workers:heartbeat": redistest.Hash{id: "x"},
					"stat:processed:" + id: "3", "stat:failed:" + id: "1",
				})
				s.Seed(c.keys)
				if err := w.Bury(t.Context(), id); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.want, s.Dump()); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestPruningByRubysRules(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b := newBench(t, s)
		now := time.Now().UTC()
		beat := func(age time.Duration) string { return now.Add(-age).Format("2006-01-02T15:04:05+00:00") }
		s.Seed(map[string]any{
			"workers": redistest.Set{"dead:1:q", "alive:2:q", "silent:3:q", "x.go:4-ab-0:q"},
			"workers:heartbeat": redistest.Hash{
				"dead:1:q": beat(10 * time.Minute), "alive:2:q": beat(4 * time.Minute), "x.go:4-ab-0:q": beat(time.Hour),
				"ghost:5:q": beat(time.Hour), "odd:6:q": "yesterday or so",
			},
			"worker:dead:1:q":                  `{"queue":"q","run_at":"2026-01-01T00:00:00Z","payload":{"class":"Good","args":[]}}`,
			"pruning_dead_workers_in_progress": "somebody",
			"resque-retry:Counted:a":           "1",
			"understudy:begins":                redistest.Hash{"resque-retry:Counted:a": "x 0 1", "resque-retry:Counted:gone": "x 0 2"},
		})
		w := b.worker(nil, map[string]resque.Handler{"Good": resque.HandlerFunc(good)})
		b.start(w)
		if got := fmt.Sprint(s.Get("workers")); !strings.Contains(got, "dead:1:q") {
			t.Error("pruned although somebody else had the lock")
		}
		s.Do("DEL", s.Key("pruning_dead_workers_in_progress"))
		other := b.worker(func(c *resque.WorkerConfig) { c.WorkerID = func(int) string { return "host:2:q" } },
			map[string]resque.Handler{"Good": resque.HandlerFunc(good)})
		b.start(other)
		if diff := cmp.Diff(redistest.Hash{"resque-retry:Counted:a": "x 0 1"}, s.Get("understudy:begins")); diff != "" {
			t.Error("begins", diff)
		}
		if holder := s.Get("pruning_dead_workers_in_progress"); holder != "host:2:q" {
			t.Errorf("the lock holds %v", holder)
		}
		if ttl := s.TTLs()["pruning_dead_workers_in_progress"]; ttl < 50 || ttl > 60 {
			t.Errorf("the lock lives for %d s, want 60", ttl)
		}
		beats, _ := s.Get("workers:heartbeat").(redistest.Hash)
		for id, want := range map[string]bool{"dead:1:q": false, "ghost:5:q": false, "alive:2:q": true, "x.go:4-ab-0:q": true, "odd:6:q": true} {
			if _, is := beats[id]; is != want {
				t.Errorf("heartbeat of %s: %v, want %v", id, is, want)
			}
		}
		want := redistest.List{`{"failed_at":"2026/01/02 03:04:05 UTC","payload":{"class":"Good","args":[]},` +
			`"exception":"Resque::PruneDeadWorkerDirtyExit","error":"Worker dead:1:q did not gracefully exit while processing Good",` +
			`"backtrace":[],"worker":"dead:1:q","queue":"q"}`}
		if diff := cmp.Diff(want, s.Get("failed")); diff != "" {
			t.Error(diff)
		}
		workers, _ := s.Get("workers").(redistest.Set)
		if diff := cmp.Diff(redistest.Set{"alive:2:q", "host:1:q", "host:2:q", "silent:3:q", "x.go:4-ab-0:q"}, workers); diff != "" {
			t.Error(diff)
		}
	})
}

// closeProcess does what recovery does first to a process that it takes for dead.
func closeProcess(s *redistest.Server, id string) {
	s.Do("HSET", s.Key("understudy:runs:"+id[:strings.LastIndex(id, "-")]), "closed", "1")
}

// What a run does after its process was closed is not recorded.
func TestRevokedRunWritesNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b := newBench(t, s)
		w := b.worker(func(c *resque.WorkerConfig) { c.WorkerID = nil }, map[string]resque.Handler{
			"Good": resque.HandlerFunc(func(_ context.Context, job *resque.Job) error {
				closeProcess(s, job.WorkerID)
				return nil
			}),
		})
		b.start(w)
		if err := b.client.Enqueue(t.Context(), "q", "Good"); err != nil {
			t.Fatal(err)
		}
		b.step(w)
		if processed := s.Get("stat:processed"); processed != nil {
			t.Errorf("stat:processed is %v", processed)
		}
	})
}

// A closed process takes and begins nothing more; the worker goes on under a new
// name.
func TestClosedProcessTakesNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b := newBench(t, s)
		var ids []string
		w := b.worker(func(c *resque.WorkerConfig) { c.WorkerID = nil }, map[string]resque.Handler{
			"Good": resque.HandlerFunc(func(_ context.Context, job *resque.Job) error {
				ids = append(ids, job.WorkerID)
				return nil
			}),
		})
		b.start(w)
		for i := range 2 {
			if err := b.client.Enqueue(t.Context(), "q", "Good", i); err != nil {
				t.Fatal(err)
			}
			for {
				worked, err := w.Step(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if worked {
					break
				}
			}
			closeProcess(s, ids[i])
		}
		if ids[0] == ids[1] || s.Get("stat:processed") != "2" {
			t.Errorf("ids %v, stat:processed %v", ids, s.Get("stat:processed"))
		}
	})
}

// The context of Run ends while the worker registers: it unregisters again.
func TestStopWhileRegistering(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		sc, w := newScene(t, s)
		ctx, cancel := context.WithCancel(t.Context())
		names := resque.ScriptNames()
		sc.proxy.SetRule(func(r redistest.Request) redistest.Verdict {
			if len(r.Args) > 1 && names[r.Args[1]] == "register" {
				cancel()
				return redistest.DropReply
			}
			return redistest.Pass
		})
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
		if workers := s.Get("workers"); workers != nil {
			t.Errorf("workers are left: %v", workers)
		}
	})
}

package resque_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

const countedOne = "resque-retry:Counted:356a192b7913b04c54574d18c28d46e6395428ab" // sha1 of 1

// scene is a worker on a proxied line whose next call of one script is preceded
// by what somebody else does.
type scene struct {
	*bench
	proxy *redistest.Proxy
	runs  *runCount
}

func newScene(t *testing.T, s *redistest.Server) (*scene, *resque.Worker) {
	t.Helper()
	p := redistest.NewProxy(t, s.URL())
	sc := &scene{bench: newBenchAt(t, s, p.URL()), proxy: p, runs: &runCount{runs: map[string]int{}}}
	w := sc.worker(func(c *resque.WorkerConfig) { c.WorkerID = nil; c.ShutdownTimeout = -1 }, nil)
	handle := func(class string, h resque.HandlerFunc, options ...resque.HandleOption) {
		if err := w.Handle(class, resque.HandlerFunc(func(ctx context.Context, job *resque.Job) error {
			sc.runs.add(class)
			return h(ctx, job)
		}), options...); err != nil {
			t.Fatal(err)
		}
	}
	handle("Good", good)
	handle("Bad", bad)
	handle("Counted", good, retry.Policy{Limit: 3})
	handle("Again", bad, retry.Policy{Limit: 3}, resque.Queue("q"))
	return sc, w
}

// before does something once, right before the next call of a script goes
// through.
func (sc *scene) before(script string, do func(s *redistest.Server)) {
	names := resque.ScriptNames()
	done := false
	sc.proxy.SetRule(func(r redistest.Request) redistest.Verdict {
		if !done && len(r.Args) > 1 && names[r.Args[1]] == script {
			done = true
			do(sc.server)
		}
		return redistest.Pass
	})
	sc.t.Cleanup(func() {
		if !done {
			sc.t.Errorf("%s was never called", script)
		}
	})
}

func (sc *scene) runsKey() string {
	for _, name := range sc.server.Names() {
		if strings.HasPrefix(name, "understudy:runs:") {
			return name
		}
	}
	return ""
}

// settle steps until nothing is left to do.
func (sc *scene) settle(w *resque.Worker) {
	sc.t.Helper()
	for idle := 0; idle < 3; {
		worked, err := w.Step(sc.t.Context())
		if err != nil {
			sc.t.Fatal(err)
		}
		if !worked {
			idle++
		}
	}
}

// hand is the key of the hand that holds something, without "worker:".
func hands(s *redistest.Server) (ids []string) {
	for _, name := range s.Names() {
		if id, ok := strings.CutPrefix(name, "worker:"); ok && !strings.HasSuffix(name, ":started") {
			ids = append(ids, id)
		}
	}
	return ids
}

// What somebody else does between two calls of a worker.
func TestBetweenCalls(t *testing.T) {
	t.Parallel()
	closeRuns := func(s *redistest.Server, name string) { s.Do("HSET", s.Key(name), "closed", "recovery") }
	for _, c := range []struct {
		name   string
		job    string
		before string
		do     func(sc *scene, s *redistest.Server)
		want   map[string]any
		runs   map[string]int
		hands  int
	}{
		{
			"closed before the begin: it counts nothing and doesn't run", `{"class":"Counted","args":[1]}`, "begin",
			func(sc *scene, s *redistest.Server) { closeRuns(s, sc.runsKey()) },
			map[string]any{},
			map[string]int{},
			1,
		},
		{
			"revoked before the begin", `{"class":"Counted","args":[1]}`, "begin",
			func(sc *scene, s *redistest.Server) { revoke(s, sc.runsKey(), "1 r") },
			map[string]any{},
			map[string]int{},
			0,
		},
		{
			"the data went before the begin: it is put back and runs", `{"class":"Counted","args":[1]}`, "begin",
			func(sc *scene, s *redistest.Server) { s.Do("DEL", s.Key(sc.runsKey())) },
			map[string]any{"stat:processed": "1"},
			map[string]int{"Counted": 1},
			0,
		},
		{
			"the counter is no number: the run fails without a try", `{"class":"Counted","args":[1]}`, "begin",
			func(_ *scene, s *redistest.Server) { s.Do("SET", s.Key(countedOne), "many") },
			map[string]any{
				countedOne: "many", "stat:processed": "1", "stat:failed": "1",
				"failed": redistest.List{`{"failed_at":"2026/01/02 03:04:05 UTC","payload":{"class":"Counted","args":[1]},` +
					`"exception":"Redis::CommandError","error":"the retry counter ` + countedOne + ` holds no number","backtrace":[],"worker":"ID","queue":"q"}`},
			},
			map[string]int{},
			0,
		},
		{
			"Ruby pruned the hand: recorded all the same", `{"class":"Good","args":[1]}`, "record",
			func(_ *scene, s *redistest.Server) { s.Do("DEL", s.Key("worker:"+hands(s)[0])) },
			map[string]any{"stat:processed": "1"},
			map[string]int{"Good": 1},
			0,
		},
		{
			"revoked before the record: nothing is written", `{"class":"Bad","args":[1]}`, "record",
			func(sc *scene, s *redistest.Server) { revoke(s, sc.runsKey(), "1 r") },
			map[string]any{},
			map[string]int{"Bad": 1},
			0,
		},
		{
			"a later token before the record: it is recorded already", `{"class":"Bad","args":[1]}`, "record",
			func(sc *scene, s *redistest.Server) { revoke(s, sc.runsKey(), "9 d") },
			map[string]any{},
			map[string]int{"Bad": 1},
			0,
		},
		{
			"the data went before the record: put back, and recorded once", `{"class":"Again","args":[1]}`, "record",
			func(sc *scene, s *redistest.Server) { s.Do("DEL", s.Key(sc.runsKey())) },
			map[string]any{
				"stat:processed": "4", "stat:failed": "4",
				"failed": redistest.List{
					againRecord(), againRecord(),
					againRecord(), againRecord(),
				},
			},
			map[string]int{"Again": 4},
			0,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				sc, w := newScene(t, s)
				if err := w.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				s.Seed(map[string]any{"queue:q": redistest.List{c.job}})
				sc.before(c.before, func(s *redistest.Server) { c.do(sc, s) })
				sc.settle(w)
				held := hands(s)
				if len(held) != c.hands {
					t.Errorf("hands: %v, want %d", held, c.hands)
				}
				got := sc.keys()
				for name, value := range got {
					if strings.HasPrefix(name, "worker:") || strings.HasPrefix(name, "stat:") && strings.Count(name, ":") > 1 || name == "queues" {
						delete(got, name)
					}
					if list, ok := value.(redistest.List); ok && name == "failed" {
						got[name] = anonymous(list)
					}
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
				if diff := cmp.Diff(c.runs, sc.runs.runs); diff != "" {
					t.Error(diff)
				}
				if err := w.Stop(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// revoke takes the run of slot 0 away and leaves its field like this.
func revoke(s *redistest.Server, runs, field string) {
	s.Do("HSET", s.Key(runs), "0", field)
	s.Do("DEL", s.Key("worker:"+hands(s)[0]))
}

func againRecord() string {
	return `{"failed_at":"2026/01/02 03:04:05 UTC","payload":{"class":"Again","args":[1]},"exception":"RuntimeError","error":"boom","backtrace":[],"worker":"ID","queue":"q"}`
}

// anonymous takes the worker ids out of failure records.
func anonymous(records redistest.List) redistest.List {
	out := make(redistest.List, len(records))
	for i, record := range records {
		before, rest, _ := strings.Cut(record, `"worker":"`)
		_, after, _ := strings.Cut(rest, `"`)
		out[i] = before + `"worker":"ID"` + after
	}
	return out
}

// A key of the wrong type keeps a run in hand, until somebody mends it; the
// others of its batch go through.
func TestWrongTypeHoldsOneRunOnly(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b := newBench(t, s)
		s.Seed(map[string]any{"failed": "no list", "queue:q": redistest.List{
			`{"class":"Bad","args":[1]}`, `{"class":"Good","args":[2]}`, `{"class":"Good","args":[3]}`,
		}, "queue:broken": "no list either"})
		w := b.worker(func(c *resque.WorkerConfig) {
			fast(c)
			c.Lease, c.Concurrency = 0, 3
			c.Queues = []string{"broken", "q"}
		},
			map[string]resque.Handler{"Good": resque.HandlerFunc(good), "Bad": resque.HandlerFunc(bad)})
		run(t, w)
		eventually(t, "the good ones are recorded", func() bool { return s.Get("stat:processed") == "2" })
		if got := hands(s); len(got) != 1 {
			t.Errorf("hands: %v, want that of the failed run", got)
		}
		s.Do("DEL", s.Key("failed"))
		eventually(t, "the failed one is recorded", func() bool { return s.Get("stat:processed") == "3" })
		if got, ok := s.Get("failed").(redistest.List); !ok || len(got) != 1 {
			t.Errorf("failed: %v", s.Get("failed"))
		}
	})
}

// A registration whose copy arrives after the data went registers nobody.
func TestLateRegistration(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		sc, w := newScene(t, s)
		names := resque.ScriptNames()
		sc.proxy.SetRule(func(r redistest.Request) redistest.Verdict {
			if len(r.Args) > 1 && names[r.Args[1]] == "register" {
				return redistest.Late
			}
			return redistest.Pass
		})
		if err := w.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, name := range s.Names() {
			s.Do("DEL", s.Key(name))
		}
		if replies := sc.proxy.ReleaseLate(); fmt.Sprint(replies) != "[epoch]" {
			t.Errorf("the late registration was answered %v", replies)
		}
		if got := s.Names(); len(got) > 0 {
			t.Errorf("the late registration wrote %v", got)
		}
	})
}

// A give-back restores the counter only while it is as the run's begin left it.
func TestGiveBackAndTheCounter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		seed    map[string]any
		do      func(s *redistest.Server)
		counter any
		queue   any
	}{
		{"as it was: absent again", nil, func(*redistest.Server) {}, nil, redistest.List{`{"class":"Held","args":[1]}`}},
		{"somebody counted on", nil, func(s *redistest.Server) { s.Do("INCR", s.Key(heldOne)) }, "1", redistest.List{`{"class":"Held","args":[1]}`}},
		{"it went", map[string]any{heldOne: "4"}, func(s *redistest.Server) { s.Do("DEL", s.Key(heldOne)) }, nil, redistest.List{`{"class":"Held","args":[1]}`}},
		{
			"another run began at the same number", nil,
			func(s *redistest.Server) { s.Do("HSET", s.Key("understudy:begins"), heldOne, "somebody 0 7") },
			"0",
			redistest.List{`{"class":"Held","args":[1]}`},
		},
		{
			"Ruby pruned the hand: only marked", nil, func(s *redistest.Server) { s.Do("DEL", s.Key("worker:"+hands(s)[0])) },
			nil, nil,
		},
		{
			"the field changed: left alone", nil,
			func(s *redistest.Server) {
				for _, name := range s.Names() {
					if strings.HasPrefix(name, "understudy:runs:") {
						s.Do("HSET", s.Key(name), "0", "99 d")
						s.Do("DEL", s.Key("worker:"+hands(s)[0]))
					}
				}
			},
			"0", nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				sc, w := newScene(t, s)
				jobs := make(calls)
				if err := w.Handle("Held", jobs, retry.Policy{Limit: retry.Forever}); err != nil {
					t.Fatal(err)
				}
				s.Seed(c.seed)
				s.Seed(map[string]any{"queue:q": redistest.List{`{"class":"Held","args":[1]}`}})
				r := run(t, w)
				one := jobs.next(t)
				go func() {
					<-one.ctx.Done()
					one.answer <- context.Cause(one.ctx)
				}()
				sc.before("give back", c.do)
				r.stop()
				if diff := cmp.Diff(c.counter, s.Get(heldOne)); diff != "" {
					t.Error("counter", diff)
				}
				if diff := cmp.Diff(c.queue, s.Get("queue:q")); diff != "" {
					t.Error("queue", diff)
				}
			})
		})
	}
}

const heldOne = "resque-retry:Held:356a192b7913b04c54574d18c28d46e6395428ab" // sha1 of 1

// A reserve that arrives late, when the worker has given back and is about to
// close, takes a job: the worker finds it and gives it back too.
func TestLateReserveBeforeTheClose(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		sc, w := newScene(t, s)
		if err := w.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.Seed(map[string]any{"queue:q": redistest.List{`{"class":"Good","args":[0]}`}})
		sc.step(w)                                // now the process has fields
		id := s.Get("workers").(redistest.Set)[0] //nolint:errcheck // it was there
		sc.before("finish", func(s *redistest.Server) {
			s.Do("HSET", s.Key(sc.runsKey()), "0", "50 o")
			s.Do("SET", s.Key("worker:"+id), `{"queue":"q","run_at":"2026-01-02T03:04:05Z","payload":{"class":"Good","args":[1]}}`)
		})
		if err := w.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(redistest.List{`{"class":"Good","args":[1]}`}, s.Get("queue:q")); diff != "" {
			t.Error(diff)
		}
		if got := hands(s); len(got) > 0 {
			t.Errorf("hands: %v", got)
		}
	})
}

// Where understudy:begins is no hash a run neither begins nor ends with a half
// of its writes: it goes on once the key is mended.
func TestWrongTypeOfBegins(t *testing.T) {
	t.Parallel()
	for name, early := range map[string]bool{"before the begin": true, "before the record": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				b := newBench(t, s)
				jobs := make(calls)
				w := b.worker(func(c *resque.WorkerConfig) { own(c); c.Interval = 5 * time.Millisecond }, nil)
				if err := w.Handle("Counted", jobs, retry.Policy{}); err != nil {
					t.Fatal(err)
				}
				spoil := func() { s.Do("DEL", s.Key("understudy:begins")); s.Do("SET", s.Key("understudy:begins"), "x") }
				if early {
					spoil()
				}
				s.Seed(map[string]any{"queue:q": redistest.List{`{"class":"Counted","args":[1]}`}})
				run(t, w)
				if early {
					eventually(t, "it is in hand", func() bool { return len(hands(s)) == 1 })
				} else {
					one := jobs.next(t)
					spoil()
					one.answer <- nil
				}
				if got := s.Get("stat:processed"); got != nil {
					t.Errorf("stat:processed is %v", got)
				}
				if counter := s.Get(countedOne); early && counter != nil {
					t.Errorf("the counter is %v", counter)
				}
				s.Do("DEL", s.Key("understudy:begins"))
				if early {
					jobs.next(t).answer <- nil
				}
				eventually(t, "it is recorded", func() bool { return s.Get("stat:processed") == "1" })
				if counter := s.Get(countedOne); counter != nil {
					t.Errorf("the counter is left: %v", counter)
				}
			})
		})
	}
}

// Where the set of queues is of the wrong type nothing can be given back: the
// job stays in hand, and the stop says so.
func TestGiveBackNeedsTheSetOfQueues(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b := newBench(t, s)
		jobs := make(calls)
		w := b.worker(func(c *resque.WorkerConfig) {
			own(c)
			c.ShutdownTimeout, c.ReleaseTimeout = -1, 3*time.Second
		}, map[string]resque.Handler{"Good": jobs})
		s.Seed(map[string]any{"queue:q": redistest.List{`{"class":"Good","args":[1]}`}, "queues": "no set"})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.Run(ctx) }()
		one := jobs.next(t)
		cancel()
		<-one.ctx.Done()
		one.answer <- context.Cause(one.ctx)
		if err := <-done; err == nil || !strings.Contains(err.Error(), "queues is no set") {
			t.Errorf("Run: %v", err)
		}
		if got := hands(s); len(got) != 1 {
			t.Errorf("hands: %v, want the job's", got)
		}
	})
}

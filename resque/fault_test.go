package resque_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/failure"
	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

// faultScene is what a worker does through the proxy: one job of each kind.
func faultScene(t *testing.T, b *bench, runs *runCount) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	w := b.worker(func(c *resque.WorkerConfig) {
		c.Queues = []string{"q", "low*"}
		c.Failures = failure.SuppressRetries(failure.List{})
		c.History = 1000
	}, nil)
	handle := func(class string, h resque.HandlerFunc, options ...resque.HandleOption) {
		counted := func(ctx context.Context, job *resque.Job) error {
			runs.add(class)
			return h(ctx, job)
		}
		if err := w.Handle(class, resque.HandlerFunc(counted), options...); err != nil {
			t.Fatal(err)
		}
	}
	handle("Good", good)
	handle("Parent", func(ctx context.Context, job *resque.Job) error {
		until(t, func() error { // it reads
			_, err := job.RemoveDelayed(ctx, "low1", "Gone", 1)
			return err
		})
		return job.EnqueueMany(ctx, resque.NewJob{Queue: "elsewhere", Class: "Child"},
			resque.NewJob{Queue: "elsewhere", Class: "Child", At: b.clock.Now().Add(time.Hour)})
	})
	handle("Bad", bad)
	handle("Counted", good, retry.Policy{})
	handle("Again", bad, retry.Policy{}, resque.Queue("q"))
	handle("Later", bad, retry.Policy{Delay: retry.Every(60_000_000_000)}, resque.Queue("q"))
	until(t, func() error { return w.Start(ctx) })
	for idle := 0; idle < 2; {
		worked, err := w.Step(ctx)
		if err == nil && !worked {
			idle++
		}
	}
	if err := w.Stop(ctx); err != nil {
		t.Error("stop:", err)
	}
}

func until(t *testing.T, try func() error) {
	t.Helper()
	var err error
	for range 5 {
		if err = try(); err == nil {
			return
		}
	}
	t.Fatal(err)
}

type runCount struct {
	mu   sync.Mutex
	runs map[string]int
}

func (c *runCount) add(class string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runs[class]++
}

// faultRun plays the scene under a rule and answers the state that it leaves.
func faultRun(t *testing.T, kind func(t *testing.T) *redistest.Server, rule func(from int) redistest.Rule) (state map[string]any, requests []redistest.Request, runs map[string]int) {
	t.Helper()
	s := kind(t)
	p := redistest.NewProxy(t, s.URL())
	const gone = `{"class":"Gone","args":[1],"queue":"low1"}`
	s.Seed(map[string]any{
		"queues": redistest.Set{"q", "low1"},
		"queue:q": redistest.List{
			`{"class":"Good","args":[1]}`, `{"class":"Bad","args":[2]}`, `{"class":"Good","args":[1`,
			`{"class":"Counted","args":[3]}`, `{"class":"Parent"}`, `{"class":"Good","args":[NaN]}`, `{"class":"Again","args":[4]}`,
		},
		"delayed_queue_schedule": redistest.ZSet{"1767330000": 1767330000},
		"delayed:1767330000":     redistest.List{gone},
		"timestamps:" + gone:     redistest.Set{"delayed:1767330000"},
		"queue:low1":             redistest.List{`{"class":"Later","args":[5]}`, `{"class":"Nobody","args":[]}`},
	})
	b := newBenchAt(t, s, p.URL())
	from := len(p.Seen())
	if rule != nil {
		p.SetRule(rule(from))
	}
	count := &runCount{runs: map[string]int{}}
	faultScene(t, b, count)
	p.SetRule(nil)
	p.ReleaseLate()
	seen := p.Seen()[from:]
	return withHistory(b), seen, count.runs
}

// withHistory is the state with the history: each attempt stands there once.
func withHistory(b *bench) map[string]any {
	state := b.keys()
	for _, a := range historyOf(b.t, b.client) {
		name := fmt.Sprintf("history %s %s %d %s", a.Class, a.Job, a.Number, a.Outcome)
		n, _ := state[name].(int)
		state[name] = n + 1
	}
	return state
}

// verdicts are all the ways in which a call can go wrong.
func verdicts() map[string]redistest.Verdict {
	return map[string]redistest.Verdict{
		"reply dropped":           redistest.DropReply,
		"reply cut":               redistest.CutReply,
		"request dropped":         redistest.DropRequest,
		"carried out twice":       redistest.Duplicate,
		"a copy at the next":      redistest.Late.After(1),
		"a copy two later":        redistest.Late.After(2),
		"a copy five later":       redistest.Late.After(5),
		"a copy at the end":       redistest.Late,
		"postponed to the next":   redistest.Postpone.After(1),
		"postponed by three":      redistest.Postpone.After(3),
		"postponed by eight":      redistest.Postpone.After(8),
		"postponed until the end": redistest.Postpone,
	}
}

// Whatever reply is lost, and whichever call is carried out twice or late, the
// state in the end is the same.
func TestFaultsChangeNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		kind := func(t *testing.T) *redistest.Server { t.Helper(); return s.Sibling(t) }
		want, requests, wantRuns := faultRun(t, kind, nil)
		if len(requests) < 20 || len(want) < 8 {
			t.Fatalf("the scene is too small: %d requests, state %v", len(requests), want)
		}
		for _, name := range slices.Sorted(maps.Keys(verdicts())) {
			verdict := verdicts()[name]
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				for i, request := range requests {
					if request.Is("SCRIPT") {
						continue // loading twice is nothing
					}
					what := fmt.Sprintf("request %d (%.60q)", i, request.Args)
					got, _, runs := faultRun(t, kind, func(from int) redistest.Rule {
						return func(r redistest.Request) redistest.Verdict {
							if r.N == from+i {
								return verdict
							}
							return redistest.Pass
						}
					})
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("%s: the state differs:\n%s", what, diff)
					}
					if diff := cmp.Diff(wantRuns, runs); diff != "" {
						t.Errorf("%s: the runs differ:\n%s", what, diff)
					}
				}
			})
		}
	})
}

// stopUnder stops a worker with four jobs in hand, one of which is to fail, under a
// rule, and answers the
// state that it leaves.
func stopUnder(t *testing.T, s *redistest.Server, rule redistest.Rule) map[string]any {
	t.Helper()
	p := redistest.NewProxy(t, s.URL())
	b := newBenchAt(t, s, p.URL())
	s.Seed(map[string]any{
		"queues": redistest.Set{"q"}, "resque-retry:Held:da4b9237bacccdf19c0760cab7aec4a8359010b0": "3",
		"queue:q": redistest.List{`{"class":"Held","args":[1]}`, `{"class":"Held","args":[2]}`, `{"class":"Fails","args":[0]}`, `{"class":"Held","args":[3]}`, `{"class":"Held","args":[4]}`},
	})
	jobs := make(calls)
	w := b.worker(func(c *resque.WorkerConfig) {
		own(c)
		c.Concurrency = 4
		c.ShutdownTimeout = -1
	}, nil)
	if err := w.Handle("Fails", jobs, resque.Fail); err != nil {
		t.Fatal(err)
	}
	if err := w.Handle("Held", jobs, retry.Policy{Limit: retry.Forever}); err != nil {
		t.Fatal(err)
	}
	r := run(t, w)
	for range 4 {
		one := jobs.next(t)
		go func() {
			<-one.ctx.Done()
			one.answer <- context.Cause(one.ctx)
		}()
	}
	p.SetRule(rule)
	r.stop()
	p.SetRule(nil)
	p.ReleaseLate()
	state := b.keys()
	for name := range state {
		if records, _ := state[name].(redistest.List); name == "failed" && len(records) == 1 && strings.Contains(records[0], `"exception":"Resque::TermException"`) {
			state[name] = "a record"
		}
	}
	return state
}

func TestFaultsAtTheStopChangeNothing(t *testing.T) {
	t.Parallel()
	names := resque.ScriptNames()
	for _, step := range []string{"record", "HGETALL", "MGET", "give back", "finish", "leave"} {
		for name, verdict := range verdicts() {
			t.Run(step+" "+name, func(t *testing.T) {
				t.Parallel()
				redistest.Each(t, func(t *testing.T, s *redistest.Server) {
					hit := false
					got := stopUnder(t, s, func(r redistest.Request) redistest.Verdict {
						is := r.Args[0] == step || len(r.Args) > 1 && names[r.Args[1]] == step
						if hit || !is {
							return redistest.Pass
						}
						hit = true
						return verdict
					})
					if !hit {
						t.Fatal("the step never came")
					}
					want := map[string]any{
						"stat:processed": "1", "stat:failed": "1", "failed": "a record",
						"queues": redistest.Set{"q"}, "resque-retry:Held:da4b9237bacccdf19c0760cab7aec4a8359010b0": "3",
						"queue:q": redistest.List{`{"class":"Held","args":[1]}`, `{"class":"Held","args":[2]}`, `{"class":"Held","args":[3]}`, `{"class":"Held","args":[4]}`},
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Error(diff)
					}
					if workers := s.Get("workers"); workers != nil {
						t.Errorf("workers are left: %v", workers)
					}
				})
			})
		}
	}
}

// A worker on a line where every thirtieth call or so goes wrong in some way
// still runs and records each job once.
func TestFaultyLine(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		for seed := range uint64(3) {
			t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
				t.Parallel()
				faultyLine(t, s.Sibling(t), seed)
			})
		}
	})
}

func faultyLine(t *testing.T, s *redistest.Server, seed uint64) {
	t.Helper()
	const jobs = 600
	var queue redistest.List
	for i := range jobs {
		queue = append(queue, fmt.Sprintf(`{"class":"%s","args":[%d]}`, []string{"Good", "Bad", "Counted", "Again"}[i%4], i))
	}
	s.Seed(map[string]any{"queue:q": queue})
	p := redistest.NewProxy(t, s.URL())
	b := newBenchAt(t, s, p.URL())
	runs := &runCount{runs: map[string]int{}}
	w := b.worker(func(c *resque.WorkerConfig) {
		own(c)
		c.Concurrency = 10
		c.Interval = 10 * time.Millisecond
		c.Failures = failure.SuppressRetries(failure.List{})
	}, nil)
	for class, h := range map[string]resque.HandlerFunc{"Good": good, "Bad": bad, "Counted": good, "Again": bad} {
		counted := resque.HandlerFunc(func(ctx context.Context, job *resque.Job) error {
			runs.add(fmt.Sprintf("%s %s %d", class, job.Args, job.Attempt))
			return h(ctx, job)
		})
		var options []resque.HandleOption
		if class == "Counted" || class == "Again" {
			options = append(options, retry.Policy{})
		}
		if err := w.Handle(class, counted, options...); err != nil {
			t.Fatal(err)
		}
	}
	random := rand.New(rand.NewPCG(seed, 0))
	all := slices.Sorted(maps.Keys(verdicts()))
	p.SetRule(func(redistest.Request) redistest.Verdict {
		if random.IntN(30) > 0 {
			return redistest.Pass
		}
		return verdicts()[all[random.IntN(len(all))]]
	})
	r := run(t, w)
	const total = jobs + jobs/4 // each Again runs twice
	eventually(t, "all are recorded", func() bool { return s.Get("stat:processed") == fmt.Sprint(total) })
	r.stop()
	p.SetRule(nil)
	p.ReleaseLate()
	want := map[string]any{"stat:processed": fmt.Sprint(total), "stat:failed": fmt.Sprint(3 * jobs / 4), "queues": redistest.Set{"q"}}
	got := b.keys()
	records, _ := got["failed"].(redistest.List)
	delete(got, "failed")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(records) != jobs/2 {
		t.Errorf("%d failure records, want %d", len(records), jobs/2)
	}
	if len(runs.runs) != total {
		t.Errorf("%d different runs, want %d", len(runs.runs), total)
	}
	for run, times := range runs.runs {
		if times != 1 {
			t.Errorf("%s ran %d times", run, times)
		}
	}
}

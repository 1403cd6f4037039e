package resque_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

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
	s.Seed(map[string]any{
		"queues": redistest.Set{"q", "low1"},
		"queue:q": redistest.List{
			`{"class":"Good","args":[1]}`, `{"class":"Bad","args":[2]}`, `{"class":"Good","args":[1`,
			`{"class":"Counted","args":[3]}`, `{"class":"Good","args":[NaN]}`, `{"class":"Again","args":[4]}`,
		},
		"queue:low1": redistest.List{`{"class":"Later","args":[5]}`, `{"class":"Nobody","args":[]}`},
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
	return b.keys(), p.Seen()[from:], count.runs
}

// Whatever reply is lost, and whichever call is carried out twice or late, the
// state in the end is the same.
func TestFaultsChangeNothing(t *testing.T) {
	t.Parallel()
	verdicts := map[string]redistest.Verdict{
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
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		kind := func(t *testing.T) *redistest.Server { t.Helper(); return s.Sibling(t) }
		want, requests, wantRuns := faultRun(t, kind, nil)
		if len(requests) < 20 || len(want) < 8 {
			t.Fatalf("the scene is too small: %d requests, state %v", len(requests), want)
		}
		for _, name := range slices.Sorted(maps.Keys(verdicts)) {
			verdict := verdicts[name]
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				for i, request := range requests {
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

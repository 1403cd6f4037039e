package resque_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/failure"
	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

// deathOf lets a worker whose job has one run left take it up, fails the run and
// ends the worker's line for good at its nth request: dying says whether that
// one is still carried out. Nothing of the worker reaches Redis after that, as
// after a kill -9. It answers the runs, and whether the death came at all.
func deathOf(t *testing.T, s *redistest.Server, n int, dying redistest.Verdict) (runs []int64, died bool) {
	t.Helper()
	var dead atomic.Bool
	p := redistest.NewProxy(t, s.URL())
	b := newBenchAt(t, s, p.URL())
	w := b.worker(func(c *resque.WorkerConfig) {
		c.Failures = failure.SuppressRetries(failure.List{})
		c.ShutdownTimeout, c.CancelTimeout, c.ReleaseTimeout = -1, -1, 20*time.Millisecond
	}, nil)
	handler := resque.HandlerFunc(func(ctx context.Context, job *resque.Job) error {
		runs = append(runs, job.Attempt)
		return bad(ctx, job)
	})
	if err := w.Handle("X", handler, retry.Policy{Limit: 2}); err != nil {
		t.Fatal(err)
	}
	until(t, func() error { return w.Start(t.Context()) })
	from := len(p.Seen())
	p.SetRule(func(r redistest.Request) redistest.Verdict {
		switch at := r.N - from; {
		case at < n:
			return redistest.Pass
		case at == n:
			dead.Store(true)
			return dying
		default:
			return redistest.DropRequest
		}
	})
	for worked := true; worked && !dead.Load(); {
		var err error
		if worked, err = w.Step(t.Context()); err != nil && !dead.Load() {
			t.Fatal(err)
		}
	}
	_ = w.Stop(t.Context()) // of a dead one nothing arrives; how others stop is another test's business
	return runs, dead.Load()
}

// successor buries the dead worker and works on, as somebody who finds it.
func successor(t *testing.T, s *redistest.Server) (runs []int64) {
	t.Helper()
	b := newBench(t, s)
	w := b.worker(func(c *resque.WorkerConfig) {
		c.WorkerID = func(int) string { return "host:2:q" }
		c.Failures = failure.SuppressRetries(failure.List{})
	}, nil)
	if err := w.Handle("X", resque.HandlerFunc(func(ctx context.Context, job *resque.Job) error {
		runs = append(runs, job.Attempt)
		return bad(ctx, job)
	}), retry.Policy{Limit: 2}); err != nil {
		t.Fatal(err)
	}
	b.start(w)
	if err := w.Bury(t.Context(), testID); err != nil {
		t.Fatal(err)
	}
	for worked := true; worked; {
		var err error
		if worked, err = w.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return runs
}

// B14 lantins/resque-retry#177: a process that died while it gave up left the job
// with a fresh set of retries. Whatever the command it dies at, there is one
// record in the end, and the job was owed until it stood there.
func TestReportDeathWhileGivingUp(t *testing.T) {
	t.Parallel()
	const element, counter = `{"class":"X","args":[1]}`, "resque-retry:X:356a192b7913b04c54574d18c28d46e6395428ab"
	for name, dying := range map[string]redistest.Verdict{
		"before": redistest.DropRequest, "after": redistest.CutReply, "after all that was sent along": redistest.DropReply,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				for n := 0; ; n++ {
					s := s.Sibling(t)
					s.Seed(map[string]any{"queue:q": redistest.List{element}, "queues": redistest.Set{"q"}, counter: "1"})
					runs, died := deathOf(t, s, n, dying)
					what := fmt.Sprintf("dead at request %d after runs %v", n, runs)
					checkOwedOrRecorded(t, s, what, counter)
					more := successor(t, s)
					if records, _ := s.Get("failed").(redistest.List); len(records) != 1 {
						t.Errorf("%s and %v: %d records", what, more, len(records))
					}
					if slices.ContainsFunc(append(runs, more...), func(attempt int64) bool { return attempt != 2 }) || len(runs)+len(more) > 2 {
						t.Errorf("%s: then %v; all should be the last one", what, more)
					}
					rest := slices.Sorted(maps.Keys(newBenchAt(t, s, s.URL()).with("queue:", "delayed", "resque-retry:", "worker:"+testID, "failure-")))
					if diff := cmp.Diff([]string(nil), rest); diff != "" {
						t.Errorf("%s: left behind %s", what, diff)
					}
					if !died {
						if n < 4 {
							t.Errorf("the scene has %d requests only", n)
						}
						return
					}
				}
			})
		})
	}
}

// checkOwedOrRecorded wants the job in its queue or in a hand with its counter
// kept, or else recorded as failed without one.
func checkOwedOrRecorded(t *testing.T, s *redistest.Server, what, counter string) {
	t.Helper()
	queue, _ := s.Get("queue:q").(redistest.List)
	records, _ := s.Get("failed").(redistest.List)
	places := len(queue) + len(records)
	if s.Get("worker:"+testID) != nil {
		places++
	}
	count := s.Get(counter)
	kept := count == "1" || count == "2"
	if places != 1 || kept != (len(records) == 0) {
		t.Errorf("%s: queue %v, hand %v, counter %v, %d records", what, queue, s.Get("worker:"+testID), count, len(records))
	}
}

// B24 lantins/resque-retry: a job that is handed to another class leaves its
// counter behind.
func TestReportDelegate(t *testing.T) {
	t.Parallel()
	for name, wait := range waits() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				b, w := retrying(t, s, `[1]`, bad, retry.Policy{Delay: retry.Every(wait), Delegate: &retry.Delegate{Class: "Fixer", Queue: "fix"}})
				b.step(w)
				b.dueAfter(wait)
				if diff := cmp.Diff(redistest.List{`{"class":"Fixer","args":[1]}`}, s.Get("queue:fix")); diff != "" {
					t.Error(diff)
				}
				if left := b.with("resque-retry:", "failure-", "delayed", "queue:q"); len(left) > 0 {
					t.Errorf("left: %v", left)
				}
			})
		})
	}
}

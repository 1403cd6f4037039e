package resque_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

// E2 resque/resque#1136, #1514, #1010, #978: short jobs were killed by a deploy
// that would have ended in a second. They end as ever, and the stop waits for
// nothing else.
func TestReportShortJobsOutliveTheStop(t *testing.T) {
	t.Parallel()
	b := newBench(t, redistest.New(t))
	b.server.Seed(map[string]any{"queue:q": redistest.List{`{"class":"Short","args":[]}`, `{"class":"Short","args":[]}`}})
	jobs := make(calls)
	w := b.worker(func(c *resque.WorkerConfig) {
		own(c)
		c.ShutdownTimeout, c.CancelTimeout = time.Hour, time.Hour // to wait for which the test has no time
	}, map[string]resque.Handler{"Short": jobs})
	r := run(t, w)
	one := jobs.next(t)
	r.cancel()
	if one.ctx.Err() != nil {
		t.Error("it is cancelled")
	}
	one.answer <- nil
	r.wait()
	want := map[string]any{"queue:q": redistest.List{`{"class":"Short","args":[]}`}, "stat:processed": "1"}
	if diff := cmp.Diff(want, b.keys()); diff != "" {
		t.Error(diff)
	}
}

// E5 goworker: a job that was taken and hadn't begun was put back as other text,
// at the other end.
func TestReportStopBetweenReserveAndBegin(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		const job, counter = `{ "class":"Counted", "args":[1.10, "é"], "args":[1] }`, countedOne
		s.Seed(map[string]any{
			"queues": redistest.Set{"q"}, "queue:q": redistest.List{job, `{"class":"Counted","args":[2]}`}, counter: "3",
		})
		p := redistest.NewProxy(t, s.URL())
		b := newBenchAt(t, s, p.URL())
		w := b.worker(own, nil)
		runs := &runCount{runs: map[string]int{}}
		counted := func(context.Context, *resque.Job) error { runs.add("Counted"); return nil }
		if err := w.Handle("Counted", resque.HandlerFunc(counted), retry.Policy{Limit: retry.Forever}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		names, begins := resque.ScriptNames(), 0
		p.SetRule(func(r redistest.Request) redistest.Verdict {
			if len(r.Args) < 2 || names[r.Args[1]] != "begin" {
				return redistest.Pass
			}
			begins++
			cancel()
			return redistest.DropRequest
		})
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
		want := map[string]any{"queues": redistest.Set{"q"}, "queue:q": redistest.List{job, `{"class":"Counted","args":[2]}`}, counter: "3"}
		if diff := cmp.Diff(want, b.keys()); diff != "" {
			t.Error(diff)
		}
		if begins != 1 || len(runs.runs) > 0 {
			t.Errorf("%d begins were tried, runs %v", begins, runs.runs)
		}
	})
}

// E15 actionhero/node-resque#48, #190: running jobs vanished with the worker's
// entry. Each is put back, or recorded, before the entry goes.
func TestReportJobsGoBeforeTheRegistry(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		p := redistest.NewProxy(t, s.URL())
		b := newBenchAt(t, s, p.URL())
		s.Seed(map[string]any{"queues": redistest.Set{"q"}, "queue:q": redistest.List{`{"class":"Held","args":[1]}`, `{"class":"Fails","args":[2]}`}})
		jobs := make(calls)
		w := b.worker(func(c *resque.WorkerConfig) {
			own(c)
			c.Concurrency, c.ShutdownTimeout = 2, -1
		}, nil)
		if err := errors.Join(w.Handle("Held", jobs), w.Handle("Fails", jobs, resque.Fail)); err != nil {
			t.Fatal(err)
		}
		r := run(t, w)
		for range 2 {
			one := jobs.next(t)
			go func() {
				<-one.ctx.Done()
				one.answer <- errors.New("cut off")
			}()
		}
		looked := 0
		p.SetRule(func(redistest.Request) redistest.Verdict { // each of the two is somewhere at any time
			text, registered := "", ""
			for name, value := range s.Dump() {
				if name == "failed" || name == "queue:q" || strings.HasPrefix(name, "worker:") {
					text += cmp.Diff(nil, value)
				}
				if name == "workers" {
					registered = cmp.Diff(nil, value)
				}
			}
			for _, class := range []string{"Held", "Fails"} {
				if !strings.Contains(text, class) {
					t.Errorf("%s is nowhere in %s", class, text)
				}
			}
			if registered == "" && strings.Contains(text, `run_at`) {
				t.Errorf("no worker is registered, and a hand is left: %s", text)
			}
			looked++
			return redistest.Pass
		})
		r.stop()
		p.SetRule(nil)
		if looked < 4 {
			t.Errorf("only %d calls were looked at", looked)
		}
	})
}

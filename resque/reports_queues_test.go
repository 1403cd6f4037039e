package resque_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

// What broke for others: queues. CONTRIBUTING.md lists the reports.

// taken works until nothing is left, or most jobs are done, and answers the
// queues of the jobs in their order.
func taken(b *bench, most int, change func(*resque.WorkerConfig)) (queues []string) {
	b.t.Helper()
	w := b.worker(change, map[string]resque.Handler{"Good": resque.HandlerFunc(func(_ context.Context, job *resque.Job) error {
		queues = append(queues, job.Queue)
		return nil
	})})
	b.start(w)
	for len(queues) < most {
		worked, err := w.Step(b.t.Context())
		if err != nil {
			b.t.Fatal(err)
		}
		if !worked {
			break
		}
	}
	return queues
}

// full is a queue of n jobs.
func full(n int) redistest.List {
	return slices.Repeat(redistest.List{`{"class":"Good","args":[]}`}, n)
}

// G3 wr0ngway/resque-dynamic-queues#10, sidekiq-dynamic-queues#4: the order of
// the patterns was lost.
func TestReportOrderOfPatterns(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		s.Seed(map[string]any{
			"queues": redistest.Set{"a_low", "b_high", "a_high"}, "queue:a_low": full(2), "queue:b_high": full(2), "queue:a_high": full(2),
		})
		got := taken(newBench(t, s), 99, func(c *resque.WorkerConfig) { c.Queues = []string{"*_high,*_low"} })
		if diff := cmp.Diff([]string{"a_high", "a_high", "b_high", "b_high", "a_low", "a_low"}, got); diff != "" {
			t.Error(diff)
		}
	})
}

// G4 hibiken/asynq#1066, #856, #195: a new queue needed a restart. One that isn't
// in the set of queues isn't seen, as in Ruby.
func TestReportNewQueues(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b := newBench(t, s)
		jobs := make(calls)
		w := b.worker(func(c *resque.WorkerConfig) {
			own(c)
			c.Queues, c.Interval = []string{"*"}, 2*time.Millisecond
		}, map[string]resque.Handler{"Good": jobs})
		run(t, w)
		took := func(queue string) {
			t.Helper()
			one := jobs.next(t)
			if one.answer <- nil; one.job.Queue != queue {
				t.Fatalf("took a job of %s, not of %s", one.job.Queue, queue)
			}
		}
		eventually(t, "the worker registers", func() bool { return s.Get("workers") != nil })
		s.Do("RPUSH", s.Key("queue:a_hidden"), `{"class":"Good","args":[]}`)
		for _, queue := range []string{"new", "newer"} {
			if err := b.client.Enqueue(t.Context(), queue, "Good"); err != nil {
				t.Fatal(err)
			}
			took(queue)
		}
		s.Do("SADD", s.Key("queues"), "a_hidden")
		took("a_hidden")
	})
}

// spread draws evenly spread numbers from [0, 1), the same ones each time.
func spread() func() float64 {
	var mu sync.Mutex
	n := 0.0
	return func() float64 {
		mu.Lock()
		defer mu.Unlock()
		n++
		_, fraction := math.Modf(n * math.Phi)
		return fraction
	}
}

// G5 benmanns/goworker#5: the lower queue starved; weights are to prevent it, and
// without them the order is strict.
func TestReportWeights(t *testing.T) {
	t.Parallel()
	for list, c := range map[string]struct{ least, most int }{
		"high=2,low=1": {180, 219}, "low=1,high=2": {180, 219}, "high=1,low=1": {135, 165}, "high=9,low=1": {261, 279},
		"high,low": {300, 300},
	} {
		t.Run(list, func(t *testing.T) {
			t.Parallel()
			s := redistest.New(t)
			s.Seed(map[string]any{"queue:high": full(300), "queue:low": full(300), "queues": redistest.Set{"high", "low"}})
			order := taken(newBench(t, s), 300, func(config *resque.WorkerConfig) {
				config.Queues = []string{list}
				config.Random = spread()
			})
			high := 0
			for _, queue := range order {
				if queue == "high" {
					high++
				}
			}
			if len(order) != 300 || high < c.least || high > c.most {
				t.Errorf("%d of %d jobs are of high, want %d to %d", high, len(order), c.least, c.most)
			}
		})
	}
}

// G8 benmanns/goworker#50; resque/resque#663, #1188: queues that Go filled were
// not to be seen.
func TestReportQueuesAreEntered(t *testing.T) {
	t.Parallel()
	const job = `{"class":"X","args":[]}`
	for name, fill := range map[string]func(t *testing.T, b *bench){
		"enqueue": func(t *testing.T, b *bench) {
			t.Helper()
			if err := b.client.Enqueue(t.Context(), "q", "X"); err != nil {
				t.Fatal(err)
			}
		},
		"many at the front": func(t *testing.T, b *bench) {
			t.Helper()
			if _, err := b.client.EnqueueMany(t.Context(), resque.NewJob{Queue: "q", Class: "X", Front: true}); err != nil {
				t.Fatal(err)
			}
		},
		"push": func(t *testing.T, b *bench) {
			t.Helper()
			if err := b.client.Push(t.Context(), "q", []byte(job)); err != nil {
				t.Fatal(err)
			}
		},
		"due at once": func(t *testing.T, b *bench) {
			t.Helper()
			if err := b.client.EnqueueIn(t.Context(), 0, "q", "X"); err != nil {
				t.Fatal(err)
			}
		},
		"a retry at once": func(t *testing.T, b *bench) {
			t.Helper()
			b.server.Seed(map[string]any{"queue:q": redistest.List{job}})
			w := b.worker(nil, nil)
			if err := w.Handle("X", resque.HandlerFunc(bad), retry.Policy{}); err != nil {
				t.Fatal(err)
			}
			b.start(w)
			b.step(w)
		},
		"a retry that was delayed": func(t *testing.T, b *bench) {
			t.Helper()
			b.server.Seed(map[string]any{"queue:q": redistest.List{job}})
			w := b.worker(nil, nil)
			if err := w.Handle("X", resque.HandlerFunc(bad), retry.Policy{Delay: retry.Every(60_000_000_000)}); err != nil {
				t.Fatal(err)
			}
			b.start(w)
			b.step(w)
			b.due()
		},
		"given back at a stop": func(t *testing.T, b *bench) {
			t.Helper()
			b.server.Seed(map[string]any{"queue:q": redistest.List{job}})
			jobs := make(calls)
			w := b.worker(func(c *resque.WorkerConfig) {
				own(c)
				c.ShutdownTimeout = -1
			}, map[string]resque.Handler{"X": jobs})
			r := run(t, w)
			one := jobs.next(t)
			b.server.Do("DEL", b.server.Key("queues"))
			go func() {
				<-one.ctx.Done()
				one.answer <- errors.New("cut off")
			}()
			r.stop()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				fill(t, newBench(t, s))
				want := map[string]any{"queues": redistest.Set{"q"}, "queue:q": redistest.List{job}}
				if diff := cmp.Diff(want, map[string]any{"queues": s.Get("queues"), "queue:q": s.Get("queue:q")}); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

package resque_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

func TestStepNeedsAStartedWorker(t *testing.T) {
	t.Parallel()
	b := newBench(t, redistest.New(t))
	w := b.worker(nil, map[string]resque.Handler{"Good": resque.HandlerFunc(good)})
	if worked, err := w.Step(t.Context()); worked || err == nil {
		t.Errorf("before Start: %v, %v", worked, err)
	}
	if err := w.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if worked, err := w.Step(t.Context()); worked || err == nil {
		t.Errorf("after Stop: %v, %v", worked, err)
	}
	if workers := b.server.Get("workers"); workers != nil {
		t.Errorf("workers: %v", workers)
	}
}

func TestWorkerIDs(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"nocolon", ":1:q", "host::q", "host:x:q", "host:1:", "host:1", "host:1:same"} {
		b := newBench(t, redistest.New(t))
		w := b.worker(func(c *resque.WorkerConfig) { c.Concurrency = 2; c.WorkerID = func(int) string { return id } },
			map[string]resque.Handler{"Good": resque.HandlerFunc(good)})
		var refused *resque.ConfigError
		if err := w.Run(t.Context()); !errors.As(err, &refused) || refused.Field != "WorkerConfig.WorkerID" {
			t.Errorf("%q: %v", id, err)
		}
		if names := b.server.Names(); len(names) > 0 {
			t.Errorf("%q: wrote %v", id, names)
		}
	}
}

// A hand that a predecessor with the same id left is not this worker's: its slot
// takes nothing, and the worker neither loops nor takes new names.
func TestHandOfAPredecessor(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b := newBench(t, s)
		hand := `{"queue":"q","run_at":"2026-01-01T00:00:00Z","payload":{"class":"Good","args":[1]}}`
		s.Seed(map[string]any{"worker:" + testID: hand, "queue:q": redistest.List{`{"class":"Good","args":[2]}`}})
		w := b.worker(nil, map[string]resque.Handler{"Good": resque.HandlerFunc(good)})
		if err := w.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		name := w.Name()
		for range 3 {
			if worked, err := w.Step(t.Context()); worked || err != nil {
				t.Errorf("worked %v, error %v", worked, err)
			}
		}
		if w.Name() != name || s.Get("worker:"+testID) != hand {
			t.Errorf("name %q, hand %v", w.Name(), s.Get("worker:"+testID))
		}
		s.Do("DEL", s.Key("worker:"+testID))
		b.step(w)
		if err := w.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestStopBesideRun(t *testing.T) {
	t.Parallel()
	b := newBench(t, redistest.New(t))
	jobs := make(calls)
	b.server.Seed(map[string]any{"queue:q": redistest.List{`{"class":"Good","args":[]}`}})
	w := b.worker(own, map[string]resque.Handler{"Good": jobs})
	r := run(t, w)
	one := jobs.next(t)
	stopped := make(chan error, 1)
	go func() { stopped <- w.Stop(t.Context()) }()
	one.answer <- nil
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	r.wait()
	if workers := b.server.Get("workers"); workers != nil {
		t.Errorf("workers: %v", workers)
	}
	if err := w.Run(t.Context()); err == nil {
		t.Error("Run ran twice")
	}
}

// Whoever starts Run on a goroutine doesn't know whether its own Stop comes first.
func TestStopBeforeRun(t *testing.T) {
	t.Parallel()
	b := newBench(t, redistest.New(t))
	for range 20 {
		w := b.worker(own, map[string]resque.Handler{"Good": resque.HandlerFunc(good)})
		ended := make(chan error)
		go func() { ended <- w.Run(t.Context()) }()
		if err := w.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if workers := b.server.Get("workers"); workers != nil {
		t.Errorf("workers: %v", workers)
	}
}

// QUIT arrives while a job with a retry policy is on its way into a hand.
func TestDrainWhileReserving(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		sc, w := newScene(t, s)
		s.Seed(map[string]any{"queue:q": redistest.List{`{"class":"Counted","args":[1]}`, "{\"class\":\"Good\",\"args\":[\"\xff\"]}"}})
		sc.before("reserve", func(*redistest.Server) { w.Drain() })
		if err := w.Run(t.Context()); err != nil {
			t.Error(err)
		}
		if sc.runs.runs["Counted"] != 1 || s.Get("stat:processed") != "1" {
			t.Errorf("runs %v, stat:processed %v", sc.runs.runs, s.Get("stat:processed"))
		}
	})
}

// typedNilError is a nil pointer in an error whose methods don't expect that.
type typedNilError struct{ inner error }

func (e *typedNilError) Error() string { return e.inner.Error() }
func (e *typedNilError) Unwrap() error { return e.inner }

type oddOutcomeError struct{ error }

func (oddOutcomeError) RunOutcome() resque.Outcome { return resque.Interrupted }

// Whatever a handler does, its job is recorded and the slot goes on.
func TestRudeHandlers(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]resque.HandlerFunc{
		"typed nil":   func(context.Context, *resque.Job) error { var e *typedNilError; return e },
		"odd outcome": func(context.Context, *resque.Job) error { return oddOutcomeError{errors.New("odd")} },
		"goexit":      func(context.Context, *resque.Job) error { runtime.Goexit(); return nil },
		"panic nil":   func(context.Context, *resque.Job) error { panic(nil) }, //nolint:govet // what a handler may do
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, redistest.New(t))
			w := b.worker(nil, map[string]resque.Handler{"Rude": h, "Good": resque.HandlerFunc(good)})
			b.server.Seed(map[string]any{"queue:q": redistest.List{`{"class":"Rude","args":[]}`, `{"class":"Good","args":[]}`}})
			b.start(w)
			b.step(w)
			b.step(w)
			if got := b.failures(); len(got) != 1 || b.server.Get("stat:processed") != "2" {
				t.Errorf("failures %+v, stat:processed %v", got, b.server.Get("stat:processed"))
			}
		})
	}
}

// hanging is a backend whose notification never ends.
type hanging struct{ heard chan context.Context }

func (hanging) Writes(*resque.Failure) ([]resque.Write, error) { return nil, nil }

func (h hanging) Notify(ctx context.Context, _ *resque.Failure) error {
	h.heard <- ctx
	<-ctx.Done()
	return context.Cause(ctx)
}

func TestNotificationCantHoldTheStop(t *testing.T) {
	t.Parallel()
	b := newBench(t, redistest.New(t))
	h := hanging{heard: make(chan context.Context, 1)}
	b.server.Seed(map[string]any{"queue:q": redistest.List{`{"class":"Bad","args":[]}`}})
	w := b.worker(func(c *resque.WorkerConfig) { own(c); c.Failures = h; c.ReleaseTimeout = 50 * time.Millisecond },
		map[string]resque.Handler{"Bad": resque.HandlerFunc(bad)})
	r := run(t, w)
	ctx := <-h.heard
	if ctx.Err() != nil {
		t.Error("the notification's context has ended before the stop")
	}
	r.stop()
	<-ctx.Done()
}

func TestAbandonedJobsDontHoldADrain(t *testing.T) {
	t.Parallel()
	b := newBench(t, redistest.New(t))
	b.server.Seed(map[string]any{"queue:q": redistest.List{`{"class":"Dies","args":[]}`, `{"class":"Good","args":[]}`}})
	jobs := make(calls)
	w := b.worker(func(c *resque.WorkerConfig) { own(c); c.Concurrency = 2 }, map[string]resque.Handler{
		"Dies": resque.HandlerFunc(func(context.Context, *resque.Job) error { return resque.ErrAbandon }), "Good": jobs,
	})
	r := run(t, w)
	one := jobs.next(t)
	w.Drain()
	one.answer <- nil
	r.wait()
	if got := hands(b.server); len(got) != 1 || b.server.Get("stat:processed") != "1" {
		t.Errorf("hands %v, stat:processed %v", got, b.server.Get("stat:processed"))
	}
}

// A large element isn't looked at in Redis; its hand is filled in the next flush.
func TestLargeElements(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 100_000)
	for name, c := range map[string]struct{ element, hand string }{
		"a job":     {`{"class":"Good","args":["` + text + `"]}`, `"payload":{"class":"Good","args":["` + text[:20]},
		"malformed": {`{"class":"Good","args":["` + text, `"payload":{"class":"Understudy::Malformed","args":["eyJjbGFzcyI6`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				p := redistest.NewProxy(t, s.URL())
				b := newBenchAt(t, s, p.URL())
				w := b.worker(nil, map[string]resque.Handler{"Good": resque.HandlerFunc(good)})
				s.Seed(map[string]any{"queue:q": redistest.List{c.element}})
				b.start(w)
				names, cut := resque.ScriptNames(), false
				p.SetRule(func(r redistest.Request) redistest.Verdict {
					if !cut && len(r.Args) > 1 && names[r.Args[1]] == "record" {
						cut = true
						return redistest.DropRequest
					}
					return redistest.Pass
				})
				if _, err := w.Step(t.Context()); err == nil {
					t.Fatal("the record got through")
				}
				if hand, _ := s.Get("worker:" + testID).(string); !strings.Contains(hand, c.hand) {
					t.Errorf("the hand is %.200q", hand)
				}
				b.step(w)
			})
		})
	}
}

// A queue whose name is no UTF-8 gets its job back; so do large and malformed
// ones.
func TestGiveBackOfOddThings(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b := newBench(t, s)
		large := `{"class":"Held","args":["` + strings.Repeat("x", 100_000) + `"]}`
		elements := redistest.List{large, "{\"class\":\"Held\",\"args\":[\"\xff\"]}", `{"class":"Held","args":[1]}`}
		queue := "q\xff"
		s.Seed(map[string]any{"queue:" + queue: elements})
		jobs := make(calls)
		w := b.worker(func(c *resque.WorkerConfig) {
			own(c)
			c.Queues, c.Concurrency, c.ShutdownTimeout = []string{queue}, 3, -1
		}, nil)
		if err := w.Handle("Held", jobs, retry.Policy{}); err != nil {
			t.Fatal(err)
		}
		r := run(t, w)
		for range elements {
			one := jobs.next(t)
			go func() {
				<-one.ctx.Done()
				one.answer <- context.Cause(one.ctx)
			}()
		}
		r.stop()
		want := map[string]any{"queue:" + queue: elements, "queues": redistest.Set{queue}}
		if diff := cmp.Diff(want, b.keys()); diff != "" {
			t.Errorf("%.2000s", diff)
		}
	})
}

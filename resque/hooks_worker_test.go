package resque_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
)

// events is a list that several goroutines add to.
type events struct {
	mu   sync.Mutex
	list []string
}

func (e *events) add(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, fmt.Sprintf(format, args...))
}

func (e *events) all() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string{}, e.list...)
}

// expect compares what has happened so far.
func (e *events) expect(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), e.all()); diff != "" {
		t.Error(diff)
	}
}

// hooks note all of a worker's hooks, with how many workers are registered.
func (e *events) hooks(s *redistest.Server) resque.WorkerHooks {
	note := func(name string) {
		ids, _ := s.Get("workers").(redistest.Set)
		e.add("%s, %d workers", name, len(ids))
	}
	return resque.WorkerHooks{
		Start:       func(context.Context, *resque.Worker) error { note("Start"); return nil },
		Stop:        func(context.Context, *resque.Worker) { note("Stop") },
		QueueEmpty:  func(context.Context, *resque.Worker) { note("QueueEmpty") },
		BeforePause: func(*resque.Worker) { note("BeforePause") },
		AfterPause:  func(*resque.Worker) { note("AfterPause") },
		OnFailure: func(ctx context.Context, job *resque.Job, err error) {
			if ctx.Err() == nil {
				note("OnFailure " + job.Class + " " + err.Error())
			}
		},
	}
}

// The whole life of a worker: what Ruby runs for a worker that performs two jobs,
// one of which fails, and ends (docs/hooks.md).
func TestWorkerHooksByStep(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b, e := newBench(t, s), &events{}
		w := b.worker(func(c *resque.WorkerConfig) { c.Hooks = e.hooks(s) },
			map[string]resque.Handler{"Good": resque.HandlerFunc(good), "Bad": resque.HandlerFunc(bad)})
		for range 2 { // an empty queue at the start is none that became empty
			if err := w.Start(t.Context()); err != nil && len(e.all()) == 0 {
				t.Fatal(err) // the second is refused, and runs no hook
			}
		}
		look := func() {
			if worked, err := w.Step(t.Context()); worked || err != nil {
				t.Errorf("worked %v, %v", worked, err)
			}
		}
		look()
		e.expect(t, "Start, 0 workers")
		for range 2 {
			if err := errors.Join(b.client.Enqueue(t.Context(), "q", "Good"), b.client.Enqueue(t.Context(), "q", "Bad")); err != nil {
				t.Fatal(err)
			}
			b.step(w)
			b.step(w)
			look()
			look()
		}
		w.Pause()
		w.Pause()
		w.Resume()
		for range 2 {
			if err := w.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		}
		e.expect(t, "Start, 0 workers", "OnFailure Bad boom, 1 workers", "QueueEmpty, 1 workers",
			"OnFailure Bad boom, 1 workers", "QueueEmpty, 1 workers", "BeforePause, 1 workers", "BeforePause, 1 workers",
			"AfterPause, 1 workers", "Stop, 0 workers")
	})
}

// In Run QueueEmpty comes once for each time that all slots have become idle,
// with and without news from Redis, and not at a stop.
func TestQueueEmptyInRun(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*running){
		"stop":  func(r *running) { r.cancel() },
		"drain": func(r *running) { r.worker.Drain() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testQueueEmptyInRun(t, end)
		})
	}
}

func testQueueEmptyInRun(t *testing.T, end func(*running)) {
	t.Helper()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b, e := newBench(t, s), &events{}
		jobs := make(calls)
		w := b.worker(func(c *resque.WorkerConfig) {
			own(c)
			c.Concurrency, c.Interval = 3, 2*time.Millisecond
			c.Hooks = e.hooks(s)
		}, map[string]resque.Handler{"Good": jobs})
		r := run(t, w)
		want := []string{"Start, 0 workers"}
		for round := range 3 {
			for i := range 2 {
				if err := b.client.Enqueue(t.Context(), "q", "Good", i); err != nil {
					t.Fatal(err)
				}
			}
			first, second := jobs.next(t), jobs.next(t)
			first.answer <- nil
			eventually(t, "the first job is recorded", func() bool { return s.Get("stat:processed") == fmt.Sprint(2*round+1) })
			e.expect(t, want...) // a slot still works
			second.answer <- nil
			want = append(want, "QueueEmpty, 3 workers")
			eventually(t, "QueueEmpty", func() bool { return len(e.all()) == len(want) })
		}
		if err := b.client.Enqueue(t.Context(), "q", "Good"); err != nil {
			t.Fatal(err)
		}
		last := jobs.next(t)
		end(r)
		last.answer <- nil
		r.wait()
		e.expect(t, append(want, "Stop, 0 workers")...)
	})
}

// A pause in the middle of the work makes the worker idle, too; as in Ruby.
func TestQueueEmptyInAPause(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b, e := newBench(t, s), &events{}
		jobs := make(calls)
		w := b.worker(func(c *resque.WorkerConfig) {
			own(c)
			c.Interval, c.Hooks = 2*time.Millisecond, e.hooks(s)
		}, map[string]resque.Handler{"Good": jobs})
		s.Seed(map[string]any{"queue:q": redistest.List{`{"class":"Good"}`, `{"class":"Good"}`}})
		run(t, w)
		one := jobs.next(t)
		w.Pause()
		one.answer <- nil
		eventually(t, "QueueEmpty", func() bool { return len(e.all()) == 3 })
		w.Resume()
		jobs.next(t).answer <- nil
		eventually(t, "QueueEmpty again", func() bool { return len(e.all()) == 5 })
		e.expect(t, "Start, 0 workers", "BeforePause, 1 workers", "QueueEmpty, 1 workers", "AfterPause, 1 workers", "QueueEmpty, 1 workers")
	})
}

// A hook that takes its time holds up neither the jobs nor the lease; what it
// misses comes as one call, and a stop waits for it.
func TestQueueEmptyTakesItsTime(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b, e := newBench(t, s), &events{}
		began, free := make(chan struct{}, 1), make(chan struct{})
		w := b.worker(func(c *resque.WorkerConfig) {
			own(c)
			c.Interval, c.Lease = 2*time.Millisecond, 300*time.Millisecond
			c.Hooks.QueueEmpty = func(context.Context, *resque.Worker) {
				e.add("begin")
				select {
				case began <- struct{}{}:
				default:
				}
				<-free
				e.add("end")
			}
			c.Hooks.Stop = func(context.Context, *resque.Worker) { e.add("stop") }
		}, map[string]resque.Handler{"Good": resque.HandlerFunc(good)})
		r := run(t, w)
		for n := range 4 {
			if err := b.client.Enqueue(t.Context(), "q", "Good"); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the job is recorded beside the hook", func() bool { return s.Get("stat:processed") == fmt.Sprint(n+1) })
			if n == 0 {
				<-began
			}
		}
		lease := func() float64 {
			leases, _ := s.Get("understudy:processes").(redistest.ZSet)
			return leases[w.Name()]
		}
		first := lease()
		eventually(t, "the lease is renewed beside the hook", func() bool { return lease() > first+200 })
		r.cancel()
		eventually(t, "the worker leaves the registry", func() bool { return s.Get("workers") == nil })
		e.expect(t, "begin")
		close(free)
		r.wait()
		e.expect(t, "begin", "end", "begin", "end", "stop")
	})
}

// A pause begins when BeforePause has ended, and is over when AfterPause begins.
func TestPauseHooksSurroundThePause(t *testing.T) {
	t.Parallel()
	b := newBench(t, redistest.New(t))
	jobs, seen := make(calls), make(chan string, 1)
	perform := func() string {
		if err := b.client.Enqueue(t.Context(), "q", "Good"); err != nil {
			return err.Error()
		}
		jobs.next(t).answer <- nil
		return "performed"
	}
	w := b.worker(func(c *resque.WorkerConfig) {
		own(c)
		c.Interval = 2 * time.Millisecond
		c.Hooks.BeforePause = func(*resque.Worker) { seen <- perform() }
		c.Hooks.AfterPause = func(*resque.Worker) { seen <- perform() }
	}, map[string]resque.Handler{"Good": jobs})
	run(t, w)
	w.Pause()
	if got := <-seen; got != "performed" {
		t.Errorf("before the pause: %s", got)
	}
	w.Resume()
	if got := <-seen; got != "performed" {
		t.Errorf("after the pause: %s", got)
	}
}

// Stop runs once, when the jobs have ended or been given back, before Run
// returns: also at a second signal, where giving back fails, where Redis never
// answers, and where Start refuses.
func TestStopHookRunsOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		end  func(b *bench, w *resque.Worker, r *running, one call)
		want string
	}{
		{"the job ends", func(_ *bench, _ *resque.Worker, r *running, one call) {
			r.cancel()
			one.answer <- nil
		}, "processed 1, queue []"},
		{"second signal", func(_ *bench, w *resque.Worker, r *running, one call) {
			r.cancel()
			w.Hurry()
			w.Hurry()
			<-one.ctx.Done()
			one.answer <- errors.New("cut off")
		}, `processed <nil>, queue [{"class":"Held"}]`},
		{"Stop beside Run, twice", func(b *bench, w *resque.Worker, _ *running, one call) {
			done := make(chan error, 2)
			for range 2 {
				go func() { done <- w.Stop(context.WithoutCancel(b.t.Context())) }()
			}
			one.answer <- nil
			if err := errors.Join(<-done, <-done); err != nil {
				b.t.Error(err)
			}
		}, "processed 1, queue []"},
		{"drain", func(_ *bench, w *resque.Worker, _ *running, one call) {
			w.Drain()
			one.answer <- nil
		}, "processed 1, queue []"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				b, e := newBench(t, s), &events{}
				jobs := make(calls)
				w := b.worker(func(cfg *resque.WorkerConfig) {
					own(cfg)
					cfg.Interval = 2 * time.Millisecond
					cfg.Hooks.Stop = func(ctx context.Context, w *resque.Worker) {
						queue, _ := s.Get("queue:q").(redistest.List)
						e.add("Stop of %q: %v, workers %v, processed %v, queue %v", w.Name(), ctx.Err(), s.Get("workers"), s.Get("stat:processed"), queue)
					}
				}, map[string]resque.Handler{"Held": jobs})
				s.Seed(map[string]any{"queue:q": redistest.List{`{"class":"Held"}`}})
				r := run(t, w)
				one := jobs.next(t)
				name := w.Name()
				c.end(b, w, r, one)
				r.wait()
				e.expect(t, fmt.Sprintf("Stop of %q: <nil>, workers <nil>, %s", name, c.want))
				if err := w.Stop(t.Context()); err != nil {
					t.Error(err)
				}
				if n := len(e.all()); n != 1 {
					t.Errorf("Stop ran %d times", n)
				}
			})
		})
	}
}

// With Redis away Start and Stop have their turn, once.
func TestHooksWithoutRedis(t *testing.T) {
	t.Parallel()
	s := redistest.NewOwn(t)
	b, e := newBench(t, s), &events{}
	tried := make(chan struct{})
	w := b.worker(func(c *resque.WorkerConfig) {
		own(c)
		c.ReleaseTimeout = time.Millisecond
		c.Clock = sleeping(func(ctx context.Context, _ time.Duration) error {
			select {
			case tried <- struct{}{}:
			case <-ctx.Done():
			}
			return nil
		})
		c.Hooks.Start = func(context.Context, *resque.Worker) error { e.add("Start"); return nil }
		c.Hooks.Stop = func(context.Context, *resque.Worker) { e.add("Stop") }
	}, map[string]resque.Handler{"Good": resque.HandlerFunc(good)})
	s.Stop()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- w.Run(ctx) }()
	<-tried
	<-tried
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	e.expect(t, "Start", "Stop")
}

// sleeping is a clock whose sleeps are a function.
type sleeping func(ctx context.Context, d time.Duration) error

func (sleeping) Now() time.Time                                     { return time.Now() }
func (s sleeping) Sleep(ctx context.Context, d time.Duration) error { return s(ctx, d) }

// An error of Start, or its panic, ends the worker before it has registered;
// Stop has its turn, as worker_exit in Ruby.
func TestStartHookRefuses(t *testing.T) {
	t.Parallel()
	for name, hook := range map[string]func() error{
		"error": func() error { return errNo },
		"panic": func() error { panic(errNo) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				seed := map[string]any{"queue:q": redistest.List{`{"class":"Good"}`}}
				s.Seed(seed)
				b, e := newBench(t, s), &events{}
				handlers := map[string]resque.Handler{"Good": resque.HandlerFunc(good)}
				change := func(c *resque.WorkerConfig) {
					c.Hooks = e.hooks(s)
					c.Hooks.Start = func(context.Context, *resque.Worker) error { e.add("Start"); return hook() }
				}
				if err := b.worker(change, handlers).Run(t.Context()); !errors.Is(err, errNo) || !strings.Contains(err.Error(), "the hook Start") {
					t.Errorf("Run: %v", err)
				}
				e.expect(t, "Start", "Stop, 0 workers")
				w := b.worker(change, handlers)
				for range 2 {
					if err := w.Start(t.Context()); !errors.Is(err, errNo) {
						t.Errorf("Start: %v", err)
					}
				}
				if err := w.Stop(t.Context()); err != nil {
					t.Error(err)
				}
				e.expect(t, "Start", "Stop, 0 workers", "Start", "Stop, 0 workers")
				if diff := cmp.Diff(seed, b.keys()); diff != "" {
					t.Error("something was written:", diff)
				}
			})
		})
	}
}

// A Run that is refused, since the worker works already, ends no worker.
func TestRunBesideStart(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b, e := newBench(t, s), &events{}
		w := b.worker(func(c *resque.WorkerConfig) { c.Hooks = e.hooks(s) }, map[string]resque.Handler{"Good": resque.HandlerFunc(good)})
		if err := w.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := w.Run(t.Context()); err == nil {
			t.Error("Run of a worker that was started")
		}
		e.expect(t, "Start, 0 workers")
		if err := w.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		e.expect(t, "Start, 0 workers", "Stop, 0 workers")
	})
}

// A worker that never began has no hooks to run.
func TestNoHooksWithoutABeginning(t *testing.T) {
	t.Parallel()
	b, e := newBench(t, redistest.New(t)), &events{}
	w := b.worker(func(c *resque.WorkerConfig) { c.Hooks = e.hooks(b.server) }, nil)
	if err := w.Run(t.Context()); !errors.Is(err, resque.ErrNoHandlers) {
		t.Error(err)
	}
	if err := b.worker(func(c *resque.WorkerConfig) { c.Hooks = e.hooks(b.server) }, nil).Stop(t.Context()); err != nil {
		t.Error(err)
	}
	e.expect(t)
}

// Whatever a hook does, the worker goes on, and says what happened.
func TestRudeHooks(t *testing.T) {
	t.Parallel()
	for name, rude := range map[string]func(){
		"panic":  func() { panic("oh no") },
		"Goexit": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				b := newBench(t, s)
				log := &lockedBuffer{}
				w := b.worker(func(c *resque.WorkerConfig) {
					c.Logger = slog.New(slog.NewTextHandler(log, nil))
					c.Hooks.OnFailure = func(context.Context, *resque.Job, error) { rude() }
					c.Hooks.QueueEmpty = func(context.Context, *resque.Worker) { rude() }
					if name == "panic" { // Goexit ends the caller's own goroutine
						c.Hooks.BeforePause = func(*resque.Worker) { rude() }
						c.Hooks.AfterPause = func(*resque.Worker) { rude() }
						c.Hooks.Stop = func(context.Context, *resque.Worker) { rude() }
					}
				}, map[string]resque.Handler{"Bad": resque.HandlerFunc(bad)})
				if err := w.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				for n := range 3 {
					for _, class := range []string{"Bad", "Nobody"} {
						if err := b.client.Enqueue(t.Context(), "q", class); err != nil {
							t.Fatal(err)
						}
						b.step(w)
					}
					if worked, err := w.Step(t.Context()); worked || err != nil {
						t.Fatal(worked, err)
					}
					if failed, _ := s.Get("failed").(redistest.List); len(failed) != 2*n+2 {
						t.Fatalf("%d failures recorded", len(failed))
					}
				}
				w.Pause()
				w.Resume()
				if err := w.Stop(t.Context()); err != nil || s.Get("workers") != nil {
					t.Error(err, s.Get("workers"))
				}
				if name != "panic" {
					return
				}
				for hook, times := range map[string]int{"OnFailure": 6, "QueueEmpty": 3, "BeforePause": 1, "AfterPause": 1, "Stop": 1} {
					if n := strings.Count(log.String(), `msg="a hook panicked" hook=`+hook+" "); n != times {
						t.Errorf("%s: %d lines of the log\n%s", hook, n, log)
					}
				}
			})
		})
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

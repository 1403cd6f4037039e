package resque_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

// enqueueing is what the jobs of these tests enqueue and remove.
func enqueueing(ctx context.Context, job *resque.Job) error {
	_, err := job.RemoveDelayed(ctx, "other", "Remind", 7)
	return errors.Join(err,
		job.Enqueue(ctx, "other", "Next", 1),
		job.EnqueueIn(ctx, time.Minute, "other", "Later", 2),
		job.EnqueueMany(ctx, resque.NewJob{Queue: "other", Class: "First", Front: true}, resque.NewJob{Queue: "third", Class: "Last"}),
	)
}

// after is the state that a run's own enqueues leave, and before without them.
func pendingStates() (before, after map[string]any) {
	remind := `{"class":"Remind","args":[7],"queue":"other"}`
	kept := `{"class":"Remind","args":[8],"queue":"other"}`
	later := `{"class":"Later","args":[2],"queue":"other"}`
	before = map[string]any{
		"delayed_queue_schedule": redistest.ZSet{"1767330000": 1767330000, "1767330001": 1767330001},
		"delayed:1767330000":     redistest.List{remind, remind},
		"delayed:1767330001":     redistest.List{kept, remind},
		"timestamps:" + remind:   redistest.Set{"delayed:1767330000", "delayed:1767330001"},
		"timestamps:" + kept:     redistest.Set{"delayed:1767330001"},
		"queue:other":            redistest.List{`{"class":"Old","args":[]}`},
		"queues":                 redistest.Set{"other", "q"},
	}
	second := "1767323105" // a minute after the frozen clock
	after = map[string]any{
		// The emptied time stays until a scheduler passes, as in Ruby.
		"delayed_queue_schedule": redistest.ZSet{"1767330000": 1767330000, "1767330001": 1767330001, second: 1767323105},
		"delayed:1767330001":     redistest.List{kept},
		"timestamps:" + kept:     redistest.Set{"delayed:1767330001"},
		"delayed:" + second:      redistest.List{later},
		"timestamps:" + later:    redistest.Set{"delayed:" + second},
		"queue:other":            redistest.List{`{"class":"First","args":[]}`, `{"class":"Old","args":[]}`, `{"class":"Next","args":[1]}`},
		"queue:third":            redistest.List{`{"class":"Last","args":[]}`},
		"queues":                 redistest.Set{"other", "q", "third"},
	}
	return before, after
}

// What a run enqueues and removes happens with its success, and else never.
func TestPendingWork(t *testing.T) {
	t.Parallel()
	before, after := pendingStates()
	for _, c := range []struct {
		name    string
		end     func() error
		options []resque.HandleOption
		want    map[string]any
	}{
		{"success", func() error { return nil }, nil, after},
		{"success with a counter", func() error { return nil }, []resque.HandleOption{retry.Policy{}}, after},
		{"failure", func() error { return errors.New("boom") }, nil, before},
		{"panic", func() error { panic("boom") }, nil, before},
		{"cancelled", func() error { return retry.Cancel(errors.New("boom")) }, nil, before},
		{"discarded", func() error { return retry.Discard(errors.New("boom")) }, nil, before},
		{"not performed", func() error { return resque.ErrDontPerform }, nil, before},
		{"abandoned", func() error { return resque.ErrAbandon }, nil, before},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				b := newBench(t, s)
				s.Seed(before)
				s.Seed(map[string]any{"queue:q": redistest.List{`{"class":"Parent","args":[]}`}})
				w := b.worker(nil, nil)
				parent := resque.HandlerFunc(func(ctx context.Context, job *resque.Job) error {
					if err := enqueueing(ctx, job); err != nil {
						t.Error(err)
					}
					seed := s.Dump()
					for key, want := range before {
						if diff := cmp.Diff(want, seed[key]); diff != "" {
							t.Errorf("written before the end: %s", diff)
						}
					}
					return c.end()
				})
				if err := w.Handle("Parent", parent, c.options...); err != nil {
					t.Fatal(err)
				}
				b.start(w)
				b.step(w)
				got := b.keys()
				for key := range got {
					if key == "failed" || strings.HasPrefix(key, "stat:") || strings.HasPrefix(key, "worker:") {
						delete(got, key)
					}
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// The hooks before an enqueue run in the handler and refuse there; those after it
// once it is written.
func TestPendingHooks(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	heard := make(chan string, 9)
	client, err := resque.Open(t.Context(), s.URL(), resque.Options{Namespace: s.Namespace(), Hooks: resque.ClientHooks{
		BeforeEnqueue: func(_ context.Context, job resque.NewJob) error {
			if job.Class == "Refused" {
				return errNo
			}
			return nil
		},
		AfterEnqueue: func(_ context.Context, job resque.NewJob) {
			heard <- job.Class
			if s.Get("queue:other") == nil {
				t.Error("told before it was written")
			}
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	w, err := resque.NewWorker(client, resque.WorkerConfig{Queues: []string{"q"}, Concurrency: 1})
	if err != nil {
		t.Fatal(err)
	}
	fails := true
	if err := w.Handle("Parent", resque.HandlerFunc(func(ctx context.Context, job *resque.Job) error {
		if err := job.Enqueue(ctx, "other", "Refused"); !errors.Is(err, resque.ErrRefused) || !errors.Is(err, errNo) {
			t.Errorf("refused by %v", err)
		}
		if err := job.Enqueue(ctx, "other", "Good"); err != nil {
			t.Error(err)
		}
		if fails {
			fails = false
			return errNo
		}
		return nil
	})); err != nil {
		t.Fatal(err)
	}
	s.Seed(map[string]any{"queue:q": redistest.List{`{"class":"Parent"}`, `{"class":"Parent"}`}})
	if err := w.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := w.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Stop(t.Context()); err != nil { // which waits for the hooks
		t.Fatal(err)
	}
	close(heard)
	var got []string
	for class := range heard {
		got = append(got, class)
	}
	if diff := cmp.Diff([]string{"Good"}, got); diff != "" {
		t.Error(diff)
	}
}

// Removing takes what this run was going to delay, too; what is delayed after it
// stays.
func TestPendingRemovalComesFirst(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b := newBench(t, s)
		w := b.worker(nil, map[string]resque.Handler{"Parent": resque.HandlerFunc(func(ctx context.Context, job *resque.Job) error {
			err := errors.Join(job.EnqueueIn(ctx, time.Minute, "o", "X", 1), job.EnqueueIn(ctx, time.Minute, "o", "X", 2))
			n, err2 := job.RemoveDelayed(ctx, "o", "X", 1)
			if n != 0 {
				t.Errorf("waits at %d times already", n)
			}
			return errors.Join(err, err2, job.EnqueueIn(ctx, time.Hour, "o", "X", 1))
		})})
		s.Seed(map[string]any{"queue:q": redistest.List{`{"class":"Parent"}`}})
		b.start(w)
		b.step(w)
		for class, want := range map[int]time.Duration{1: time.Hour, 2: time.Minute} {
			times, err := b.client.ScheduledAt(t.Context(), "o", "X", class)
			if err != nil || len(times) != 1 || !times[0].Equal(b.clock.Now().Add(want).Truncate(time.Second)) {
				t.Errorf("%d waits at %v, %v", class, times, err)
			}
		}
	})
}

func TestPendingBounds(t *testing.T) {
	t.Parallel()
	b := newBench(t, redistest.New(t))
	var late *resque.Job
	w := b.worker(nil, map[string]resque.Handler{"Parent": resque.HandlerFunc(func(ctx context.Context, job *resque.Job) error {
		late = job
		many := make([]resque.NewJob, 5001)
		for i := range many {
			many[i] = resque.NewJob{Queue: "o", Class: "X"}
		}
		for want, err := range map[string]error{
			"resque: a run keeps back 5000 jobs and 4 MB at most: use the client's EnqueueMany for more": job.EnqueueMany(ctx, many...),
			"resque: a run keeps back 5000 jobs and 4 MB":                                                job.Enqueue(ctx, "o", "X", strings.Repeat("x", 5<<20)),
			"resque: Queue is empty":           job.Enqueue(ctx, "", "X"),
			"resque: jobs[1].Class is empty":   job.EnqueueMany(ctx, resque.NewJob{Queue: "o", Class: "X"}, resque.NewJob{Queue: "o"}),
			"resque: args[0] can't be encoded": job.Enqueue(ctx, "o", "X", make(chan int)),
			"resque: At is ":                   job.EnqueueIn(ctx, 1<<62, "o", "X"),
		} {
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		}
		var all sync.WaitGroup
		for range 10 { // from several goroutines
			all.Go(func() {
				if err := job.EnqueueMany(ctx, many[:500]...); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		return nil
	})})
	b.server.Seed(map[string]any{"queue:q": redistest.List{`{"class":"Parent"}`}})
	b.start(w)
	b.step(w)
	if written, _ := b.server.Get("queue:o").(redistest.List); len(written) != 5000 {
		t.Errorf("%d jobs were written", len(written))
	}
	if err := late.Enqueue(t.Context(), "o", "X"); !errors.Is(err, resque.ErrNotRunning) {
		t.Errorf("after the run: %v", err)
	}
	if _, err := late.RemoveDelayed(t.Context(), "o", "X"); !errors.Is(err, resque.ErrNotRunning) {
		t.Errorf("after the run: %v", err)
	}
	if err := (&resque.Job{}).EnqueueIn(t.Context(), 1, "o", "X"); !errors.Is(err, resque.ErrNotRunning) {
		t.Errorf("without a run: %v", err)
	}
}

// Inline writes them, too.
func TestPendingInline(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b := newBench(t, s)
		before, after := pendingStates()
		s.Seed(before)
		w := b.worker(nil, map[string]resque.Handler{"Parent": resque.HandlerFunc(enqueueing)})
		if err := w.Inline(t.Context(), "Parent"); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(after, b.keys()); diff != "" {
			t.Error(diff)
		}
	})
}

// A key of the wrong type keeps the run in hand until that is mended, and nothing
// of it is written before.
func TestPendingIntoAWrongKey(t *testing.T) {
	t.Parallel()
	const gone = `{"class":"Gone","args":[],"queue":"o"}`
	for _, key := range []string{"queue:bad", "delayed:1767330000", "queues", "delayed_queue_schedule"} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, redistest.New(t))
			w := b.worker(nil, map[string]resque.Handler{"Parent": resque.HandlerFunc(func(ctx context.Context, job *resque.Job) error {
				b.server.Do("DEL", b.server.Key(key))
				b.server.Seed(map[string]any{key: "a text"})
				_, err := job.RemoveDelayed(ctx, "o", "Gone")
				return errors.Join(err, job.Enqueue(ctx, "good", "X"), job.Enqueue(ctx, "bad", "X"), job.EnqueueIn(ctx, time.Hour, "good", "X"))
			})})
			b.server.Seed(map[string]any{
				"timestamps:" + gone: redistest.Set{"delayed:1767330000"},
				"queue:q":            redistest.List{`{"class":"Parent"}`},
			})
			if err := w.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			if worked, err := w.Step(ctx); worked && err == nil {
				t.Error("recorded")
			}
			if b.server.Get("queue:good") != nil || b.server.Get("worker:"+testID) == nil {
				t.Errorf("written: %v", b.keys())
			}
			b.server.Do("DEL", b.server.Key(key))
			if err := w.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(redistest.List{`{"class":"X","args":[]}`}, b.server.Get("queue:good")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

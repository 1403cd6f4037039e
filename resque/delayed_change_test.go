package resque_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
)

// state is what Redis holds: jobs that wait, and queues.
func state(waiting map[int64][]string, queues map[string][]string) map[string]any {
	keys := delayed(waiting)
	names := redistest.Set{}
	for queue, jobs := range queues {
		keys["queue:"+queue] = redistest.List(jobs)
		names = sortedSet(append(names, queue))
	}
	if len(names) > 0 {
		keys["queues"] = names
	}
	return keys
}

// C12 rails/rails#26205, resque/resque-scheduler#669, #596: queue, class and
// arguments together say which job is meant. Times that are emptied go with their
// last job.
func TestDelayedChange(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	a, b, other := waitingItem("A", "[1]"), waitingItem("B", `["ß"]`), `{"class":"A","args":[1],"queue":"other"}`
	job := `{"class":"A","args":[1]}`
	before := map[int64][]string{1100: {a, b, a}, 1200: {a}, 1300: {b, other}}
	isA := func(j resque.DelayedJob) bool { return j.Class == "A" }
	for _, test := range []struct {
		name   string
		call   func(ctx context.Context, c *resque.Client) (int64, error)
		want   int64
		after  map[int64][]string
		queues map[string][]string
	}{
		{
			"remove: at all times", func(ctx context.Context, c *resque.Client) (int64, error) { return c.RemoveDelayed(ctx, "q", "A", 1) },
			3,
			map[int64][]string{1100: {b}, 1300: {b, other}},
			nil,
		},
		{
			"remove: the queue decides (rails/rails#26205)", func(ctx context.Context, c *resque.Client) (int64, error) {
				return c.RemoveDelayed(ctx, "other", "A", 1)
			},
			1,
			map[int64][]string{1100: {a, b, a}, 1200: {a}, 1300: {b}},
			nil,
		},
		{
			"remove: no such queue", func(ctx context.Context, c *resque.Client) (int64, error) {
				return c.RemoveDelayed(ctx, "third", "A", 1)
			},
			0, before, nil,
		},
		{
			"remove: no such arguments", func(ctx context.Context, c *resque.Client) (int64, error) { return c.RemoveDelayed(ctx, "q", "A") },
			0, before, nil,
		},
		{
			"remove at a time", func(ctx context.Context, c *resque.Client) (int64, error) {
				return c.RemoveDelayedAt(ctx, time.Unix(1100, 7), "q", "A", 1)
			},
			2,
			map[int64][]string{1100: {b}, 1200: {a}, 1300: {b, other}},
			nil,
		},
		{
			"remove at another time", func(ctx context.Context, c *resque.Client) (int64, error) {
				return c.RemoveDelayedAt(ctx, time.Unix(1300, 0), "q", "A", 1)
			},
			0, before, nil,
		},
		{
			"remove a selection", func(ctx context.Context, c *resque.Client) (int64, error) { return c.RemoveDelayedFunc(ctx, isA) },
			4,
			map[int64][]string{1100: {b}, 1300: {b}},
			nil,
		},
		{
			"remove a selection by time", func(ctx context.Context, c *resque.Client) (int64, error) {
				return c.RemoveDelayedFunc(ctx, func(j resque.DelayedJob) bool { return j.At.Unix() > 1100 && j.Queue == "q" })
			},
			2,
			map[int64][]string{1100: {a, b, a}, 1300: {other}},
			nil,
		},
		{
			"remove all", func(ctx context.Context, c *resque.Client) (int64, error) {
				return c.RemoveDelayedFunc(ctx, func(resque.DelayedJob) bool { return true })
			},
			6, nil, nil,
		},
		{
			"enqueue now", func(ctx context.Context, c *resque.Client) (int64, error) { return c.EnqueueDelayed(ctx, "q", "A", 1) },
			3,
			map[int64][]string{1100: {b}, 1300: {b, other}},
			map[string][]string{"q": {job, job, job}},
		},
		{
			"enqueue now: none", func(ctx context.Context, c *resque.Client) (int64, error) { return c.EnqueueDelayed(ctx, "q", "A", 2) },
			0, before, nil,
		},
		{
			"enqueue a selection: in their order, to their queues", func(ctx context.Context, c *resque.Client) (int64, error) {
				return c.EnqueueDelayedFunc(ctx, func(j resque.DelayedJob) bool { return j.At.Unix() != 1200 })
			},
			5,
			map[int64][]string{1200: {a}},
			map[string][]string{"q": {job, `{"class":"B","args":["ß"]}`, job, `{"class":"B","args":["ß"]}`}, "other": {job}},
		},
		{
			"put off", func(ctx context.Context, c *resque.Client) (int64, error) {
				return c.DelayOrEnqueueAt(ctx, time.Unix(1400, 0), "q", "A", 1)
			},
			3,
			map[int64][]string{1100: {b}, 1300: {b, other}, 1400: {a, a, a}},
			nil,
		},
		{
			"put off to one of its own times", func(ctx context.Context, c *resque.Client) (int64, error) {
				return c.DelayOrEnqueueIn(ctx, 100*time.Second, "q", "A", 1)
			},
			3,
			map[int64][]string{1100: {b, a, a, a}, 1300: {b, other}},
			nil,
		},
		{
			"put off what isn't there: one is scheduled", func(ctx context.Context, c *resque.Client) (int64, error) {
				return c.DelayOrEnqueueAt(ctx, time.Unix(1400, 0), "q", "C")
			},
			1,
			map[int64][]string{1100: {a, b, a}, 1200: {a}, 1300: {b, other}, 1400: {waitingItem("C", "[]")}},
			nil,
		},
		{
			"put off to now: enqueued", func(ctx context.Context, c *resque.Client) (int64, error) {
				return c.DelayOrEnqueueIn(ctx, 0, "q", "A", 1)
			},
			3,
			map[int64][]string{1100: {b}, 1300: {b, other}},
			map[string][]string{"q": {job, job, job}},
		},
		{
			"reset", func(ctx context.Context, c *resque.Client) (int64, error) { return 0, c.ResetDelayed(ctx) },
			0, nil, nil,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				c := dialTest(t, s, s.URL(), func(o *resque.Options) { o.Clock = &fixedClock{now: now} })
				s.Seed(delayed(before))
				n, err := test.call(t.Context(), c)
				if n != test.want || err != nil {
					t.Errorf("got %d, %v, want %d", n, err, test.want)
				}
				if diff := cmp.Diff(state(test.after, test.queues), s.Dump()); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// Items that are no jobs, or name no queue: they are shown, can be removed, and
// stay where they can't be enqueued, whatever becomes of the others.
func TestDelayedChangeOfBroken(t *testing.T) {
	t.Parallel()
	cut, homeless, wrapped := `{"class":`, `{"class":"A","args":[1]}`, `{"class":"Understudy::Malformed","args":["bnVsbA=="],"queue":"q"}`
	all := func(resque.DelayedJob) bool { return true }
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		c := dialTest(t, s, s.URL(), nil)
		s.Seed(delayed(map[int64][]string{1100: {cut, waitingItem("A", "[1]"), homeless, wrapped}}))
		n, err := c.EnqueueDelayedFunc(t.Context(), all)
		if n != 2 || err == nil || strings.Count(err.Error(), "names no class or no queue") != 2 {
			t.Errorf("enqueued %d, %v", n, err)
		}
		after := state(map[int64][]string{1100: {cut, homeless}}, map[string][]string{
			"q": {`{"class":"A","args":[1]}`, `{"class":"Understudy::Malformed","args":["bnVsbA=="]}`},
		})
		if diff := cmp.Diff(after, s.Dump()); diff != "" {
			t.Error(diff)
		}
		if n, err := c.RemoveDelayedFunc(t.Context(), func(j resque.DelayedJob) bool { return j.Err != nil }); n != 1 || err != nil {
			t.Errorf("removed %d, %v", n, err)
		}
		if n, err := c.RemoveDelayedFunc(t.Context(), all); n != 1 || err != nil {
			t.Errorf("removed %d, %v", n, err)
		}
	})
}

// Long lists go in several steps, in their order.
func TestDelayedChangeOfMany(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		c := dialTest(t, s, s.URL(), func(o *resque.Options) { o.Clock = &fixedClock{now: time.Unix(1000, 0)} })
		var jobs []resque.NewJob
		for i := range 6000 {
			jobs = append(jobs, resque.NewJob{Queue: "q", Class: "A", Args: []any{i}, At: time.Unix(1100+int64(i%3), 0)})
		}
		if _, err := c.EnqueueMany(t.Context(), jobs...); err != nil {
			t.Fatal(err)
		}
		odd := func(j resque.DelayedJob) bool { return strings.ContainsRune("13579", rune(j.Args[len(j.Args)-2])) }
		if n, err := c.RemoveDelayedFunc(t.Context(), odd); n != 3000 || err != nil {
			t.Fatalf("removed %d, %v", n, err)
		}
		if n, err := c.EnqueueDelayedFunc(t.Context(), func(resque.DelayedJob) bool { return true }); n != 3000 || err != nil {
			t.Fatalf("enqueued %d, %v", n, err)
		}
		got, err := c.Peek(t.Context(), "q", 0, 6000)
		if err != nil || len(got) != 3000 {
			t.Fatal(len(got), err)
		}
		at := 0
		for second := range 3 {
			for i := second; i < 6000; i += 3 {
				if i%2 == 0 {
					if want := fmt.Sprintf("[%d]", i); string(got[at].Args) != want {
						t.Fatalf("at %d: %s, want %s", at, got[at].Args, want)
					}
					at++
				}
			}
		}
		if diff := cmp.Diff([]string{"queue:q", "queues"}, s.Names()); diff != "" {
			t.Error(diff)
		}
	})
}

// A job that several enqueue at the same time, each in its own way, arrives once.
func TestDelayedChangeBesideOthers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		c := dialTest(t, s, s.URL(), func(o *resque.Options) { o.Clock = &fixedClock{now: time.Unix(1000, 0)} })
		var jobs []resque.NewJob
		for i := range 200 {
			jobs = append(jobs, resque.NewJob{Queue: "q", Class: "A", Args: []any{i}, At: time.Unix(1100, 0)})
		}
		if _, err := c.EnqueueMany(t.Context(), jobs...); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		var mu sync.Mutex
		total := int64(0)
		add := func(n int64, err error) {
			mu.Lock()
			defer mu.Unlock()
			total += n
			if err != nil {
				t.Error(err)
			}
		}
		for range 3 {
			all.Go(func() {
				add(c.EnqueueDelayedFunc(context.Background(), func(resque.DelayedJob) bool { return true }))
			})
			all.Go(func() {
				for i := range 200 {
					add(c.EnqueueDelayed(context.Background(), "q", "A", i))
				}
			})
		}
		all.Wait()
		if n, err := c.Size(t.Context(), "q"); n != 200 || total != 200 || err != nil {
			t.Errorf("%d arrived, %d were said to, %v", n, total, err)
		}
		if diff := cmp.Diff([]string{"queue:q", "queues"}, s.Names()); diff != "" {
			t.Error(diff)
		}
	})
}

// Whatever a value answers when it is encoded, it is asked once
// (resque/resque-scheduler#599).
func TestDelayedEncodesOnce(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	c := dialTest(t, s, s.URL(), nil)
	at := time.Now().Add(time.Hour)
	for name, call := range map[string]func(args ...any) error{
		"EnqueueAt":        func(args ...any) error { return c.EnqueueAt(t.Context(), at, "q", "A", args...) },
		"EnqueueDelayed":   func(args ...any) error { _, err := c.EnqueueDelayed(t.Context(), "q", "A", args...); return err },
		"DelayOrEnqueueAt": func(args ...any) error { _, err := c.DelayOrEnqueueAt(t.Context(), at, "q", "A", args...); return err },
		"RemoveDelayed":    func(args ...any) error { _, err := c.RemoveDelayed(t.Context(), "q", "A", args...); return err },
	} {
		var asked counting
		if err := call(&asked); err != nil || asked.n != 1 {
			t.Errorf("%s: asked %d times, %v", name, asked.n, err)
		}
	}
}

func TestDelayedRefuses(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	c := dialTest(t, s, s.URL(), func(o *resque.Options) { o.Clock = &fixedClock{now: time.Unix(1000, 0)} })
	far := time.Unix(1_700_000_000+1000, 0)
	for want, call := range map[string]func() error{
		"At is 19675 days from now":          func() error { return c.PushAt(t.Context(), far, []byte("x")) },
		"At is empty":                        func() error { return c.PushAt(t.Context(), time.Time{}, []byte("x")) },
		"At is 19675 days from now: an":      func() error { _, err := c.DelayOrEnqueueAt(t.Context(), far, "q", "A"); return err },
		"Queue is empty":                     func() error { _, err := c.RemoveDelayed(t.Context(), "", "A"); return err },
		"Class is empty":                     func() error { _, err := c.EnqueueDelayed(t.Context(), "q", ""); return err },
		"args[1] can't be encoded":           func() error { _, err := c.ScheduledAt(t.Context(), "q", "A", 1, func() {}); return err },
		"Queue is empty\nresque: Class is e": func() error { _, err := c.RemoveDelayedAt(t.Context(), far, "", ""); return err },
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if left := s.Names(); len(left) != 0 {
		t.Errorf("written: %q", left)
	}
}

func TestPushAt(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		c := dialTest(t, s, s.URL(), func(o *resque.Options) { o.Clock = &fixedClock{now: time.Unix(1000, 0)} })
		for _, second := range []int64{900, 1100} {
			if err := c.PushAt(t.Context(), time.Unix(second, 5), []byte("x")); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(delayed(map[int64][]string{900: {"x"}, 1100: {"x"}}), s.Dump()); diff != "" {
			t.Error(diff)
		}
	})
}

package resque_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
)

// beforeScript calls f once, before the next script that goes through the proxy.
func beforeScript(proxy *redistest.Proxy, f func()) {
	var once sync.Once
	proxy.SetRule(func(r redistest.Request) redistest.Verdict {
		if r.Is("EVALSHA") {
			once.Do(f)
		}
		return redistest.Pass
	})
}

// Between the look at a job's times and the step that changes it, somebody else
// does something with it.
func TestDelayedChangeMeanwhile(t *testing.T) {
	t.Parallel()
	a, job := waitingItem("A", "[1]"), `{"class":"A","args":[1]}`
	calls := map[string]func(ctx context.Context, c *resque.Client) (int64, error){
		"remove": func(ctx context.Context, c *resque.Client) (int64, error) { return c.RemoveDelayed(ctx, "q", "A", 1) },
		"now":    func(ctx context.Context, c *resque.Client) (int64, error) { return c.EnqueueDelayed(ctx, "q", "A", 1) },
		"off": func(ctx context.Context, c *resque.Client) (int64, error) {
			return c.DelayOrEnqueueAt(ctx, time.Unix(1500, 0), "q", "A", 1)
		},
	}
	one := map[int64][]string{1100: {a}}
	queued := func(jobs ...string) map[string]any { return state(nil, map[string][]string{"q": jobs}) }
	putOff := func(ctx context.Context, c *resque.Client) (int64, error) {
		return c.DelayOrEnqueueAt(ctx, time.Unix(1200, 0), "q", "A", 1)
	}
	for _, test := range []struct {
		name, call string
		before     map[int64][]string
		meanwhile  func(ctx context.Context, c *resque.Client) (int64, error)
		want       int64
		after      map[string]any
	}{
		{"removed once it has been put off", "remove", one, putOff, 1, map[string]any{}},
		{"enqueued once it has been put off", "now", one, putOff, 1, queued(job)},
		{"put off once more", "off", one, putOff, 1, delayed(map[int64][]string{1500: {a}})},
		{"removed by another", "remove", one, calls["remove"], 0, map[string]any{}},
		{"enqueued by another", "now", one, calls["now"], 0, queued(job)},
		{
			"enqueued by another, so a new one is delayed", "off", one, calls["now"], 1,
			state(map[int64][]string{1500: {a}}, map[string][]string{"q": {job}}),
		},
		{"delayed by another before there was any", "off", nil, putOff, 1, delayed(map[int64][]string{1500: {a}})},
		{"put off twice", "off", map[int64][]string{1100: {a, a}, 1300: {a}}, putOff, 3, delayed(map[int64][]string{1500: {a, a, a}})},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				s.Seed(delayed(test.before))
				other := dialTest(t, s, s.URL(), atThousand)
				proxy := redistest.NewProxy(t, s.URL())
				c := dialTest(t, s, proxy.URL(), atThousand)
				beforeScript(proxy, func() {
					if n, err := test.meanwhile(t.Context(), other); n == 0 || err != nil {
						t.Errorf("meanwhile: %d, %v", n, err)
					}
				})
				if n, err := calls[test.call](t.Context(), c); n != test.want || err != nil {
					t.Errorf("got %d, %v, want %d", n, err, test.want)
				}
				if diff := cmp.Diff(test.after, s.Dump()); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// Many that put off the same job, which isn't there at first, leave one.
func TestDelayOrEnqueueOfMany(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		c := dialTest(t, s, s.URL(), atThousand)
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				for j := range 10 {
					n, err := c.DelayOrEnqueueAt(context.Background(), time.Unix(int64(1100+10*i+j), 0), "q", "A", 1)
					if n != 1 || err != nil {
						t.Errorf("%d, %v", n, err)
					}
				}
			})
		}
		all.Wait()
		times, err := c.ScheduledAt(t.Context(), "q", "A", 1)
		if len(times) != 1 || err != nil {
			t.Fatalf("it waits for %v, %v", times, err)
		}
		want := delayed(map[int64][]string{times[0].Unix(): {waitingItem("A", "[1]")}})
		if diff := cmp.Diff(want, s.Dump()); diff != "" {
			t.Error(diff)
		}
	})
}

// A job that waits for more times than one step takes: each is counted once, the
// one to which they move included, wherever it stands.
func TestDelayOrEnqueueOfManyTimes(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		c := dialTest(t, s, s.URL(), atThousand)
		var jobs []resque.NewJob
		for i := range 600 {
			jobs = append(jobs, resque.NewJob{Queue: "q", Class: "A", Args: []any{1}, At: time.Unix(int64(1101+i), 0)})
		}
		if _, err := c.EnqueueMany(t.Context(), jobs...); err != nil {
			t.Fatal(err)
		}
		if n, err := c.DelayOrEnqueueAt(t.Context(), time.Unix(1690, 0), "q", "A", 1); n != 600 || err != nil {
			t.Errorf("put off %d, %v", n, err)
		}
		times, err := c.DelayedTimes(t.Context(), 0, 10)
		if n, err2 := c.DelayedCount(t.Context()); n != 600 || !cmp.Equal(seconds(times), []int64{1690}) || errors.Join(err, err2) != nil {
			t.Errorf("%d wait for %v, %v, %v", n, seconds(times), err, err2)
		}
		if n, err := c.EnqueueDelayed(t.Context(), "q", "A", 1); n != 600 || err != nil {
			t.Errorf("enqueued %d, %v", n, err)
		}
	})
}

// Notes about lists that aren't there, and notes that are none, are in nobody's
// way; the former are mended.
func TestDelayedChangeOfWrongNotes(t *testing.T) {
	t.Parallel()
	a := waitingItem("A", "[1]")
	for name, test := range map[string]struct {
		call  func(ctx context.Context, c *resque.Client) (int64, error)
		want  int64
		after map[string]any
	}{
		"remove": {
			func(ctx context.Context, c *resque.Client) (int64, error) { return c.RemoveDelayed(ctx, "q", "A", 1) },
			0,
			map[string]any{"timestamps:" + a: redistest.Set{"nonsense"}},
		},
		"off": {
			func(ctx context.Context, c *resque.Client) (int64, error) {
				return c.DelayOrEnqueueAt(ctx, time.Unix(1100, 0), "q", "A", 1)
			},
			1,
			map[string]any{
				"timestamps:" + a: redistest.Set{"delayed:1100", "nonsense"}, "delayed:1100": redistest.List{a},
				"delayed_queue_schedule": redistest.ZSet{"1100": 1100},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				s.Seed(map[string]any{"timestamps:" + a: redistest.Set{"delayed:1050", "nonsense"}})
				c := dialTest(t, s, s.URL(), atThousand)
				if n, err := test.call(t.Context(), c); n != test.want || err != nil {
					t.Errorf("got %d, %v, want %d", n, err, test.want)
				}
				if diff := cmp.Diff(test.after, s.Dump()); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// Notes that have become others, as many as before, are a change all the same.
func TestDelayOrEnqueueWhileNotesChange(t *testing.T) {
	t.Parallel()
	a := waitingItem("A", "[1]")
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		s.Seed(map[string]any{"timestamps:" + a: redistest.Set{"nonsense"}})
		other := dialTest(t, s, s.URL(), atThousand)
		proxy := redistest.NewProxy(t, s.URL())
		c := dialTest(t, s, proxy.URL(), atThousand)
		beforeScript(proxy, func() {
			s.Do("SREM", s.Key("timestamps:"+a), "nonsense")
			if err := other.EnqueueAt(t.Context(), time.Unix(1200, 0), "q", "A", 1); err != nil {
				t.Error(err)
			}
		})
		if n, err := c.DelayOrEnqueueAt(t.Context(), time.Unix(1100, 0), "q", "A", 1); n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		if diff := cmp.Diff(delayed(map[int64][]string{1100: {a}}), s.Dump()); diff != "" {
			t.Error(diff)
		}
	})
}

// A reset leaves nothing: no times without jobs, no members that are no times, no
// notes of removed jobs. What isn't Resque's stays.
func TestResetDelayedOfAll(t *testing.T) {
	t.Parallel()
	a := waitingItem("A", "[1]")
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		c := dialTest(t, s, s.URL(), atThousand)
		numbered(t, c, 1200, 1100)
		s.Seed(delayed(map[int64][]string{1100: {a, "no job", a}}))
		s.Do("SADD", s.Key("timestamps:"+a), "delayed:1050", "delayed:1150", "delayed:1300")
		s.Do("ZADD", s.Key("delayed_queue_schedule"), 1, "1", 50, "soon", 150.5, "150.5", 1300, "1300")
		empty := []any{s.Key("delayed_queue_schedule")}
		for i := range 1500 {
			empty = append(empty, 2000+i, 2000+i)
		}
		s.Do("ZADD", empty...)
		kept := map[string]any{"delayed:1300": "a text", "delayed:last_enqueued_at": redistest.Hash{"x": "y"}}
		s.Seed(kept)
		if err := c.ResetDelayed(t.Context()); err != nil {
			t.Fatal(err)
		}
		kept["delayed_queue_schedule"] = redistest.ZSet{"1300": 1300}
		kept["timestamps:"+a] = redistest.Set{"delayed:1300"}
		if diff := cmp.Diff(kept, s.Dump()); diff != "" {
			t.Error(diff)
		}
		if err := c.ResetDelayed(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// A reset beside those who delay, take and put off jobs ends, and leaves whole
// jobs only.
func TestResetDelayedBesideOthers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		c := dialTest(t, s, s.URL(), atThousand)
		numbered(t, c, 1200, 1100)
		ctx, cancel := context.WithCancel(context.Background())
		var all sync.WaitGroup
		busy := func(call func(i int) error) {
			all.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					if err := call(i); err != nil {
						t.Error(err)
					}
				}
			})
		}
		background := context.Background()
		busy(func(i int) error { return c.EnqueueAt(background, time.Unix(int64(1150+i%100), 0), "q", "A", i%300) })
		busy(func(i int) error {
			_, err := c.DelayOrEnqueueAt(background, time.Unix(int64(1250+i%3), 0), "q", "A", i%300)
			return err
		})
		busy(func(i int) error { _, err := c.EnqueueDelayed(background, "q", "A", 299-i%300); return err })
		for range 3 {
			if err := c.ResetDelayed(t.Context()); err != nil {
				t.Error(err)
			}
		}
		cancel()
		all.Wait()
		wantWholeJobs(t, s)
	})
}

// wantWholeJobs compares schedule and notes with the lists that are there.
func wantWholeJobs(t *testing.T, s *redistest.Server) {
	t.Helper()
	got := s.Dump()
	waiting := map[int64][]string{}
	for name, value := range got {
		var second int64
		if items, ok := value.(redistest.List); ok {
			if _, err := fmt.Sscanf(name, "delayed:%d", &second); err == nil {
				waiting[second] = items
			}
		}
	}
	want := delayed(waiting)
	for _, name := range []string{"queue:q", "queues"} {
		delete(got, name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A cut connection, or a second copy, at each request of a change: a job is in
// one place all the same, and the call says that it went wrong, or it didn't.
func TestDelayedChangeCutOff(t *testing.T) {
	t.Parallel()
	yes := func(resque.DelayedJob) bool { return true }
	for name, call := range map[string]func(ctx context.Context, c *resque.Client) (int64, error){
		"EnqueueDelayed":     func(ctx context.Context, c *resque.Client) (int64, error) { return c.EnqueueDelayed(ctx, "q", "A", 1) },
		"EnqueueDelayedFunc": func(ctx context.Context, c *resque.Client) (int64, error) { return c.EnqueueDelayedFunc(ctx, yes) },
		"DelayOrEnqueueIn": func(ctx context.Context, c *resque.Client) (int64, error) {
			return c.DelayOrEnqueueIn(ctx, time.Hour, "q", "A", 1)
		},
		"DelayOrEnqueueIn of none": func(ctx context.Context, c *resque.Client) (int64, error) {
			return c.DelayOrEnqueueIn(ctx, time.Hour, "q", "New")
		},
	} {
		for _, verdict := range []redistest.Verdict{redistest.DropRequest, redistest.CutReply, redistest.DropReply, redistest.Duplicate, redistest.Late} {
			t.Run(fmt.Sprint(name, verdict), func(t *testing.T) {
				t.Parallel()
				redistest.Each(t, func(t *testing.T, s *redistest.Server) { cutOff(t, s, call, verdict) })
			})
		}
	}
}

func cutOff(t *testing.T, s *redistest.Server, call func(context.Context, *resque.Client) (int64, error), verdict redistest.Verdict) {
	t.Helper()
	proxy := redistest.NewProxy(t, s.URL())
	faults := 0
	for n := 0; ; n++ {
		for _, name := range s.Names() {
			s.Do("DEL", s.Key(name))
		}
		s.Seed(delayed(map[int64][]string{1100: {waitingItem("A", "[1]")}}))
		c := dialTest(t, s, proxy.URL(), nil)
		seen := 0
		proxy.SetRule(func(redistest.Request) redistest.Verdict {
			if seen++; seen-1 == n {
				return verdict
			}
			return redistest.Pass
		})
		changed, err := call(t.Context(), c)
		proxy.SetRule(nil)
		proxy.ReleaseLate()
		jobs, more := countJobs(s)
		if jobs != 1 || more > 1 || err == nil && changed != 1 {
			t.Errorf("fault %d: %d, %v, and in Redis: %v", n, changed, err, s.Dump())
		}
		wantWholeJobs(t, s)
		if seen <= n {
			break
		}
		faults++
	}
	if faults < 2 {
		t.Errorf("only %d faults", faults)
	}
}

// countJobs counts the jobs of A and the others, wherever they are.
func countJobs(s *redistest.Server) (ofA, others int) {
	for name, value := range s.Dump() {
		items, ok := value.(redistest.List)
		if !ok || name != "queue:q" && !strings.HasPrefix(name, "delayed:") {
			continue
		}
		for _, item := range items {
			if strings.HasPrefix(item, `{"class":"A"`) {
				ofA++
			} else {
				others++
			}
		}
	}
	return ofA, others
}

// Twins that others delay while a long second is being worked on keep their notes,
// whenever they come: before the step that removes their likes, or behind it.
func TestDelayedTwinsMeanwhile(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		other := dialTest(t, s, s.URL(), atThousand)
		numbered(t, other, 1200, 2100)
		proxy := redistest.NewProxy(t, s.URL())
		c := dialTest(t, s, proxy.URL(), atThousand)
		steps := 0
		proxy.SetRule(func(r redistest.Request) redistest.Verdict {
			if !r.Is("EVALSHA") || len(r.Args) < 100 {
				return redistest.Pass
			}
			if steps++; steps == 1 || steps == 3 {
				for _, i := range []int{0, 7, 249, 600, 2099} { // of this step and others
					if err := other.EnqueueAt(t.Context(), time.Unix(1200, 0), "q", "A", i); err != nil {
						t.Error(err)
					}
				}
			}
			return redistest.Pass
		})
		n, err := c.RemoveDelayedFunc(t.Context(), func(j resque.DelayedJob) bool { return number(t, j.Entry)%2 == 0 || number(t, j.Entry) == 2099 })
		if steps < 5 || err != nil {
			t.Errorf("removed %d in %d steps, %v", n, steps, err)
		}
		left, err := other.DelayedAtCount(t.Context(), time.Unix(1200, 0))
		if left != 2110-n || err != nil {
			t.Errorf("removed %d, %d are left, %v", n, left, err)
		}
		wantWholeJobs(t, s)
	})
}

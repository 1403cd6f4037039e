package resque_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
)

// removals notes the calls that dequeue, and what was in Redis then.
type removals struct {
	server *redistest.Server
	refuse bool
	calls  []string
	states []map[string]any
}

func (r *removals) hooks() resque.ClientHooks {
	note := func(what string, call resque.DequeueCall) {
		r.calls = append(r.calls, fmt.Sprintf("%s %s %s %v %v", what, call.Queue, call.Class, call.Args, call.All))
		r.states = append(r.states, r.server.Dump())
	}
	return resque.ClientHooks{
		BeforeDequeue: func(_ context.Context, call resque.DequeueCall) error {
			note("before", call)
			if r.refuse {
				return errNo
			}
			return nil
		},
		AfterDequeue: func(_ context.Context, call resque.DequeueCall, removed int64) {
			note(fmt.Sprintf("after %d", removed), call)
		},
	}
}

func TestDequeueHooks(t *testing.T) {
	t.Parallel()
	seed := map[string]any{"queues": redistest.Set{"q"}, "queue:q": redistest.List{
		`{"class":"A","args":[1]}`, `{"class":"A","args":[2]}`, `{"class":"A","args":[1]}`, `{"class":"B","args":[1]}`,
	}}
	for _, test := range []struct {
		name string
		call func(ctx context.Context, c *resque.Client) (int64, error)
		args string
		n    int
	}{
		{"Dequeue", func(ctx context.Context, c *resque.Client) (int64, error) { return c.Dequeue(ctx, "q", "A", 1) }, "q A [1] false", 2},
		{"Dequeue of none", func(ctx context.Context, c *resque.Client) (int64, error) { return c.Dequeue(ctx, "q", "A") }, "q A [] false", 0},
		{"DequeueClass", func(ctx context.Context, c *resque.Client) (int64, error) { return c.DequeueClass(ctx, "q", "A") }, "q A [] true", 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				s.Seed(seed)
				r := &removals{server: s, refuse: true}
				c := dialTest(t, s, s.URL(), func(o *resque.Options) { o.Hooks = r.hooks() })
				n, err := test.call(t.Context(), c)
				if n != 0 || !errors.Is(err, resque.ErrRefused) || !errors.Is(err, errNo) || err.Error() != "resque: BeforeDequeue refused: not today" {
					t.Errorf("%d, %v", n, err)
				}
				r.refuse = false
				if n, err := test.call(t.Context(), c); n != int64(test.n) || err != nil {
					t.Errorf("%d, %v", n, err)
				}
				want := []string{"before " + test.args, "before " + test.args, fmt.Sprintf("after %d %s", test.n, test.args)}
				if diff := cmp.Diff(want, r.calls); diff != "" {
					t.Error(diff)
				}
				if diff := cmp.Diff([]map[string]any{seed, seed, s.Dump()}, r.states); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestDequeueHooksAndErrors(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		s.Seed(map[string]any{"queue:q": "a text"})
		r := &removals{server: s}
		c := dialTest(t, s, s.URL(), func(o *resque.Options) { o.Hooks = r.hooks() })
		if _, err := c.Dequeue(t.Context(), "", "A"); err == nil || len(r.calls) > 0 {
			t.Error(err, r.calls)
		}
		if _, err := c.DequeueClass(t.Context(), "q", ""); err == nil || len(r.calls) > 0 {
			t.Error(err, r.calls)
		}
		_, err1 := c.Dequeue(t.Context(), "q", "A")
		_, err2 := c.DequeueClass(t.Context(), "q", "A")
		if resque.ErrorCode(err1) != "WRONGTYPE" || resque.ErrorCode(err2) != "WRONGTYPE" {
			t.Error(err1, err2)
		}
		if diff := cmp.Diff([]string{"before q A [] false", "before q A [] true"}, r.calls); diff != "" {
			t.Error(diff)
		}
	})
}

// delayedHookCases are calls that change delayed jobs (A twice at 1100, once at
// 1200, B at 1300), with the hooks that Ruby runs for them; a refused job stays
// where it is, instead of being lost.
var delayedHookCases = []struct {
	name string
	call func(ctx context.Context, c *resque.Client) (int64, error)
	want string
}{
	{
		"EnqueueDelayed",
		func(ctx context.Context, c *resque.Client) (int64, error) { return c.EnqueueDelayed(ctx, "q", "A", 1) },
		"BeforeSchedule A 1100,BeforeEnqueue A 1100,BeforeSchedule A 1100,BeforeEnqueue A 1100,BeforeSchedule A 1200,BeforeEnqueue A 1200|" +
			"AfterEnqueue A 1100,AfterSchedule A 1100,AfterEnqueue A 1100,AfterSchedule A 1100,AfterEnqueue A 1200,AfterSchedule A 1200",
	},
	{
		"EnqueueDelayed of none",
		func(ctx context.Context, c *resque.Client) (int64, error) { return c.EnqueueDelayed(ctx, "q", "C", 1) },
		"|",
	},
	{
		"EnqueueDelayedFunc",
		func(ctx context.Context, c *resque.Client) (int64, error) {
			return c.EnqueueDelayedFunc(ctx, func(j resque.DelayedJob) bool { return j.At.Unix() > 1100 })
		},
		"BeforeSchedule A 1200,BeforeEnqueue A 1200,BeforeSchedule B 1300,BeforeEnqueue B 1300|" +
			"AfterEnqueue A 1200,AfterSchedule A 1200,AfterEnqueue B 1300,AfterSchedule B 1300",
	},
	{
		"DelayOrEnqueueAt",
		func(ctx context.Context, c *resque.Client) (int64, error) {
			return c.DelayOrEnqueueAt(ctx, time.Unix(1500, 0), "q", "A", 1)
		},
		"BeforeSchedule A 1500,BeforeSchedule A 1500,BeforeSchedule A 1500|AfterSchedule A 1500,AfterSchedule A 1500,AfterSchedule A 1500",
	},
	{
		"DelayOrEnqueueAt past",
		func(ctx context.Context, c *resque.Client) (int64, error) {
			return c.DelayOrEnqueueAt(ctx, time.Unix(900, 0), "q", "B", 1)
		},
		"BeforeSchedule B 900,BeforeEnqueue B 900|AfterEnqueue B 900,AfterSchedule B 900",
	},
	{
		"DelayOrEnqueueAt of none",
		func(ctx context.Context, c *resque.Client) (int64, error) {
			return c.DelayOrEnqueueIn(ctx, 500*time.Second, "q", "C", 1)
		},
		"BeforeSchedule C 1500|AfterSchedule C 1500",
	},
	{
		"RemoveDelayed",
		func(ctx context.Context, c *resque.Client) (int64, error) {
			n, err := c.RemoveDelayed(ctx, "q", "A", 1)
			m, err2 := c.RemoveDelayedFunc(ctx, func(resque.DelayedJob) bool { return true })
			return n + m, errors.Join(err, err2, c.PushAt(ctx, time.Unix(1500, 0), []byte("x")), c.ResetDelayed(ctx))
		},
		"|",
	},
}

// delayedHooks note the hooks with the job's time, and refuse and panic at the
// one of that name, but for its first so many calls.
func delayedHooks(h *told, spare int) resque.ClientHooks {
	see := func(hook string, job resque.NewJob) error {
		name := fmt.Sprintf("%s %s %d", hook, job.Class, job.At.Unix())
		h.calls = append(h.calls, name)
		h.states = append(h.states, h.server.Dump())
		if args := fmt.Sprintf("%s %s", job.Queue, job.Args); args != "q [1]" && args != "q [%!s(int=1)]" {
			h.calls = append(h.calls, "of "+args)
		}
		if hook+" "+job.Class == h.refuse {
			if spare--; spare < 0 {
				return errNo
			}
		}
		return nil
	}
	return resque.ClientHooks{
		BeforeEnqueue:  func(_ context.Context, job resque.NewJob) error { return see("BeforeEnqueue", job) },
		AfterEnqueue:   func(_ context.Context, job resque.NewJob) { _ = see("AfterEnqueue", job) },
		BeforeSchedule: func(_ context.Context, job resque.NewJob) error { return see("BeforeSchedule", job) },
		AfterSchedule:  func(_ context.Context, job resque.NewJob) { _ = see("AfterSchedule", job) },
	}
}

func delayedHookSeed() map[string]any {
	a, b := waitingItem("A", "[1]"), waitingItem("B", "[1]")
	return delayed(map[int64][]string{1100: {a, "no job", a}, 1200: {a}, 1300: {b}})
}

func TestDelayedHooks(t *testing.T) {
	t.Parallel()
	for _, test := range delayedHookCases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				clock := func(o *resque.Options) { o.Clock = &fixedClock{now: time.Unix(1000, 0)} }
				s.Seed(delayedHookSeed())
				wantN, err := test.call(t.Context(), dialTest(t, s, s.URL(), clock))
				if err != nil {
					t.Fatal(err)
				}
				want := s.Dump()
				for _, name := range s.Names() {
					s.Do("DEL", s.Key(name))
				}
				s.Seed(delayedHookSeed())
				h := &told{server: s}
				c := dialTest(t, s, s.URL(), func(o *resque.Options) { clock(o); o.Hooks = delayedHooks(h, 0) })
				if n, err := test.call(t.Context(), c); n != wantN || err != nil {
					t.Errorf("%d, %v; without hooks %d", n, err, wantN)
				}
				h.check(t, test.want, delayedHookSeed(), want)
			})
		})
	}
}

func TestDelayedHooksRefuse(t *testing.T) {
	t.Parallel()
	for _, test := range delayedHookCases {
		before, _, _ := strings.Cut(test.want, "|")
		for i, hook := range splitCalls(before) {
			name, class, _ := strings.Cut(hook, " ")
			class = class[:1]
			if test.name == "EnqueueDelayedFunc" {
				continue
			}
			t.Run(fmt.Sprint(test.name, " ", hook, " ", i), func(t *testing.T) {
				t.Parallel()
				redistest.Each(t, func(t *testing.T, s *redistest.Server) {
					s.Seed(delayedHookSeed())
					spare := 0
					for _, earlier := range splitCalls(before)[:i] {
						if strings.HasPrefix(earlier, name) {
							spare++
						}
					}
					h := &told{server: s, refuse: name + " " + class}
					c := dialTest(t, s, s.URL(), func(o *resque.Options) {
						o.Clock, o.Hooks = &fixedClock{now: time.Unix(1000, 0)}, delayedHooks(h, spare)
					})
					n, err := test.call(t.Context(), c)
					refused, ok := errors.AsType[*resque.RefusedError](err)
					if n != 0 || !ok || !errors.Is(err, resque.ErrRefused) || !errors.Is(err, errNo) || refused.Hook != name {
						t.Errorf("%d, %v", n, err)
					}
					if diff := cmp.Diff(splitCalls(before)[:i+1], h.calls); diff != "" {
						t.Error(diff)
					}
					if diff := cmp.Diff(delayedHookSeed(), s.Dump()); diff != "" {
						t.Error("something was written:", diff)
					}
				})
			})
		}
	}
}

// Of a selection the refused jobs stay, and the others are enqueued.
func TestEnqueueDelayedFuncHooksRefuse(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		a, b := waitingItem("A", "[1]"), waitingItem("B", "[1]")
		s.Seed(delayed(map[int64][]string{1100: {a, b, a}, 1200: {a}}))
		h := &told{server: s, refuse: "BeforeEnqueue A"}
		c := dialTest(t, s, s.URL(), func(o *resque.Options) {
			o.Clock, o.Hooks = &fixedClock{now: time.Unix(1000, 0)}, delayedHooks(h, 1)
		})
		n, err := c.EnqueueDelayedFunc(t.Context(), func(resque.DelayedJob) bool { return true })
		if n != 2 || !errors.Is(err, resque.ErrRefused) || !errors.Is(err, errNo) ||
			!strings.Contains(err.Error(), `BeforeEnqueue refused the delayed job "{\"class\":\"A\",\"args\":[1],\"queue\":\"q\"}" of 1200: not today`) {
			t.Errorf("%d, %v", n, err)
		}
		want := delayed(map[int64][]string{1100: {a}, 1200: {a}})
		want["queues"], want["queue:q"] = redistest.Set{"q"}, redistest.List{`{"class":"A","args":[1]}`, `{"class":"B","args":[1]}`}
		if diff := cmp.Diff(want, s.Dump()); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"AfterEnqueue A 1100", "AfterSchedule A 1100", "AfterEnqueue B 1100", "AfterSchedule B 1100"}, h.calls[len(h.calls)-4:]); diff != "" {
			t.Error(diff)
		}
	})
}

// What is delayed while a hook is asked was not asked about, and stays.
func TestDelayedWhileAHookIsAsked(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		now := func(o *resque.Options) { o.Clock = &fixedClock{now: time.Unix(1000, 0)} }
		other := dialTest(t, s, s.URL(), now)
		s.Seed(delayed(map[int64][]string{1100: {waitingItem("A", "[1]")}}))
		told := 0
		c := dialTest(t, s, s.URL(), func(o *resque.Options) {
			now(o)
			o.Hooks.BeforeEnqueue = func(ctx context.Context, _ resque.NewJob) error {
				return other.EnqueueAt(ctx, time.Unix(1100, 0), "q", "A", 1)
			}
			o.Hooks.AfterEnqueue = func(context.Context, resque.NewJob) { told++ }
		})
		if n, err := c.EnqueueDelayed(t.Context(), "q", "A", 1); n != 1 || told != 1 || err != nil {
			t.Error(n, told, err)
		}
		if n, err := other.DelayedCount(t.Context()); n != 1 || err != nil {
			t.Error(n, err)
		}
	})
}

// What is kept as malformed is shown to hooks as the job that it holds; as what
// it is, where it holds none.
func TestHooksSeeWhatMalformedHolds(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		job, none := `["eyJjbGFzcyI6IkEiLCJhcmdzIjpbIv8iXX0="]`, `["W10="]` // {"class":"A","args":["\xff"]} and []
		s.Seed(delayed(map[int64][]string{1100: {waitingItem(resque.MalformedClass, job), waitingItem(resque.MalformedClass, none)}}))
		var seen []string
		c := dialTest(t, s, s.URL(), func(o *resque.Options) {
			o.Clock = &fixedClock{now: time.Unix(1000, 0)}
			o.Hooks.BeforeEnqueue = func(_ context.Context, job resque.NewJob) error {
				seen = append(seen, fmt.Sprintf("%s %s", job.Class, job.Args))
				return nil
			}
		})
		if n, err := c.EnqueueDelayedFunc(t.Context(), func(resque.DelayedJob) bool { return true }); n != 2 || err != nil {
			t.Error(n, err)
		}
		if diff := cmp.Diff([]string{"A [\"\xff\"]", resque.MalformedClass + ` ["W10="]`}, seen); diff != "" {
			t.Error(diff)
		}
		want := redistest.List{
			`{"class":"Understudy::Malformed","args":` + job + `}`, `{"class":"Understudy::Malformed","args":` + none + `}`,
		}
		if diff := cmp.Diff(map[string]any{"queues": redistest.Set{"q"}, "queue:q": want}, s.Dump()); diff != "" {
			t.Error(diff)
		}
	})
}

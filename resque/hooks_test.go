package resque_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
)

var errNo = errors.New("not today")

// told notes which hooks of a client were called, and what was in Redis then.
type told struct {
	server *redistest.Server
	refuse string // the hook that refuses
	panics string // the hook that panics
	calls  []string
	states []map[string]any
}

func (h *told) call(hook string, job resque.NewJob) error {
	h.calls = append(h.calls, hook+" "+job.Class)
	h.states = append(h.states, h.server.Dump())
	switch hook + " " + job.Class {
	case h.panics:
		panic("boom")
	case h.refuse:
		return errNo
	}
	if len(job.Args) > 0 {
		job.Args[0] = "changed" // which changes nothing
	}
	return nil
}

func (h *told) hooks() resque.ClientHooks {
	before := func(name string) func(context.Context, resque.NewJob) error {
		return func(_ context.Context, job resque.NewJob) error { return h.call(name, job) }
	}
	after := func(name string) func(context.Context, resque.NewJob) {
		return func(_ context.Context, job resque.NewJob) { _ = h.call(name, job) }
	}
	return resque.ClientHooks{
		BeforeEnqueue: before("BeforeEnqueue"), AfterEnqueue: after("AfterEnqueue"),
		BeforeSchedule: before("BeforeSchedule"), AfterSchedule: after("AfterSchedule"),
	}
}

var hooksNow = time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)

// clientHookCases are calls, with the hooks that Ruby runs for them in its order
// (docs/hooks.md); | is where Redis is written.
var clientHookCases = []struct {
	name string
	call func(ctx context.Context, c *resque.Client) error
	want string
}{
	{
		"Enqueue", func(ctx context.Context, c *resque.Client) error { return c.Enqueue(ctx, "q", "A", 1) },
		"BeforeEnqueue A|AfterEnqueue A",
	},
	{
		"EnqueueFront", func(ctx context.Context, c *resque.Client) error { return c.EnqueueFront(ctx, "q", "A", 1) },
		"BeforeEnqueue A|AfterEnqueue A",
	},
	{
		"EnqueueIn", func(ctx context.Context, c *resque.Client) error {
			return c.EnqueueIn(ctx, time.Minute, "q", "A", 1)
		},
		"BeforeSchedule A|AfterSchedule A",
	},
	{
		"EnqueueIn 0", func(ctx context.Context, c *resque.Client) error { return c.EnqueueIn(ctx, 0, "q", "A", 1) },
		"BeforeSchedule A,BeforeEnqueue A|AfterEnqueue A,AfterSchedule A",
	},
	{
		"EnqueueAt past", func(ctx context.Context, c *resque.Client) error {
			return c.EnqueueAt(ctx, hooksNow.Add(-time.Hour), "q", "A", 1)
		},
		"BeforeSchedule A,BeforeEnqueue A|AfterEnqueue A,AfterSchedule A",
	},
	{
		"EnqueueMany", func(ctx context.Context, c *resque.Client) error {
			_, err := c.EnqueueMany(ctx, resque.NewJob{Queue: "q", Class: "A"},
				resque.NewJob{Queue: "q", Class: "B", At: hooksNow.Add(time.Hour)},
				resque.NewJob{Queue: "q", Class: "C", At: hooksNow})
			return err
		},
		"BeforeEnqueue A,BeforeSchedule B,BeforeSchedule C,BeforeEnqueue C|AfterEnqueue A,AfterSchedule B,AfterEnqueue C,AfterSchedule C",
	},
	{"Push", func(ctx context.Context, c *resque.Client) error { return c.Push(ctx, "q", []byte("x")) }, "|"},
}

func splitCalls(text string) []string {
	return slices.DeleteFunc(strings.Split(text, ","), func(call string) bool { return call == "" })
}

// check compares the calls with those of want, "before|after", and what stood in
// Redis while they ran.
func (h *told) check(t *testing.T, want string, seed, written map[string]any) {
	t.Helper()
	before, after, _ := strings.Cut(want, "|")
	if diff := cmp.Diff(append(splitCalls(before), splitCalls(after)...), append([]string{}, h.calls...)); diff != "" {
		t.Error(diff)
	}
	for i, state := range h.states {
		expected := written
		if i < len(splitCalls(before)) {
			expected = seed
		}
		if diff := cmp.Diff(expected, state); diff != "" {
			t.Errorf("while %s ran: %s", h.calls[i], diff)
		}
	}
	if diff := cmp.Diff(written, h.server.Dump()); diff != "" {
		t.Error("hooks changed what is written:", diff)
	}
}

// The hooks run in Ruby's order, the before hooks before anything is written and
// the after hooks behind it.
func TestClientHooksOrder(t *testing.T) {
	t.Parallel()
	for _, test := range clientHookCases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				plain := func(o *resque.Options) { o.Clock = &fixedClock{now: hooksNow} }
				if err := test.call(t.Context(), dialTest(t, s, s.URL(), plain)); err != nil {
					t.Fatal(err)
				}
				want := s.Dump() // what a client without hooks writes
				for _, name := range s.Names() {
					s.Do("DEL", s.Key(name))
				}
				h := &told{server: s}
				c := dialTest(t, s, s.URL(), func(o *resque.Options) { plain(o); o.Hooks = h.hooks() })
				if err := test.call(t.Context(), c); err != nil {
					t.Fatal(err)
				}
				h.check(t, test.want, map[string]any{}, want)
			})
		})
	}
}

// A refusal, and a panic, of a before hook ends the call: nothing is written, no
// other hook is called.
func TestClientHooksRefuse(t *testing.T) {
	t.Parallel()
	for _, test := range clientHookCases {
		before, _, _ := strings.Cut(test.want, "|")
		for i, hook := range splitCalls(before) {
			t.Run(test.name+" "+hook, func(t *testing.T) {
				t.Parallel()
				redistest.Each(t, func(t *testing.T, s *redistest.Server) {
					seed := map[string]any{"queue:q": redistest.List{"x"}}
					s.Seed(seed)
					h := &told{server: s, refuse: hook}
					c := dialTest(t, s, s.URL(), func(o *resque.Options) { o.Clock, o.Hooks = &fixedClock{now: hooksNow}, h.hooks() })
					err := test.call(t.Context(), c)
					name, class, _ := strings.Cut(hook, " ")
					refused, ok := errors.AsType[*resque.RefusedError](err)
					if !ok || !errors.Is(err, resque.ErrRefused) || !errors.Is(err, errNo) || refused.Hook != name {
						t.Fatalf("%v", err)
					}
					field, message := "", "resque: "+name+" refused: not today"
					if test.name == "EnqueueMany" {
						field = fmt.Sprintf("jobs[%d]", class[0]-'A')
						message = "resque: " + name + " refused " + field + ": not today"
					}
					if refused.Field != field || err.Error() != message {
						t.Errorf("field %q of %q", refused.Field, err)
					}
					if diff := cmp.Diff(splitCalls(before)[:i+1], h.calls); diff != "" {
						t.Error(diff)
					}
					h.calls, h.refuse, h.panics = nil, "", hook
					if value := panics(func() { _ = test.call(t.Context(), c) }); value != "boom" || len(h.calls) != i+1 {
						t.Errorf("panic %v after %v", value, h.calls)
					}
					if diff := cmp.Diff(seed, s.Dump()); diff != "" {
						t.Error("something was written:", diff)
					}
				})
			})
		}
	}
}

func panics(call func()) (value any) {
	defer func() { value = recover() }()
	call()
	return nil
}

// What can't be written is refused before any hook hears of it; what could not
// be written is followed by none.
func TestClientHooksAndErrors(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		s.Seed(map[string]any{"queue:wrong": "a text"})
		h := &told{server: s}
		c := dialTest(t, s, s.URL(), func(o *resque.Options) { o.Clock, o.Hooks = &fixedClock{now: hooksNow}, h.hooks() })
		for _, job := range []resque.NewJob{
			{Class: "A"},
			{Queue: "q"},
			{Queue: "q", Class: "A", Args: []any{"\xff"}},
			{Queue: "q", Class: "A", At: hooksNow.AddDate(20, 0, 0)},
		} {
			if _, err := c.EnqueueMany(t.Context(), resque.NewJob{Queue: "q", Class: "A"}, job); err == nil || len(h.calls) > 0 {
				t.Errorf("%+v: %v, %v", job, err, h.calls)
			}
		}
		if err := c.Enqueue(t.Context(), "wrong", "A"); resque.ErrorCode(err) != "WRONGTYPE" {
			t.Error(err)
		}
		large := strings.Repeat("x", 1<<20)
		written, err := c.EnqueueMany(t.Context(), resque.NewJob{Queue: "q", Class: "B", Args: []any{large}},
			resque.NewJob{Queue: "wrong", Class: "C", Args: []any{large}}, resque.NewJob{Queue: "q", Class: "D"})
		if resque.ErrorCode(err) != "WRONGTYPE" || written != 1 {
			t.Errorf("%d written, %v", written, err)
		}
		want := []string{"BeforeEnqueue A", "BeforeEnqueue B", "BeforeEnqueue C", "BeforeEnqueue D", "AfterEnqueue B"}
		if diff := cmp.Diff(want, h.calls); diff != "" {
			t.Error(diff)
		}
	})
}

// A hook that is refused itself, or meets an invalid job, is told apart from the
// call that it refuses.
func TestClientHooksWithinHooks(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	inner := dialTest(t, s, s.URL(), nil)
	c := dialTest(t, s, s.URL(), func(o *resque.Options) {
		o.Hooks.BeforeEnqueue = func(ctx context.Context, _ resque.NewJob) error { return inner.Enqueue(ctx, "", "X") }
	})
	_, err := c.EnqueueMany(t.Context(), resque.NewJob{Queue: "q", Class: "A"})
	invalid, ok := errors.AsType[*resque.InvalidJobError](err)
	if !errors.Is(err, resque.ErrRefused) || !ok || invalid.Field != "Queue" || !strings.Contains(err.Error(), "refused jobs[0]") {
		t.Error(err)
	}
}

package failure_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/understudy/failure"
	"example.com/understudy/internal/redistest"
)

func TestOrdersAreRubys(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		s.Seed(map[string]any{
			"failed":        redistest.List{rec("q", "1"), rec("*", "2"), retried(rec("q", "3"), nowZone), rec("q", "4"), rec("*", "5")},
			"failed_queues": redistest.Set{"q_failed", "*_failed"},
			"q_failed":      redistest.List{rec("q", "1"), rec("other", "2"), rec("q", "3"), rec("q", "4")},
			"*_failed":      redistest.List{rec("*", "1")},
		})
		list, perQueue := newStore(t, s, false), newStore(t, s, true)
		list.SetBatch(2, 1<<20)
		perQueue.SetBatch(3, 1<<20)
		check := func(name string, result failure.Result, err error, done int64, queue, jobs string) {
			t.Helper()
			var got []string
			for _, text := range texts(s, "queue:"+queue) {
				got = append(got, argOf(text))
			}
			if err != nil || result.Done != done || strings.Join(got, " ") != jobs {
				t.Errorf("%s: %+v, %v, pushed %v, want %s", name, result, err, got, jobs)
			}
			s.Do("DEL", s.Key("queue:q"), s.Key("queue:*"), s.Key("queue:other"))
		}
		result, err := list.RequeueQueue(t.Context(), "q", nil)
		check("the oldest first", result, err, 3, "q", "1 3 4")
		result, err = list.RequeueQueue(t.Context(), "*", nil)
		check("a name that looks like a pattern", result, err, 2, "*", "2 5")
		result, err = list.RequeueAll(t.Context(), nil)
		check("all, again", result, err, 5, "q", "1 3 4")
		result, err = perQueue.RequeueQueue(t.Context(), "q", nil)
		check("the newest first", result, err, 4, "q", "4 3 1")
		result, err = perQueue.RequeueMatching(t.Context(), failure.Filter{Queue: "q", List: "q_failed"}, nil)
		check("the newest first, with a filter", result, err, 3, "q", "4 3 1")
		result, err = perQueue.RequeueAll(t.Context(), nil)
		check("all lists", result, err, 10, "q", "1 3 4 4 3 1") // of failed, then of q_failed
		result, err = list.RemoveQueue(t.Context(), "*", nil)
		check("removed", result, err, 2, "*", "")
		steps := 0
		result, err = perQueue.RemoveQueue(t.Context(), "q", func(failure.Result) { steps++ })
		check("a whole list removed", result, err, 4, "q", "")
		if steps != 1 {
			t.Errorf("told %d times", steps)
		}
		result, err = perQueue.RemoveQueue(t.Context(), "none", nil)
		check("nothing removed", result, err, 0, "q", "")
		s.Do("DEL", s.Key("queues"))
		checkDump(t, s, map[string]any{
			"failed":        redistest.List{retried(rec("q", "1"), nowZone), retried(rec("q", "3"), nowZone), retried(rec("q", "4"), nowZone)},
			"failed_queues": redistest.Set{"*_failed", "q_failed"},
			"*_failed":      redistest.List{retried(rec("*", "1"), nowBare)},
		})
	})
}

func TestBulkTellsAndStops(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	store := newStore(t, s, false)
	store.SetBatch(2, 1<<20)
	s.Seed(map[string]any{"failed": redistest.List{rec("q", "1"), rec("z", "2"), rec("q", "3"), rec("q", "4"), rec("q", "5")}})
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	var told []failure.Result
	result, err := store.RemoveMatching(ctx, failure.Filter{Queue: "q"}, func(r failure.Result) {
		if told = append(told, r); len(told) == 2 {
			cancel(why)
		}
	})
	if !errors.Is(err, why) || !strings.Contains(err.Error(), "after 4 of 5 records of failed") {
		t.Error(err)
	}
	want := []failure.Result{{Total: 5, Seen: 2, Done: 1}, {Total: 5, Seen: 4, Done: 3}}
	if fmt.Sprint(told) != fmt.Sprint(want) || result != want[1] {
		t.Errorf("told %v, answered %+v, want %v", told, result, want)
	}
	checkDump(t, s, map[string]any{"failed": redistest.List{rec("z", "2"), rec("q", "5")}})
}

// asked is a clock that does something when it is asked a second time.
type asked struct {
	clock

	times  int
	second func()
}

func (c *asked) Now() time.Time {
	if c.times++; c.times == 2 {
		c.second()
	}
	return c.clock.Now()
}

// Somebody else is faster between the reading of a page and its edit.
func TestBulkCountsWhatIsGone(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	s.Seed(map[string]any{"failed": redistest.List{rec("q", "1"), rec("q", "2"), rec("q", "3")}})
	asked := &asked{second: func() { // the page is read by then
		s.Do("LREM", s.Key("failed"), 1, rec("q", "1"))
		s.Do("LSET", s.Key("failed"), 1, retried(rec("q", "3"), "2026/01/02 04:00:00 UTC"))
	}}
	store := failure.NewStore(open(t, s), failure.StoreConfig{Clock: asked})
	result, err := store.RequeueAll(t.Context(), nil)
	if want := (failure.Result{Total: 3, Seen: 3, Done: 1, Gone: 2}); err != nil || result != want {
		t.Errorf("%+v, %v", result, err)
	}
	checkDump(t, s, map[string]any{
		"failed":  redistest.List{retried(rec("q", "2"), nowZone), retried(rec("q", "3"), "2026/01/02 04:00:00 UTC")},
		"queue:q": redistest.List{job("2")}, "queues": redistest.Set{"q"},
	})
}

func TestEachEndsWithItsLoopAndWithAnError(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	store := newStore(t, s, true)
	store.SetBatch(1, 1<<20)
	s.Seed(map[string]any{
		"failed_queues": redistest.Set{"a_failed", "b_failed"},
		"a_failed":      redistest.List{rec("a", "1"), rec("a", "2")}, "b_failed": redistest.Set{"x"},
	})
	met := 0
	for _, err := range store.Each(t.Context(), failure.Filter{}, failure.OldestFirst) {
		if err != nil {
			t.Error(err)
		}
		met++
		break
	}
	var last error
	for r, err := range store.Each(t.Context(), failure.Filter{}, failure.NewestFirst) {
		if last != nil || err != nil && r.Raw != nil {
			t.Error("after the error: ", r, err)
		}
		met++
		last = err
	}
	if met != 4 || last == nil {
		t.Errorf("met %d, %v", met, last)
	}
	if n, err := store.CountMatching(t.Context(), failure.Filter{List: "a_failed", Queue: "a"}); n != 2 || err != nil {
		t.Errorf("counted %d, %v", n, err)
	}
}

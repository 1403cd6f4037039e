package failure_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"example.com/understudy/failure"
	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
)

// H2: akira/exq#58. Types stay Ruby's, and what is of another type is left alone
// with an error, by every call.
func TestH2TypesOfKeysAreRubys(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		store := newStore(t, s, false)
		s.Seed(map[string]any{"failed": redistest.Set{"x"}})
		record := failure.Record{List: "failed", Raw: []byte(rec("q", "1"))}
		for name, call := range map[string]func(context.Context) error{
			"All":     func(ctx context.Context) error { _, err := store.All(ctx, "", 0, 1); return err },
			"Count":   func(ctx context.Context) error { _, err := store.Count(ctx, ""); return err },
			"Find":    func(ctx context.Context) error { _, err := store.Find(ctx, "123456789abc"); return err },
			"Remove":  func(ctx context.Context) error { return store.Remove(ctx, record) },
			"Requeue": func(ctx context.Context) error { return store.Requeue(ctx, record) },
			"RemoveAll": func(ctx context.Context) error {
				_, err := store.RemoveMatching(ctx, failure.Filter{}, nil)
				return err
			},
			"Matching": func(ctx context.Context) error { _, err := store.CountMatching(ctx, failure.Filter{}); return err },
		} {
			if err := call(t.Context()); resque.ErrorCode(err) != "WRONGTYPE" {
				t.Errorf("%s: %v", name, err)
			}
		}
		checkDump(t, s, map[string]any{"failed": redistest.Set{"x"}})
		if n, err := store.ClearAll(t.Context()); n != 0 || err != nil {
			t.Errorf("cleared %d, %v", n, err)
		}
		checkDump(t, s, map[string]any{})

		// A queue that is no list stops its own records only.
		s.Seed(map[string]any{"failed": redistest.List{rec("q", "1"), rec("odd", "2"), rec("q", "3")}, "queue:odd": "text"})
		if err := store.Requeue(t.Context(), at(t, store, "failed", 1)); resque.ErrorCode(err) != "WRONGTYPE" {
			t.Error(err)
		}
		result, err := store.RequeueAll(t.Context(), nil)
		if err != nil || result.Done != 2 || result.Skipped != 1 || resque.ErrorCode(result.Reason) != "WRONGTYPE" {
			t.Errorf("%+v, %v", result, err)
		}
		checkDump(t, s, map[string]any{
			"failed":    redistest.List{retried(rec("q", "1"), nowZone), rec("odd", "2"), retried(rec("q", "3"), nowZone)},
			"queue:odd": "text", "queue:q": redistest.List{job("1"), job("3")}, "queues": redistest.Set{"q"},
		})
	})
}

// H4: resque/resque-web#121, resque/resque#750, #945. Records are found by what
// they are, not by where they stand, blanks among them.
func TestH4RequeueByIdentity(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		store := newStore(t, s, false)
		s.Seed(map[string]any{"failed": redistest.List{"", rec("q", "1"), rec("q", "2"), rec("q", "3")}})
		one, two, three := at(t, store, "failed", 1), at(t, store, "failed", 2), at(t, store, "failed", 3)
		if records, err := store.All(t.Context(), "", 0, 10); err != nil || len(records) != 4 || !records[0].Blank {
			t.Errorf("%+v, %v", records, err)
		}
		// Now others stand in their places, and one is gone.
		s.Do("LREM", s.Key("failed"), 1, "")
		s.Do("LREM", s.Key("failed"), 1, rec("q", "1"))
		s.Do("LPUSH", s.Key("failed"), rec("q", "0"))
		s.Do("RPUSH", s.Key("failed"), rec("q", "4"))
		if err := store.Requeue(t.Context(), one); !errors.Is(err, failure.ErrGone) {
			t.Error(err)
		}
		if err := store.Requeue(t.Context(), two); err != nil {
			t.Error(err)
		}
		if err := store.Requeue(t.Context(), two); !errors.Is(err, failure.ErrGone) {
			t.Error("requeued meanwhile: ", err)
		}
		if err := store.Remove(t.Context(), three); err != nil {
			t.Error(err)
		}
		checkDump(t, s, map[string]any{
			"failed":  redistest.List{rec("q", "0"), retried(rec("q", "2"), nowZone), rec("q", "4")},
			"queue:q": redistest.List{job("2")}, "queues": redistest.Set{"q"},
		})
	})
}

func TestH4OthersPushAndRemoveMeanwhile(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		const count = 120
		store := newStore(t, s, false)
		for i := range count {
			s.Do("RPUSH", s.Key("failed"), rec("q", fmt.Sprint(i)), rec("other", fmt.Sprint(i)))
		}
		records, err := store.All(t.Context(), "", 0, 2*count)
		if err != nil {
			t.Fatal(err)
		}
		var others sync.WaitGroup
		others.Go(func() { // Ruby's removal, and new failures
			for i := range count {
				_, _ = s.Try("LREM", s.Key("failed"), 1, rec("other", fmt.Sprint(i)))
				_, _ = s.Try("RPUSH", s.Key("failed"), rec("new", fmt.Sprint(i)))
			}
		})
		var want redistest.List
		for _, r := range records {
			if r.Queue != "q" {
				continue
			}
			if err := store.Requeue(t.Context(), r); err != nil {
				t.Error(err)
			}
			want = append(want, string(r.Payload))
		}
		others.Wait()
		if got := s.Get("queue:q"); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("pushed %v, want %v", got, want)
		}
		for i := range count {
			if r := at(t, store, "failed", int64(i)); r.RetriedAtText != nowZone || string(r.Args) != fmt.Sprintf("[%d]", i) {
				t.Errorf("record %d: %s", i, r.Raw)
			}
		}
	})
}

// H5: resque/resque#924, #703. The record stays, with the time of its requeue.
func TestH5RequeuedRecordsStayUnlessTheyAreToGo(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	time := &clock{}
	store := failure.NewStore(open(t, s), failure.StoreConfig{Clock: time})
	s.Seed(map[string]any{"failed": redistest.List{rec("q", "1")}})
	for i, want := range []string{nowZone, "2026/01/02 03:04:11 UTC"} {
		time.seconds.Store(int64(i))
		if err := store.Requeue(t.Context(), first(t, store, "")); err != nil {
			t.Fatal(err)
		}
		checkDump(t, s, map[string]any{
			"failed":  redistest.List{retried(rec("q", "1"), want)},
			"queue:q": append(redistest.List{job("1")}, redistest.List{job("1")}[:i]...), "queues": redistest.Set{"q"},
		})
	}
	result, err := store.RequeueAndRemoveMatching(t.Context(), failure.Filter{Retried: true}, nil)
	if err != nil || result.Done != 1 {
		t.Errorf("%+v, %v", result, err)
	}
	checkDump(t, s, map[string]any{"queue:q": redistest.List{job("1"), job("1"), job("1")}, "queues": redistest.Set{"q"}})
}

// H6: actionhero/node-resque#114. Foreign records that are incomplete stop no
// call about all of them, and aren't changed by it.
func TestH6IncompleteForeignRecordsAreSteppedOver(t *testing.T) {
	t.Parallel()
	foreign := `{"worker":"h:1","queue":"node","payload":{"class":"X","queue":"node","args":[9]},"error":"boom","failed_at":"Fri Jan 02 2026 03:04:05 GMT+0000 (UTC)"}`
	list := redistest.List{"", rec("q", "1"), `{"cut`, `{"payload":{"class":"X"}}`, foreign, `{"queue":"q"}`, `null`, rec("q", "2")}
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		store := newStore(t, s, false)
		store.SetBatch(3, 1<<20)
		s.Seed(map[string]any{"failed": list})
		result, err := store.RequeueAll(t.Context(), nil)
		if err != nil || !errors.Is(result.Reason, failure.ErrUnreadable) || !strings.Contains(result.Reason.Error(), "blank") {
			t.Errorf("%+v, %v", result, err)
		}
		result.Reason = nil
		if want := (failure.Result{Total: 8, Seen: 8, Done: 3, Skipped: 5}); result != want {
			t.Errorf("%+v, want %+v", result, want)
		}
		after := append(redistest.List{}, list...)
		for _, i := range []int{1, 4, 7} {
			after[i] = retried(list[i], nowZone)
		}
		checkDump(t, s, map[string]any{
			"failed": after, "queues": redistest.Set{"node", "q"},
			"queue:q": redistest.List{job("1"), job("2")}, "queue:node": redistest.List{job("9")},
		})
		// All are removed but what can't be read, until that is asked for.
		if result, err := store.RemoveMatching(t.Context(), failure.Filter{}, nil); err != nil || result.Done != 5 || result.Skipped != 3 {
			t.Errorf("%+v, %v", result, err)
		}
		if got := fmt.Sprint(s.Get("failed")); got != "[ {\"cut null]" {
			t.Error(got)
		}
		if result, err := store.RemoveMatching(t.Context(), failure.Filter{Broken: true}, nil); err != nil || result.Done != 3 || result.Skipped != 0 {
			t.Errorf("%+v, %v", result, err)
		}
		if got := s.Get("failed"); got != nil {
			t.Error(got)
		}
	})
}

// H9: resque/resque-web#83, resque/resque#253. What is in the list is counted,
// not the failures of all times.
func TestH9CountIsWhatIsThere(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	s.Seed(map[string]any{
		"stat:failed": "77", "failed": redistest.List{rec("q", "1")}, "failed_queues": redistest.Set{"b_failed", "a_failed", "workers"},
		"a_failed": redistest.List{rec("a", "1"), ""}, "resque-retry:X:1": "3", "failure-resque-retry:X:1": "{}",
	})
	for _, test := range []struct {
		perQueue bool
		list     string
		want     int64
	}{{false, "", 1}, {false, "failed", 1}, {true, "", 3}, {true, "a_failed", 2}, {true, "b_failed", 0}, {true, "none_failed", 0}} {
		if n, err := newStore(t, s, test.perQueue).Count(t.Context(), test.list); n != test.want || err != nil {
			t.Errorf("%+v: %d, %v", test, n, err)
		}
	}
	lists, err := newStore(t, s, true).Lists(t.Context())
	if err != nil || fmt.Sprint(lists) != "[a_failed b_failed failed]" {
		t.Errorf("%v, %v", lists, err)
	}
	if lists, err := newStore(t, s, false).Lists(t.Context()); err != nil || fmt.Sprint(lists) != "[failed]" {
		t.Errorf("%v, %v", lists, err)
	}
	if n, err := newStore(t, s, true).ClearAll(t.Context()); n != 3 || err != nil {
		t.Errorf("cleared %d, %v", n, err)
	}
	checkDump(t, s, map[string]any{
		"stat:failed": "77", "failed_queues": redistest.Set{"a_failed", "b_failed", "workers"}, "resque-retry:X:1": "3", "failure-resque-retry:X:1": "{}",
	})
	if lists, err := newStore(t, s, true).Lists(t.Context()); err != nil || fmt.Sprint(lists) != "[a_failed b_failed]" {
		t.Errorf("%v, %v", lists, err)
	}
}

// H10: lantins/resque-retry#84. What is huge is read, a bounded part at a time.
func TestH10HugeRecordsAreReadByTheirBytes(t *testing.T) {
	t.Parallel()
	huge := rec("q", `"`+strings.Repeat("x", 5<<20)+`"`)
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		store := newStore(t, s, false)
		s.Seed(map[string]any{"failed": redistest.List{rec("q", "1"), huge, huge, rec("q", "2"), rec("q", "3")}})
		for _, page := range []struct{ start, want int64 }{{0, 1}, {1, 1}, {2, 1}, {3, 2}, {-2, 2}, {-9, 1}, {5, 0}} {
			if records, err := store.All(t.Context(), "", page.start, 10); int64(len(records)) != page.want || err != nil {
				t.Errorf("from %d: %d records, %v", page.start, len(records), err)
			}
		}
		if r, err := store.Find(t.Context(), at(t, store, "failed", 1).ID); err != nil || string(r.Raw) != huge {
			t.Error("not found: ", err)
		}
		for _, order := range []failure.Order{failure.OldestFirst, failure.NewestFirst} {
			met := 0
			for r, err := range store.Each(t.Context(), failure.Filter{}, order) {
				if err != nil || r.Err != nil {
					t.Error(err, r.Err)
				}
				met++
			}
			if met != 5 {
				t.Errorf("met %d", met)
			}
		}
	})
}

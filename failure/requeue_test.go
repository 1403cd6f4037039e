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

// What Ruby does with each of these was tried with Resque 3.0.0; where it
// differs, the name says so.
func TestRequeueKeepsTheBytes(t *testing.T) {
	t.Parallel()
	const huge = `1180591620717411303424,1.5,1.0e+20,"ü<>&/😀",{"b":[null,{}],"a":true}`
	tests := []struct{ name, raw, want, pushed string }{
		{"Ruby's", rec("q", huge), retried(rec("q", huge), nowZone), job(huge)},
		{"numbers that Ruby would write otherwise", rec("q", `1.10,1e20`), retried(rec("q", `1.10,1e20`), nowZone), job(`1.10,1e20`)},
		{"escapes that Ruby would write otherwise", rec("q", `"\u00fc\/"`), retried(rec("q", `"\u00fc\/"`), nowZone), job(`"\u00fc\/"`)},
		{
			"requeued before", `{"retried_at":"old","payload":{"class":"X","args":[7]},"queue":"q","z":1}`,
			`{"retried_at":"` + nowZone + `","payload":{"class":"X","args":[7]},"queue":"q","z":1}`, job("7"),
		},
		{
			"other fields and blanks", "{ \"payload\" : {\"id\":\"a\",\"class\":\"\\u0058\", \"args\" : [ 1 ], \"queue\":\"z\"} , \"queue\":\"q\" } ",
			"{ \"payload\" : {\"id\":\"a\",\"class\":\"\\u0058\", \"args\" : [ 1 ], \"queue\":\"z\"} , \"queue\":\"q\",\"retried_at\":\"" + nowZone + "\" } ", job(" 1 "),
		},
		{"no arguments", `{"payload":{"class":"X"},"queue":"q"}`, `{"payload":{"class":"X"},"queue":"q","retried_at":"` + nowZone + `"}`, job("")},
		{"arguments null", `{"payload":{"class":"X","args":null},"queue":"q"}`, `{"payload":{"class":"X","args":null},"queue":"q","retried_at":"` + nowZone + `"}`, job("")},
		{"one that is no list", `{"payload":{"class":"X","args":"a"},"queue":"q"}`, `{"payload":{"class":"X","args":"a"},"queue":"q","retried_at":"` + nowZone + `"}`, job(`"a"`)},
		{
			"an object, which Ruby takes apart into pairs", `{"payload":{"class":"X","args":{"id":5}},"queue":"q"}`,
			`{"payload":{"class":"X","args":{"id":5}},"queue":"q","retried_at":"` + nowZone + `"}`, job(`{"id":5}`),
		},
		{
			"bytes that Ruby can't write", "{\"payload\":{\"class\":\"X\",\"args\":[\"\xff\"]},\"queue\":\"q\"}",
			"{\"payload\":{\"class\":\"X\",\"args\":[\"\xff\"]},\"queue\":\"q\",\"retried_at\":\"" + nowZone + "\"}", job("\"\xff\""),
		},
		{
			"what was no job", `{"payload":{"class":"Understudy::Malformed","args":["eyJjdXQi"]},"queue":"q"}`,
			`{"payload":{"class":"Understudy::Malformed","args":["eyJjdXQi"]},"queue":"q","retried_at":"` + nowZone + `"}`, `{"cut"`,
		},
		{
			"what only is called so", `{"payload":{"class":"Understudy::Malformed","args":["?"]},"queue":"q"}`,
			`{"payload":{"class":"Understudy::Malformed","args":["?"]},"queue":"q","retried_at":"` + nowZone + `"}`,
			`{"class":"Understudy::Malformed","args":["?"]}`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				store := newStore(t, s, true)
				s.Seed(map[string]any{"failed": redistest.List{test.raw}, "q_failed": redistest.List{test.raw}})
				for _, list := range []string{"failed", "q_failed"} {
					if err := store.Requeue(t.Context(), first(t, store, list)); err != nil {
						t.Fatal(err)
					}
				}
				checkDump(t, s, map[string]any{
					"failed":   redistest.List{test.want},
					"q_failed": redistest.List{strings.Replace(test.want, nowZone, nowBare, 1)},
					"queue:q":  redistest.List{test.pushed, test.pushed},
					"queues":   redistest.Set{"q"},
				})
			})
		})
	}
}

func TestWhatIsNoJobIsLeftAlone(t *testing.T) {
	t.Parallel()
	list := redistest.List{"", `{"cut`, `[]`, `{"queue":"q"}`, `{"payload":{"class":"X"}}`, `{"payload":{"class":5},"queue":"q"}`, `{"payload":{"class":"X"},"queue":""}`}
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		store := newStore(t, s, false)
		s.Seed(map[string]any{"failed": list})
		for i := range list {
			want := failure.ErrNoJob
			if i < 3 {
				want = failure.ErrUnreadable
			}
			r := at(t, store, "failed", int64(i))
			for _, err := range []error{store.Requeue(t.Context(), r), store.RequeueAndRemove(t.Context(), r)} {
				if !errors.Is(err, want) || !errors.Is(err, r.Err) && err.Error() != r.Err.Error() {
					t.Errorf("%s: %v", list[i], err)
				}
			}
		}
		checkDump(t, s, map[string]any{"failed": list})
		for range list {
			if err := store.Remove(t.Context(), first(t, store, "failed")); err != nil {
				t.Error(err)
			}
		}
		checkDump(t, s, map[string]any{})
	})
}

func TestRequeueAndRemove(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		store := newStore(t, s, false)
		s.Seed(map[string]any{"failed": redistest.List{rec("q", "1"), rec("q", "2")}})
		r := first(t, store, "failed")
		if err := store.RequeueAndRemove(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if err := store.RequeueAndRemove(t.Context(), r); !errors.Is(err, failure.ErrGone) || !strings.Contains(err.Error(), r.ID) {
			t.Error("a second time: ", err)
		}
		checkDump(t, s, map[string]any{"failed": redistest.List{rec("q", "2")}, "queue:q": redistest.List{job("1")}, "queues": redistest.Set{"q"}})
	})
}

func TestStrangeListsAreRefused(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	s.Seed(map[string]any{"queue:q": redistest.List{rec("q", "1")}, "failed": redistest.List{rec("q", "1")}})
	before := s.Dump()
	for _, perQueue := range []bool{false, true} {
		store := newStore(t, s, perQueue)
		for name, call := range map[string]func(list string) error{
			"All":   func(list string) error { _, err := store.All(t.Context(), list, 0, 1); return err },
			"Count": func(list string) error { _, err := store.Count(t.Context(), list); return err },
			"Clear": func(list string) error { _, err := store.Clear(t.Context(), list); return err },
			"Remove": func(list string) error {
				return store.Remove(t.Context(), failure.Record{List: list, Raw: []byte(rec("q", "1"))})
			},
			"Requeue": func(list string) error {
				return store.Requeue(t.Context(), failure.Record{List: list, Raw: []byte(rec("q", "1"))})
			},
			"RemoveMatching": func(list string) error {
				_, err := store.RemoveMatching(t.Context(), failure.Filter{List: list}, nil)
				return err
			},
			"Each": func(list string) error {
				for _, err := range store.Each(t.Context(), failure.Filter{List: list}, failure.OldestFirst) {
					return err
				}
				return nil
			},
		} {
			if err := call("queue:q"); err == nil || !strings.Contains(err.Error(), `no list "queue:q": use failed`) {
				t.Errorf("%s, by queue %v: %v", name, perQueue, err)
			}
			if err := call("q_failed"); err == nil != perQueue && !errors.Is(err, failure.ErrGone) {
				t.Errorf("%s of a list by queue, by queue %v: %v", name, perQueue, err)
			}
		}
		if _, err := store.Find(t.Context(), "12"); err == nil || !strings.Contains(err.Error(), "12 digits") {
			t.Error(err)
		}
		if _, err := store.Find(t.Context(), "123456789abc"); !errors.Is(err, failure.ErrGone) {
			t.Error(err)
		}
	}
	checkDump(t, s, before)
}

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
		if n, err := store.Clear(t.Context(), ""); n != 0 || err != nil {
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
		if err != nil || !errors.Is(result.Reason, failure.ErrUnreadable) {
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
	if n, err := newStore(t, s, true).Clear(t.Context(), ""); n != 3 || err != nil {
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

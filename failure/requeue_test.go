package failure_test

import (
	"errors"
	"strings"
	"testing"

	"example.com/understudy/failure"
	"example.com/understudy/internal/redistest"
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
			if err := call("queue:q_failed"); err == nil || !strings.Contains(err.Error(), "no list") {
				t.Errorf("%s of a queue named like a list, by queue %v: %v", name, perQueue, err)
			}
			if err := call("q_failed"); err == nil != perQueue && !errors.Is(err, failure.ErrGone) {
				t.Errorf("%s of a list by queue, by queue %v: %v", name, perQueue, err)
			}
		}
		if _, err := store.Find(t.Context(), "12"); err == nil || !strings.Contains(err.Error(), "12 hex digits") {
			t.Error(err)
		}
		if _, err := store.Find(t.Context(), "123456789abc"); !errors.Is(err, failure.ErrGone) {
			t.Error(err)
		}
	}
	checkDump(t, s, before)
}

// An empty name never means everything.
func TestClearRefusesNoName(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		s.Seed(map[string]any{"failed": redistest.List{"a", "b"}})
		store := newStore(t, s, false)
		if n, err := store.Clear(t.Context(), ""); n != 0 || err == nil || !strings.Contains(err.Error(), "ClearAll") {
			t.Errorf("%d, %v", n, err)
		}
		if n, err := store.ClearAll(t.Context()); n != 2 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	})
}

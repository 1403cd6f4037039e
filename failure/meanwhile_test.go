package failure_test

import (
	"fmt"
	"strings"
	"testing"

	"example.com/understudy/failure"
	"example.com/understudy/internal/redistest"
)

// meanwhile is a list of failures, what others do after the walk's first page,
// and what is met: arguments, with * those that others have requeued.
type meanwhile struct {
	name  string
	list  string
	order failure.Order
	batch int
	then  func(s *redistest.Server, key string)
	met   string
}

func (m meanwhile) seed(s *redistest.Server) {
	for arg := range strings.FieldsSeq(m.list) {
		s.Do("RPUSH", s.Key("failed"), rec("q", arg))
	}
}

func numbers(from, to int) string {
	var list []string
	for i := from; i != to; {
		list = append(list, fmt.Sprint(i))
		if from < to {
			i++
		} else {
			i--
		}
	}
	return strings.Join(list, " ")
}

func remove(args ...string) func(s *redistest.Server, key string) {
	return func(s *redistest.Server, key string) {
		for _, arg := range args {
			s.Do("LREM", key, 1, rec("q", arg))
		}
	}
}

func TestEachWhileOthersChangeTheList(t *testing.T) {
	t.Parallel()
	tests := []meanwhile{
		{
			name: "passed ones are removed", list: numbers(0, 100), batch: 40,
			then: remove(strings.Fields(numbers(0, 30))...), met: numbers(0, 100),
		},
		{
			name: "all passed ones are removed", list: numbers(0, 100), batch: 40,
			then: remove(strings.Fields(numbers(0, 40))...), met: numbers(0, 100),
		},
		{
			name: "what is to come is removed in front", list: numbers(0, 100), order: failure.NewestFirst, batch: 40,
			then: remove(strings.Fields(numbers(0, 30))...), met: numbers(99, 29),
		},
		{
			name: "others fail", list: numbers(0, 4), batch: 2,
			then: func(s *redistest.Server, key string) { s.Do("RPUSH", key, rec("q", "8"), rec("q", "9")) }, met: "0 1 2 3",
		},
		{
			name: "all passed ones are requeued", list: numbers(0, 50), batch: 40,
			then: func(s *redistest.Server, key string) {
				for i := range 40 {
					s.Do("LSET", key, i, retried(rec("q", fmt.Sprint(i)), nowZone))
				}
				s.Do("LPOP", key)
			}, met: numbers(0, 50),
		},
		{
			name: "one stands where one with its text stood", list: "0 1 7 2 7 3", batch: 3,
			then: remove("0", "1"), met: "0 1 7 2 7 3",
		},
		{
			name: "the newest have one text", list: "0 1 2 7 7", order: failure.NewestFirst, batch: 2,
			then: remove("0"), met: "7 7 2 1",
		},
		{
			name: "all have one text", list: strings.Repeat("7 ", 50), batch: 20,
			then: remove(), met: strings.TrimSpace(strings.Repeat("7 ", 50)),
		},
		{
			name: "one, then many with one text", list: "0 1 " + strings.Repeat("7 ", 50), batch: 20,
			then: remove("0"), met: "0 1 " + strings.TrimSpace(strings.Repeat("7 ", 50)),
		},
		{
			name: "two texts by turns", list: "0 1 2 " + strings.Repeat("7 8 ", 30), batch: 40,
			then: remove("0", "1"), met: "0 1 2 " + strings.TrimSpace(strings.Repeat("7 8 ", 30)),
		},
		{
			name: "two texts by turns, the newest first", list: strings.Repeat("7 8 ", 30) + "0 1 2", order: failure.NewestFirst, batch: 40,
			then: remove("0", "1"), met: "2 1 0 " + strings.TrimSpace(strings.Repeat("8 7 ", 30)),
		},
		{
			name: "a blank comes to stand where one stood", list: "0 1 2 3 4 5", batch: 2,
			then: func(s *redistest.Server, key string) {
				s.Do("LSET", key, 1, "")
				s.Do("LPOP", key)
			}, met: "0 1 2 3 4 5",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				store := newStore(t, s, false)
				store.SetBatch(test.batch, 1<<20)
				test.seed(s)
				var met []string
				for r, err := range store.Each(t.Context(), failure.Filter{Queue: "q"}, test.order) {
					if err != nil {
						t.Fatal(err)
					}
					if met = append(met, argOf(string(r.Raw))); len(met) == test.batch {
						test.then(s, s.Key("failed"))
					}
				}
				if got := strings.Join(met, " "); got != test.met {
					t.Errorf("met %s, want %s", got, test.met)
				}
			})
		})
	}
}

// What a call about many records has requeued isn't requeued again, wherever
// others move it.
func TestRequeueAllWhileOthersChangeTheList(t *testing.T) {
	t.Parallel()
	old := func(arg string) string { return retried(rec("q", arg), nowBare) }
	tests := []struct {
		name   string
		list   []string
		batch  int
		then   func(s *redistest.Server, key string)
		pushed string
	}{
		{
			"nothing stands where it stood",
			[]string{rec("q", "0"), rec("q", "1"), rec("q", "2"), rec("q", "3")},
			1,
			func(s *redistest.Server, key string) {
				s.Do("LPOP", key)
				s.Do("LPOP", key)
				s.Do("RPUSH", key, rec("q", "8"), rec("q", "9"))
			}, "3 8 2",
		},
		{"requeued in this very second, both", []string{old("0"), old("0")}, 1, remove(), "0 0"},
		{
			"the twin of one that was requeued and removed",
			[]string{rec("q", "2"), rec("q", "1"), rec("q", "1"), rec("q", "0")},
			2,
			func(s *redistest.Server, key string) { s.Do("LREM", key, 1, old("1")) }, "0 1 1 2",
		},
		{
			"others fail after each step",
			[]string{rec("q", "2"), rec("q", "1"), rec("q", "0")},
			1,
			func(s *redistest.Server, key string) { s.Do("RPUSH", key, rec("q", "9")) }, "0 1 2",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := redistest.New(t)
			s.Seed(map[string]any{"failed_queues": redistest.Set{"q_failed"}, "q_failed": redistest.List(test.list)})
			store := newStore(t, s, true)
			store.SetBatch(test.batch, 1<<20)
			told := false
			if _, err := store.RequeueAll(t.Context(), func(failure.Result) {
				if !told {
					test.then(s, s.Key("q_failed"))
				}
				told = true
			}); err != nil {
				t.Fatal(err)
			}
			var pushed []string
			for _, text := range texts(s, "queue:q") {
				pushed = append(pushed, argOf(text))
			}
			if got := strings.Join(pushed, " "); got != test.pushed {
				t.Errorf("pushed %s, want %s", got, test.pushed)
			}
		})
	}
}

// Jobs that fail again at once keep no call about all of them from its end, nor
// does it take them for those that it began with.
func TestBulkEndsThoughOthersFail(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		store := newStore(t, s, false)
		store.SetBatch(2, 1<<20)
		for name, call := range map[string]func(func(failure.Result)) (failure.Result, error){
			"requeue": func(p func(failure.Result)) (failure.Result, error) { return store.RequeueAll(t.Context(), p) },
			"remove": func(p func(failure.Result)) (failure.Result, error) {
				return store.RemoveMatching(t.Context(), failure.Filter{}, p)
			},
			"both": func(p func(failure.Result)) (failure.Result, error) {
				return store.RequeueAndRemoveMatching(t.Context(), failure.Filter{}, p)
			},
		} {
			s.Do("DEL", s.Key("failed"))
			s.Seed(map[string]any{"failed": redistest.List{rec("q", "1"), rec("q", "2"), rec("q", "3"), rec("q", "4"), rec("q", "5")}})
			steps := 0
			result, err := call(func(failure.Result) {
				if steps++; steps > 100 {
					t.Fatal(name, ": no end")
				}
				s.Do("RPUSH", s.Key("failed"), rec("q", fmt.Sprint(10+2*steps)), rec("q", fmt.Sprint(11+2*steps)))
			})
			if want := (failure.Result{Total: 5, Seen: 5, Done: 5}); err != nil || result != want {
				t.Errorf("%s: %+v, %v", name, result, err)
			}
		}
	})
}

func TestFindLooksAtEach(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	store := newStore(t, s, false)
	for i := range 30 {
		s.Do("RPUSH", s.Key("failed"), rec("q", fmt.Sprint(i)))
	}
	records, err := store.All(t.Context(), "", 0, 30)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range records {
		if r, err := store.Find(t.Context(), want.ID); err != nil || r.Index != int64(i) || string(r.Raw) != string(want.Raw) {
			t.Errorf("record %d: found %d, %v", i, r.Index, err)
		}
	}
}

package failure_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"example.com/understudy/failure"
	"example.com/understudy/internal/redistest"
)

// others change a list at random, and keep count of it.
type others struct {
	tb      testing.TB
	server  *redistest.Server
	list    string
	random  *rand.Rand
	there   map[string]int // records by their argument, at the begin
	removed map[string]int
	pushed  int
}

// begin fills the list: some records stand there several times, some texts are
// no record.
func begin(tb testing.TB, s *redistest.Server, list string, random *rand.Rand) *others {
	tb.Helper()
	o := &others{tb: tb, server: s, list: list, random: random, there: map[string]int{}, removed: map[string]int{}}
	size := 40 << (2 * random.IntN(2))
	variety := 1 + random.IntN(size)
	for range random.IntN(size) {
		if random.IntN(10) == 0 {
			s.Do("RPUSH", s.Key(list), []string{"", `{"cut`}[random.IntN(2)])
		}
		arg := fmt.Sprint(random.IntN(variety))
		o.there[arg]++
		s.Do("RPUSH", s.Key(list), rec("q", arg))
	}
	return o
}

// meddle does a few of the things that other programs do to a list.
func (o *others) meddle() {
	key := o.server.Key(o.list)
	for range o.random.IntN(4) {
		elements := texts(o.server, o.list)
		if len(elements) == 0 {
			return
		}
		at := o.random.IntN(1 + o.random.IntN(len(elements))) // rather in front
		element := elements[at]
		switch o.random.IntN(5) {
		case 0:
			o.pushed++
			o.server.Do("RPUSH", key, rec("new", fmt.Sprint(o.pushed)))
		case 1, 2: // Ruby's removal, which may take a blank one in its stead
			o.server.Do("LSET", key, at, "")
			o.server.Do("LREM", key, 1, "")
			o.forget(element)
		case 3: // Ruby's removal, cut in the middle
			o.server.Do("LSET", key, at, "")
			o.forget(element)
		case 4: // Ruby's requeue
			if strings.HasSuffix(element, "}") {
				plain, _, _ := strings.Cut(element[:len(element)-1], `,"retried_at"`)
				o.server.Do("LSET", key, at, retried(plain+"}", fmt.Sprintf("2026/01/02 04:00:%02d", o.random.IntN(60))))
			}
		}
	}
}

func (o *others) forget(element string) {
	if strings.Contains(element, `"queue":"q"`) {
		o.removed[argOf(element)]++
	}
}

// check wants each record met once, if it was there all the time: of several
// that are the same, as many.
func (o *others) check(met map[string]int) {
	for arg, n := range o.there {
		if met[arg] > n || met[arg] < n-o.removed[arg] {
			o.tb.Errorf("%s: met %d times; %d were there, %d of them removed meanwhile", arg, met[arg], n, o.removed[arg])
		}
	}
}

func texts(s *redistest.Server, list string) redistest.List {
	elements, _ := s.Get(list).(redistest.List)
	return elements
}

// argOf is the argument of a record or of a job.
func argOf(text string) string {
	_, rest, _ := strings.Cut(text, `"args":[`)
	arg, _, _ := strings.Cut(rest, "]")
	return arg
}

// chance runs a test many times, with a server of its own for each.
func chance(t *testing.T, times int, test func(t *testing.T, s *redistest.Server, store *failure.Store, o *others, list string)) {
	t.Helper()
	for seed := range times {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(uint64(seed), 7))
			s := redistest.New(t)
			perQueue := random.IntN(2) == 0
			list := "failed"
			if perQueue {
				list = "q_failed"
				s.Seed(map[string]any{"failed_queues": redistest.Set{list}})
			}
			store := newStore(t, s, perQueue)
			store.SetBatch(1+random.IntN(8<<random.IntN(4)), 1<<20)
			test(t, s, store, begin(t, s, list, random), list)
		})
	}
}

func times(t *testing.T) int {
	t.Helper()
	if testing.Short() {
		return 50
	}
	return 100
}

func TestEachMeetsOnceWhatStays(t *testing.T) {
	t.Parallel()
	chance(t, times(t), func(t *testing.T, _ *redistest.Server, store *failure.Store, o *others, _ string) {
		t.Helper()
		order := failure.Order(o.random.IntN(2) == 0)
		met := map[string]int{}
		n := 0
		for r, err := range store.Each(t.Context(), failure.Filter{Queue: "q"}, order) {
			if err != nil {
				t.Fatal(err)
			}
			met[argOf(string(r.Raw))]++
			if n++; n > 1000 {
				t.Fatal("no end")
			}
			if o.random.IntN(3) == 0 {
				o.meddle()
			}
		}
		o.check(met)
	})
}

// The body of the loop does what it likes with what it meets.
func TestEachWithABodyThatActs(t *testing.T) {
	t.Parallel()
	chance(t, times(t), func(t *testing.T, s *redistest.Server, store *failure.Store, o *others, _ string) {
		t.Helper()
		met := map[string]int{}
		act := []func(failure.Record) error{
			func(r failure.Record) error { return store.Requeue(t.Context(), r) },
			func(r failure.Record) error { return store.Remove(t.Context(), r) },
		}
		only := o.random.IntN(3)
		for r, err := range store.Each(t.Context(), failure.Filter{Queue: "q"}, failure.Order(o.random.IntN(2) == 0)) {
			if err != nil {
				t.Fatal(err)
			}
			met[argOf(string(r.Raw))]++
			which := only
			if only == 2 {
				which = o.random.IntN(2)
			}
			if err := act[which](r); err != nil {
				t.Error(err)
			}
		}
		o.check(met)
		for arg, n := range o.there {
			if met[arg] != n {
				t.Errorf("%s: met %d times, want %d", arg, met[arg], n)
			}
		}
	})
}

func TestBulkActsOnceOnWhatStays(t *testing.T) {
	t.Parallel()
	chance(t, times(t), func(t *testing.T, s *redistest.Server, store *failure.Store, o *others, list string) {
		t.Helper()
		calls := []func(progress func(failure.Result)) (failure.Result, error){
			func(p func(failure.Result)) (failure.Result, error) { return store.RequeueAll(t.Context(), p) },
			func(p func(failure.Result)) (failure.Result, error) { return store.RequeueQueue(t.Context(), "q", p) },
			func(p func(failure.Result)) (failure.Result, error) {
				return store.RequeueMatching(t.Context(), failure.Filter{Queue: "q"}, p)
			},
			func(p func(failure.Result)) (failure.Result, error) {
				return store.RequeueAndRemoveMatching(t.Context(), failure.Filter{Queue: "q"}, p)
			},
		}
		call := o.random.IntN(len(calls))
		steps := 0
		result, err := calls[call](func(failure.Result) {
			if steps++; steps > 1000 {
				panic("no end")
			}
			o.meddle()
		})
		if err != nil {
			t.Fatal(err)
		}
		done := map[string]int{}
		for _, text := range append(texts(s, "queue:q"), texts(s, "queue:new")...) {
			done[argOf(text)]++
		}
		got := map[string]int{}
		for _, text := range texts(s, "queue:q") {
			got[argOf(text)]++
		}
		o.check(got)
		if n := len(texts(s, "queue:q")) + len(texts(s, "queue:new")); int64(n) != result.Done || result.Gone != 0 {
			t.Errorf("%+v, but %d were pushed", result, n)
		}
		for i, text := range texts(s, list) {
			if call == 3 && strings.Contains(text, `"queue":"q"`) {
				t.Errorf("%d is still there: %s", i, text)
			}
		}
	})
}

func TestRemoveMatchingLeavesTheOthers(t *testing.T) {
	t.Parallel()
	chance(t, times(t), func(t *testing.T, s *redistest.Server, store *failure.Store, o *others, list string) {
		t.Helper()
		result, err := store.RemoveMatching(t.Context(), failure.Filter{Queue: "q"}, func(failure.Result) { o.meddle() })
		if err != nil {
			t.Fatal(err)
		}
		if result.Done > result.Total || result.Gone != 0 {
			t.Errorf("%+v", result)
		}
		for i, text := range texts(s, list) {
			if strings.Contains(text, `"queue":"q"`) {
				t.Errorf("%d is still there: %s", i, text)
			}
		}
		if n := strings.Count(fmt.Sprint(texts(s, list)), `"queue":"new"`); n > o.pushed {
			t.Errorf("%d of %d new ones", n, o.pushed)
		}
	})
}

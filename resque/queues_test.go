package resque_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
)

func TestQueues(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		c := dialTest(t, s, s.URL(), nil)
		if names, err := c.Queues(t.Context()); err != nil || len(names) != 0 {
			t.Errorf("of nothing: %q, %v", names, err)
		}
		s.Seed(map[string]any{
			"queues": redistest.Set{"low", "high", "tenant:42:mail", "Ärger"}, "queue:low": redistest.List{"a", "b"},
		})
		names, err := c.Queues(t.Context())
		if diff := cmp.Diff([]string{"high", "low", "tenant:42:mail", "Ärger"}, names); diff != "" || err != nil {
			t.Error(diff, err)
		}
		for queue, want := range map[string]int64{"low": 2, "high": 0, "absent": 0} {
			if n, err := c.Size(t.Context(), queue); n != want || err != nil {
				t.Errorf("size of %s: %d, %v", queue, n, err)
			}
		}
	})
}

// shown is an Entry as a test wants it.
type shown struct {
	class, args, raw string
	broken           bool
}

func show(entries ...resque.Entry) []shown {
	all := []shown{}
	for _, e := range entries {
		all = append(all, shown{e.Class, string(e.Args), string(e.Raw), e.Err != nil})
	}
	return all
}

func TestPeek(t *testing.T) {
	t.Parallel()
	const a, b, cut, wrapped = `{"class":"A","args":[1.10,"ß"]}`, `{"class":"B"}`, `{"class":`, `{"class":"Understudy::Malformed","args":["bnVsbA=="]}`
	jobA, jobB := shown{class: "A", args: `[1.10,"ß"]`, raw: a}, shown{class: "B", args: "[]", raw: b}
	broken, inner := shown{raw: cut, broken: true}, shown{raw: "null", broken: true}
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		c := dialTest(t, s, s.URL(), nil)
		s.Seed(map[string]any{"queue:q": redistest.List{a, b, cut, wrapped}})
		for _, test := range []struct {
			start, count int64
			want         []shown
		}{
			{0, 1, []shown{jobA}},
			{0, 2, []shown{jobA, jobB}},
			{1, 100, []shown{jobB, broken, inner}},
			{-1, 1, []shown{inner}},
			{-3, 2, []shown{jobB, broken}},
			{-2, 100, []shown{broken, inner}},
			{-2, 3, []shown{broken, inner}},
			{-100, 97, []shown{jobA}},
			{0, 1<<63 - 1, []shown{jobA, jobB, broken, inner}},
			{2, 1<<63 - 1, []shown{broken, inner}},
			{4, 5, []shown{}},
			{0, 0, []shown{}},
			{0, -1, []shown{}},
		} {
			t.Run(fmt.Sprint(test.start, test.count), func(t *testing.T) {
				got, err := c.Peek(t.Context(), "q", test.start, test.count)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.want, show(got...), cmp.AllowUnexported(shown{})); diff != "" {
					t.Error(diff)
				}
			})
		}
	})
}

func TestPop(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		c := dialTest(t, s, s.URL(), nil)
		s.Seed(map[string]any{"queue:q": redistest.List{`{"class":"A","args":[1]}`, "", "b"}, "queues": redistest.Set{"q"}})
		for _, want := range []shown{{class: "A", args: "[1]", raw: `{"class":"A","args":[1]}`}, {broken: true}, {raw: "b", broken: true}} {
			e, ok, err := c.Pop(t.Context(), "q")
			if diff := cmp.Diff([]shown{want}, show(e), cmp.AllowUnexported(shown{})); diff != "" || !ok || err != nil || e.Queue != "q" {
				t.Error(diff, ok, err)
			}
		}
		if e, ok, err := c.Pop(t.Context(), "q"); ok || err != nil {
			t.Errorf("of an empty queue: %+v, %v", e, err)
		}
		if diff := cmp.Diff(map[string]any{"queues": redistest.Set{"q"}}, s.Dump()); diff != "" {
			t.Error(diff)
		}
	})
}

// malformed is a text as it is kept where Ruby may meet it.
func malformed(text string) string {
	return `{"class":"Understudy::Malformed","args":["` + base64.StdEncoding.EncodeToString([]byte(text)) + `"]}`
}

func TestDequeue(t *testing.T) {
	t.Parallel()
	jobs := redistest.List{
		`{"class":"A","args":[1,"ß"]}`, `{"class":"B","args":[1,"ß"]}`, `{"class":"A","args":[]}`,
		`{"class":"A","args":[1,"ß"]}`, `{"args":[1,"ß"],"class":"A"}`, `{"class":"A"`, `{"class":"\u0041","args":[2]}`,
		malformed(`{"class":"A","args":["\udc00"]}`), malformed("null"),
	}
	for _, test := range []struct {
		name string
		call func(c *resque.Client) (int64, error)
		want int64
		left redistest.List
	}{
		{
			"with arguments: exactly this text",
			func(c *resque.Client) (int64, error) { return c.Dequeue(t.Context(), "q", "A", 1, "ß") },
			2,
			redistest.List{jobs[1], jobs[2], jobs[4], jobs[5], jobs[6], jobs[7], jobs[8]},
		},
		{
			"without arguments: those without",
			func(c *resque.Client) (int64, error) { return c.Dequeue(t.Context(), "q", "A") },
			1,
			redistest.List{jobs[0], jobs[1], jobs[3], jobs[4], jobs[5], jobs[6], jobs[7], jobs[8]},
		},
		{
			"none like it",
			func(c *resque.Client) (int64, error) { return c.Dequeue(t.Context(), "q", "A", 1.0, "ß") },
			0, jobs,
		},
		{
			"the class, in whatever form",
			func(c *resque.Client) (int64, error) { return c.DequeueClass(t.Context(), "q", "A") },
			6,
			redistest.List{jobs[1], jobs[5], jobs[8]},
		},
		{
			"what is no job",
			func(c *resque.Client) (int64, error) { return c.DequeueClass(t.Context(), "q", resque.MalformedClass) },
			2, jobs[:7],
		},
		{
			"a class that isn't there",
			func(c *resque.Client) (int64, error) { return c.DequeueClass(t.Context(), "q", "C") },
			0, jobs,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				c := dialTest(t, s, s.URL(), nil)
				s.Seed(map[string]any{"queue:q": jobs})
				n, err := test.call(c)
				if n != test.want || err != nil {
					t.Errorf("got %d, %v, want %d", n, err, test.want)
				}
				if diff := cmp.Diff(map[string]any{"queue:q": test.left}, s.Dump()); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// Many pages, with jobs of other classes between.
func TestDequeueClassOfMany(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		c := dialTest(t, s, s.URL(), nil)
		var jobs []resque.NewJob
		for i := range 3500 {
			class := "A"
			if i%7 == 0 {
				class = "B"
			}
			jobs = append(jobs, resque.NewJob{Queue: "q", Class: class, Args: []any{i % 900}})
		}
		if _, err := c.EnqueueMany(t.Context(), jobs...); err != nil {
			t.Fatal(err)
		}
		if n, err := c.DequeueClass(t.Context(), "q", "A"); n != 3000 || err != nil {
			t.Errorf("removed %d, %v", n, err)
		}
		left, err := c.Peek(t.Context(), "q", 0, 4000)
		if len(left) != 500 || err != nil {
			t.Fatalf("%d left, %v", len(left), err)
		}
		for i, e := range left {
			var args []int
			if err := json.Unmarshal(e.Args, &args); err != nil || e.Class != "B" || args[0] != 7*i%900 {
				t.Fatalf("left at %d: %+v", i, e)
			}
		}
	})
}

// While workers take jobs and others push some, none that was there is missed
// and none of another class goes.
func TestDequeueClassBesideOthers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		proxy := redistest.NewProxy(t, s.URL())
		c, direct := dialTest(t, s, proxy.URL(), nil), dialTest(t, s, s.URL(), nil)
		var jobs []resque.NewJob
		for i := range 2400 {
			jobs = append(jobs, resque.NewJob{Queue: "q", Class: []string{"A", "B"}[i%2], Args: []any{i}})
		}
		if _, err := c.EnqueueMany(t.Context(), jobs...); err != nil {
			t.Fatal(err)
		}
		pages, taken := 0, int64(0)
		proxy.SetRule(func(request redistest.Request) redistest.Verdict {
			if !readsPage(request) {
				return redistest.Pass
			}
			pages++
			for i := range 30 { // before each page
				if e, _, err := direct.Pop(t.Context(), "q"); err != nil || e.Class == "A" {
					taken++
				}
				if err := direct.Enqueue(t.Context(), "q", "New", pages, i); err != nil {
					t.Error(err)
				}
			}
			return redistest.Pass
		})
		removed, err := c.DequeueClass(t.Context(), "q", "A")
		if err != nil {
			t.Fatal(err)
		}
		left, err := direct.Peek(t.Context(), "q", 0, 10_000)
		if err != nil {
			t.Fatal(err)
		}
		count := map[string]int64{}
		for _, e := range left {
			count[e.Class]++
		}
		if count["A"] != 0 || removed+taken != 1200 || taken == 0 || count["New"] != int64(30*pages) || pages < 3 {
			t.Errorf("removed %d, taken %d, left %v, after %d pages", removed, taken, count, pages)
		}
	})
}

// readsPage tells the script that reads up to a thousand elements of one list.
func readsPage(r redistest.Request) bool {
	return r.Is("EVALSHA") && len(r.Args) == 7 && r.Args[2] == "1" && r.Args[5] == "1000"
}

func TestRemoveQueue(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		c := dialTest(t, s, s.URL(), nil)
		s.Seed(map[string]any{"queues": redistest.Set{"a", "b"}, "queue:a": redistest.List{"1"}, "queue:b": redistest.List{"2"}})
		for range 2 {
			if err := c.RemoveQueue(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[string]any{"queues": redistest.Set{"b"}, "queue:b": redistest.List{"2"}}, s.Dump()); diff != "" {
				t.Error(diff)
			}
		}
		s.Do("DEL", s.Key("queues"))
		s.Do("SET", s.Key("queues"), "a text")
		if err := c.RemoveQueue(t.Context(), "b"); resque.ErrorCode(err) != "WRONGTYPE" {
			t.Errorf("a set of queues that is none: %v", err)
		}
	})
}

// A queue's key may hold something else.
func TestQueueOfAnotherType(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		c := dialTest(t, s, s.URL(), nil)
		s.Seed(map[string]any{"queue:odd": "a text"})
		for name, call := range map[string]func() error{
			"Size":         func() error { _, err := c.Size(t.Context(), "odd"); return err },
			"Peek":         func() error { _, err := c.Peek(t.Context(), "odd", 0, 1); return err },
			"Pop":          func() error { _, _, err := c.Pop(t.Context(), "odd"); return err },
			"Dequeue":      func() error { _, err := c.Dequeue(t.Context(), "odd", "A"); return err },
			"DequeueClass": func() error { _, err := c.DequeueClass(t.Context(), "odd", "A"); return err },
		} {
			if err := call(); resque.ErrorCode(err) != "WRONGTYPE" || !strings.Contains(err.Error(), "queue odd: ") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if diff := cmp.Diff(map[string]any{"queue:odd": "a text"}, s.Dump()); diff != "" {
			t.Error(diff)
		}
	})
}

// What a queue is called, and a class, is asked for before anything is written.
func TestQueueCallsRefuse(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	c := dialTest(t, s, s.URL(), nil)
	for name, call := range map[string]func() error{
		"Queue is empty":                 func() error { return c.RemoveQueue(t.Context(), "") },
		"Class is empty":                 func() error { _, err := c.Dequeue(t.Context(), "q", ""); return err },
		"Queue is empty\nresque: Class":  func() error { _, err := c.DequeueClass(t.Context(), "", ""); return err },
		"args[0] can't be encoded":       func() error { _, err := c.Dequeue(t.Context(), "q", "A", make(chan int)); return err },
		`Class is invalid UTF-8: "\xff"`: func() error { _, err := c.DequeueClass(t.Context(), "q", "\xff"); return err },
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want %s", err, name)
		}
	}
}

func TestPauseAll(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		c := dialTest(t, s, s.URL(), nil)
		for _, test := range []struct {
			text string
			want bool
		}{{"true", true}, {" True \n", true}, {"false", false}, {"", false}, {"1", false}, {"trueish", false}, {"\v\f\rTRUE\t", true}, {"\u00a0true", false}} {
			s.Do("SET", s.Key("pause-all-workers"), test.text)
			if paused, err := c.AllPaused(t.Context()); paused != test.want || err != nil {
				t.Errorf("%q: %v, %v", test.text, paused, err)
			}
		}
		if err := c.PauseAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]any{"pause-all-workers": "true"}, s.Dump()); diff != "" {
			t.Error(diff)
		}
		for range 2 {
			if err := c.ResumeAll(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if paused, err := c.AllPaused(t.Context()); paused || err != nil || len(s.Dump()) != 0 {
			t.Errorf("after resuming: %v, %v", paused, err)
		}
	})
}

// Where memory is short, queues can still be removed.
func TestRemoveQueueWithoutMemory(t *testing.T) {
	t.Parallel()
	s := redistest.NewOwn(t)
	c := dialTest(t, s, s.URL(), nil)
	s.Seed(map[string]any{"queues": redistest.Set{"a"}, "queue:a": redistest.List{"1"}})
	s.Do("CONFIG", "SET", "maxmemory", 1)
	if err := c.RemoveQueue(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(map[string]any{}, s.Dump()); diff != "" {
		t.Error(diff)
	}
}

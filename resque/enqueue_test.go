package resque_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/compat/ruby"
	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
)

func TestEnqueueWritesRubysBytes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		class string
		args  []any
		want  string
	}{
		{"Report", nil, `{"class":"Report","args":[]}`},
		{"Report", []any{nil}, `{"class":"Report","args":[null]}`},
		{"Mail::Send", []any{1, "a<b>&/é\u2028", 1.0, 1e20, true}, "{\"class\":\"Mail::Send\",\"args\":[1,\"a<b>&/é\u2028\",1.0,1.0e+20,true]}"},
		{`A"B`, []any{map[string]any{"b": 1, "a": []int{2}}}, `{"class":"A\"B","args":[{"a":[2],"b":1}]}`},
		{"Raw", []any{json.RawMessage(`{"b":1.10,"a":1}`)}, `{"class":"Raw","args":[{"b":1.10,"a":1}]}`},
	} {
		t.Run(test.want, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				c := dialTest(t, s, s.URL(), nil)
				if err := c.Enqueue(t.Context(), "a:b", test.class, test.args...); err != nil {
					t.Fatal(err)
				}
				want := map[string]any{"queues": redistest.Set{"a:b"}, "queue:a:b": redistest.List{test.want}}
				if diff := cmp.Diff(want, s.Dump()); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestEnqueueEnds(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		c := dialTest(t, s, s.URL(), nil)
		s.Seed(map[string]any{"queue:q": redistest.List{"first"}}) // not in queues
		if err := errors.Join(
			c.Enqueue(t.Context(), "q", "Last"),
			c.EnqueueFront(t.Context(), "q", "Front"),
			c.Push(t.Context(), "q", []byte("\xff{")),
			c.Push(t.Context(), "r", nil),
		); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{
			"queues":  redistest.Set{"q", "r"},
			"queue:q": redistest.List{`{"class":"Front","args":[]}`, "first", `{"class":"Last","args":[]}`, "\xff{"},
			"queue:r": redistest.List{""},
		}
		if diff := cmp.Diff(want, s.Dump()); diff != "" {
			t.Error(diff)
		}
	})
}

type failing struct{}

var errFailing = errors.New("no form")

func (failing) MarshalJSON() ([]byte, error) { return nil, errFailing }

func TestEnqueueRefuses(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	clock := &fixedClock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	c := dialTest(t, s, s.URL(), func(o *resque.Options) { o.Clock = clock })
	for _, test := range []struct {
		job   resque.NewJob
		field string
		is    error
	}{
		{resque.NewJob{Class: "X"}, "Queue", nil},
		{resque.NewJob{Queue: "q"}, "Class", nil},
		{resque.NewJob{Queue: "\xff", Class: "X"}, "Queue", ruby.ErrInvalidUTF8},
		{resque.NewJob{Queue: "q", Class: "X\xff"}, "Class", ruby.ErrInvalidUTF8},
		{resque.NewJob{Queue: "q", Class: "X", Args: []any{1, "\xff"}}, "args[1]", ruby.ErrInvalidUTF8},
		{resque.NewJob{Queue: "q", Class: "X", Args: []any{map[string]any{"a": []string{"", "\xff"}}}}, `args[0]["a"][1]`, ruby.ErrInvalidUTF8},
		{resque.NewJob{Queue: "q", Class: "X", Args: []any{failing{}}}, "args[0]", errFailing},
		{resque.NewJob{Queue: "q", Class: "X", Args: []any{make(chan int)}}, "args[0]", nil},
		{resque.NewJob{Queue: "q", Class: "X", At: clock.now.Add(1_700_000_000 * time.Second)}, "At", nil},
	} {
		for name, enqueue := range map[string]func() error{
			test.field: func() error {
				if !test.job.At.IsZero() {
					return c.EnqueueAt(t.Context(), test.job.At, "q", "X")
				}
				return c.Enqueue(t.Context(), test.job.Queue, test.job.Class, test.job.Args...)
			},
			"jobs[1]." + test.field: func() error {
				_, err := c.EnqueueMany(t.Context(), resque.NewJob{Queue: "q", Class: "Good"}, test.job)
				return err
			},
		} {
			err := enqueue()
			invalid, ok := errors.AsType[*resque.InvalidJobError](err)
			if !ok || invalid.Field != name || test.is != nil && !errors.Is(err, test.is) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if err := c.Push(t.Context(), "", []byte("x")); err == nil {
		t.Error("a push into a queue without a name")
	}
	if diff := cmp.Diff(map[string]any{}, s.Dump()); diff != "" {
		t.Error("something was written:", diff)
	}
}

func TestEnqueueWritesAllOrNothing(t *testing.T) {
	t.Parallel()
	at := time.Now().Add(time.Hour)
	second := strconv.FormatInt(at.Unix(), 10)
	for _, key := range []string{
		"queues", "queue:q", "delayed:" + second, `timestamps:{"class":"X","args":[],"queue":"q"}`, "delayed_queue_schedule",
	} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				c := dialTest(t, s, s.URL(), nil)
				before := map[string]any{key: "of another type"}
				s.Seed(before)
				_, err := c.EnqueueMany(t.Context(), resque.NewJob{Queue: "q", Class: "X"}, resque.NewJob{Queue: "q", Class: "X", At: at})
				if resque.ErrorCode(err) != "WRONGTYPE" || !strings.Contains(err.Error(), "another type") {
					t.Error(err)
				}
				if diff := cmp.Diff(before, s.Dump()); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestEnqueueWithoutMemory(t *testing.T) {
	t.Parallel()
	s := redistest.NewOwn(t)
	c := dialTest(t, s, s.URL(), nil)
	s.Do("CONFIG", "SET", "maxmemory", 1)
	for name, err := range map[string]error{
		"now":   c.Enqueue(t.Context(), "q", "X"),
		"later": c.EnqueueIn(t.Context(), time.Hour, "q", "X"),
	} {
		if resque.ErrorCode(err) != "OOM" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if diff := cmp.Diff(map[string]any{}, s.Dump()); diff != "" {
		t.Error(diff)
	}
}

func TestEnqueueManyTakesOneRoundTrip(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		p := redistest.NewProxy(t, s.URL())
		c := dialTest(t, s, p.URL(), nil)
		if _, err := c.EnqueueMany(t.Context(), resque.NewJob{Queue: "q", Class: "A", Args: []any{1}}); err != nil {
			t.Fatal(err) // the script is known now
		}
		before := len(p.Seen())
		at := time.Unix(time.Now().Unix()+3600, 0)
		second := strconv.FormatInt(at.Unix(), 10)
		written, err := c.EnqueueMany(t.Context(),
			resque.NewJob{Queue: "q", Class: "A", Args: []any{2}},
			resque.NewJob{Queue: "r", Class: "B"},
			resque.NewJob{Queue: "q", Class: "F", Front: true},
			resque.NewJob{Queue: "q", Class: "D", At: at},
			resque.NewJob{Queue: "q", Class: "A", Args: []any{3}},
			resque.NewJob{Queue: "q", Class: "G", Front: true},
			resque.NewJob{Queue: "q", Class: "D", At: at, Front: true},
		)
		if written != 7 || err != nil || len(p.Seen())-before != 1 {
			t.Error(written, err, p.Seen()[before:])
		}
		item := `{"class":"D","args":[],"queue":"q"}`
		want := map[string]any{
			"queues": redistest.Set{"q", "r"},
			"queue:q": redistest.List{
				`{"class":"G","args":[]}`, `{"class":"F","args":[]}`,
				`{"class":"A","args":[1]}`, `{"class":"A","args":[2]}`, `{"class":"A","args":[3]}`,
			},
			"queue:r":                redistest.List{`{"class":"B","args":[]}`},
			"delayed:" + second:      redistest.List{item, item},
			"timestamps:" + item:     redistest.Set{"delayed:" + second},
			"delayed_queue_schedule": redistest.ZSet{second: float64(at.Unix())},
		}
		if diff := cmp.Diff(want, s.Dump()); diff != "" {
			t.Error(diff)
		}
		if written, err := c.EnqueueMany(t.Context()); written != 0 || err != nil {
			t.Error(written, err)
		}
	})
}

func TestEnqueueManyTellsWhatIsWritten(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	p := redistest.NewProxy(t, s.URL())
	c := dialTest(t, s, p.URL(), nil)
	if err := c.Enqueue(t.Context(), "other", "X"); err != nil {
		t.Fatal(err) // the script is known now
	}
	jobs := make([]resque.NewJob, 2500)
	for i := range jobs {
		jobs[i] = resque.NewJob{Queue: "q", Class: "X", Args: []any{i}}
	}
	p.SetRule(redistest.On(1, redistest.DropRequest, "EVALSHA"))
	written, err := c.EnqueueMany(t.Context(), jobs...)
	if written != 1000 || err == nil || s.Do("LLEN", s.Key("queue:q")) != int64(1000) {
		t.Fatal(written, err)
	}
	p.SetRule(nil)
	if written, err = c.EnqueueMany(t.Context(), jobs[written:]...); written != 1500 || err != nil {
		t.Fatal(written, err)
	}
	queue, _ := s.Get("queue:q").(redistest.List)
	for i, element := range queue {
		if want := `{"class":"X","args":[` + strconv.Itoa(i) + `]}`; element != want {
			t.Fatalf("%d: %s", i, element)
		}
	}
	if len(queue) != len(jobs) {
		t.Error(len(queue))
	}
	large := strings.Repeat("x", 600_000)
	before := len(p.Seen())
	written, err = c.EnqueueMany(t.Context(), resque.NewJob{Queue: "l", Class: "X", Args: []any{large}},
		resque.NewJob{Queue: "l", Class: "X", Args: []any{large}}, resque.NewJob{Queue: "l", Class: "X", Args: []any{large + large}})
	if steps := len(p.Seen()) - before; written != 3 || err != nil || steps != 3 {
		t.Error(written, err, steps)
	}
}

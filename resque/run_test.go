package resque_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

// running is a worker in Run, stopped at the end of the test at the latest.
type running struct {
	t      *testing.T
	worker *resque.Worker
	cancel context.CancelFunc
	done   chan error
	ended  bool
}

func run(t *testing.T, w *resque.Worker) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	r := &running{t: t, worker: w, cancel: cancel, done: make(chan error, 1)}
	go func() { r.done <- w.Run(ctx) }()
	t.Cleanup(r.stop)
	return r
}

func (r *running) stop() {
	r.t.Helper()
	r.cancel()
	r.wait()
}

func (r *running) wait() {
	r.t.Helper()
	if r.ended {
		return
	}
	r.ended = true
	if err := <-r.done; err != nil {
		r.t.Errorf("Run: %v", err)
	}
}

// calls hands each call of a handler to the test, and waits for its answer.
type calls chan call

type call struct {
	ctx    context.Context
	job    *resque.Job
	answer chan error
}

func (c calls) Perform(ctx context.Context, job *resque.Job) error {
	one := call{ctx: ctx, job: job, answer: make(chan error, 1)}
	c <- one
	return <-one.answer
}

func (c calls) next(t *testing.T) call {
	t.Helper()
	select {
	case one := <-c:
		return one
	case <-time.After(20 * time.Second):
		t.Fatal("no job within 20 s")
		return call{}
	}
}

// own is a bench whose worker has ids of its own and the system's clock.
func own(c *resque.WorkerConfig) { c.WorkerID = nil; c.Clock = nil }

// eventually waits for Redis to show something, looking every few milliseconds.
func eventually(t *testing.T, what string, look func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !look() {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
		select {
		case <-time.After(2 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
	}
}

func TestRunWakesWithoutPolling(t *testing.T) {
	t.Parallel()
	b := newBench(t, redistest.NewOwn(t))
	jobs := make(calls)
	w := b.worker(func(c *resque.WorkerConfig) {
		own(c)
		c.Interval = time.Hour
		c.Queues = []string{"q", "mail_*"}
		c.Concurrency = 2
	}, map[string]resque.Handler{"Good": jobs})
	run(t, w)
	eventually(t, "the worker registers", func() bool { return b.server.Get("workers") != nil })
	// Each push comes when the worker sleeps; the second queue is new to it.
	for i, queue := range []string{"q", "mail_new", "q", "mail_new", "q"} {
		if err := b.client.Enqueue(t.Context(), queue, "Good", i); err != nil {
			t.Fatal(err)
		}
		one := jobs.next(t)
		if one.job.Queue != queue || string(one.job.Args) != fmt.Sprintf("[%d]", i) {
			t.Errorf("got %s %s, want job %d of %s", one.job.Queue, one.job.Args, i, queue)
		}
		one.answer <- nil
		eventually(t, "the job is recorded", func() bool { return b.server.Get("stat:processed") == fmt.Sprint(i+1) })
	}
}

func TestRunPolls(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b := newBench(t, s)
		jobs := make(calls)
		w := b.worker(func(c *resque.WorkerConfig) {
			own(c)
			c.Interval = 5 * time.Millisecond
			c.Queues = []string{"mail_*", "!mail_slow"}
		}, map[string]resque.Handler{"Good": jobs})
		run(t, w)
		for _, queue := range []string{"mail_slow", "other", "mail_new"} {
			if err := b.client.Enqueue(t.Context(), queue, "Good"); err != nil {
				t.Fatal(err)
			}
		}
		one := jobs.next(t)
		if one.job.Queue != "mail_new" {
			t.Errorf("took a job of %s", one.job.Queue)
		}
		one.answer <- nil
	})
}

func TestPriorityIsExact(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b := newBench(t, s)
		var high, low redistest.List
		for i := range 60 {
			high = append(high, fmt.Sprintf(`{"class":"Good","args":[%d]}`, i))
			low = append(low, fmt.Sprintf(`{"class":"Good","args":[%d]}`, 100+i))
		}
		s.Seed(map[string]any{"queue:high": high, "queue:low": low, "queues": redistest.Set{"high", "low"}})
		var mu sync.Mutex
		var early int // jobs of low that began while high had one
		handler := resque.HandlerFunc(func(context.Context, *resque.Job) error { return nil })
		check := resque.HandlerFunc(func(ctx context.Context, job *resque.Job) error {
			if job.Queue == "low" {
				left, err := resque.Int(b.client.Do(ctx, "LLEN", b.client.Keys().Of("queue:high")))
				mu.Lock()
				defer mu.Unlock()
				if err != nil || left > 0 {
					early++
				}
			}
			return handler.Perform(ctx, job)
		})
		w := b.worker(func(c *resque.WorkerConfig) {
			own(c)
			c.Queues = []string{"high", "low"}
			c.Concurrency = 7
			c.Interval = 5 * time.Millisecond
		}, map[string]resque.Handler{"Good": check})
		r := run(t, w)
		eventually(t, "all done", func() bool { return s.Get("stat:processed") == "120" })
		r.stop()
		if early > 0 {
			t.Errorf("%d jobs of the lower queue began too early", early)
		}
	})
}

func TestPauseAllWorkers(t *testing.T) {
	t.Parallel()
	b := newBench(t, redistest.New(t))
	b.server.Seed(map[string]any{"pause-all-workers": " TRUE \n", "queue:q": redistest.List{`{"class":"Good","args":[]}`}})
	w := b.worker(nil, map[string]resque.Handler{"Good": resque.HandlerFunc(good)})
	b.start(w)
	if worked, err := w.Step(t.Context()); worked || err != nil {
		t.Errorf("a paused worker worked: %v, %v", worked, err)
	}
	b.server.Do("DEL", b.server.Key("pause-all-workers"))
	b.step(w)
}

func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	b := newBench(t, redistest.New(t))
	jobs := make(calls)
	w := b.worker(func(c *resque.WorkerConfig) { own(c); c.Interval = 2 * time.Millisecond }, map[string]resque.Handler{"Good": jobs})
	w.Pause()
	run(t, w)
	eventually(t, "the worker registers", func() bool { return b.server.Get("workers") != nil })
	if err := b.client.Enqueue(t.Context(), "q", "Good"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-jobs:
		t.Fatal("a paused worker took a job")
	case <-time.After(20 * time.Millisecond): // ten intervals
	}
	w.Resume()
	jobs.next(t).answer <- nil
}

// At a stop the unfinished jobs go back to the heads of their queues, in their
// order and byte for byte, their counters as they were before.
func TestStopGivesBack(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b := newBench(t, s)
		elements := redistest.List{
			`{ "class":"Held", "args":[1, 1.10] , "x":1}`, `{"class":"Held","args":[2]}`,
			"{\"class\":\"Counted\",\"args\":[\"\xff\"]}", `{"class":"Counted","args":[4]}`, `{"class":"Held","args":[5]}`,
		}
		key := "resque-retry:Counted:1b6453892473a467d07372d45eb05abc2031647a" // sha1 of 4
		s.Seed(map[string]any{
			"queue:q": append(elements[:4:4], `{"class":"Held","args":[5]}`, `{"class":"Rest","args":[]}`), "queues": redistest.Set{"q"}, key: "2",
		})
		s.Do("EXPIRE", s.Key(key), 500)
		jobs := make(calls)
		w := b.worker(func(c *resque.WorkerConfig) {
			own(c)
			c.Concurrency = 5
			c.ShutdownTimeout, c.CancelTimeout = -1, 20*time.Second
			c.Interval = 5 * time.Millisecond
		}, nil)
		if err := w.Handle("Held", jobs); err != nil {
			t.Fatal(err)
		}
		if err := w.Handle("Counted", jobs, retry.Policy{Limit: 5}); err != nil {
			t.Fatal(err)
		}
		r := run(t, w)
		for range elements {
			one := jobs.next(t)
			go func() {
				<-one.ctx.Done()
				one.answer <- context.Cause(one.ctx)
			}()
		}
		if s.Get(key) != "3" {
			t.Errorf("the counter is %v while the job runs", s.Get(key))
		}
		r.stop()
		want := map[string]any{
			"queue:q": append(elements, `{"class":"Rest","args":[]}`), "queues": redistest.Set{"q"}, key: "2",
		}
		if diff := cmp.Diff(want, b.keys()); diff != "" {
			t.Error(diff)
		}
		if ttl := s.TTLs()[key]; ttl < 490 || ttl > 500 {
			t.Errorf("the counter's time to live is %d, want about 500", ttl)
		}
	})
}

func TestStopTakesWhatReturnsNil(t *testing.T) {
	t.Parallel()
	b := newBench(t, redistest.New(t))
	b.server.Seed(map[string]any{"queue:q": redistest.List{`{"class":"Good","args":[]}`, `{"class":"Stubborn","args":[]}`}})
	jobs := make(calls)
	w := b.worker(func(c *resque.WorkerConfig) {
		own(c)
		c.Concurrency = 2
		c.ShutdownTimeout, c.CancelTimeout = -1, 50*time.Millisecond
	}, map[string]resque.Handler{"Good": jobs, "Stubborn": jobs})
	r := run(t, w)
	first, second := jobs.next(t), jobs.next(t)
	r.cancel()
	<-first.ctx.Done()
	<-second.ctx.Done()
	if first.job.Class == "Stubborn" {
		first, second = second, first
	}
	if !errors.Is(context.Cause(first.ctx), resque.ErrStopping) {
		t.Errorf("the cause is %v", context.Cause(first.ctx))
	}
	first.answer <- nil // done after all; the other one ignores its context
	r.wait()
	second.answer <- nil
	want := map[string]any{"stat:processed": "1", "queues": redistest.Set{"q"}, "queue:q": redistest.List{`{"class":"Stubborn","args":[]}`}}
	if diff := cmp.Diff(want, b.keys()); diff != "" {
		t.Error(diff)
	}
}

func TestDrainWaitsWithoutLimit(t *testing.T) {
	t.Parallel()
	b := newBench(t, redistest.New(t))
	b.server.Seed(map[string]any{"queue:q": redistest.List{`{"class":"Good","args":[1]}`}})
	jobs := make(calls)
	w := b.worker(func(c *resque.WorkerConfig) { own(c); c.ShutdownTimeout = -1 }, map[string]resque.Handler{"Good": jobs})
	r := run(t, w)
	one := jobs.next(t)
	w.Drain()
	if err := b.client.Enqueue(t.Context(), "q", "Good", 2); err != nil {
		t.Fatal(err)
	}
	select {
	case <-jobs:
		t.Error("a draining worker took a job")
	case <-one.ctx.Done():
		t.Error("a draining worker cancelled its job")
	case <-time.After(20 * time.Millisecond):
	}
	one.answer <- nil
	r.wait()
	want := map[string]any{"stat:processed": "1", "queues": redistest.Set{"q"}, "queue:q": redistest.List{`{"class":"Good","args":[2]}`}}
	if diff := cmp.Diff(want, b.keys()); diff != "" {
		t.Error(diff)
	}
}

func TestHurry(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(r *running){
		"a stop":  func(r *running) { r.cancel() },
		"a drain": func(r *running) { r.worker.Drain() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, redistest.New(t))
			b.server.Seed(map[string]any{"queue:q": redistest.List{`{"class":"Good","args":[1]}`}})
			jobs := make(calls)
			w := b.worker(func(c *resque.WorkerConfig) { own(c); c.ShutdownTimeout = time.Hour }, map[string]resque.Handler{"Good": jobs})
			r := run(t, w)
			one := jobs.next(t)
			begin(r)
			w.Hurry()
			<-one.ctx.Done()
			one.answer <- context.Cause(one.ctx)
			r.wait()
			if diff := cmp.Diff(redistest.List{`{"class":"Good","args":[1]}`}, b.server.Get("queue:q")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMalformedAmongGood(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b := newBench(t, s)
		malformed := []string{
			`{"class":"Good","args":[1`, `null`, `[]`, `"x"`, `{"class":"Good","args":[NaN]}`, ``, `{"class":5}`, `{"args":[1]}`,
			"\xff\x00", `{"class":"Good","args":[0x10]}`, `{"class":"Good","args":[01]}`,
			`{"class":"Good","args":` + strings.Repeat("[", 120) + strings.Repeat("]", 120) + `}`,
		}
		var queue redistest.List
		for i, element := range malformed {
			queue = append(queue, fmt.Sprintf(`{"class":"Good","args":[%d]}`, i), element)
		}
		queue = append(queue, "{\"class\":\"Good\",\"args\":[\"\xff\"]}")
		s.Seed(map[string]any{"queue:q": queue})
		var mu sync.Mutex
		got := map[string]int{}
		w := b.worker(func(c *resque.WorkerConfig) { own(c); c.Interval = 5 * time.Millisecond },
			map[string]resque.Handler{"Good": resque.HandlerFunc(func(_ context.Context, job *resque.Job) error {
				mu.Lock()
				defer mu.Unlock()
				got[string(job.Args)]++
				return nil
			})})
		r := run(t, w)
		eventually(t, "all are recorded", func() bool { return s.Get("stat:processed") == fmt.Sprint(len(queue)) })
		r.stop()
		want := map[string]int{"[\"\xff\"]": 1}
		for i := range malformed {
			want[fmt.Sprintf("[%d]", i)] = 1
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		records, _ := s.Get("failed").(redistest.List)
		if s.Get("stat:failed") != fmt.Sprint(len(malformed)) || len(records) != len(malformed) {
			t.Fatalf("stat:failed %v, %d records, want %d", s.Get("stat:failed"), len(records), len(malformed))
		}
		found := map[string]bool{}
		for _, record := range records {
			found[decodeMalformed(t, record)] = true
		}
		for _, element := range malformed {
			if !found[element] {
				t.Errorf("%q is not among the failures", element)
			}
		}
	})
}

// An idle worker is quiet, whatever its queues: nothing that it does itself wakes
// it. A loop would send thousands of commands in the time of a hundred marks.
func TestIdleIsQuiet(t *testing.T) {
	t.Parallel()
	for name, queues := range map[string][]string{"names": {"q", "low"}, "a pattern": {"*"}, "a pattern without a match": {"nothing_*"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.NewOwn(t)
			p := redistest.NewProxy(t, s.URL())
			b := newBenchAt(t, s, p.URL())
			s.Seed(map[string]any{"queue:q": redistest.List{`{"class":"Good","args":[]}`}, "queues": redistest.Set{"q"}})
			w := b.worker(func(c *resque.WorkerConfig) { own(c); c.Interval = time.Hour; c.Queues = queues },
				map[string]resque.Handler{"Good": resque.HandlerFunc(good)})
			run(t, w)
			eventually(t, "the worker registers", func() bool { return s.Get("workers") != nil })
			if queues[0] != "nothing_*" {
				eventually(t, "the job is done", func() bool { return s.Get("stat:processed") == "1" })
			}
			before := len(p.Seen())
			for range 100 { // each a round trip of its own, through the worker's server
				s.Do("PING")
			}
			select {
			case <-time.After(100 * time.Millisecond):
			case <-t.Context().Done():
			}
			if sent := len(p.Seen()) - before; sent > 30 {
				t.Errorf("an idle worker sent %d commands in a moment", sent)
			}
		})
	}
}

func TestStepTakesOneJob(t *testing.T) {
	t.Parallel()
	b := newBench(t, redistest.New(t))
	b.server.Seed(map[string]any{"queue:q": redistest.List{`{"class":"Good","args":[1]}`, `{"class":"Good","args":[2]}`}})
	w := b.worker(func(c *resque.WorkerConfig) { c.WorkerID = nil; c.Concurrency = 3 }, map[string]resque.Handler{"Good": resque.HandlerFunc(good)})
	b.start(w)
	b.step(w)
	if left := b.server.Get("queue:q"); cmp.Diff(redistest.List{`{"class":"Good","args":[2]}`}, left) != "" {
		t.Errorf("left in the queue: %v", left)
	}
	b.step(w)
}

// Redis goes away and comes back empty, while a job runs and while nothing does.
func TestRedisRestartsEmpty(t *testing.T) {
	t.Parallel()
	b := newBench(t, redistest.NewOwn(t))
	jobs := make(calls)
	w := b.worker(func(c *resque.WorkerConfig) { own(c); c.Interval = 50 * time.Millisecond }, nil)
	if err := w.Handle("Counted", jobs, retry.Policy{}); err != nil {
		t.Fatal(err)
	}
	run(t, w)
	if err := b.client.Enqueue(t.Context(), "q", "Counted", 1); err != nil {
		t.Fatal(err)
	}
	one := jobs.next(t)
	b.server.Restart()
	one.answer <- errors.New("boom")
	again := jobs.next(t) // the retry was recorded in the new data
	if string(again.job.Args) != "[1]" {
		t.Errorf("the retry has the arguments %s", again.job.Args)
	}
	again.answer <- nil
	eventually(t, "both are recorded", func() bool { return b.server.Get("stat:processed") == "2" })
	b.server.Restart()
	eventually(t, "it registers again", func() bool {
		ids, ok := b.server.Get("workers").(redistest.Set)
		return ok && len(ids) == 1 && b.server.Get("worker:"+ids[0]+":started") != nil
	})
	eventually(t, "the client is back too", func() bool { return b.client.Enqueue(t.Context(), "q", "Counted", 2) == nil })
	jobs.next(t).answer <- nil
}

// Where memory is short nothing is taken from the queues, what runs is recorded
// once memory is there again, and nobody loses a job.
func TestMemoryIsShort(t *testing.T) {
	t.Parallel()
	s := redistest.NewOwn(t)
	p := redistest.NewProxy(t, s.URL())
	b := newBenchAt(t, s, p.URL())
	jobs := make(calls)
	w := b.worker(func(c *resque.WorkerConfig) { own(c); c.Interval = 5 * time.Millisecond },
		map[string]resque.Handler{"Good": jobs, "Bad": jobs}) // one slot: it takes nothing while it is busy
	run(t, w)
	if err := b.client.Enqueue(t.Context(), "q", "Bad", 1); err != nil {
		t.Fatal(err)
	}
	one := jobs.next(t)
	s.Seed(map[string]any{"queue:q": redistest.List{`{"class":"Good","args":[2]}`}})
	s.Do("CONFIG", "SET", "maxmemory", "1")
	one.answer <- errors.New("boom")
	names := resque.ScriptNames()
	eventually(t, "the record and the reserve are tried again", func() bool {
		tries := map[string]int{}
		for _, r := range p.Seen() {
			if len(r.Args) > 1 {
				tries[names[r.Args[1]]]++
			}
		}
		return tries["record"] >= 3
	})
	if got := s.Get("stat:processed"); got != nil {
		t.Errorf("stat:processed is %v without memory", got)
	}
	if got := s.Get("queue:q"); got == nil {
		t.Error("a job was taken without memory")
	}
	s.Do("CONFIG", "SET", "maxmemory", "0")
	jobs.next(t).answer <- nil
	eventually(t, "both are recorded", func() bool { return s.Get("stat:processed") == "2" })
}

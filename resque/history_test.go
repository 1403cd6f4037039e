package resque_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

// historyOf is the history in the order in which it was written, without what no
// test can know.
func historyOf(t *testing.T, c *resque.Client) (attempts []resque.Attempt) {
	t.Helper()
	all, err := c.History(t.Context(), resque.HistoryFilter{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		a := all[len(all)-1-i]
		if a.ID == "" || time.Since(a.Recorded).Abs() > time.Hour {
			t.Errorf("entry %q of %v", a.ID, a.Recorded)
		}
		a.ID, a.Recorded = "", time.Time{}
		attempts = append(attempts, a)
	}
	return attempts
}

func TestHistoryHasEveryOutcome(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b := newBench(t, s)
		w := b.worker(func(c *resque.WorkerConfig) { c.History = 100 }, nil)
		long := strings.Repeat("ä", 300)
		for class, err := range map[string]error{
			"Good": nil, "Bad": errors.New(long), "Cancelled": retry.Cancel(errors.New("no")), "Discarded": retry.Discard(errors.New("no")),
		} {
			handler := resque.HandlerFunc(func(context.Context, *resque.Job) error { b.clock.add(1500 * time.Microsecond); return err })
			if err := w.Handle(class, handler, retry.Policy{}, resque.Queue("q")); err != nil {
				t.Fatal(err)
			}
		}
		s.Seed(map[string]any{"queue:q": redistest.List{
			`{"class":"Good","args":[1]}`, `{"class":"Cancelled","args":[2]}`, `{"class":"Discarded","args":[3]}`,
			`{"class":"Nobody","args":[4]}`, `[]`, `{"class":"Bad","args":[5]}`,
		}})
		b.start(w)
		started := b.clock.Now()
		for range 7 {
			b.step(w)
		}
		attempt := func(class, args string, number int64, at int, outcome resque.Outcome, failure ...string) resque.Attempt {
			a := resque.Attempt{
				Class: class, Job: resque.JobKey(class, []byte(args)), Queue: "q", Number: number, WorkerID: testID,
				Started: started.Add(time.Duration(at) * 1500 * time.Microsecond), Duration: 1500 * time.Microsecond, Outcome: outcome,
			}
			if failure != nil {
				a.Exception, a.Error = failure[0], failure[1]
			}
			if class == "Nobody" || class == resque.MalformedClass {
				a.Duration = 0
			}
			return a
		}
		malformed := attempt(resque.MalformedClass, "", 0, 3, resque.Failed, resque.MalformedClass, "not a job: its JSON is no object")
		malformed.Job = resque.JobKey("", nil)
		short := strings.Repeat("ä", 250) + "…"
		want := []resque.Attempt{
			attempt("Good", "[1]", 0, 0, resque.Done),
			attempt("Cancelled", "[2]", 0, 1, resque.Cancelled, "Understudy::Cancelled", "no"),
			attempt("Discarded", "[3]", 0, 2, resque.Discarded),
			attempt("Nobody", "[4]", 0, 3, resque.Failed, "NameError", "uninitialized constant Nobody"),
			malformed,
			attempt("Bad", "[5]", 0, 3, resque.Retrying, "RuntimeError", short),
			attempt("Bad", "[5]", 1, 4, resque.Failed, "RuntimeError", short),
		}
		if diff := cmp.Diff(want, historyOf(t, b.client)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestHistoryIsOffByDefault(t *testing.T) {
	t.Parallel()
	b := newBench(t, redistest.New(t))
	w := b.worker(nil, map[string]resque.Handler{"Good": resque.HandlerFunc(good)})
	b.server.Seed(map[string]any{"queue:q": redistest.List{`{"class":"Good"}`}})
	b.start(w)
	b.step(w)
	if got := b.server.Get("understudy:history"); got != nil {
		t.Errorf("the history holds %v", got)
	}
	if _, err := resque.NewWorker(b.client, resque.WorkerConfig{Queues: []string{"q"}, History: -1}); err == nil || !strings.Contains(err.Error(), "WorkerConfig.History") {
		t.Errorf("a negative number: %v", err)
	}
}

// A run that a stop gives back is an attempt that was interrupted; one that never
// began is none.
func TestHistoryHasTheInterrupted(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b := newBench(t, s)
		begun := make(chan struct{})
		w := b.worker(func(c *resque.WorkerConfig) { c.History, c.ShutdownTimeout = 100, -1 }, map[string]resque.Handler{
			"Slow": resque.HandlerFunc(func(ctx context.Context, _ *resque.Job) error {
				close(begun)
				<-ctx.Done()
				return context.Cause(ctx)
			}),
		})
		s.Seed(map[string]any{"queue:q": redistest.List{`{"class":"Slow","args":[1]}`}})
		r := run(t, w)
		<-begun
		r.stop()
		want := []resque.Attempt{{
			Class: "Slow", Job: resque.JobKey("Slow", []byte("[1]")), Queue: "q", WorkerID: testID,
			Started: b.clock.Now(), Outcome: resque.Interrupted,
		}}
		if diff := cmp.Diff(want, historyOf(t, b.client)); diff != "" {
			t.Error(diff)
		}
	})
}

// It keeps about as many as were asked for, and a key of the wrong type hinders
// nothing.
func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	b := newBench(t, s)
	w := b.worker(func(c *resque.WorkerConfig) { c.History = 50 }, map[string]resque.Handler{"Good": resque.HandlerFunc(good)})
	var list redistest.List
	for i := range 400 {
		list = append(list, fmt.Sprintf(`{"class":"Good","args":[%d]}`, i))
	}
	s.Seed(map[string]any{"queue:q": list})
	b.start(w)
	for range list {
		b.step(w)
	}
	if n := len(historyOf(t, b.client)); n < 50 || n > 50+200 { // Redis drops whole nodes, of a hundred
		t.Errorf("%d entries", n)
	}
	s.Do("SET", s.Key("understudy:history"), "a text")
	s.Seed(map[string]any{"queue:q": redistest.List{`{"class":"Good"}`}})
	b.step(w)
	if b.server.Get("stat:processed") != "401" {
		t.Errorf("processed %v", b.server.Get("stat:processed"))
	}
}

func TestHistoryFilter(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b := newBench(t, s)
		at := func(ms int, text string) {
			s.Do("XADD", s.Key("understudy:history"), fmt.Sprintf("%d-0", ms), "run", text)
		}
		for i := 1; i <= 2500; i++ { // more than two pages
			class, outcome := "A", "done"
			if i%2 == 0 {
				class = "B"
			}
			if i%5 == 0 {
				outcome = "failed"
			}
			at(i, fmt.Sprintf(`{"class":%q,"job":"j%d","outcome":%q}`, class, i%100, outcome))
		}
		at(2501, "no JSON")
		for name, c := range map[string]struct {
			filter resque.HistoryFilter
			limit  int
			want   int
			newest string
		}{
			"all":         {resque.HistoryFilter{}, 0, 2501, "2501-0"},
			"the last":    {resque.HistoryFilter{}, 3, 3, "2501-0"},
			"class":       {resque.HistoryFilter{Class: "A"}, 0, 1250, "2499-0"},
			"job":         {resque.HistoryFilter{Job: "j7"}, 0, 25, "2407-0"},
			"outcome":     {resque.HistoryFilter{Class: "B", Outcome: resque.Failed}, 0, 250, "2500-0"},
			"since":       {resque.HistoryFilter{Since: time.UnixMilli(2491)}, 0, 11, "2501-0"},
			"until":       {resque.HistoryFilter{Until: time.UnixMilli(10)}, 0, 10, "10-0"},
			"both":        {resque.HistoryFilter{Since: time.UnixMilli(5), Until: time.UnixMilli(6)}, 0, 2, "6-0"},
			"none":        {resque.HistoryFilter{Class: "C"}, 0, 0, ""},
			"more limit":  {resque.HistoryFilter{Job: "j7"}, 99, 25, "2407-0"},
			"exact limit": {resque.HistoryFilter{Job: "j7"}, 25, 25, "2407-0"},
		} {
			got, err := b.client.History(t.Context(), c.filter, c.limit)
			if err != nil {
				t.Fatal(err)
			}
			newest := ""
			for i, a := range got {
				if i == 0 {
					newest = a.ID
				} else if len(a.ID) > len(got[i-1].ID) || len(a.ID) == len(got[i-1].ID) && a.ID >= got[i-1].ID {
					t.Errorf("%s: %s behind %s", name, a.ID, got[i-1].ID)
				}
			}
			if len(got) != c.want || newest != c.newest {
				t.Errorf("%s: %d from %s, want %d from %s", name, len(got), newest, c.want, c.newest)
			}
		}
		got, err := b.client.History(t.Context(), resque.HistoryFilter{}, 1)
		if err != nil || got[0].Error != "not an attempt: no JSON" || !got[0].Recorded.Equal(time.UnixMilli(2501)) {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestJobKey(t *testing.T) {
	t.Parallel()
	const wrapper = "ActiveJob::QueueAdapters::ResqueAdapter::JobWrapper"
	for _, c := range []struct{ class, args, want string }{
		{"A", "[1]", "digest"},
		{wrapper, `[{"job_class":"X","job_id":"5f1c"}]`, "5f1c"},
		{wrapper, `[{"job_class":"X","job_id":5}]`, "digest"},
		{wrapper, `[7]`, "digest"},
		{wrapper, `[]`, "digest"},
		{"Other", `[{"job_id":"5f1c"}]`, "digest"},
	} {
		got := resque.JobKey(c.class, []byte(c.args))
		if c.want == "digest" && len(got) == 40 {
			continue
		}
		if got != c.want {
			t.Errorf("%s%s: %s, want %s", c.class, c.args, got, c.want)
		}
	}
	if resque.JobKey("A", []byte("1")) == resque.JobKey("A1", nil) {
		t.Error("class and arguments run together")
	}
}

func TestHistoryHasNoRunThatNeverBegan(t *testing.T) {
	t.Parallel()
	b := newBench(t, redistest.New(t))
	w := b.worker(func(c *resque.WorkerConfig) { c.History = 100 }, nil)
	if err := w.Handle("Good", resque.HandlerFunc(good), retry.Policy{}); err != nil {
		t.Fatal(err)
	}
	job := redistest.List{`{"class":"Good","args":[1]}`}
	b.server.Seed(map[string]any{"queue:q": job, "understudy:begins": "a text"})
	if err := w.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if worked, err := w.Step(ctx); worked && err == nil {
		t.Fatal("it began")
	}
	b.server.Do("DEL", b.server.Key("understudy:begins"))
	if err := w.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := historyOf(t, b.client); len(got) != 0 {
		t.Errorf("the history holds %+v", got)
	}
	if diff := cmp.Diff(job, b.server.Get("queue:q")); diff != "" {
		t.Error(diff)
	}
}

package resque_test

import (
	"context"
	"encoding/json"
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

type failureRecord struct {
	Exception string   `json:"exception"`
	Error     string   `json:"error"`
	Backtrace []string `json:"backtrace"`
}

func (b *bench) failures() []failureRecord {
	b.t.Helper()
	list, _ := b.server.Get("failed").(redistest.List)
	records := make([]failureRecord, len(list))
	for i, text := range list {
		if err := json.Unmarshal([]byte(text), &records[i]); err != nil {
			b.t.Fatal(err)
		}
	}
	return records
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	b := newBench(t, redistest.New(t))
	w := b.worker(nil, nil)
	if err := w.Handle("Slow", resque.HandlerFunc(func(ctx context.Context, _ *resque.Job) error {
		<-ctx.Done()
		return fmt.Errorf("gave up: %w", ctx.Err())
	}), resque.Timeout(time.Millisecond), resque.Queue("q"), retry.Policy{On: retry.Errors{retry.Named("Timeout::Error")}}); err != nil {
		t.Fatal(err)
	}
	b.server.Seed(map[string]any{"queue:q": redistest.List{`{"class":"Slow","args":[]}`}})
	b.start(w)
	b.step(w)
	b.step(w) // the retry: the policy knows the error by Ruby's name
	got := b.failures()
	if len(got) != 2 || got[1].Exception != "Timeout::Error" || !strings.HasPrefix(got[1].Error, "execution expired") {
		t.Errorf("failures: %+v", got)
	}
}

func TestTimeoutLeavesSuccessAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t, redistest.New(t))
	w := b.worker(nil, nil)
	if err := w.Handle("Slow", resque.HandlerFunc(func(ctx context.Context, _ *resque.Job) error {
		<-ctx.Done()
		return nil
	}), resque.Timeout(time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	b.server.Seed(map[string]any{"queue:q": redistest.List{`{"class":"Slow","args":[]}`}})
	b.start(w)
	b.step(w)
	if got := b.failures(); len(got) > 0 {
		t.Errorf("failures: %+v", got)
	}
}

func TestPanic(t *testing.T) {
	t.Parallel()
	b := newBench(t, redistest.New(t))
	w := b.worker(nil, map[string]resque.Handler{
		"Text":  resque.HandlerFunc(func(context.Context, *resque.Job) error { panic("no way") }),
		"Error": resque.HandlerFunc(func(context.Context, *resque.Job) error { panic(&json.SyntaxError{}) }),
		"Nil":   resque.HandlerFunc(func(context.Context, *resque.Job) error { return []error{}[len("x")-1] }),
	})
	b.server.Seed(map[string]any{"queue:q": redistest.List{
		`{"class":"Text","args":[]}`, `{"class":"Error","args":[]}`, `{"class":"Nil","args":[]}`,
	}})
	b.start(w)
	for range 3 {
		b.step(w)
	}
	got := b.failures()
	if len(got) != 3 {
		t.Fatalf("failures: %+v", got)
	}
	for i, want := range []string{"RuntimeError", "json.SyntaxError", "runtime"} {
		if !strings.HasPrefix(got[i].Exception, want) {
			t.Errorf("exception %q, want %q", got[i].Exception, want)
		}
		if len(got[i].Backtrace) == 0 || !strings.Contains(got[i].Backtrace[0], "handler_test.go:") {
			t.Errorf("the backtrace begins with %q", got[i].Backtrace)
		}
	}
	if got[0].Error != "no way" {
		t.Errorf("error %q", got[0].Error)
	}
}

func TestMiddlewareFallbackAndInline(t *testing.T) {
	t.Parallel()
	b := newBench(t, redistest.New(t))
	var trace []string
	note := func(name string) resque.Middleware {
		return func(next resque.Handler) resque.Handler {
			return resque.HandlerFunc(func(ctx context.Context, job *resque.Job) error {
				trace = append(trace, name+" "+job.Class)
				return next.Perform(ctx, job)
			})
		}
	}
	errOdd := errors.New("odd")
	w := b.worker(func(c *resque.WorkerConfig) {
		c.Middleware = []resque.Middleware{note("outer"), note("inner")}
		c.Fallback = resque.HandlerFunc(good)
	}, nil)
	if err := w.Handle("Odd", resque.HandlerFunc(func(_ context.Context, job *resque.Job) error {
		job.Args[1], job.Class = 'x', "Changed" // what a handler does to its job is its own affair
		return errOdd
	}), retry.Policy{}, resque.Queue("q")); err != nil {
		t.Fatal(err)
	}
	b.server.Seed(map[string]any{"queue:q": redistest.List{`{"class":"Any","args":[]}`, `{"class":"Odd","args":[1]}`}})
	b.start(w)
	b.step(w)
	b.step(w)
	if err := w.Inline(t.Context(), "Odd", 1); !errors.Is(err, errOdd) {
		t.Errorf("Inline: %v", err)
	}
	if diff := cmp.Diff([]string{"outer Any", "inner Any", "outer Odd", "inner Odd", "outer Odd", "inner Odd"}, trace); diff != "" {
		t.Error(diff)
	}
	want := redistest.List{`{"class":"Odd","args":[1]}`}
	if diff := cmp.Diff(want, b.server.Get("queue:q")); diff != "" {
		t.Error("the retry", diff)
	}
	if counter := b.server.Get("resque-retry:Odd:356a192b7913b04c54574d18c28d46e6395428ab"); counter != "0" {
		t.Errorf("the counter is %v: Inline must leave it alone", counter)
	}
}

func TestHandleRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t, redistest.New(t))
	w := b.worker(nil, nil)
	for want, err := range map[string]error{
		"class is empty":                 w.Handle("", resque.HandlerFunc(good)),
		"handler of X is nil":            w.Handle("X", nil),
		"Timeout is negative":            w.Handle("X", resque.HandlerFunc(good), resque.Timeout(-1)),
		"Backoff":                        w.Handle("X", resque.HandlerFunc(good), retry.Policy{Backoff: retry.DefaultBackoff(), Delay: retry.Every(time.Second)}),
		"handler of X":                   w.Handle("X", resque.Func(func() {})),
		"resque: the worker has no hand": w.Run(t.Context()),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestNewWorkerWithoutClient(t *testing.T) {
	t.Parallel()
	_, err := resque.NewWorker(nil, resque.WorkerConfig{Queues: []string{"q"}})
	if wrong, ok := errors.AsType[*resque.ConfigError](err); !ok || wrong.Field != "client" {
		t.Errorf("got %v", err)
	}
}

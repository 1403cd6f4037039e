package resque_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/failure"
	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

// What broke for others: records of failures. CONTRIBUTING.md lists the reports.

// typeOf is Ruby's type of a key, or ours of those under understudy:.
func typeOf(key string) string {
	types := []struct{ prefix, kind string }{
		{"queues", "set"},
		{"queue:", "list"},
		{"workers:heartbeat", "hash"},
		{"workers", "set"},
		{"worker:", "string"},
		{"stat:", "string"},
		{"failed_queues", "set"},
		{"failed", "list"},
		{"q_failed", "list"},
		{"delayed_queue_schedule", "zset"},
		{"delayed:", "list"},
		{"timestamps:", "set"},
		{"resque-retry:", "string"},
		{"failure-resque-retry:", "string"},
		{"pruning_dead_workers_in_progress", "string"},
		{"test-", "string"}, // the scheduler's lock, which has the namespace twice
		{"understudy:epoch", "string"},
		{"understudy:schema", "string"},
		{"understudy:processes", "zset"},
		{"understudy:runs:", "hash"},
		{"understudy:begins", "hash"},
	}
	for _, t := range types {
		if strings.HasPrefix(key, t.prefix) {
			return t.kind
		}
	}
	return "unknown"
}

// H2 akira/exq#58: the list of failures was made as a set, and the overview fell
// over it. After each operation every key is of Ruby's type.
func TestReportTypesOfKeys(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b := newBench(t, s)
		seen := map[string]bool{}
		check := func(what string) {
			t.Helper()
			for _, name := range s.Names() {
				kind := fmt.Sprint(s.Do("TYPE", s.Key(name)))
				seen[strings.SplitAfter(name, ":")[0]] = true
				if want := typeOf(name); kind != want {
					t.Errorf("after %s: %s is a %s, want a %s", what, name, kind, want)
				}
			}
		}
		ctx := t.Context()
		for what, err := range map[string]error{
			"enqueue": b.client.Enqueue(ctx, "q", "Bad"), "front": b.client.EnqueueFront(ctx, "q", "Nobody"),
			"delay": b.client.EnqueueIn(ctx, time.Minute, "q", "Later"), "text": b.client.Push(ctx, "q", []byte("no job")),
			"again": b.client.Enqueue(ctx, "q", "Again"), "later": b.client.Enqueue(ctx, "q", "Later"),
		} {
			if err != nil {
				t.Fatal(what, err)
			}
			check(what)
		}
		w := b.worker(func(c *resque.WorkerConfig) {
			c.Failures = failure.Several(failure.SuppressRetries(failure.List{}), failure.ListPerQueue{})
		}, nil)
		for class, options := range map[string][]resque.HandleOption{
			"Bad": nil, "Again": {retry.Policy{ExpireAfter: time.Hour}}, "Later": {retry.Policy{Limit: 2, Delay: retry.Every(time.Minute)}},
		} {
			if err := w.Handle(class, resque.HandlerFunc(bad), options...); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Start(ctx); err != nil {
			t.Fatal(err)
		}
		check("start")
		for worked := true; worked; check("a step") {
			var err error
			if worked, err = w.Step(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Stop(ctx); err != nil {
			t.Fatal(err)
		}
		check("the stop")
		want := []string{
			"delayed:", "delayed_queue_schedule", "failed", "failed_queues", "failure-resque-retry:", "q_failed", "queue:", "queues",
			"resque-retry:", "stat:", "timestamps:", "understudy:", "worker:", "workers", "workers:",
		}
		got := slices.Sorted(maps.Keys(seen))
		if diff := cmp.Diff(want, slices.DeleteFunc(got, func(name string) bool { return strings.HasPrefix(name, "pruning") })); diff != "" {
			t.Error("the scene met other keys:", diff)
		}
	})
}

// H7 goworker: every failure was called Error, so that neither filters nor rules
// by exception could tell them apart.
func TestReportNamesOfErrors(t *testing.T) {
	t.Parallel()
	named := &classed{name: "NetworkError", ancestors: []string{"IOError"}}
	path := &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}
	for name, c := range map[string]struct {
		err       error
		exception string
		on        retry.Errors // finds it
		not       retry.Errors // doesn't
	}{
		"of its own":    {named, "NetworkError", retry.Errors{retry.Named("IOError")}, retry.Errors{retry.Named("EOFError")}},
		"wrapped":       {fmt.Errorf("x: %w", named), "NetworkError", retry.Errors{retry.As[*classed]()}, retry.Errors{retry.Is(fs.ErrNotExist)}},
		"the Go type":   {path, "fs.PathError", retry.Errors{retry.Is(fs.ErrNotExist)}, retry.Errors{retry.Named("PathError")}},
		"wrapped, too":  {fmt.Errorf("x: %w", path), "fs.PathError", retry.Errors{retry.Named("fs.PathError")}, retry.Errors{retry.Is(fs.ErrExist)}},
		"only a text":   {errors.New("boom"), "RuntimeError", retry.Errors{retry.Named("StandardError")}, retry.Errors{retry.Named("Error")}},
		"a text within": {fmt.Errorf("x: %w", errors.New("boom")), "RuntimeError", retry.Errors{retry.Named("RuntimeError")}, retry.Errors{retry.Named("fmt.wrapError")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				for list, want := range map[bool]int{true: 2, false: 1} {
					on := c.not
					if list {
						on = c.on
					}
					b := newBench(t, s.Sibling(t))
					once(b, []string{`{"class":"X","args":[]}`}, map[string]resque.HandlerFunc{
						"X": func(context.Context, *resque.Job) error { return c.err },
					}, retry.Policy{On: on})
					records := b.failures()
					if len(records) != want {
						t.Errorf("%d runs, want %d", len(records), want)
					}
					for _, record := range records {
						if record.Exception != c.exception || record.Error != c.err.Error() {
							t.Errorf("recorded as %+v, want %s", record, c.exception)
						}
					}
				}
			})
		})
	}
}

// H9 resque/resque-web#83, resque/resque#253: a count was shown over an empty
// list. The failures of all time and those in the list are two numbers.
func TestReportTwoCountsOfFailures(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b := newBench(t, s)
		once(b, []string{`{"class":"X","args":[1]}`, `{"class":"X","args":[2]}`}, map[string]resque.HandlerFunc{"X": bad}, retry.Policy{})
		for _, want := range [][2]int64{{4, 4}, {4, 0}} {
			info, err := b.client.Info(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := [2]int64{info.FailedTotal, info.FailedRecords}; got != want {
				t.Errorf("of all time and in the list: %v, want %v", got, want)
			}
			s.Do("DEL", s.Key("failed"))
		}
	})
}

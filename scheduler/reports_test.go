package scheduler_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
	"example.com/understudy/retry"
	"example.com/understudy/scheduler"
)

// C7 resque/resque-scheduler#468, #458: times without jobs lingered. What Go
// removes leaves none; one that Ruby leaves holds no jobs for readers, and is gone
// with the next pass at its time.
func TestReportTimesWithoutJobs(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		c := newClock()
		client := openAt(t, server, c)
		for _, n := range []int{1, 1, 2} {
			if err := client.EnqueueIn(t.Context(), time.Duration(n)*time.Second, "q", "A", n); err != nil {
				t.Fatal(err)
			}
		}
		for n, want := range map[int]int64{1: 2, 2: 1} {
			if got, err := client.RemoveDelayed(t.Context(), "q", "A", n); got != want || err != nil {
				t.Errorf("removed %d of %d, %v", got, want, err)
			}
		}
		checkDump(t, server, map[string]any{})

		push(server, "1767323046", small(1)) // Ruby removes it
		server.Do("DEL", server.Key("delayed:1767323046"), server.Key("timestamps:"+small(1)))
		if times, err := client.DelayedTimes(t.Context(), 0, 10); len(times) != 0 || err != nil {
			t.Error(times, err)
		}
		s := newScheduler(t, client, scheduler.Config{Clock: c})
		if overdue, err := s.Overdue(t.Context()); overdue != 0 || err != nil {
			t.Error(overdue, err)
		}
		tick(t, s, 0)
		c.advance(1)
		tick(t, s, 0)
		checkDump(t, server, map[string]any{})
	})
}

// C15 resque/resque-scheduler#491: keys were left behind with each retry, until
// Redis was full. A job that is tried again fifty times, a second after each
// failure, and succeeds then, leaves nothing but statistics.
func TestReportRetriesLeaveNoKeys(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		const retries = 50
		c := newClock()
		client := openAt(t, server, c)
		w, err := resque.NewWorker(client, resque.WorkerConfig{Queues: []string{"q"}, Concurrency: 1, Clock: c})
		if err != nil {
			t.Fatal(err)
		}
		runs := 0
		fails := func(context.Context, *resque.Job) error {
			if runs++; runs <= retries {
				return errors.New("not yet")
			}
			return nil
		}
		if err := w.Handle("A", resque.HandlerFunc(fails), retry.Policy{Limit: retries, Delay: retry.Every(time.Second)}); err != nil {
			t.Fatal(err)
		}
		s := newScheduler(t, client, scheduler.Config{Clock: c})
		if err := w.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if worked, err := w.Step(t.Context()); worked || err != nil {
			t.Fatal(worked, err)
		}
		before := beside(server)
		if err := client.Enqueue(t.Context(), "q", "A", 1); err != nil {
			t.Fatal(err)
		}
		for range retries {
			if worked, err := w.Step(t.Context()); !worked || err != nil {
				t.Fatal(worked, err)
			}
			tick(t, s, 0)
			c.advance(1)
			tick(t, s, 1)
		}
		if worked, err := w.Step(t.Context()); !worked || err != nil {
			t.Error(worked, err)
		}
		if n := len(queue(server, "q")); n != 0 || runs != retries+1 {
			t.Errorf("%d runs, and %d jobs are left", runs, n)
		}
		if diff := cmp.Diff(before, beside(server)); diff != "" {
			t.Errorf("in Redis (-before +after):\n%s", diff)
		}
		if err := w.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// beside are the keys beside the queues, the failed jobs and the statistics.
func beside(server *redistest.Server) (names []string) {
	for name := range dump(server) {
		if name != "queues" && name != "failed" && !strings.HasPrefix(name, "queue:") && !strings.HasPrefix(name, "stat:") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

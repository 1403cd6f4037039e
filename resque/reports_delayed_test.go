package resque_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
	"example.com/understudy/retry"
	"example.com/understudy/scheduler"
)

// C13 lantins/resque-retry#37: what happens where no scheduler runs. Jobs without
// a delay run, those with one wait, a worker warns once when they are overdue, and
// a scheduler that comes finds them all.
func TestReportNoScheduler(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b, lines := newBench(t, s), &strings.Builder{}
		s.Seed(map[string]any{
			"queues":  redistest.Set{"q"},
			"queue:q": redistest.List{`{"class":"Bad","args":[]}`, `{"class":"Good","args":[1]}`},
		})
		w := b.worker(func(c *resque.WorkerConfig) { c.Logger = slog.New(slog.NewTextHandler(lines, nil)) }, map[string]resque.Handler{"Good": resque.HandlerFunc(good)})
		if err := w.Handle("Bad", resque.HandlerFunc(bad), retry.Policy{Limit: 3, Delay: retry.Every(30 * time.Second)}); err != nil {
			t.Fatal(err)
		}
		b.start(w)
		performAll := func() {
			t.Helper()
			for worked := true; worked; {
				var err error
				if worked, err = w.Step(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		warnedAfter := func(d time.Duration, want int) {
			t.Helper()
			b.clock.add(d)
			s.Do("DEL", s.Key("pruning_dead_workers_in_progress")) // it ran out
			if err := w.PruneForTest(t.Context()); err != nil {
				t.Error(err)
			}
			if n := strings.Count(lines.String(), "delayed jobs are overdue"); n != want {
				t.Errorf("warned %d times, want %d: %s", n, want, lines)
			}
		}
		performAll()
		warnedAfter(0, 0)
		warnedAfter(89*time.Second, 0)
		warnedAfter(time.Second, 1)
		warnedAfter(time.Hour, 1)
		if !strings.Contains(lines.String(), "overdue=1m0s") {
			t.Error(lines)
		}
		if n := s.Get("stat:processed"); n != "2" {
			t.Errorf("%v jobs were processed, want 2", n)
		}

		mover, err := scheduler.New(b.client, scheduler.Config{Clock: b.clock, Value: "x:1"})
		if err != nil {
			t.Fatal(err)
		}
		if locked, err := mover.Locked(t.Context()); locked || err != nil {
			t.Error(locked, err)
		}
		if overdue, err := mover.Overdue(t.Context()); overdue != time.Hour+time.Minute || err != nil {
			t.Error(overdue, err)
		}
		if moved, err := mover.Tick(t.Context()); moved != 1 || err != nil {
			t.Error(moved, err)
		}
		warnedAfter(0, 1)
		performAll() // it fails again, and waits again
		warnedAfter(time.Hour, 2)
	})
}

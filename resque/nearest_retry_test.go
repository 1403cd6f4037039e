package resque_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

// The nearest policy decides, whole: the class's, the queue's, the worker's.
func TestNearestRetryWins(t *testing.T) {
	t.Parallel()
	waiting := func(seconds int) retry.Waits {
		return retry.Waits{Waits: []time.Duration{time.Duration(seconds) * time.Second}}
	}
	own := retry.Policy{Delay: retry.Every(100 * time.Second), Queue: retry.InQueue("q")}
	for _, c := range []struct {
		name    string
		options []resque.HandleOption
		class   string
		change  func(*resque.WorkerConfig)
		want    int // seconds; -1: it isn't tried again
	}{
		{"none at all", nil, "Bad", func(*resque.WorkerConfig) {}, -1},
		{"the worker's", nil, "Bad", func(c *resque.WorkerConfig) { c.Retry = waiting(300) }, 300},
		{"a time of its own", nil, "Bad", func(c *resque.WorkerConfig) {
			at := c.Clock.Now().Add(400 * time.Second)
			c.Retry = retry.Policy{Strategy: retry.StrategyFunc(func(retry.Failed) (time.Time, bool) { return at, true })}
		}, 400},
		{"the queue's", nil, "Bad", func(c *resque.WorkerConfig) {
			c.Retry, c.QueueRetry = waiting(300), map[string]resque.RetryPolicy{"q": waiting(200)}
		}, 200},
		{"another queue's", nil, "Bad", func(c *resque.WorkerConfig) {
			c.Retry, c.QueueRetry = waiting(300), map[string]resque.RetryPolicy{"other": waiting(200)}
		}, 300},
		{"the queue has none", nil, "Bad", func(c *resque.WorkerConfig) {
			c.Retry, c.QueueRetry = waiting(300), map[string]resque.RetryPolicy{"q": nil}
		}, -1},
		{"the class's", []resque.HandleOption{own}, "Bad", func(c *resque.WorkerConfig) {
			c.Retry, c.QueueRetry = waiting(300), map[string]resque.RetryPolicy{"q": waiting(200)}
		}, 100},
		{"the class's own waits", []resque.HandleOption{waiting(50)}, "Bad", func(c *resque.WorkerConfig) { c.Retry = waiting(300) }, 50},
		{"the class wants none", []resque.HandleOption{resque.NoRetry()}, "Bad", func(c *resque.WorkerConfig) {
			c.Retry, c.QueueRetry = waiting(300), map[string]resque.RetryPolicy{"q": waiting(200)}
		}, -1},
		{"a fallback", nil, "Other", func(c *resque.WorkerConfig) {
			c.Retry = waiting(300)
			c.Fallback = resque.HandlerFunc(func(context.Context, *resque.Job) error { return errors.New("boom") })
		}, 300},
		{"a class that nobody knows", nil, "Nobody", func(c *resque.WorkerConfig) { c.Retry = waiting(300) }, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				b := newBench(t, s)
				s.Seed(map[string]any{"queue:q": redistest.List{`{"class":"` + c.class + `","args":[]}`}})
				w := b.worker(c.change, nil)
				bad := resque.HandlerFunc(func(context.Context, *resque.Job) error { return errors.New("boom") })
				if err := w.Handle("Bad", bad, c.options...); err != nil {
					t.Fatal(err)
				}
				b.start(w)
				b.step(w)
				got := -1
				if times, err := b.client.DelayedTimes(t.Context(), 0, 9); err != nil {
					t.Fatal(err)
				} else if len(times) == 1 {
					got = int(times[0].Unix() - b.clock.Now().Unix())
				}
				if got != c.want {
					t.Errorf("tried again after %d s, want %d", got, c.want)
				}
				if failed := s.Get("failed") != nil; failed != (c.want < 0) && c.want < 0 {
					t.Errorf("failed holds %v", s.Get("failed"))
				}
			})
		})
	}
}

func TestWorkerRefusesABadPolicy(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	b := newBench(t, s)
	for want, change := range map[string]func(*resque.WorkerConfig){
		"resque: WorkerConfig.Retry: retry: Waits is empty": func(c *resque.WorkerConfig) { c.Retry = retry.Waits{Waits: []time.Duration{}} },
		"resque: WorkerConfig.QueueRetry[mails]: retry: Waits is empty": func(c *resque.WorkerConfig) {
			c.QueueRetry = map[string]resque.RetryPolicy{"mails": retry.Waits{Waits: []time.Duration{}}}
		},
	} {
		cfg := resque.WorkerConfig{Queues: []string{"q"}}
		change(&cfg)
		if _, err := resque.NewWorker(b.client, cfg); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A cancelled run is recorded as such, with its own text, whatever it is wrapped
// in and whatever the policy says; its counter goes.
func TestCancelledRuns(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"plain":          retry.Cancel(errors.New("boom")),
		"wrapped":        fmt.Errorf("sending: %w", retry.Cancel(errors.New("boom"))),
		"of a named one": retry.Cancel(resque.ErrTimeout),
		"joined behind":  errors.Join(resque.ErrTimeout, retry.Cancel(errors.New("boom"))),
		"deep":           fmt.Errorf("a: %w", errors.Join(oddOutcomeError{errors.New("b")}, fmt.Errorf("c: %w", retry.Cancel(errors.New("boom"))))),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				b := newBench(t, s)
				s.Seed(map[string]any{"queue:q": redistest.List{`{"class":"Bad","args":[1]}`}})
				w := b.worker(nil, nil)
				bad := resque.HandlerFunc(func(context.Context, *resque.Job) error { return err })
				if err := w.Handle("Bad", bad, retry.Policy{Limit: retry.Forever}); err != nil {
					t.Fatal(err)
				}
				b.start(w)
				b.step(w)
				got := b.failures()
				if len(got) != 1 || got[0].Exception != "Understudy::Cancelled" || got[0].Error != err.Error() {
					t.Errorf("recorded %+v", got)
				}
				for key := range b.keys() {
					if key != "failed" && !strings.HasPrefix(key, "stat:") {
						t.Errorf("left %s", key)
					}
				}
			})
		})
	}
}

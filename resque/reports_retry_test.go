package resque_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/failure"
	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
	"example.com/understudy/retry"
	"example.com/understudy/scheduler"
)

// What broke for others: retries, their counters and keys. CONTRIBUTING.md lists
// the reports.

// retrying is a worker of a class X with a policy, whose failures are suppressed
// while a retry is pending, and which has one job in its queue.
func retrying(t *testing.T, s *redistest.Server, args string, h resque.HandlerFunc, options ...resque.HandleOption) (*bench, *resque.Worker) {
	t.Helper()
	b := newBench(t, s)
	s.Seed(map[string]any{"queue:q": redistest.List{`{"class":"X","args":` + args + `}`}, "queues": redistest.Set{"q"}})
	w := b.worker(func(c *resque.WorkerConfig) {
		c.Queues = []string{"*"}
		c.Failures = failure.SuppressRetries(failure.List{})
	}, nil)
	if err := w.Handle("X", h, options...); err != nil {
		t.Fatal(err)
	}
	b.start(w)
	return b, w
}

// due lets the time pass until the one delayed job is due, has a scheduler move
// it, and answers its wait in seconds.
func (b *bench) due() int64 {
	b.t.Helper()
	schedule, _ := b.server.Get("delayed_queue_schedule").(redistest.ZSet)
	if len(schedule) != 1 {
		b.t.Fatalf("%d times wait, want one", len(schedule))
	}
	second, err := strconv.ParseInt(slices.Collect(maps.Keys(schedule))[0], 10, 64)
	if err != nil {
		b.t.Fatal(err)
	}
	b.clock.mu.Lock()
	wait := second - b.clock.now.Unix()
	b.clock.now = time.Unix(second, 0).UTC()
	b.clock.mu.Unlock()
	mover, err := scheduler.New(b.client, scheduler.Config{Clock: b.clock, Value: "x:1"})
	if err != nil {
		b.t.Fatal(err)
	}
	if moved, err := mover.Tick(b.t.Context()); moved != 1 || err != nil {
		b.t.Fatalf("moved %d, %v", moved, err)
	}
	return wait
}

// dueAfter does nothing where there is no wait.
func (b *bench) dueAfter(wait time.Duration) {
	b.t.Helper()
	if wait > 0 {
		b.due()
	}
}

// with are the keys that begin with any of the prefixes.
func (b *bench) with(prefixes ...string) map[string]any {
	b.t.Helper()
	found := map[string]any{}
	for name, value := range b.keys() {
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			found[name] = value
		}
	}
	return found
}

func (b *bench) records() int {
	b.t.Helper()
	list, _ := b.server.Get("failed").(redistest.List)
	return len(list)
}

// waits are a retry at once and one that a scheduler moves.
func waits() map[string]time.Duration {
	return map[string]time.Duration{"at once": 0, "later": time.Minute}
}

// B1 lantins/resque-retry#48, #84: whole arguments became keys. A member of
// timestamps:* embeds the job by resque-scheduler's own form.
func TestReportKeysStayShort(t *testing.T) {
	t.Parallel()
	for name, wait := range waits() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				size := 5 << 20
				if !s.Real() {
					size = 1 << 16 // its Lua matches by recursion, and has no stack for more
				}
				b, w := retrying(t, s, `["`+strings.Repeat("x", size)+`"]`, bad, retry.Policy{Delay: retry.Every(wait)})
				b.step(w)
				counters := 0
				for _, key := range s.Names() {
					if strings.HasPrefix(key, "resque-retry:X:") {
						counters++
						if len(key) != len("X")+54 {
							t.Errorf("the counter's key has %d bytes", len(key))
						}
					}
					if len(key) > 1024 && !strings.HasPrefix(key, "timestamps:") {
						t.Errorf("a key of %d bytes: %.60s", len(key), key)
					}
				}
				if counters != 1 {
					t.Errorf("%d counters", counters)
				}
			})
		})
	}
}

// B5 lantins/resque-retry#20: a limit of zero meant for ever.
func TestReportLimitOfZero(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b, w := retrying(t, s, `[1]`, bad, retry.Policy{Limit: retry.Never})
		b.step(w)
		if worked, err := w.Step(t.Context()); worked || err != nil {
			t.Errorf("a second run: %v, %v", worked, err)
		}
		if left := b.with("resque-retry:", "queue:", "delayed"); len(left) > 0 || b.records() != 1 {
			t.Errorf("left: %v, %d records", left, b.records())
		}
	})
}

func TestReportLimitBelowZero(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b, w := retrying(t, s, `[1]`, bad, retry.Policy{Limit: retry.Forever})
		for range 10 {
			b.step(w)
		}
		want := map[string]any{
			"resque-retry:X:356a192b7913b04c54574d18c28d46e6395428ab": "9",
			"queue:q": redistest.List{`{"class":"X","args":[1]}`},
		}
		if diff := cmp.Diff(want, b.with("resque-retry:", "queue:", "failed")); diff != "" {
			t.Error(diff)
		}
	})
}

// B7 lantins/resque-retry#164, #134: delays by error beyond the limit were never
// used.
func TestReportDelaysByErrorAndTheLimit(t *testing.T) {
	t.Parallel()
	on := retry.Errors{retry.Named("TimeoutErr").Wait(5*time.Second, 10*time.Second, 15*time.Second)}
	for name, c := range map[string]struct {
		limit int
		waits []int64
	}{"its own": {0, []int64{5, 10, 15}}, "five": {5, []int64{5, 10, 15, 15, 15}}, "two": {2, []int64{5, 10}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				b, w := retrying(t, s, `[1]`, func(context.Context, *resque.Job) error { return &classed{name: "TimeoutErr"} }, retry.Policy{Limit: c.limit, On: on})
				var waits []int64
				for range c.waits {
					b.step(w)
					if b.records() > 0 {
						t.Fatalf("given up after %v", waits)
					}
					waits = append(waits, b.due())
				}
				b.step(w)
				if diff := cmp.Diff(c.waits, waits); diff != "" || b.records() != 1 || len(b.with("delayed", "queue:")) > 0 {
					t.Errorf("%d records, left %v\n%s", b.records(), b.with("delayed", "queue:"), diff)
				}
			})
		})
	}
}

// B9 lantins/resque-retry#113: with a delay there were no retries at all.
func TestReportAnyDelay(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b, w := retrying(t, s, `[1]`, bad, retry.Policy{Limit: 3, Delay: retry.Every(5 * time.Second)})
		for attempt := range 3 {
			second := b.clock.Now().Unix() + 5
			b.step(w)
			want := map[string]any{
				"delayed_queue_schedule":                                  redistest.ZSet{fmt.Sprint(second): float64(second)},
				fmt.Sprint("delayed:", second):                            redistest.List{`{"class":"X","args":[1],"queue":"q"}`},
				"resque-retry:X:356a192b7913b04c54574d18c28d46e6395428ab": fmt.Sprint(attempt),
			}
			if diff := cmp.Diff(want, b.with("delayed", "resque-retry:", "queue:", "failed")); diff != "" {
				t.Fatal(diff)
			}
			b.due()
		}
		b.step(w)
		if b.records() != 1 {
			t.Errorf("%d records", b.records())
		}
	})
}

// B12 lantins/resque-retry#158, #105, #98: the counter expired before the next
// attempt; expiry beside delays by error fell over.
func TestReportCountersOutliveTheDelay(t *testing.T) {
	t.Parallel()
	const key = "resque-retry:X:356a192b7913b04c54574d18c28d46e6395428ab"
	for name, c := range map[string]struct {
		policy retry.Policy
		lives  []int64
	}{
		"backoff":         {retry.Policy{Backoff: []time.Duration{time.Minute, time.Hour}}, []int64{160, 3700}},
		"a delay":         {retry.Policy{Limit: 2, Delay: retry.Every(time.Minute)}, []int64{160, 160}},
		"delays by error": {retry.Policy{On: retry.Errors{retry.Named("RuntimeError").Wait(5*time.Second, 10*time.Second)}}, []int64{100, 100}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				c.policy.ExpireAfter = 100 * time.Second
				var during []int64
				b, w := retrying(t, s, `[1]`, func(context.Context, *resque.Job) error {
					during = append(during, s.TTLs()[key])
					return errors.New("boom")
				}, c.policy)
				for i, want := range c.lives {
					b.step(w)
					for when, got := range map[string]int64{"during": during[i], "after": s.TTLs()[key]} {
						if got < want-2 || got > want {
							t.Errorf("%s run %d the counter lives %d s, want %d", when, i+1, got, want)
						}
					}
					b.due()
				}
			})
		})
	}
}

// B16 lantins/resque-retry#10, #29: counters and last failures stayed for ever.
func TestReportNothingStays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failures int
		records  int
	}{"given up": {3, 1}, "done after a retry": {1, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				left := c.failures
				b, w := retrying(t, s, `[1]`, func(context.Context, *resque.Job) error {
					if left--; left < 0 {
						return nil
					}
					return errors.New("boom")
				}, retry.Policy{Limit: 2, Delay: retry.Every(time.Minute)})
				for b.step(w); b.with("delayed_queue")["delayed_queue_schedule"] != nil; b.step(w) {
					b.due()
				}
				if kept := b.with("resque-retry:", "delayed", "timestamps:", "queue:"); len(kept) > 0 || b.records() != c.records {
					t.Errorf("%d records, left: %v", b.records(), kept)
				}
				for key, life := range s.TTLs() { // the gem leaves the last failure to its time after a success
					if strings.HasPrefix(key, "failure-") && (c.records == 1 || life < 1 || life > 120) {
						t.Errorf("%s lives for %d s", key, life)
					}
				}
			})
		})
	}
}

// B17 lantins/resque-retry#64: a job of a class without a queue was lost.
func TestReportNoHomeQueue(t *testing.T) {
	t.Parallel()
	for name, wait := range waits() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				b, w := retrying(t, s, `[1]`, bad, retry.Policy{Delay: retry.Every(wait)})
				s.Do("RENAME", s.Key("queue:q"), s.Key("queue:adhoc"))
				s.Do("SADD", s.Key("queues"), "adhoc")
				b.step(w)
				b.dueAfter(wait)
				if diff := cmp.Diff(redistest.List{`{"class":"X","args":[1]}`}, s.Get("queue:adhoc")); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// B18 lantins/resque-retry#149, #160: delay and queue by arguments and error.
func TestReportDelayAndQueueByArguments(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		var told []error
		b, w := retrying(t, s, `["7"]`, bad, retry.Policy{
			Delay: retry.DelayFunc(func(job *resque.Job, err error) time.Duration {
				told = append(told, err)
				var args []string
				if json.Unmarshal(job.Args, &args) != nil {
					return 0
				}
				seconds, _ := strconv.Atoi(args[0])
				return time.Duration(seconds) * time.Second
			}),
			Queue: func(_ *resque.Job, err error) string {
				told = append(told, err)
				return "slow"
			},
		})
		b.step(w)
		second := b.clock.Now().Unix() + 7
		if diff := cmp.Diff(redistest.List{`{"class":"X","args":["7"],"queue":"slow"}`}, s.Get(fmt.Sprint("delayed:", second))); diff != "" {
			t.Error(diff)
		}
		if life := s.TTLs()["failure-resque-retry:X:902ba3cda1883801594b6e1b452790cc53948fda"]; life < 12 || life > 14 {
			t.Errorf("the last failure lives for %d s", life)
		}
		if len(told) != 2 || told[0] == nil || told[0].Error() != "boom" || told[1] == nil {
			t.Errorf("told of %v", told)
		}
	})
}

// B21 lantins/resque-retry#77: errors that are neither tried again nor recorded.
func TestReportDiscard(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b, w := retrying(t, s, `[1]`, func(context.Context, *resque.Job) error {
			return fmt.Errorf("sending: %w", retry.Discard(errors.New("of no use any more")))
		}, retry.Policy{Limit: retry.Forever})
		b.step(w)
		want := map[string]any{"queues": redistest.Set{"q"}, "stat:processed": "1", "stat:processed:" + testID: "1"}
		if diff := cmp.Diff(want, b.keys()); diff != "" {
			t.Error(diff)
		}
	})
}

// B22 lantins/resque-retry#66, #47: failures that a retry had mended stayed in the
// list.
func TestReportMendedFailures(t *testing.T) {
	t.Parallel()
	for name, wait := range waits() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				b, w := retrying(t, s, `[1]`, func(_ context.Context, job *resque.Job) error {
					if job.Attempt < 2 {
						return errors.New("boom")
					}
					return nil
				}, retry.Policy{Limit: 5, Delay: retry.Every(wait)})
				for range 3 {
					b.step(w)
					if b.records() > 0 {
						t.Error("a failure is in the list")
					}
					if wait > 0 && s.Get("delayed_queue_schedule") != nil {
						b.due()
					}
				}
				if worked, err := w.Step(t.Context()); worked || err != nil || s.Get("stat:failed") != "2" {
					t.Errorf("worked on: %v, %v, failed %v times", worked, err, s.Get("stat:failed"))
				}
			})
		})
	}
}

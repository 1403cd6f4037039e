package scheduler_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/scheduler"
)

func TestRunOutlivesTrouble(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		proxy := redistest.NewProxy(t, server.URL())
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c, lines := newClock(), &log{}
		c.onSleep = func(n int) {
			switch n {
			case 2: // two good passes
				proxy.SetRule(func(redistest.Request) redistest.Verdict { return redistest.DropRequest })
			case 2 + 8:
				proxy.SetRule(nil)
				push(server, "1", `{"class":"A","args":[],"queue":"q"}`)
			case 2 + 8 + 2:
				cancel()
			}
		}
		s := newScheduler(t, open(t, proxy.URL(), server.Namespace()), scheduler.Config{Clock: c, Interval: 5 * time.Second, Logger: lines.logger()})
		if err := s.Run(ctx); err != nil {
			t.Error(err)
		}
		want := []string{"this scheduler is the master", "the scheduler can't reach Redis and keeps trying", "this scheduler is the master", "moved delayed jobs to their queues"}
		if diff := cmp.Diff(want, lines.messages()); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
		const ms = time.Millisecond
		waits := []time.Duration{
			5000 * ms, 5000 * ms,
			100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 3200 * ms, 5000 * ms, 5000 * ms,
			5000 * ms, 5000 * ms,
		}
		if diff := cmp.Diff(waits, c.slept); diff != "" {
			t.Errorf("waits (-want +got):\n%s", diff)
		}
		// The job is in its queue, and the lock is free.
		if diff := cmp.Diff(map[string]any{"queues": redistest.Set{"q"}, "queue:q": redistest.List{`{"class":"A","args":[]}`}}, server.Dump()); diff != "" {
			t.Errorf("in Redis (-want +got):\n%s", diff)
		}
	})
}

// Beside a master that doesn't do its work, delayed jobs wait, and it is said.
func TestRunStandsBy(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		server.Seed(map[string]any{lockOf(server): "ruby:1"})
		c, lines := newClock(), &log{}
		c.onSleep = func(n int) {
			switch said := len(lines.messages()); {
			case n == 2:
				server.Do("ZADD", server.Key("delayed_queue_schedule"), now-100, now-100) // emptied by Ruby: no job
				push(server, "1767323040", `{"class":"A","args":[],"queue":"q"}`)
			case n == 8: // five seconds are no reason to warn
				c.advance(60)
			case said == 2:
				server.Do("DEL", server.Key(lockOf(server)))
			case said == 4:
				cancel()
			}
		}
		s := newScheduler(t, open(t, server.URL(), server.Namespace()), scheduler.Config{Clock: c, Logger: lines.logger()})
		if err := s.Run(ctx); err != nil {
			t.Error(err)
		}
		want := []string{"another scheduler is the master", "delayed jobs are overdue and the master doesn't move them", "this scheduler is the master", "moved delayed jobs to their queues"}
		if diff := cmp.Diff(want, lines.messages()); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
		checkDump(t, server, map[string]any{"queues": redistest.Set{"q"}, "queue:q": redistest.List{`{"class":"A","args":[]}`}})
	})
}

func TestOverdue(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		s := newScheduler(t, open(t, server.URL(), server.Namespace()), scheduler.Config{})
		check := func(want time.Duration) {
			t.Helper()
			got, err := s.Overdue(t.Context())
			if err != nil || got != want {
				t.Errorf("overdue %v (%v), want %v", got, err, want)
			}
		}
		check(0)
		push(server, "1767323046", `{"class":"A","args":[],"queue":"q"}`)
		server.Do("ZADD", server.Key("delayed_queue_schedule"), now-100, now-100)
		check(0)
		server.Seed(map[string]any{"delayed:1767323000": "text"})
		server.Do("ZADD", server.Key("delayed_queue_schedule"), 1767323000, 1767323000)
		check(0)
		push(server, "1767323038", `{"class":"A","args":[],"queue":"q"}`)
		check(7 * time.Second)
		server.Do("RPUSH", server.Key("delayed:odd"), small(1))
		server.Do("ZADD", server.Key("delayed_queue_schedule"), now-10.5, "odd")
		check(10 * time.Second)
	})
}

// Who stops frees the lock, also where all connections fell while it slept; where
// Redis is away, it doesn't wait for long.
func TestRunReleases(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		falls int // requests
		tries int
	}{{"fallen", 3, 3}, {"away", 1000, 4}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, server *redistest.Server) {
				proxy := redistest.NewProxy(t, server.URL())
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				c, fallen := newClock(), 0
				c.onSleep = func(n int) {
					if n == 1 {
						cancel()
						proxy.SetRule(func(r redistest.Request) redistest.Verdict {
							if !r.Is("EVALSHA") { // a subscription that is still on its way
								return redistest.Pass
							}
							if fallen++; fallen > test.falls {
								return redistest.Pass
							}
							return redistest.DropRequest
						})
					}
				}
				s := newScheduler(t, open(t, proxy.URL(), server.Namespace()), scheduler.Config{Clock: c})
				away := test.falls > test.tries
				if err := s.Run(ctx); (err != nil) != away {
					t.Errorf("error %v", err)
				}
				if held := server.Get(lockOf(server)) != nil; held != away {
					t.Errorf("the lock is held: %v", held)
				}
				if tries := len(c.slept) - 1; tries != test.tries {
					t.Errorf("tried %d times again", tries)
				}
			})
		})
	}
}

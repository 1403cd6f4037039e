package scheduler_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
	"example.com/understudy/scheduler"
)

// still is a clock that no time wakes: whoever sleeps for more than a moment is
// told of, and sleeps until something else happens.
type still struct {
	clock

	asleep chan time.Duration
}

func (c *still) Sleep(ctx context.Context, d time.Duration) error {
	if d > 100*time.Millisecond {
		c.asleep <- d
		<-ctx.Done()
	}
	return context.Cause(ctx)
}

// running is a scheduler whose clock stands still.
type running struct {
	*scheduler.Scheduler
	t     *testing.T
	clock *still
	stop  func()
}

// runStill runs a scheduler on a clock that stands still.
func runStill(t *testing.T, server *redistest.Server) running {
	t.Helper()
	if !server.Real() {
		t.Skip("needs CLIENT TRACKING")
	}
	c := &still{clock: clock{second: now}, asleep: make(chan time.Duration, 100)}
	s := newScheduler(t, open(t, server.URL(), server.Namespace()), scheduler.Config{Clock: c, Interval: 50 * time.Second})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return running{s, t, c, stop}
}

// sleeps waits until it sleeps for d.
func (r running) sleeps(d time.Duration) {
	r.t.Helper()
	for {
		select {
		case got := <-r.clock.asleep:
			if got == d {
				return
			}
		case <-time.After(20 * time.Second):
			r.t.Fatalf("it doesn't sleep for %v", d)
		}
	}
}

// Whoever delays a job wakes a master that sleeps until a later one is due.
func TestASoonerJobWakesTheMaster(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	s := runStill(t, server)
	s.sleeps(50 * time.Second)
	later := func(score float64) { server.Do("ZADD", server.Key("delayed_queue_schedule"), score, fmt.Sprint(score)) }
	for _, test := range []struct {
		at    float64
		until time.Duration
	}{{30, 30 * time.Second}, {100, 30 * time.Second}, {10, 10 * time.Second}, {5.25, 6 * time.Second}} {
		later(now + test.at)
		s.sleeps(test.until)
	}
	ruby := open(t, server.URL(), server.Namespace())
	for i := range 3 {
		if err := ruby.PushAt(t.Context(), time.Unix(int64(now-i), 0), []byte(small(i))); err != nil {
			t.Fatal(err)
		}
		if got := server.Do("BLPOP", server.Key("queue:q"), 20); got == nil {
			t.Fatal("the job that is due doesn't come")
		}
		s.sleeps(6 * time.Second)
	}
	server.Do("DEL", server.Key("delayed_queue_schedule"))
	s.sleeps(50 * time.Second)
}

// A lock that is released, or runs out, wakes who stands by.
func TestAFreeLockWakesTheStandby(t *testing.T) {
	t.Parallel()
	for name, free := range map[string]func(t *testing.T, server *redistest.Server){
		"removed":  func(_ *testing.T, server *redistest.Server) { server.Do("DEL", server.Key(lockOf(server))) },
		"runs out": func(_ *testing.T, server *redistest.Server) { server.Do("PEXPIRE", server.Key(lockOf(server)), 500) },
		"released": func(t *testing.T, server *redistest.Server) {
			t.Helper()
			other := newScheduler(t, open(t, server.URL(), server.Namespace()), scheduler.Config{Value: "ruby:1"})
			tick(t, other, 1)
			if err := other.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.New(t)
			server.Seed(map[string]any{lockOf(server): "ruby:1"})
			push(server, "1", small(1))
			s := runStill(t, server)
			s.sleeps(50 * time.Second)
			free(t, server)
			if got := server.Do("BLPOP", server.Key("queue:q"), 20); got == nil {
				t.Fatal("the job that is due doesn't come")
			}
			push(server, "1", small(2))
			if got := server.Do("BLPOP", server.Key("queue:q"), 20); got == nil {
				t.Fatal("it isn't the master")
			}
		})
	}
}

// A master with nothing to do sends one command an interval, which renews its
// lock; also while jobs wait.
func TestAnIdleMasterOnlyRenewsItsLock(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	if !server.Real() {
		t.Skip("needs CLIENT TRACKING")
	}
	proxy := redistest.NewProxy(t, server.URL())
	push(server, "1767330000", small(1))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const intervals = 20
	c, before := newClock(), 0
	c.onSleep = func(n int) {
		switch n {
		case 3:
			before = len(proxy.Seen())
		case 3 + intervals:
			sent := proxy.Seen()[before:]
			for _, r := range sent {
				if !r.Is("EVALSHA", scheduler.KeepSHA()) {
					t.Errorf("it sent %v", r.Args)
				}
			}
			if len(sent) != intervals {
				t.Errorf("it sent %d commands in %d intervals", len(sent), intervals)
			}
			cancel()
		}
	}
	client := openWith(t, proxy.URL(), resque.Options{Namespace: server.Namespace()})
	if err := newScheduler(t, client, scheduler.Config{Clock: c}).Run(ctx); err != nil {
		t.Error(err)
	}
}

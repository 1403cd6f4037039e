package scheduler_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
	"example.com/understudy/scheduler"
)

// A clock that leaps ahead floods no queue: what was missed is one, or comes one
// by one, as in Ruby.
func TestClockLeapsAhead(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		kept(server, map[string]string{
			"one":  `{"every":"0.3s","class":"A","queue":"one"}`,
			"cron": `{"cron":"* * * * * *","class":"A","queue":"cron"}`,
			"each": `{"every":["10s",{"discard_past":false}],"class":"A","queue":"each"}`,
		})
		s, c := master(t, server, scheduler.Config{})
		tick(t, s, 0)
		c.advance(50 * 365 * 24 * 3600)
		tick(t, s, 0)
		for i := range 5 {
			checkQueue(t, server, "one", 1)
			checkQueue(t, server, "cron", 1)
			checkQueue(t, server, "each", 1+i)
			tick(t, s, 0)
		}
		if got := s.Planned()["each"].Unix(); got != now+10+6*10 {
			t.Errorf("the next of those that were missed is that of %d s", got-now)
		}
	})
}

// A clock that was far ahead and goes back leaves no job waiting until it is there
// again. No time fires a second time, the first of these minutes neither.
func TestClockGoesBack(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		back  int64
		fired []int // after each of three minutes
		told  int
	}{{1800, []int{1, 1, 1}, 0}, {7200, []int{1, 2, 3}, 1}, {86400 * 365, []int{1, 2, 3}, 1}} {
		t.Run(strconv.FormatInt(test.back, 10), func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, server *redistest.Server) {
				kept(server, map[string]string{"a": `{"every":"1m","class":"A","queue":"q"}`})
				lines := &log{}
				s, c := master(t, server, scheduler.Config{Logger: lines.logger()})
				tick(t, s, 0)
				c.advance(test.back)
				tick(t, s, 0)
				checkQueue(t, server, "q", 1)
				c.advance(-test.back)
				tick(t, s, 0)
				for _, want := range test.fired {
					c.advance(60)
					tick(t, s, 0)
					checkQueue(t, server, "q", want)
				}
				told := 0
				for _, message := range lines.messages() {
					if message == "the clock went back far; recurring jobs are planned anew" {
						told++
					}
				}
				if told != test.told {
					t.Errorf("log: %v", lines.messages())
				}
			})
		})
	}
}

// The lock is gone when a due job is to be fired. Unless somebody else has fired
// it by then, it fires when this scheduler is the master again.
func TestLockGoneWhileFiring(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		meanwhile func(t *testing.T, server *redistest.Server)
		jobs      int
	}{
		{"it ran out", func(*testing.T, *redistest.Server) {}, 1},
		{"Ruby fired", func(_ *testing.T, server *redistest.Server) {
			server.Do("HSET", server.Key("delayed:last_enqueued_at"), "a", "2026-01-02 03:05:05 +0000")
		}, 0},
		{"Go fired", func(_ *testing.T, server *redistest.Server) {
			server.Do("HSET", server.Key("understudy:fired"), "a", strconv.Itoa((now+60)*1000))
		}, 0},
		{"somebody else is the master", func(_ *testing.T, server *redistest.Server) {
			server.Do("SET", server.Key(lockOf(server)), "other:1")
		}, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, server *redistest.Server) {
				kept(server, map[string]string{"a": `{"every":"1m","class":"A","queue":"q"}`})
				proxy := redistest.NewProxy(t, server.URL())
				s, c := masterAt(t, proxy.URL(), server, scheduler.Config{})
				tick(t, s, 0)
				c.advance(60)
				gone := false
				proxy.SetRule(func(r redistest.Request) redistest.Verdict {
					if r.Is("EVALSHA", scheduler.FireSHA()) && !gone {
						gone = true
						server.Do("DEL", server.Key(lockOf(server)))
						test.meanwhile(t, server)
					}
					return redistest.Pass
				})
				tick(t, s, 0)
				if len(s.Planned()) > 0 || s.Master() || !gone {
					t.Errorf("it goes on as the master, and has planned %v", s.Planned())
				}
				checkQueue(t, server, "q", 0)
				for range 2 {
					tick(t, s, 0)
					checkQueue(t, server, "q", test.jobs)
				}
			})
		})
	}
}

// The failed jobs can't be written. What would go there stays due, and is in no
// other job's way.
func TestFireBesideFailedOfAnotherType(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		kept(server, map[string]string{
			"a": `{"every":"1m","class":"A","queue":"q"}`, "lost": `{"every":"1m","class":"Lost"}`, "z": `{"every":"1m","class":"Z","queue":"q"}`,
		})
		server.Seed(map[string]any{"failed": "text"})
		s, c := master(t, server, scheduler.Config{})
		stuck := func() {
			t.Helper()
			if _, err := s.Tick(t.Context()); resque.ErrorCode(err) != "WRONGTYPE" {
				t.Errorf("error %v", err)
			}
		}
		tick(t, s, 0)
		c.advance(60)
		stuck()
		checkQueue(t, server, "q", 2)
		stuck()
		if got := server.Get("failed"); got != "text" {
			t.Errorf("failed is %v", got)
		}
		server.Do("DEL", server.Key("failed"))
		tick(t, s, 0)
		tick(t, s, 0)
		checkQueue(t, server, "q", 2)
		if got, _ := server.Get("failed").(redistest.List); len(got) != 1 {
			t.Errorf("failed: %v", got)
		}
	})
}

// A lock that is no text lets nobody be the master. Once it is mended, nothing is
// missing.
func TestLockOfAnotherType(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		kept(server, map[string]string{"a": `{"every":"1m","class":"A","queue":"q"}`})
		s, c := master(t, server, scheduler.Config{})
		tick(t, s, 0)
		server.Do("DEL", server.Key(lockOf(server)))
		server.Do("RPUSH", server.Key(lockOf(server)), "x")
		delayed(server, map[string][]string{strconv.Itoa(now): {`{"class":"B","args":[],"queue":"q"}`}})
		for range 2 {
			c.advance(60)
			if _, err := s.Tick(t.Context()); resque.ErrorCode(err) != "WRONGTYPE" {
				t.Errorf("error %v", err)
			}
		}
		checkQueue(t, server, "q", 0)
		server.Do("DEL", server.Key(lockOf(server)))
		tick(t, s, 1)
		checkQueue(t, server, "q", 2)
	})
}

// Redis starts again and has lost everything: scripts, lock, and what was kept
// there. The process's own jobs go on by their times.
func TestRedisStartsEmpty(t *testing.T) {
	t.Parallel()
	server := redistest.NewOwn(t)
	client := open(t, server.URL(), server.Namespace())
	own := scheduler.NewSchedules(client)
	set(t, own, "own", `{"every":"1m","class":"Own","queue":"q"}`)
	set(t, own, "kept", `{"persist":true,"every":"1m","class":"Kept","queue":"q"}`)
	c := newClock()
	s := newScheduler(t, client, scheduler.Config{Clock: c, Schedules: own, Dynamic: true})
	tick(t, s, 0)
	server.Restart()
	c.advance(60)
	for range 3 {
		if _, err := s.Tick(t.Context()); err == nil {
			break
		}
	}
	tick(t, s, 0)
	if diff := cmp.Diff(redistest.List{`{"class":"Own","args":[]}`}, queue(server, "q")); diff != "" {
		t.Errorf("fired (-want +got):\n%s", diff)
	}
	checkPlanned(t, s, map[string]int64{"own": 120})
}

// Jobs change and go while others fire, in thousands: each fires at its times, with
// what it is by then.
func TestThousandsChangeWhileFiring(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		const jobs, minutes = 2000, 3
		name := func(i int) string { return fmt.Sprint("job ", i) }
		schedules := scheduler.NewSchedules(open(t, server.URL(), server.Namespace()))
		all := map[string]scheduler.Recurring{}
		for i := range jobs {
			all[name(i)] = scheduler.Recurring{Cron: "* * * * *", Class: "A", Queue: "as it was", Persist: i%2 == 0}
		}
		if err := schedules.SetAll(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		s, c := master(t, server, scheduler.Config{Schedules: schedules, Dynamic: true})
		tick(t, s, 0)
		c.advance(55)
		for minute := range minutes {
			tick(t, s, 0)
			for i := 0; i < jobs; i += 10 {
				job := scheduler.Recurring{Cron: "* * * * *", Class: "A", Queue: fmt.Sprint("minute ", minute), Persist: true}
				if err := schedules.Set(t.Context(), name(i), job); err != nil {
					t.Fatal(err)
				}
				if err := schedules.Remove(t.Context(), name(i+minute+1)); err != nil {
					t.Fatal(err)
				}
			}
			tick(t, s, 0)
			c.advance(60)
		}
		sizes := []int{}
		for _, name := range []string{"as it was", "minute 0", "minute 1", "minute 2"} {
			sizes = append(sizes, len(queue(server, name)))
		}
		if want := []int{2000 + 1600 + 1400, 200, 200, 0}; !slices.Equal(sizes, want) {
			t.Errorf("fired %v, want %v", sizes, want)
		}
		if n := len(s.Planned()); n != 1400 {
			t.Errorf("%d are planned", n)
		}
	})
}

// A scheduler runs while its connections are cut and Redis forgets its scripts,
// after each firing: each planned time fires once.
func TestRunThroughTrouble(t *testing.T) {
	t.Parallel()
	server := redistest.NewOwn(t)
	proxy := redistest.NewProxy(t, server.URL())
	kept(server, map[string]string{"a": `{"every":["0.3s",{"discard_past":false}],"class":"A","queue":"q"}`})
	client := open(t, proxy.URL(), server.Namespace())
	s := newScheduler(t, client, scheduler.Config{Clock: resque.SystemClock(), Schedules: scheduler.NewSchedules(client), Dynamic: true})
	tick(t, s, 0)
	first := s.Planned()["a"].UnixMilli()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	const firings = 10
	for n := range firings {
		if got := server.Do("BLPOP", server.Key("queue:q"), 15); got == nil {
			t.Error("it doesn't fire any more")
		}
		if n%2 == 0 { // each time would be a reason to wait longer and longer
			continue
		}
		server.Do("SCRIPT", "FLUSH")
		proxy.Kill()
		kept(server, map[string]string{"other": `{"cron":"@yearly","class":"A","queue":"other"}`})
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	last, err := strconv.ParseInt(fmt.Sprint(server.Do("HGET", server.Key("understudy:fired"), "a")), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if fired, planned := int64(firings+len(queue(server, "q"))), (last-first)/300+1; fired != planned {
		t.Errorf("fired %d times for %d planned ones", fired, planned)
	}
}

package scheduler_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
	"example.com/understudy/scheduler"
)

// Whatever becomes of the calls, and when: each planned time fires once.
func TestEachPlannedTimeFiresOnce(t *testing.T) {
	t.Parallel()
	verdicts := map[string]redistest.Verdict{
		"all is well": redistest.Pass, "replies get lost": redistest.DropReply, "calls are cut": redistest.CutReply, "requests get lost": redistest.DropRequest,
		"requests come twice": redistest.Duplicate, "copies come late": redistest.Late, "copies come soon": redistest.Late.After(2),
		"requests come late": redistest.Postpone, "requests come soon": redistest.Postpone.After(2),
	}
	for name, verdict := range verdicts {
		for seed := range uint64(3) {
			t.Run(fmt.Sprintf("%s, %d", name, seed), func(t *testing.T) {
				t.Parallel()
				redistest.Each(t, func(t *testing.T, server *redistest.Server) { firesOnce(t, server, verdict, seed) })
			})
		}
	}
}

func firesOnce(t *testing.T, server *redistest.Server, verdict redistest.Verdict, seed uint64) {
	t.Helper()
	const turns, jobs = 20, 3
	for i := range jobs {
		kept(server, map[string]string{strconv.Itoa(i): fmt.Sprintf(`{"every":"1m","class":"A","queue":"q%d"}`, i)})
	}
	proxy := redistest.NewProxy(t, server.URL())
	s, c := masterAt(t, proxy.URL(), server, scheduler.Config{Dynamic: true})
	tick(t, s, 0)
	chance := rand.New(rand.NewPCG(seed, 0)) // the same each time
	proxy.SetRule(func(r redistest.Request) redistest.Verdict {
		if r.Is("EVALSHA") && chance.IntN(3) == 0 {
			return verdict
		}
		return redistest.Pass
	})
	for turn := range turns {
		c.advance(60)
		// A change keeps the calls for reading the schedule busy, too.
		kept(server, map[string]string{"other": `{"cron":"@yearly","class":"A","queue":"other"}`})
		for try := 0; ; try++ {
			_, err := s.Tick(t.Context())
			if err == nil {
				break
			}
			if try == 100 || verdict == redistest.Pass {
				t.Fatal(err)
			}
		}
		if turn == turns/2 {
			proxy.ReleaseLate()
		}
	}
	proxy.SetRule(nil)
	proxy.ReleaseLate()
	tick(t, s, 0)
	for i := range jobs {
		checkQueue(t, server, fmt.Sprintf("q%d", i), turns)
	}
}

// Masters that follow each other, some of which are ahead of time and some
// behind, fire no planned time twice; and none gets lost while one of them is the
// master.
func TestMastersOfOtherClocks(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		kept(server, map[string]string{"a": `{"cron":"* * * * *","class":"A","queue":"q"}`})
		type process struct {
			*scheduler.Scheduler
			*clock
		}
		var all []process
		for i, skew := range []int64{40, -25, 0, 90} {
			c := newClock()
			c.advance(skew)
			s, _ := master(t, server, scheduler.Config{Clock: c, Value: fmt.Sprintf("host:%d", i)})
			all = append(all, process{s, c})
		}
		fired := map[any]bool{}
		turns := []int{0, 1, 2, 3, 1, 0, 2, 1, 3, 2, 0, 3}
		for _, who := range turns {
			if who%2 == 0 { // the one before dies, or stops
				server.Do("DEL", server.Key(lockOf(server)))
			}
			for range 14 {
				for i, p := range all {
					p.advance(10)
					if i == who {
						tick(t, p.Scheduler, 0)
					}
				}
				if at := server.Do("HGET", server.Key("understudy:fired"), "a"); at != nil {
					fired[at] = true
				}
			}
			if err := all[who].Stop(t.Context()); err != nil {
				t.Error(err)
			}
		}
		checkQueue(t, server, "q", len(fired))
		// 28 minutes, less those that a clock ahead jumps over when it takes over.
		if len(fired) < 28-len(turns) {
			t.Errorf("fired %d times", len(fired))
		}
	})
}

// What a master that was held up sends after its lock was lost does nothing,
// whoever is the master by then.
func TestStalledMasterFiresNothing(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{false, true} {
		t.Run(fmt.Sprintf("back again %v", again), func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, server *redistest.Server) {
				kept(server, map[string]string{"a": `{"cron":"* * * * *","class":"A","queue":"q"}`})
				proxy := redistest.NewProxy(t, server.URL())
				one, c := masterAt(t, proxy.URL(), server, scheduler.Config{Value: "one:1"})
				two, _ := master(t, server, scheduler.Config{Value: "two:2", Clock: c})
				tick(t, one, 0)
				proxy.SetRule(redistest.On(0, redistest.Postpone, "EVALSHA", scheduler.FireSHA()))
				c.advance(60)
				if _, err := one.Tick(t.Context()); err == nil {
					t.Error("no error")
				}
				server.Do("DEL", server.Key(lockOf(server)))
				tick(t, two, 0)
				checkPlanned(t, two, map[string]int64{"a": 115})
				tick(t, one, 0)
				checkPlanned(t, one, map[string]int64{})
				if again {
					if err := two.Stop(t.Context()); err != nil {
						t.Error(err)
					}
					tick(t, one, 0)
				}
				c.advance(60)
				tick(t, one, 0)
				tick(t, two, 0)
				proxy.ReleaseLate()
				tick(t, one, 0)
				tick(t, two, 0)
				checkQueue(t, server, "q", 1)
			})
		})
	}
}

// A clock that was far ahead stops no job until then.
func TestClockFarAhead(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		kept(server, map[string]string{"a": `{"every":"1m","class":"A","queue":"q"}`, "b": `{"every":"1m","class":"A","queue":"q"}`})
		server.Seed(map[string]any{
			"understudy:fired": redistest.Hash{
				"a": strconv.Itoa((now + 7200) * 1000), "b": strconv.Itoa((now + 90) * 1000), // b: no more than a clock may be off
				"gone": strconv.Itoa((now - 90000) * 1000), "elsewhere": strconv.Itoa((now - 80000) * 1000), "text": "soon",
			},
			"delayed:last_enqueued_at": redistest.Hash{"a": "2026-01-02 05:04:05 +0000"},
		})
		lines := &log{}
		s, c := master(t, server, scheduler.Config{Logger: lines.logger()})
		for range 3 {
			tick(t, s, 0)
			c.advance(60)
		}
		checkQueue(t, server, "q", 2+1)
		want := redistest.Hash{"a": strconv.Itoa((now + 120) * 1000), "b": strconv.Itoa((now + 120) * 1000), "elsewhere": strconv.Itoa((now - 80000) * 1000)}
		if got, _ := server.Get("understudy:fired").(redistest.Hash); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("fired: %v, want %v", got, want)
		}
		if got := lines.messages(); len(got) < 1 || got[0] != "a recurring job was fired by a clock that is far ahead; that doesn't count" {
			t.Errorf("log: %v", got)
		}
	})
}

// A running scheduler fires at the time, and hears from Redis when another
// process sets a job.
func TestRunFires(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	if !server.Real() {
		t.Skip("needs CLIENT TRACKING")
	}
	client := open(t, server.URL(), server.Namespace())
	own := scheduler.NewSchedules(client)
	set(t, own, "a", `{"every":["1h",{"first_in":0.5}],"class":"A","queue":"a"}`)
	s := newScheduler(t, client, scheduler.Config{Clock: resque.SystemClock(), Schedules: own, Dynamic: true, Interval: 50 * time.Second})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	arrives := func(queue string) {
		t.Helper()
		if got := server.Do("BLPOP", server.Key("queue:"+queue), 20); got == nil {
			t.Errorf("nothing in %s", queue)
		}
	}
	arrives("a")
	set(t, scheduler.NewSchedules(client), "b", `{"persist":true,"every":["1h",{"first_in":"now"}],"class":"A","queue":"b"}`)
	arrives("b")
	set(t, own, "c", `{"every":["1h",{"first_in":"now"}],"class":"A","queue":"c"}`)
	arrives("c")
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if n := len(s.Planned()); n != 0 {
		t.Errorf("%d jobs are planned", n)
	}
}

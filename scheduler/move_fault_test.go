package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
	"example.com/understudy/scheduler"
)

// Whatever becomes of one command of a pass, and of those behind it: each job
// reaches its queue once, in its order.
func TestMovesThroughFaults(t *testing.T) {
	t.Parallel()
	verdicts := map[string]redistest.Verdict{
		"requests get lost": redistest.DropRequest, "calls are cut": redistest.CutReply, "replies get lost": redistest.DropReply,
		"requests come twice": redistest.Duplicate, "copies come late": redistest.Late, "copies come soon": redistest.Late.After(3),
		"requests come late": redistest.Postpone, "requests come soon": redistest.Postpone.After(2),
	}
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		want, commands := movesThrough(t, server.Sibling(t), nil)
		if len(commands) < 15 {
			t.Errorf("a calm pass sends %d commands", len(commands))
		}
		for name, verdict := range verdicts {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				for n := range commands {
					got, _ := movesThrough(t, server.Sibling(t), redistest.On(n, verdict))
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("at command %d, %v (-want +got):\n%s", n, commands[n].Args[0], diff)
					}
				}
			})
		}
	})
}

// movesThrough moves a few jobs under a rule, and answers what is there then and
// the commands of the first try.
func movesThrough(t *testing.T, server *redistest.Server, rule redistest.Rule) (keys map[string]any, sent []redistest.Request) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	push(server, "1", small(-1)) // Redis learns the scripts
	tick(t, newScheduler(t, open(t, server.URL(), server.Namespace()), scheduler.Config{}), 1)
	delayed(server, map[string][]string{
		strconv.Itoa(now - 2): {small(1), small(7), small(7), small(7), small(2)},
		strconv.Itoa(now - 1): {small(7), `{"class":"Lost","args":[]}`, `{"class":"B","args":[],"queue":"r"}`},
		strconv.Itoa(now):     {`{"class":"B","args":[1],"queue":"bad"}`, small(7)},
		strconv.Itoa(now + 1): {small(7)},
	})
	server.Do("ZADD", server.Key("delayed_queue_schedule"), 5, "5")
	server.Seed(map[string]any{"queue:bad": "text"})
	proxy := redistest.NewProxy(t, server.URL())
	client := open(t, proxy.URL(), server.Namespace())
	s := newScheduler(t, client, scheduler.Config{Batch: 2})
	proxy.SetRule(rule)
	for try := 0; ; try++ {
		_, err := s.Tick(ctx)
		err = errors.Join(err, s.Stop(ctx))
		if try == 0 {
			sent = proxy.Seen()
		}
		if err == nil {
			break
		}
		if try == 5 {
			t.Fatal(err)
		}
	}
	proxy.SetRule(nil)
	proxy.ReleaseLate()
	tick(t, s, 0)
	keys = dump(server)
	failed, _ := keys["failed"].(redistest.List)
	for i := range failed {
		failed[i] = strings.ReplaceAll(failed[i], server.Namespace(), "ns") // in the reason
	}
	return keys, sent
}

// Writers go on while a scheduler is stalled past its lock and another one takes
// over. What the first one sends then comes late, at any moment; each job reaches
// its queue once.
func TestStalledMasterMovesNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		const writers, each = 8, 100
		var running sync.WaitGroup
		for w := range writers {
			client := open(t, server.URL(), server.Namespace())
			running.Go(func() {
				for i := range each { // twins, too
					item := small(w*each + i/2*2)
					if err := client.PushAt(context.Background(), time.Unix(int64(now-i%4), 0), []byte(item)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		written := make(chan struct{})
		go func() { running.Wait(); close(written) }()

		var all [2]*scheduler.Scheduler
		var lines [2]*redistest.Proxy
		for i := range all {
			lines[i] = redistest.NewProxy(t, server.URL())
			moves := 0
			lines[i].SetRule(func(r redistest.Request) redistest.Verdict {
				if !r.Is("EVALSHA", scheduler.MoveSHA()) {
					return redistest.Pass
				}
				if moves++; moves%3 == 0 {
					return redistest.Postpone // until the other one is the master, or this one again
				}
				return redistest.Pass
			})
			all[i] = newScheduler(t, open(t, lines[i].URL(), server.Namespace()), scheduler.Config{Batch: 7, Value: fmt.Sprintf("host:%d", i)})
		}
		stalls := 0
		for turn, done := 0, false; !done; turn++ {
			select {
			case <-written:
				done = true
			default:
			}
			if _, err := all[turn%2].Tick(t.Context()); err != nil {
				stalls++
				server.Do("DEL", server.Key(lockOf(server))) // it ran out
				_, _ = all[(turn+1)%2].Tick(t.Context())
				lines[stalls%2].ReleaseLate() // of who was the master, or of who is it now
			}
		}
		for i := range all {
			lines[i].SetRule(nil)
			lines[i].ReleaseLate()
		}
		server.Do("DEL", server.Key(lockOf(server)))
		if _, err := all[0].Tick(t.Context()); err != nil {
			t.Error(err)
		}
		if stalls == 0 {
			t.Error("nobody was stalled")
		}
		want := map[string]int{}
		for n := range writers * each {
			want[strings.Replace(small(n/2*2), `,"queue":"q"`, "", 1)]++
		}
		checkOnce(t, server, want)
	})
}

// checkOnce compares how often each job is in the queue, beside which nothing is
// left.
func checkOnce(t *testing.T, server *redistest.Server, want map[string]int) {
	t.Helper()
	got := map[string]int{}
	for _, job := range queue(server, "q") {
		got[job]++
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("how often in the queue (-want +got):\n%s", diff)
	}
	for name := range dump(server) {
		if name != "queues" && name != "queue:q" {
			t.Errorf("%s is left", name)
		}
	}
}

// Two schedulers for ten minutes, with masters that vanish, stall and lose
// replies, while jobs for any second are added: none is lost, none comes twice.
func TestTwoSchedulersForLong(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		jobs := 50_000
		if testing.Short() || !server.Real() {
			jobs = 5_000
		}
		const seconds = 600
		c := newClock()
		chance := rand.New(rand.NewPCG(1, 2)) // the same each time
		producer := openAt(t, server, c)
		faults := []redistest.Verdict{
			redistest.DropRequest, redistest.CutReply, redistest.DropReply, redistest.Duplicate,
			redistest.Late.After(4), redistest.Postpone.After(4), redistest.Late.After(40), redistest.Postpone.After(40),
		}
		var all [2]*scheduler.Scheduler
		var lines [2]*redistest.Proxy
		for i := range all {
			lines[i] = redistest.NewProxy(t, server.URL())
			dice := rand.New(rand.NewPCG(3, uint64(i)))
			lines[i].SetRule(func(redistest.Request) redistest.Verdict {
				if dice.IntN(20) == 0 {
					return faults[dice.IntN(len(faults))]
				}
				return redistest.Pass
			})
			all[i] = newScheduler(t, open(t, lines[i].URL(), server.Namespace()), scheduler.Config{Batch: 10, Clock: c, Value: fmt.Sprintf("host:%d", i)})
		}
		want, written := map[string]int{}, 0
		for second := range seconds {
			var some []resque.NewJob
			for ; written < jobs*(second+1)/seconds; written++ {
				at := c.Now().Add(time.Duration(1+chance.IntN(seconds)) * time.Second)
				some = append(some, resque.NewJob{Queue: "q", Class: "A", Args: []any{written}, At: at})
				want[fmt.Sprintf(`{"class":"A","args":[%d]}`, written)]++
			}
			if _, err := producer.EnqueueMany(t.Context(), some...); err != nil {
				t.Fatal(err)
			}
			c.advance(1)
			if chance.IntN(10) == 0 {
				server.Do("DEL", server.Key(lockOf(server))) // the master was away for too long
			}
			bothTick(t, all)
		}
		c.advance(2 * seconds)
		for i, s := range all {
			lines[i].SetRule(nil)
			lines[i].ReleaseLate()
			if err := s.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if _, err := all[0].Tick(t.Context()); err != nil {
			t.Error(err)
		}
		checkOnce(t, server, want)
	})
}

// bothTick lets both schedulers do a pass at the same time.
func bothTick(t *testing.T, all [2]*scheduler.Scheduler) {
	t.Helper()
	var both sync.WaitGroup
	for _, s := range all {
		both.Go(func() { _, _ = s.Tick(context.WithoutCancel(t.Context())) }) // its line fails now and then
	}
	both.Wait()
}

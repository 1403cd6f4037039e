package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
	"example.com/understudy/scheduler"
)

// Whatever happens between the look at the items and their move: nothing is
// lost, nothing moves twice, and what is left is as it would be without it.
func TestMeanwhile(t *testing.T) {
	t.Parallel()
	const second = "1767323045"
	item := func(n int) string { return fmt.Sprintf(`{"class":"A","args":[%d],"queue":"q"}`, n) }
	job := func(n int) string { return fmt.Sprintf(`{"class":"A","args":[%d]}`, n) }
	tests := []struct {
		name      string
		meanwhile func(s *redistest.Server)
		moved     int
		master    bool
		want      map[string]any
	}{
		{
			"a job is added for the second that is being emptied (resque-scheduler#46)",
			func(s *redistest.Server) { push(s, second, item(3)) },
			3, true,
			map[string]any{"queues": redistest.Set{"q"}, "queue:q": redistest.List{job(1), job(2), job(3)}},
		},
		{
			"a job is removed",
			func(s *redistest.Server) {
				s.Do("LREM", s.Key("delayed:"+second), 0, item(1))
				s.Do("SREM", s.Key("timestamps:"+item(1)), "delayed:"+second)
			},
			1, true,
			map[string]any{"queues": redistest.Set{"q"}, "queue:q": redistest.List{job(2)}},
		},
		{
			"everything is removed",
			func(s *redistest.Server) {
				s.Do("DEL", s.Key("delayed:"+second), s.Key("timestamps:"+item(1)), s.Key("timestamps:"+item(2)))
			},
			0, true,
			map[string]any{},
		},
		{
			"the list becomes something else",
			func(s *redistest.Server) {
				s.Do("DEL", s.Key("timestamps:"+item(1)), s.Key("timestamps:"+item(2)))
				s.Do("SET", s.Key("delayed:"+second), "text")
			},
			0, true,
			map[string]any{"delayed_queue_schedule": redistest.ZSet{second: now}, "delayed:" + second: "text"},
		},
		{
			"another scheduler took the lock over",
			func(s *redistest.Server) { s.Do("SET", s.Key(lockOf(s)), "other:1") },
			0, false,
			map[string]any{
				"delayed_queue_schedule": redistest.ZSet{second: now},
				"delayed:" + second:      redistest.List{item(1), item(2)},
				"timestamps:" + item(1):  redistest.Set{"delayed:" + second},
				"timestamps:" + item(2):  redistest.Set{"delayed:" + second},
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, server *redistest.Server) {
				push(server, second, item(1))
				push(server, second, item(2))
				proxy := redistest.NewProxy(t, server.URL())
				s := newScheduler(t, open(t, proxy.URL(), server.Namespace()), scheduler.Config{})
				first := true
				proxy.SetRule(func(r redistest.Request) redistest.Verdict {
					if r.Is("EVALSHA", scheduler.MoveSHA()) && first {
						first = false
						test.meanwhile(server)
					}
					return redistest.Pass
				})
				tick(t, s, test.moved)
				checkDump(t, server, test.want)
				if s.Master() != test.master {
					t.Errorf("master: %v, want %v", s.Master(), test.master)
				}
			})
		})
	}
}

// A move whose reply is lost, or that arrives once more whenever it likes,
// changes nothing.
func TestLostAndLateMoves(t *testing.T) {
	t.Parallel()
	tests := map[string]redistest.Verdict{
		"lost reply": redistest.CutReply, "lost request": redistest.DropRequest,
		"twice": redistest.Duplicate, "a late copy": redistest.Late, "late alone": redistest.Postpone,
	}
	for name, verdict := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, server *redistest.Server) {
				proxy := redistest.NewProxy(t, server.URL())
				s := newScheduler(t, open(t, proxy.URL(), server.Namespace()), scheduler.Config{Batch: 2})
				push(server, "1", `{"class":"A","args":[0],"queue":"q"}`) // Redis learns the script
				tick(t, s, 1)
				var want redistest.List
				for _, n := range []int{0, 7, 7, 7, 7, 8} {
					want = append(want, fmt.Sprintf(`{"class":"A","args":[%d]}`, n))
				}
				for _, n := range []int{7, 7, 7, 7, 8} {
					push(server, strconv.Itoa(now), fmt.Sprintf(`{"class":"A","args":[%d],"queue":"q"}`, n))
				}
				proxy.SetRule(redistest.On(0, verdict, "EVALSHA", scheduler.MoveSHA()))
				for range 2 {
					_, _ = s.Tick(t.Context())
				}
				proxy.ReleaseLate()
				tick(t, s, 0)
				checkDump(t, server, map[string]any{"queues": redistest.Set{"q"}, "queue:q": want})
			})
		})
	}
}

// C1 resque/resque-scheduler#46: a job was lost that was delayed for the second
// being emptied. Here eight writers go on adding to it, half of them by the three
// commands of a Ruby producer.
func TestWritersWhileMoving(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		const writers, each = 8, 625
		var running sync.WaitGroup
		for w := range writers {
			// Their second has begun for the scheduler, and for them is the next one.
			client := openAt(t, server, newClock())
			running.Go(func() {
				for i := range each {
					if err := delayJob(client, w%2 == 0, w*each+i); err != nil {
						t.Error(err)
					}
				}
			})
		}
		written := make(chan struct{})
		go func() {
			running.Wait()
			close(written)
		}()
		c := newClock()
		c.advance(1)
		s := newScheduler(t, open(t, server.URL(), server.Namespace()), scheduler.Config{Batch: 7, Clock: c})
		total := 0
		for done := false; !done; {
			select {
			case <-written:
				done = true
			default:
			}
			moved, err := s.Tick(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			total += moved
		}
		jobs := queue(server, "q")
		slices.Sort(jobs)
		if jobs = slices.Compact(jobs); len(jobs) != writers*each || total != writers*each {
			t.Errorf("moved %d, %d different jobs in the queue; want %d", total, len(jobs), writers*each)
		}
		// A job that is moved between its writer's commands leaves its mark behind,
		// as with Ruby's scheduler.
		for name := range dump(server) {
			if strings.HasPrefix(name, "delayed") {
				t.Errorf("%s is still there", name)
			}
		}
	})
}

// delayJob delays a job to the second behind now, as Ruby does or by the client.
func delayJob(client *resque.Client, ruby bool, n int) error {
	ctx, keys, second := context.Background(), client.Keys(), strconv.Itoa(now+1)
	if !ruby {
		return client.EnqueueAt(ctx, time.Unix(now+1, 0), "q", "A", n)
	}
	_, err1 := client.Do(ctx, "RPUSH", keys.Of("delayed:"+second), small(n))
	_, err2 := client.Do(ctx, "SADD", keys.Of("timestamps:"+small(n)), "delayed:"+second)
	_, err3 := client.Do(ctx, "ZADD", keys.Of("delayed_queue_schedule"), second, second)
	return errors.Join(err1, err2, err3)
}

package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
	"example.com/understudy/scheduler"
)

// Clients enqueue the jobs that a scheduler is moving, each in its own way, some
// over lines that fail: every job arrives once.
func TestClientsBesideATick(t *testing.T) {
	t.Parallel()
	for name, verdict := range map[string]redistest.Verdict{
		"all is well": redistest.Pass, "replies get lost": redistest.CutReply, "requests get lost": redistest.DropRequest,
		"requests come twice": redistest.Duplicate, "late copies": redistest.Late,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, server *redistest.Server) { besideATick(t, server, verdict) })
		})
	}
}

func besideATick(t *testing.T, server *redistest.Server, verdict redistest.Verdict) {
	t.Helper()
	const jobs = 60
	var want redistest.List
	for i := range jobs {
		push(server, strconv.Itoa(now-i%3), fmt.Sprintf(`{"class":"A","args":[%d],"queue":"q"}`, i))
		want = append(want, fmt.Sprintf(`{"class":"A","args":[%d]}`, i))
	}
	var clients sync.WaitGroup
	var enqueued atomic.Int64
	turn := make(chan struct{}, 1)
	for n := range 2 {
		proxy := redistest.NewProxy(t, server.URL())
		client := open(t, proxy.URL(), server.Namespace())
		scripts := 0
		proxy.SetRule(func(r redistest.Request) redistest.Verdict {
			if !r.Is("EVALSHA") {
				return redistest.Pass
			}
			select {
			case turn <- struct{}{}:
			default:
			}
			if scripts++; scripts%5 == 0 {
				return verdict
			}
			return redistest.Pass
		})
		clients.Go(func() {
			for i := range jobs {
				count, err := client.EnqueueDelayed(context.Background(), "q", "A", (7*i+30*n)%jobs)
				also, err2 := client.EnqueueDelayedFunc(context.Background(), func(j resque.DelayedJob) bool {
					return string(j.Args) == fmt.Sprintf("[%d]", (7*i+30*n+3)%jobs)
				})
				enqueued.Add(count + also)
				if err = errors.Join(err, err2); err != nil && verdict == redistest.Pass {
					t.Error(err)
				}
			}
			proxy.ReleaseLate()
		})
	}
	ended := make(chan struct{})
	go func() { clients.Wait(); close(ended) }()
	moved := besideTicks(t, server, turn, ended)
	if verdict == redistest.Pass && (moved == 0 || enqueued.Load() == 0 || int64(moved)+enqueued.Load() != jobs) {
		t.Errorf("the scheduler moved %d, the clients %d", moved, enqueued.Load())
	}
	after := dump(server)
	got, _ := after["queue:q"].(redistest.List)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || len(after) != 2 {
		t.Errorf("in Redis: %v", after)
	}
}

// besideTicks moves what is due until the clients have ended, and no step before
// a client has taken its turn.
func besideTicks(t *testing.T, server *redistest.Server, turn, ended <-chan struct{}) (moved int) {
	t.Helper()
	proxy := redistest.NewProxy(t, server.URL())
	proxy.SetRule(func(r redistest.Request) redistest.Verdict {
		if r.Is("EVALSHA", scheduler.MoveSHA()) {
			select {
			case <-turn:
			case <-ended:
			}
		}
		return redistest.Pass
	})
	s := newScheduler(t, open(t, proxy.URL(), server.Namespace()), scheduler.Config{Batch: 3})
	for done := false; !done; {
		select {
		case <-ended:
			done = true
		default:
		}
		n, err := s.Tick(t.Context())
		if err != nil {
			t.Error(err)
		}
		moved += n
	}
	return moved
}

// C4 actionhero/node-resque#145: the note about several identical jobs of one
// second has one member; all of them are delivered, and nothing is left.
func TestFourTwins(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		const item, job = `{"class":"A","args":[1],"queue":"q"}`, `{"class":"A","args":[1]}`
		c := newClock()
		client := open(t, server.URL(), server.Namespace())
		for _, second := range []int64{now + 10, now + 11} {
			for range 4 {
				if err := client.PushAt(t.Context(), time.Unix(second, 0), []byte(item)); err != nil {
					t.Fatal(err)
				}
			}
		}
		checkDump(t, server, map[string]any{
			"delayed_queue_schedule": redistest.ZSet{"1767323055": 1767323055, "1767323056": 1767323056},
			"delayed:1767323055":     redistest.List{item, item, item, item},
			"delayed:1767323056":     redistest.List{item, item, item, item},
			"timestamps:" + item:     redistest.Set{"delayed:1767323055", "delayed:1767323056"},
		})
		s := newScheduler(t, client, scheduler.Config{Clock: c, Batch: 3})
		tick(t, s, 0)
		c.advance(10)
		tick(t, s, 4)
		checkDump(t, server, map[string]any{
			"queues": redistest.Set{"q"}, "queue:q": redistest.List{job, job, job, job},
			"delayed_queue_schedule": redistest.ZSet{"1767323056": 1767323056},
			"delayed:1767323056":     redistest.List{item, item, item, item},
			"timestamps:" + item:     redistest.Set{"delayed:1767323056"},
		})
		if n, err := client.RemoveDelayedFunc(t.Context(), firstOnly()); n != 1 || err != nil {
			t.Errorf("removed %d, %v", n, err)
		}
		c.advance(1)
		tick(t, s, 3)
		checkDump(t, server, map[string]any{"queues": redistest.Set{"q"}, "queue:q": redistest.List{job, job, job, job, job, job, job}})
	})
}

// firstOnly chooses the first job.
func firstOnly() func(resque.DelayedJob) bool {
	asked := 0
	return func(resque.DelayedJob) bool { asked++; return asked == 1 }
}

package scheduler_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/scheduler"
)

// Whatever stands in the schedule: its score says when its list is due, in whole
// seconds as with Ruby, and none keeps the others from their turn.
func TestOddMembersOfTheSchedule(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		odd := []struct {
			member string
			score  any
			after  int64 // seconds until it is due; -1: never
		}{
			{"first", "-inf", 0},
			{"-9223372036854775809", -1e300, 0},
			{"-7", -7, 0},
			{"-1.5", -1.5, 0},
			{"0", 0, 0},
			{"\x00\xff bytes", 5, 0},
			{"", 6, 0},
			{"soon", 7, 0},
			{"12.5", 12.5, 0},
			{"1e3", 1000, 0},
			{"007", 1001, 0},
			{"99999999999999999999999", now - 0.25, 0},
			{"now", now, 0},
			{fmt.Sprint(now), fmt.Sprintf("%d.000001", now), 1},
			{"a half", now + 0.5, 1},
			{"later", now + 1.001, 2},
			{"9223372036854775807", 1e300, -1},
			{"never", "+inf", -1},
		}
		for i, o := range odd {
			server.Do("RPUSH", server.Key("delayed:"+o.member), small(i))
			server.Do("SADD", server.Key("timestamps:"+small(i)), "delayed:"+o.member)
			server.Do("ZADD", server.Key("delayed_queue_schedule"), o.score, o.member)
		}
		server.Do("ZADD", server.Key("delayed_queue_schedule"), -3, "no list")
		c := newClock()
		s := newScheduler(t, open(t, server.URL(), server.Namespace()), scheduler.Config{Clock: c})
		var want redistest.List
		for second := range int64(4) {
			due := 0
			for i, o := range odd {
				if o.after == second {
					want = append(want, fmt.Sprintf(`{"class":"A","args":[%d]}`, i))
					due++
				}
			}
			tick(t, s, due)
			if diff := cmp.Diff(want, queue(server, "q")); diff != "" {
				t.Errorf("after %d s (-want +got):\n%s", second, diff)
			}
			c.advance(1)
		}
		if left := server.Do("ZCARD", server.Key("delayed_queue_schedule")); left != int64(2) {
			t.Errorf("%v members are left", left)
		}
	})
}

// A schedule that is none is told of, and mended by whoever mends it.
func TestScheduleOfAnotherType(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		server.Seed(map[string]any{"delayed_queue_schedule": "text"})
		s := newScheduler(t, open(t, server.URL(), server.Namespace()), scheduler.Config{})
		for range 2 {
			if moved, err := s.Tick(t.Context()); moved != 0 || err == nil || !s.Master() {
				t.Errorf("moved %d, error %v, master: %v", moved, err, s.Master())
			}
		}
		if _, err := s.Overdue(t.Context()); err == nil {
			t.Error("nothing is overdue")
		}
		server.Do("DEL", server.Key("delayed_queue_schedule"))
		push(server, "1", small(1))
		tick(t, s, 1)
	})
}

// Queues that are none are found all at once, and each of their jobs is told of
// once.
func TestManyQueuesOfAnotherType(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		const queues = 300
		for i := range queues {
			name := fmt.Sprintf("q%d", i)
			server.Do("SET", server.Key("queue:"+name), "text")
			push(server, fmt.Sprint(now), fmt.Sprintf(`{"class":"A","args":[%d],"queue":%q}`, i, name))
			push(server, fmt.Sprint(now), small(i))
		}
		proxy, lines := redistest.NewProxy(t, server.URL()), &log{}
		s := newScheduler(t, open(t, proxy.URL(), server.Namespace()), scheduler.Config{Logger: lines.logger()})
		tick(t, s, 2*queues)
		if n := len(proxy.Seen()); n > 20 {
			t.Errorf("%d calls", n)
		}
		checkQueue(t, server, "q", queues)
		if n := server.Do("LLEN", server.Key("failed")); n != int64(queues) {
			t.Errorf("%v jobs failed", n)
		}
		if n := len(lines.messages()); n != queues {
			t.Errorf("%d lines in the log", n)
		}
	})
}

// A job that fails is told of when it has, not when it was about to.
func TestAFailingJobIsToldOfOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		push(server, fmt.Sprint(now), `{"class":"Lost","args":[]}`)
		proxy, lines := redistest.NewProxy(t, server.URL()), &log{}
		moves := 0
		proxy.SetRule(func(r redistest.Request) redistest.Verdict {
			if r.Is("EVALSHA", scheduler.MoveSHA()) {
				if moves++; moves == 1 { // the list begins with another one by then
					server.Do("LPUSH", server.Key("delayed:"+fmt.Sprint(now)), small(1))
				}
			}
			return redistest.Pass
		})
		s := newScheduler(t, open(t, proxy.URL(), server.Namespace()), scheduler.Config{Logger: lines.logger()})
		tick(t, s, 2)
		if got := lines.messages(); len(got) != 1 {
			t.Errorf("log: %q", got)
		}
	})
}

package scheduler_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/scheduler"
)

const failedHead = `{"failed_at":"2026/01/02 03:04:05 UTC","payload":`

func failedTail(exception, message, queue string) string {
	return fmt.Sprintf(`,"exception":%q,"error":%q,"backtrace":[],"worker":"go.example:4242:scheduler","queue":%q}`, exception, message, queue)
}

func TestTickMoves(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		items map[string][]string
		moved int
		want  map[string]any
	}{
		{
			"everything up to now, the oldest first",
			map[string][]string{
				"1767323045": {`{"class":"A","args":[3],"queue":"q"}`},
				"1767323044": {`{"class":"A","args":[1],"queue":"q"}`, `{"class":"B","args":[2],"queue":"r"}`, `{"class":"A","args":[2],"queue":"q"}`},
				"1767323046": {`{"class":"A","args":[4],"queue":"q"}`},
			},
			4,
			map[string]any{
				"queues":                 redistest.Set{"q", "r"},
				"queue:q":                redistest.List{`{"class":"A","args":[1]}`, `{"class":"A","args":[2]}`, `{"class":"A","args":[3]}`},
				"queue:r":                redistest.List{`{"class":"B","args":[2]}`},
				"delayed_queue_schedule": redistest.ZSet{"1767323046": 1767323046},
				"delayed:1767323046":     redistest.List{`{"class":"A","args":[4],"queue":"q"}`},
				`timestamps:{"class":"A","args":[4],"queue":"q"}`: redistest.Set{"delayed:1767323046"},
			},
		},
		{
			"the bytes of class and arguments stay, everything else goes",
			map[string][]string{"1767323045": {
				`{"queue":"q","extra":1,"args":[1.10, 12345678901234567890,"\u00e9","<&>/"],"class":"A::B"}`,
				"{\"class\":\"A\",\"args\":[\"\xff\"],\"queue\":\"q\"}",
			}},
			2,
			map[string]any{
				"queues": redistest.Set{"q"},
				"queue:q": redistest.List{
					`{"class":"A::B","args":[1.10, 12345678901234567890,"\u00e9","<&>/"]}`,
					"{\"class\":\"A\",\"args\":[\"\xff\"]}",
				},
			},
		},
		{
			"arguments that are no array",
			map[string][]string{"1767323045": {
				`{"class":"A","queue":"q"}`, `{"class":"A","args":null,"queue":"q"}`,
				`{"class":"A","args":{"id":5},"queue":"q"}`, `{"class":"A","args":"x","queue":"q"}`,
			}},
			4,
			map[string]any{
				"queues": redistest.Set{"q"},
				"queue:q": redistest.List{
					`{"class":"A","args":[]}`, `{"class":"A","args":[]}`, `{"class":"A","args":[{"id":5}]}`, `{"class":"A","args":["x"]}`,
				},
			},
		},
		{
			"without a queue: the class's own, else failed",
			map[string][]string{"1767323045": {
				`{"class":"Known","args":[1]}`, `{"class":"Known","args":[2],"queue":null}`, `{"class":"Lost","args":[3]}`,
			}},
			3,
			map[string]any{
				"queues":      redistest.Set{"known"},
				"queue:known": redistest.List{`{"class":"Known","args":[1]}`, `{"class":"Known","args":[2]}`},
				"failed": redistest.List{failedHead + `{"class":"Lost","args":[3]}` +
					failedTail("Resque::NoQueueError", "the delayed job names no queue, and its class Lost has none here", "delayed")},
			},
		},
		{
			"what is no job goes to failed, whole",
			map[string][]string{"1767323045": {`{"class":"A","args":[1`, `{"class":"A","args":[2],"queue":"q"}`}},
			2,
			map[string]any{
				"queues":  redistest.Set{"q"},
				"queue:q": redistest.List{`{"class":"A","args":[2]}`},
				"failed":  redistest.List{"…"},
			},
		},
		{
			"a custom job class takes the job's place",
			map[string][]string{"1767323045": {
				`{"class":"A","args":[1],"queue":"q","custom_job_class":"WithStatus"}`,
				`{"class":"A","args":[2],"queue":"q","custom_job_class":"Resque::Job"}`,
			}},
			2,
			map[string]any{
				"queues":  redistest.Set{"q"},
				"queue:q": redistest.List{`{"class":"WithStatus","args":[1]}`, `{"class":"A","args":[2]}`},
			},
		},
		{
			"the same job four times (node-resque#145)",
			map[string][]string{"1767323045": {
				`{"class":"A","args":[],"queue":"q"}`, `{"class":"A","args":[],"queue":"q"}`,
				`{"class":"A","args":[],"queue":"q"}`, `{"class":"A","args":[],"queue":"q"}`,
			}},
			4,
			map[string]any{
				"queues":  redistest.Set{"q"},
				"queue:q": redistest.List{`{"class":"A","args":[]}`, `{"class":"A","args":[]}`, `{"class":"A","args":[]}`, `{"class":"A","args":[]}`},
			},
		},
		{
			"a time without a list is dropped (resque-scheduler#468)",
			map[string][]string{"1767323045": {}},
			0,
			map[string]any{},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, server *redistest.Server) {
				delayed(server, test.items)
				for second := range test.items {
					server.Do("ZADD", server.Key("delayed_queue_schedule"), second, second)
				}
				s := newScheduler(t, open(t, server.URL(), server.Namespace()), scheduler.Config{QueueOf: queueOf})
				tick(t, s, test.moved)
				got := dump(server)
				if list, ok := got["failed"].(redistest.List); ok && cmp.Equal(test.want["failed"], redistest.List{"…"}) {
					want := failedHead + `{"class":"Understudy::Malformed","args":["eyJjbGFzcyI6IkEiLCJhcmdzIjpbMQ=="]},"exception":"Understudy::Malformed"`
					if len(list) != 1 || !strings.HasPrefix(list[0], want) {
						t.Errorf("failed: %q, want one that begins with %q", list, want)
					}
					got["failed"] = redistest.List{"…"}
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("in Redis (-want +got):\n%s", diff)
				}
				tick(t, s, 0)
			})
		})
	}
}

func queueOf(class string) string {
	if class == "Known" {
		return "known"
	}
	return ""
}

func TestBatchesKeepTheOrder(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		var want redistest.List
		for i := range 10 {
			item := fmt.Sprintf(`{"class":"A","args":[%d],"queue":"q"}`, i)
			push(server, strconv.Itoa(now-4+i/4), item)
			want = append(want, fmt.Sprintf(`{"class":"A","args":[%d]}`, i))
		}
		s := newScheduler(t, open(t, server.URL(), server.Namespace()), scheduler.Config{Batch: 3})
		tick(t, s, 10)
		checkDump(t, server, map[string]any{"queues": redistest.Set{"q"}, "queue:q": want})
	})
}

// After an outage everything overdue goes in one pass, in a number of calls that
// depends on the items, not on the times (resque-scheduler#190, #540).
func TestManyTimesAndManyItems(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		proxy := redistest.NewProxy(t, server.URL())
		const times, items = 600, 1200
		for i := range times {
			push(server, strconv.Itoa(now-i), fmt.Sprintf(`{"class":"A","args":[%d],"queue":"q"}`, i))
		}
		list := []any{server.Key("delayed:" + strconv.Itoa(now-times))}
		for i := range items {
			list = append(list, fmt.Sprintf(`{"class":"B","args":[%d],"queue":"r"}`, i))
		}
		server.Do("RPUSH", list...)
		server.Do("ZADD", server.Key("delayed_queue_schedule"), now-times, now-times)
		client := open(t, proxy.URL(), server.Namespace())
		before := len(proxy.Seen())
		tick(t, newScheduler(t, client, scheduler.Config{}), times+items)
		if calls := len(proxy.Seen()) - before; calls > 30 {
			t.Errorf("%d calls", calls)
		}
		if n := server.Do("LLEN", server.Key("queue:q")); n != int64(times) {
			t.Errorf("%v jobs of %d in q", n, times)
		}
		if n := server.Do("LLEN", server.Key("queue:r")); n != int64(items) {
			t.Errorf("%v jobs of %d in r", n, items)
		}
		if n := server.Do("EXISTS", server.Key("delayed_queue_schedule")); n != int64(0) {
			t.Error("the schedule is not empty")
		}
	})
}

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

func TestWrongTypes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		seed  map[string]any
		moved int
		fails bool
		want  map[string]any
	}{
		{
			"a queue: its jobs fail, the others go",
			map[string]any{"queue:bad": "text"},
			3, false,
			map[string]any{
				"queue:bad": "text",
				"queues":    redistest.Set{"q"},
				"queue:q":   redistest.List{`{"class":"A","args":[1]}`, `{"class":"A","args":[3]}`},
				"failed":    redistest.List{"…"},
			},
		},
		{
			"a time: it stays, the others go",
			map[string]any{"delayed:1767323040": "text", "delayed_queue_schedule": redistest.ZSet{"1767323040": 1767323040}, "queue:bad": redistest.List{"x"}},
			3, false,
			map[string]any{
				"delayed:1767323040":     "text",
				"delayed_queue_schedule": redistest.ZSet{"1767323040": 1767323040},
				"queue:bad":              redistest.List{"x", `{"class":"A","args":[2]}`},
				"queues":                 redistest.Set{"bad", "q"},
				"queue:q":                redistest.List{`{"class":"A","args":[1]}`, `{"class":"A","args":[3]}`},
			},
		},
		{
			"what is noted about a job: left as it is",
			map[string]any{`timestamps:{"class":"A","args":[4],"queue":"q"}`: "text", "delayed:1": redistest.List{`{"class":"A","args":[4],"queue":"q"}`}, "delayed_queue_schedule": redistest.ZSet{"1": 1}},
			4, false,
			map[string]any{
				`timestamps:{"class":"A","args":[4],"queue":"q"}`: "text",
				"queues":    redistest.Set{"bad", "q"},
				"queue:bad": redistest.List{`{"class":"A","args":[2]}`},
				"queue:q":   redistest.List{`{"class":"A","args":[4]}`, `{"class":"A","args":[1]}`, `{"class":"A","args":[3]}`},
			},
		},
		{
			"the set of queues: nothing moves",
			map[string]any{"queues": "text"},
			0, true,
			nil,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, server *redistest.Server) {
				server.Seed(test.seed)
				for i, queue := range []string{"q", "bad", "q"} {
					push(server, "1767323045", fmt.Sprintf(`{"class":"A","args":[%d],"queue":"%s"}`, i+1, queue))
				}
				before := dump(server)
				s := newScheduler(t, open(t, server.URL(), server.Namespace()), scheduler.Config{})
				moved, err := s.Tick(t.Context())
				if moved != test.moved || (err != nil) != test.fails {
					t.Fatalf("moved %d (%v), want %d", moved, err, test.moved)
				}
				if test.fails {
					checkDump(t, server, before)
					return
				}
				got := dump(server)
				if list, ok := got["failed"].(redistest.List); ok {
					want := failedHead + `{"class":"A","args":[2]}` + failedTail("Resque::NoQueueError", server.Key("queue:bad")+" is not a list", "bad")
					if diff := cmp.Diff(redistest.List{want}, list); diff != "" {
						t.Errorf("failed (-want +got):\n%s", diff)
					}
					got["failed"] = redistest.List{"…"}
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("in Redis (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A job that waits again and again leaves nothing behind (resque-scheduler#491).
func TestNothingPilesUp(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		c := newClock()
		s := newScheduler(t, open(t, server.URL(), server.Namespace()), scheduler.Config{Clock: c})
		for i := range 50 {
			push(server, strconv.Itoa(now+1+i), `{"class":"A","args":[],"queue":"q"}`)
			tick(t, s, 0)
			c.advance(1)
			tick(t, s, 1)
			server.Do("LPOP", server.Key("queue:q"))
		}
		checkDump(t, server, map[string]any{"queues": redistest.Set{"q"}})
	})
}

// Writers that go on adding to the second that is being emptied, by the three
// commands of a Ruby producer (resque-scheduler#46).
func TestWritersWhileMoving(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		const writers, each = 8, 40
		client := open(t, server.URL(), server.Namespace())
		s := newScheduler(t, client, scheduler.Config{Batch: 7})
		var running sync.WaitGroup
		for w := range writers {
			running.Go(func() {
				for i := range each {
					push(server, strconv.Itoa(now), fmt.Sprintf(`{"class":"A","args":[%d],"queue":"q"}`, w*each+i))
				}
			})
		}
		written := make(chan struct{})
		go func() {
			running.Wait()
			close(written)
		}()
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
		jobs, _ := dump(server)["queue:q"].(redistest.List)
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

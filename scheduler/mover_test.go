package scheduler_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
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
					failedTail("Resque::NoQueueError", "the job names no queue, and its class Lost has none here", "delayed")},
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

// C8 resque/resque-scheduler#190, #3, chrisboulton/php-resque-scheduler#33,
// binarymatt/pyres#133: after an outage everything overdue goes in one pass, hundreds
// of times in a call.
func TestManyTimesAndManyItems(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		proxy := redistest.NewProxy(t, server.URL())
		const times, items = 10_000, 1200
		schedule := []any{server.Key("delayed_queue_schedule"), now - times, now - times}
		for i := range times {
			server.Do("RPUSH", server.Key("delayed:"+strconv.Itoa(now-i)), fmt.Sprintf(`{"class":"A","args":[%d],"queue":"q"}`, i))
			schedule = append(schedule, now-i, now-i)
		}
		list := []any{server.Key("delayed:" + strconv.Itoa(now-times))}
		for i := range items {
			list = append(list, fmt.Sprintf(`{"class":"B","args":[%d],"queue":"r"}`, i))
		}
		server.Do("RPUSH", list...)
		server.Do("ZADD", schedule...)
		client := open(t, proxy.URL(), server.Namespace())
		before := len(proxy.Seen())
		tick(t, newScheduler(t, client, scheduler.Config{}), times+items)
		if calls := len(proxy.Seen()) - before; calls > 3*(times/scheduler.TimesPerCall+items/scheduler.DefaultBatch)+10 {
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

// A job that waits again and again leaves nothing behind.
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

// The failed jobs can't be written. Times with jobs that would go there stay, and
// are in no other's way.
func TestMoveBesideFailedOfAnotherType(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		const orphan, homed = `{"class":"Lost","args":[]}`, `{"class":"B","args":[1],"queue":"q"}`
		delayed(server, map[string][]string{
			strconv.Itoa(now - 2): {homed}, strconv.Itoa(now - 1): {homed, orphan, homed}, strconv.Itoa(now): {homed, homed},
		})
		server.Seed(map[string]any{"failed": "text"})
		s := newScheduler(t, open(t, server.URL(), server.Namespace()), scheduler.Config{})
		for _, want := range []int{3, 0} {
			moved, err := s.Tick(t.Context())
			if resque.ErrorCode(err) != "WRONGTYPE" || moved != want {
				t.Errorf("moved %d, want %d, error %v", moved, want, err)
			}
		}
		if got := server.Get("failed"); got != "text" {
			t.Errorf("failed is %v", got)
		}
		server.Do("DEL", server.Key("failed"))
		tick(t, s, 3)
		checkQueue(t, server, "q", 5)
		if got, _ := server.Get("failed").(redistest.List); len(got) != 1 {
			t.Errorf("failed: %v", got)
		}
	})
}

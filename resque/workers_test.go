package resque_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
)

func TestWorkers(t *testing.T) {
	t.Parallel()
	const hand = `{"queue":"mail","run_at":"2026-01-02T03:04:05Z","payload":{"class":"A","args":[1]}}`
	const malformed = `{"queue":"mail","run_at":"2026-01-02T03:04:05Z","payload":{"class":"Understudy::Malformed","args":["bnVsbA=="]}}`
	started, beat := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	type row struct {
		id, host, pid, queues, state string
		started, beat, runAt         time.Time
		job                          []shown
		processed, failed            int64
		isGo, broken                 bool
	}
	tests := []struct {
		name string
		keys map[string]any // of the worker with this id
		want row
	}{
		{
			"an idle Ruby",
			map[string]any{"worker:web1:42:mail,low:started": "2026-01-02 03:00:00 +0000"},
			row{id: "web1:42:mail,low", host: "web1", pid: "42", queues: "mail|low", started: started},
		},
		{
			"a busy Ruby with everything",
			map[string]any{
				"worker:web1:42:mail:started": "2026-01-02 03:00:00 +0000", "worker:web1:42:mail": hand,
				"stat:processed:web1:42:mail": "7", "stat:failed:web1:42:mail": "2",
				"workers:heartbeat": redistest.Hash{"web1:42:mail": "2026-01-02T03:04:05+00:00"},
			},
			row{
				id: "web1:42:mail", host: "web1", pid: "42", queues: "mail", started: started, beat: beat, runAt: beat,
				job: []shown{{class: "A", args: "[1]", raw: `{"class":"A","args":[1]}`}}, processed: 7, failed: 2, state: "working",
			},
		},
		{
			"a Go slot with text that is no job",
			map[string]any{"worker:web1.go:42-ab-0:mail": malformed},
			row{
				id: "web1.go:42-ab-0:mail", host: "web1.go", pid: "42-ab-0", queues: "mail", runAt: beat,
				job: []shown{{raw: "null", broken: true}}, isGo: true, state: "working",
			},
		},
		{
			"a queue with colons (resque/resque#1691)", nil,
			row{id: "web1:42:tenant:42:mail,*", host: "web1", pid: "42", queues: "tenant:42:mail|*"},
		},
		{"no queues", nil, row{id: "web1:42", host: "web1", pid: "42", broken: true}},
		{"nothing", nil, row{id: "", broken: true}},
		{"a pid that is none", nil, row{id: "web1:x:mail", host: "web1", pid: "x", queues: "mail", broken: true}},
		{
			"a hand that is one word",
			map[string]any{"worker:web1:42:mail": "busy"},
			row{id: "web1:42:mail", host: "web1", pid: "42", queues: "mail", job: []shown{{raw: "busy", broken: true}}, state: "working", broken: true},
		},
		{
			"a hand without a job",
			map[string]any{"worker:web1:42:mail": `{"queue":"mail"}`},
			row{id: "web1:42:mail", host: "web1", pid: "42", queues: "mail", job: []shown{{broken: true}}, state: "working", broken: true},
		},
		{
			"goworker's",
			map[string]any{
				"worker:web1:42-1:mail:started": "2026-01-02 03:00:00.000000000 +0000 UTC m=+0.000123",
				"worker:web1:42-1:mail":         `{"queue":"mail","run_at":"2026-01-02T04:04:05.000000001+01:00","payload":{"class":"A","args":null}}`,
				"stat:processed:web1:42-1:mail": "0",
			},
			row{
				id: "web1:42-1:mail", host: "web1", pid: "42-1", queues: "mail", started: started, runAt: beat.Add(time.Nanosecond),
				job: []shown{{class: "A", args: "[]", raw: `{"class":"A","args":null}`}}, state: "working",
			},
		},
		{
			"node-resque's",
			map[string]any{
				"worker:web1:42:mail:started": fmt.Sprint(started.Unix()),
				"worker:web1:42:mail": `{"run_at":"Fri Jan 02 2026 04:04:05 GMT+0100 (Central European Standard Time)",` +
					`"queue":"mail","worker":"web1:42","payload":{"class":"A","queue":"mail","args":[1]}}`,
			},
			row{
				id: "web1:42:mail", host: "web1", pid: "42", queues: "mail", started: started, runAt: beat,
				job: []shown{{class: "A", args: "[1]", raw: `{"class":"A","queue":"mail","args":[1]}`}}, state: "working",
			},
		},
		{
			"php-resque's",
			map[string]any{
				"worker:web1:42:mail:started": "2026-01-02T03:00:00+00:00",
				"worker:web1:42:mail":         `{"queue":"mail","run_at":"Fri Jan 02 03:04:05 UTC 2026","payload":{"class":"A","args":[{"n":1}],"id":"x"}}`,
			},
			row{
				id: "web1:42:mail", host: "web1", pid: "42", queues: "mail", started: started, runAt: beat,
				job: []shown{{class: "A", args: `[{"n":1}]`, raw: `{"class":"A","args":[{"n":1}],"id":"x"}`}}, state: "working",
			},
		},
		{
			"a hand without a time",
			map[string]any{"worker:web1:42:mail": `{"queue":"mail","payload":{"class":"A"}}`},
			row{
				id: "web1:42:mail", host: "web1", pid: "42", queues: "mail",
				job: []shown{{class: "A", args: "[]", raw: `{"class":"A"}`}}, state: "working",
			},
		},
		{
			"a hand that is cut off",
			map[string]any{"worker:web1:42:mail": hand[:len(hand)-1]},
			row{
				id: "web1:42:mail", host: "web1", pid: "42", queues: "mail",
				job: []shown{{raw: hand[:len(hand)-1], broken: true}}, state: "working", broken: true,
			},
		},
		{"an empty hand, which is none", map[string]any{"worker:web1:42:mail": ""}, row{id: "web1:42:mail", host: "web1", pid: "42", queues: "mail"}},
		{
			"keys of the wrong type",
			map[string]any{"worker:web1:42:mail": redistest.List{"a"}, "workers:heartbeat": "a text", "stat:failed:web1:42:mail": "many"},
			row{id: "web1:42:mail", host: "web1", pid: "42", queues: "mail"},
		},
	}
	for _, test := range tests {
		if test.want.state == "" {
			test.want.state = "idle"
		}
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				c := dialTest(t, s, s.URL(), nil)
				s.Seed(map[string]any{"workers": redistest.Set{test.want.id, "zzz:1:q"}})
				s.Seed(test.keys)
				all, err := c.Workers(t.Context())
				if err != nil || len(all) != 2 || all[1].ID != "zzz:1:q" || all[1].Err != nil {
					t.Fatalf("%+v, %v", all, err)
				}
				w := all[0]
				got := row{
					w.ID, w.Host, w.PID, strings.Join(w.Queues, "|"), w.State(), w.Started, w.Heartbeat,
					time.Time{},
					nil,
					w.Processed, w.Failed, w.Go(), w.Err != nil,
				}
				if w.Hand != nil {
					got.job, got.runAt = show(w.Hand.Entry), w.Hand.RunAt
				}
				if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(row{}, shown{})); diff != "" {
					t.Error(diff)
				}
				working, err := c.Working(t.Context())
				if busy := test.want.state == "working"; err != nil || busy != (len(working) == 1) {
					t.Errorf("working: %+v, %v", working, err)
				}
			})
		})
	}
}

func TestWorkerInfo(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		c := dialTest(t, s, s.URL(), nil)
		s.Seed(map[string]any{"workers": redistest.Set{"a:1:q"}, "stat:processed:a:1:q": "3", "worker:b:1:q": "busy"})
		w, ok, err := c.WorkerInfo(t.Context(), "a:1:q")
		if w.ID != "a:1:q" || w.Processed != 3 || !ok || err != nil {
			t.Errorf("%+v, %v, %v", w, ok, err)
		}
		if w, ok, err := c.WorkerInfo(t.Context(), "b:1:q"); ok || err != nil {
			t.Errorf("one that isn't registered: %+v, %v", w, err)
		}
	})
}

// A time that is none is unknown, and its text is told.
func TestWorkerWithoutTimes(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		c := dialTest(t, s, s.URL(), nil)
		s.Seed(map[string]any{
			"workers": redistest.Set{"a:1:q"}, "worker:a:1:q:started": "soon", "workers:heartbeat": redistest.Hash{"a:1:q": "now and then"},
			"worker:a:1:q": `{"queue":"q","run_at":["late"],"payload":{"class":"A"}}`,
		})
		w, _, err := c.WorkerInfo(t.Context(), "a:1:q")
		if err != nil || !w.Started.IsZero() || !w.Heartbeat.IsZero() || w.Hand == nil || !w.Hand.RunAt.IsZero() || w.Hand.Class != "A" {
			t.Fatalf("%+v, %v", w, err)
		}
		for _, text := range []string{`started "soon"`, `heartbeat "now and then"`, `run_at "[\"late\"]"`} {
			if w.Err == nil || !strings.Contains(w.Err.Error(), text+" is no time") {
				t.Errorf("no %s in: %v", text, w.Err)
			}
		}
	})
}

// More of them than one command asks for.
func TestInspectionOfMany(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		workers, queues, stats := redistest.Set{}, redistest.Set{}, map[string]any{}
		for i := range 2500 {
			workers = append(workers, fmt.Sprintf("host:%d:q", i))
			queues = append(queues, fmt.Sprintf("q%d", i))
			stats[fmt.Sprintf("stat:processed:host:%d:q", i)] = fmt.Sprint(i)
		}
		s.Seed(map[string]any{"workers": workers, "queues": queues, "queue:q7": redistest.List{"a", "b"}, "worker:host:2499:q": "x"})
		s.Seed(stats)
		c := dialTest(t, s, s.URL(), nil)
		all, err := c.Workers(t.Context())
		if len(all) != 2500 || err != nil {
			t.Fatalf("%d workers, %v", len(all), err)
		}
		for i, w := range all {
			if w.PID != fmt.Sprint(w.Processed) || i > 0 && w.ID <= all[i-1].ID || (w.Hand != nil) != (w.PID == "2499") {
				t.Fatalf("worker %d: %+v", i, w)
			}
		}
		info, err := c.Info(t.Context())
		if diff := cmp.Diff(resque.Info{Pending: 2, Queues: 2500, Workers: 2500, Working: 1}, info); diff != "" || err != nil {
			t.Error(diff, err)
		}
	})
}

// The server doesn't answer before it has seen all that it is to see: whoever
// waits for an answer meanwhile waits in vain.
func TestInspectionTakesTwoRoundTrips(t *testing.T) {
	t.Parallel()
	const many = 1000
	names := func(form string) string {
		list := fmt.Sprintf("*%d\r\n", many)
		for i := range many {
			list += bulk(fmt.Sprintf(form, i))
		}
		return list
	}
	for _, test := range []struct {
		name    string
		batches []int // requests of each round trip
		call    func(ctx context.Context, c *resque.Client) (int64, error)
	}{
		{"Workers", []int{1, 5}, func(ctx context.Context, c *resque.Client) (int64, error) {
			workers, err := c.Workers(ctx)
			return int64(len(workers)), err
		}},
		{"Working", []int{1, 5}, func(ctx context.Context, c *resque.Client) (int64, error) {
			workers, err := c.Working(ctx)
			return int64(len(workers)) + many, err
		}},
		{"Info", []int{5, 3 * many}, func(ctx context.Context, c *resque.Client) (int64, error) {
			info, err := c.Info(ctx)
			return info.Pending / 3, err
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			kept, seen, round := "", 0, 0
			url := redistest.NewFake(t, func(args []string) string {
				if args[0] == "PING" || args[0] == "INFO" {
					return "+PONG\r\n"
				}
				switch args[0] {
				case "SMEMBERS":
					kept += names(map[string]string{"workers": "host:%d:q", "queues": "q%d", "failed_queues": "q%d_failed"}[args[1]])
				case "MGET", "HMGET":
					asked := len(args) - 1
					if args[0] == "HMGET" {
						asked--
					}
					kept += fmt.Sprintf("*%d\r\n", asked) + strings.Repeat("$-1\r\n", asked)
				default: // LLEN, STRLEN
					kept += ":3\r\n"
				}
				seen++
				if round == len(test.batches) || seen < test.batches[round] {
					return ""
				}
				answer := kept
				kept, seen, round = "", 0, round+1
				return answer
			})
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			c, err := resque.Open(ctx, url, resque.Options{Namespace: resque.NoNamespace})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			if got, err := test.call(ctx, c); got != many || err != nil {
				t.Errorf("%d, %v, after %d round trips and %d more requests", got, err, round, seen)
			}
		})
	}
}

// H9: the life-time counters and the lengths of the lists are two things.
func TestInfo(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		c := dialTest(t, s, s.URL(), nil)
		if info, err := c.Info(t.Context()); err != nil || info != (resque.Info{}) {
			t.Errorf("of nothing: %+v, %v", info, err)
		}
		s.Seed(map[string]any{
			"queues": redistest.Set{"a", "b", "odd"}, "queue:a": redistest.List{"1", "2", "3"}, "queue:odd": "a text",
			"workers": redistest.Set{"h:1:a", "h:2:a", "h:3:a", "h:4:a"}, "worker:h:2:a": `{}`,
			"worker:h:3:a": "", "worker:h:4:a": redistest.List{"no hand"}, // neither is one
			"stat:processed": "100", "stat:failed": "40", "failed": redistest.List{"x", "y"},
			"failed_queues": redistest.Set{"a_failed", "b_failed"}, "a_failed": redistest.List{"x"}, "b_failed": redistest.List{"x", "y", "z"},
		})
		info, err := c.Info(t.Context())
		want := resque.Info{
			Pending: 3, Queues: 3, Workers: 4, Working: 1, Processed: 100, FailedTotal: 40, FailedRecords: 2, FailedQueueRecords: 4,
		}
		if diff := cmp.Diff(want, info); diff != "" || err != nil {
			t.Error(diff, err)
		}
	})
}

// What Redis refuses to tell isn't 0.
func TestInfoWithoutRights(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"llen", "strlen", "mget", "smembers"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			s := redistest.New(t)
			if !s.Real() {
				t.Skip("needs a server with users")
			}
			s.Seed(map[string]any{"workers": redistest.Set{"h:1:a"}, "worker:h:1:a": "{}"})
			user := s.Namespace()
			s.Do("ACL", "SETUSER", user, "on", "nopass", "~*", "+@all", "-"+command)
			t.Cleanup(func() { s.Do("ACL", "DELUSER", user) })
			c := dialTest(t, s, strings.Replace(s.URL(), "://", "://"+url.QueryEscape(user)+":any@", 1), nil)
			if info, err := c.Info(t.Context()); resque.ErrorCode(err) != "NOPERM" || info != (resque.Info{}) {
				t.Errorf("%+v, %v", info, err)
			}
		})
	}
}

// What the inspection says of a worker of this package that is at work.
func TestInspectionOfOneAtWork(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b := newBench(t, s)
		w, err := resque.NewWorker(b.client, resque.WorkerConfig{Queues: []string{"q"}, Concurrency: 2})
		if err != nil {
			t.Fatal(err)
		}
		var during []resque.WorkerInfo
		err = w.Handle("A", resque.HandlerFunc(func(ctx context.Context, job *resque.Job) (err error) {
			during, err = b.client.Working(ctx)
			return err
		}))
		if err != nil {
			t.Fatal(err)
		}
		if err := b.client.Enqueue(t.Context(), "q", "A", 1); err != nil {
			t.Fatal(err)
		}
		if err := w.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if worked, err := w.Step(t.Context()); !worked || err != nil {
			t.Fatal(worked, err)
		}
		after, err := b.client.Workers(t.Context())
		if err != nil || len(after) != 2 || len(during) != 1 {
			t.Fatalf("during %+v, after %+v, %v", during, after, err)
		}
		busy, idle := during[0], after[0]
		if !strings.HasPrefix(busy.ID, w.Name()) || busy.Hand.Class != "A" || busy.Hand.Queue != "q" || !busy.Hand.RunAt.Equal(b.clock.Now()) ||
			busy.Started.IsZero() || busy.Heartbeat.IsZero() || !busy.Go() || busy.Err != nil {
			t.Errorf("during its job: %+v", busy)
		}
		if idle.Hand != nil || idle.Processed != 1 || idle.Failed != 0 || idle.State() != "idle" {
			t.Errorf("after it: %+v", idle)
		}
		if err := w.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if left, err := b.client.Workers(t.Context()); len(left) != 0 || err != nil {
			t.Errorf("after the stop: %+v, %v", left, err)
		}
	})
}

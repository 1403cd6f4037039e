package resque_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
)

// What broke for others: the registry of workers. CONTRIBUTING.md lists the
// reports.

// D10 resque/resque#1691: the colons of a queue's name were taken for those
// between the parts of an id.
func TestReportColonsInQueues(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b := newBench(t, s)
		var during []resque.WorkerInfo
		w := b.worker(func(c *resque.WorkerConfig) {
			c.WorkerID = nil
			c.Hostname = "web1"
			c.Queues = []string{"tenant:42:mail", "low"}
		}, map[string]resque.Handler{"Good": resque.HandlerFunc(func(ctx context.Context, _ *resque.Job) (err error) {
			during, err = b.client.Working(ctx)
			return err
		})})
		if err := b.client.Enqueue(t.Context(), "tenant:42:mail", "Good"); err != nil {
			t.Fatal(err)
		}
		b.start(w)
		b.step(w)
		if len(during) != 1 {
			t.Fatalf("during the job: %+v", during)
		}
		got := during[0]
		if got.ID != "web1.go:"+got.PID+":tenant:42:mail,low" || got.Host != "web1.go" || got.Err != nil || got.Hand.Queue != "tenant:42:mail" ||
			!slices.Equal(got.Queues, []string{"tenant:42:mail", "low"}) {
			t.Errorf("%+v", got)
		}
	})
}

// D14 actionhero/node-resque#174, #312: a worker was never cleaned up, since what
// it was working on had no time.
func TestReportHandsHaveATime(t *testing.T) {
	t.Parallel()
	for name, element := range map[string]string{"a job": `{"class":"Good","args":[1.10]}`, "no job": `[]`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				var written string
				var shown resque.WorkerInfo
				direct := dialTest(t, s, s.URL(), nil)
				p := redistest.NewProxy(t, s.URL())
				names := resque.ScriptNames()
				p.SetRule(func(r redistest.Request) redistest.Verdict { // what is in hand before it is recorded
					if len(r.Args) > 1 && names[r.Args[1]] == "record" {
						var err error
						written, _ = s.Get("worker:" + testID).(string)
						if shown, _, err = direct.WorkerInfo(t.Context(), testID); err != nil {
							t.Error(err)
						}
					}
					return redistest.Pass
				})
				b := newBenchAt(t, s, p.URL())
				once(b, []string{element}, map[string]resque.HandlerFunc{"Good": good})
				var hand map[string]json.RawMessage
				if err := json.Unmarshal([]byte(written), &hand); err != nil {
					t.Fatalf("in hand: %q: %v", written, err)
				}
				if string(hand["queue"]) != `"q"` || string(hand["run_at"]) != `"2026-01-02T03:04:05Z"` || hand["payload"] == nil || len(hand) != 3 {
					t.Errorf("in hand: %q", written)
				}
				if shown.Err != nil || shown.State() != "working" || !shown.Hand.RunAt.Equal(b.clock.Now()) || string(shown.Hand.Raw) != element {
					t.Errorf("in hand: %+v", shown)
				}
				after, _, err := direct.WorkerInfo(t.Context(), testID)
				if err != nil || after.State() != "idle" || s.Get("worker:"+testID) != nil {
					t.Errorf("afterwards: %+v, %v", after, err)
				}
			})
		})
	}
}

// D16 sidekiq/sidekiq#2928, goworker: whether the processed ones hold the failed
// ones was another thing from worker to worker. As in Ruby they do; a worker's own
// counters go with it.
func TestReportProcessedHoldsFailed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b := newBench(t, s)
		w := b.worker(nil, map[string]resque.Handler{"Good": resque.HandlerFunc(good), "Bad": resque.HandlerFunc(bad)})
		for _, class := range []string{"Good", "Bad", "Good", "Bad", "Good"} {
			if err := b.client.Enqueue(t.Context(), "q", class); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			b.step(w)
		}
		one, _, err := b.client.WorkerInfo(t.Context(), testID)
		if one.Processed != 5 || one.Failed != 2 || err != nil {
			t.Errorf("%+v, %v", one, err)
		}
		want := resque.Info{Queues: 1, Workers: 1, Processed: 5, FailedTotal: 2, FailedRecords: 2}
		for range 2 {
			info, err := b.client.Info(t.Context())
			if diff := cmp.Diff(want, info); diff != "" || err != nil {
				t.Error(diff, err)
			}
			if err := w.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			want.Workers = 0
		}
		for _, name := range s.Names() {
			if strings.HasPrefix(name, "stat:") && strings.Contains(name, testID) {
				t.Errorf("%s is left", name)
			}
		}
	})
}

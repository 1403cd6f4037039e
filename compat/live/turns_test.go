package live_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/resque"
)

// player performs jobs: Ruby or Go.
type player interface {
	enqueue(class, args string)
	fail(fails bool)
	work()
	deliver(after time.Duration)
	attempts() string
}

type goPlayer struct {
	*bench

	w *resque.Worker
}

func (g goPlayer) enqueue(class, args string) {
	g.t.Helper()
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(args), &list); err != nil {
		g.t.Fatal(err)
	}
	anys := make([]any, len(list))
	for i := range list {
		anys[i] = list[i]
	}
	if err := g.client.Enqueue(g.t.Context(), "jobs", class, anys...); err != nil {
		g.t.Fatal(err)
	}
}

func (g goPlayer) fail(fails bool) { g.jobs.fails = fails }

func (g goPlayer) work() {
	g.t.Helper()
	if !g.step(g.w) {
		g.t.Fatal("Go found no job")
	}
}

func (g goPlayer) attempts() string { return fmt.Sprint(g.jobs.attempts) }

type rubyPlayer struct{ *peer }

func (r rubyPlayer) enqueue(class, args string) {
	r.t.Helper()
	r.do("Resque.enqueue("+class+", *JSON.parse(%s))", args)
}

func (r rubyPlayer) fail(fails bool) {
	r.t.Helper()
	r.do("Outcome.fails = %s", fails)
}

func (r rubyPlayer) work() {
	r.t.Helper()
	if worked := r.do("WORKER.work_one_job"); worked != true {
		r.t.Fatal("Ruby found no job")
	}
}

func (r rubyPlayer) deliver(after time.Duration) {
	r.t.Helper()
	r.do("deliver(%s)", int(after.Seconds()))
}

func (r rubyPlayer) attempts() string {
	r.t.Helper()
	return fmt.Sprint(r.do("Outcome.attempts"))
}

// turn is a case of TestTurns.
type turn struct {
	name, class             string
	rubyFirst, rubyDelivers bool
}

// counts are the runs of each worker, and how many of them failed.
func (c turn) counts() (ofGo, ofRuby string) {
	if c.rubyFirst {
		return "2 1", "1 1"
	}
	return "1 1", "2 1"
}

// counts is what Ruby reads of a worker.
func (p *peer) counts(id string) string {
	p.t.Helper()
	w, _ := p.do("w = Resque::Worker.find(%s)\n[w.processed, w.failed].join(' ')", id).(string)
	return w
}

// counts is what Go reads of one.
func (b *bench) counts(id any) string {
	b.t.Helper()
	w, ok, err := b.client.WorkerInfo(b.t.Context(), fmt.Sprint(id))
	if err != nil || !ok || w.Err != nil {
		b.t.Fatalf("%v: %v, %v, %v", id, ok, err, w.Err)
	}
	return fmt.Sprint(w.Processed, w.Failed)
}

// One job that is performed in turns: whoever doesn't enqueue it fails first, the
// other fails next, then the first one succeeds. All count on one counter.
func TestTurns(t *testing.T) {
	t.Parallel()
	const args = `[7,"é <&> #{x} 😀",1.0,{"b":[1,null,2.5e+20],"a":true}]`
	for _, c := range []turn{
		{name: "Ruby enqueues", class: "Again", rubyFirst: true},
		{name: "Go enqueues", class: "Again"},
		{name: "Ruby enqueues, Ruby's scheduler", class: "Later", rubyFirst: true, rubyDelivers: true},
		{name: "Ruby enqueues, Go's scheduler", class: "Later", rubyFirst: true},
		{name: "Go enqueues, Ruby's scheduler", class: "Later", rubyDelivers: true},
		{name: "Go enqueues, Go's scheduler", class: "Later"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			b := newBench(t, s)
			w := b.newWorker(nil)
			b.start(w)
			p := startPeer(t, s, "jobs.rb")
			p.do("WORKER = worker('jobs').tap(&:register_worker)\nnil")
			var first, other, delivering player = goPlayer{b, w}, rubyPlayer{p}, goPlayer{b, w}
			if c.rubyDelivers {
				delivering = rubyPlayer{p}
			}
			if c.rubyFirst {
				first, other = other, first
			}
			counter, _ := p.do(c.class+".redis_retry_key(*JSON.parse(%s))", args).(string)

			first.enqueue(c.class, args)
			element := fmt.Sprintf(`{"class":%q,"args":%s}`, c.class, args)
			b.expect("queue:jobs", element)
			for attempt, by := range []player{other, first} {
				by.fail(true)
				by.work()
				b.expect("failed")
				if got := s.Dump()[counter]; got != fmt.Sprint(attempt) {
					t.Fatalf("after run %d the counter is %v", attempt, got)
				}
				if c.class == "Later" {
					b.expect("queue:jobs")
					if _, ok := s.Dump()["failure-"+counter].(string); !ok {
						t.Fatal("the Retry tab has no failure to show")
					}
					delivering.deliver(30 * time.Second)
					b.expect("queue:jobs")
					delivering.deliver(90 * time.Second)
				}
				b.expect("queue:jobs", element)
			}
			other.fail(false)
			other.work()

			if got := other.attempts() + first.attempts(); got != "[0 2][1]" {
				t.Errorf("performed with the attempts %s", got)
			}
			if ofGo, ofRuby := c.counts(); p.counts(w.Name()+"-0:jobs") != ofGo || b.counts(p.do("WORKER.to_s")) != ofRuby {
				t.Errorf("Ruby's count of Go's worker is %s, Go's of Ruby's %s", p.counts(w.Name()+"-0:jobs"), b.counts(p.do("WORKER.to_s")))
			}
			if err := w.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			p.do("WORKER.unregister_worker\nnil")
			left := b.left()
			delete(left, "failure-"+counter) // it runs out
			if diff := cmp.Diff(map[string]any{}, left); diff != "" {
				t.Errorf("something is left:\n%s", diff)
			}
			all := s.Dump()
			if processed, failed := all["stat:processed"], all["stat:failed"]; processed != "3" || failed != "2" {
				t.Errorf("processed %v, failed %v", processed, failed)
			}
		})
	}
}

package live_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/resque"
	"example.com/understudy/scheduler"
)

// delayed is what is left of delayed jobs.
func (b *bench) delayed() map[string]any {
	b.t.Helper()
	keys := map[string]any{}
	for name, value := range b.server.Dump() {
		if strings.HasPrefix(name, "delayed:") || strings.HasPrefix(name, "timestamps:") || name == "queue:jobs" {
			keys[name] = value
		}
	}
	return keys
}

// rubyArgs and goArgs are the same arguments.
const rubyArgs = `[7, "é <&> 😀\u2028", 1.0, 2.5e20, nil, true, {"b" => [1, nil], "a" => ""}]`

func goArgs() []any {
	type object struct {
		B []any  `json:"b"`
		A string `json:"a"`
	}
	return []any{7, "é <&> 😀\u2028", 1.0, 2.5e20, nil, true, object{B: []any{1, nil}}}
}

// Ruby finds the delayed jobs that Go wrote by their class and arguments, and
// cancels them.
func TestRubyCancelsWhatGoDelayed(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := newBench(t, s)
	p := startPeer(t, s, "jobs.rb")
	args := goArgs()
	at := time.Now().Add(time.Hour)
	for _, enqueue := range []func(context.Context) error{
		func(ctx context.Context) error { return b.client.EnqueueAt(ctx, at, "jobs", "Once", args...) },
		func(ctx context.Context) error { return b.client.EnqueueAt(ctx, at, "jobs", "Once", "another") },
		func(ctx context.Context) error { return b.client.EnqueueIn(ctx, 2*time.Hour, "jobs", "Once", args...) },
		func(ctx context.Context) error { return b.client.Enqueue(ctx, "jobs", "Later", args...) },
	} {
		if err := enqueue(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	b.jobs.fails = true
	w := b.newWorker(nil)
	b.start(w)
	b.step(w)

	if diff := cmp.Diff([]any{true, 2, true, 1, 4}, p.do(`[Resque.delayed?(Once, *`+rubyArgs+`), Resque.scheduled_at(Once, *`+rubyArgs+`).size,
		Resque.delayed?(Later, *`+rubyArgs+`), Resque.scheduled_at(Later, *`+rubyArgs+`).size, Resque.count_all_scheduled_jobs]`)); diff != "" {
		t.Errorf("what Ruby finds:\n%s", diff)
	}
	if removed := p.do(`Resque.remove_delayed(Once, *` + rubyArgs + `)`); removed != 2 {
		t.Errorf("Ruby cancelled %v delayed jobs", removed)
	}
	if removed := p.do(`Resque.remove_delayed_in_queue(Later, "jobs", *` + rubyArgs + `)`); removed != 1 {
		t.Errorf("Ruby cancelled %v delayed retries", removed)
	}
	if removed := p.do(`Resque.remove_delayed_job_from_timestamp(%s, Once, "another")`, at.Unix()); removed != 1 {
		t.Errorf("Ruby cancelled %v delayed jobs of the time", removed)
	}
	if diff := cmp.Diff(map[string]any{}, b.delayed()); diff != "" {
		t.Errorf("something is left:\n%s", diff)
	}
}

// Go finds the delayed jobs that Ruby wrote in the same way.
func TestGoCancelsWhatRubyDelayed(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := newBench(t, s)
	p := startPeer(t, s, "jobs.rb")
	at := time.Now().Add(time.Hour).Truncate(time.Second)
	p.do(`
		at = Time.at(%s)
		Resque.enqueue_at(at, Once, *`+rubyArgs+`)
		Resque.enqueue_at(at, Once, 'another')
		Resque.enqueue_at_with_queue('elsewhere', at, Once, *`+rubyArgs+`)
		Resque.enqueue_in(7200, Once, *`+rubyArgs+`)
		Resque.enqueue_in(7200, Once, 'by its class')
		Resque.enqueue_in(7200, Once, 'now')
		Resque.enqueue(Later, *`+rubyArgs+`)
		Outcome.fails = true
		worker('jobs').work_one_job`, at.Unix())

	args, c, ctx := goArgs(), b.client, t.Context()
	times, err := c.ScheduledAt(ctx, "jobs", "Once", args...)
	if err != nil || len(times) != 2 || !times[0].Equal(at) {
		t.Errorf("scheduled at %v, %v", times, err)
	}
	if n, err := c.DelayedCount(ctx); err != nil || int(n) != p.do("Resque.count_all_scheduled_jobs") {
		t.Errorf("delayed jobs: %d, %v", n, err)
	}
	for _, call := range []struct {
		what string
		want int64
		do   func() (int64, error)
	}{
		{"a queue's", 2, func() (int64, error) { return c.RemoveDelayed(ctx, "jobs", "Once", args...) }},
		{"once more", 0, func() (int64, error) { return c.RemoveDelayed(ctx, "jobs", "Once", args...) }},
		{"another queue's", 1, func() (int64, error) { return c.RemoveDelayed(ctx, "elsewhere", "Once", args...) }},
		{"a time's", 1, func() (int64, error) { return c.RemoveDelayedAt(ctx, at, "jobs", "Once", "another") }},
		{"a retry", 1, func() (int64, error) { return c.RemoveDelayed(ctx, "jobs", "Later", args...) }},
		{"due now", 1, func() (int64, error) { return c.EnqueueDelayed(ctx, "jobs", "Once", "now") }},
		{"a class's", 1, func() (int64, error) {
			return c.RemoveDelayedFunc(ctx, func(j resque.DelayedJob) bool { return j.Class == "Once" })
		}},
	} {
		if n, err := call.do(); err != nil || n != call.want {
			t.Errorf("%s: %d, %v, want %d", call.what, n, err, call.want)
		}
	}
	b.expect("queue:jobs", `{"class":"Once","args":["now"]}`)
	s.Do("DEL", s.Key("queue:jobs"))
	if diff := cmp.Diff(map[string]any{}, b.delayed()); diff != "" {
		t.Errorf("something is left:\n%s", diff)
	}
	if n := p.do("Resque.delayed_queue_schedule_size"); n != 0 {
		t.Errorf("Ruby sees %v times", n)
	}
}

// Both schedulers know one master lock.
func TestOneMaster(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"", "blue"} {
		t.Run(prefix, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			b := newBench(t, s)
			p := startPeer(t, s)
			p.do("ENV['RESQUE_SCHEDULER_MASTER_LOCK_PREFIX'] = %s\nResque::Scheduler.master?", prefix)
			g, err := scheduler.New(b.client, scheduler.Config{LockPrefix: prefix})
			if err != nil {
				t.Fatal(err)
			}
			master := func() bool {
				t.Helper()
				if _, err := g.Tick(t.Context()); err != nil {
					t.Fatal(err)
				}
				return g.Master()
			}
			if master() {
				t.Error("Go is the master beside Ruby")
			}
			p.do("Resque::Scheduler.release_master_lock")
			if !master() {
				t.Error("Go isn't the master although Ruby isn't any more")
			}
			if got := p.do("Resque::Scheduler.master?"); got != false {
				t.Errorf("Ruby is the master beside Go: %v", got)
			}
			if err := g.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := p.do("Resque::Scheduler.master?"); got != true {
				t.Errorf("Ruby isn't the master although Go isn't any more: %v", got)
			}
		})
	}
}

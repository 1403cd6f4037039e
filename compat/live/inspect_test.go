package live_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/resque"
)

// decoded are jobs as Ruby shows them.
func decoded(t *testing.T, entries ...resque.Entry) []any {
	t.Helper()
	jobs := []any{}
	for _, e := range entries {
		var args any
		if err := json.Unmarshal(e.Args, &args); err != nil || e.Err != nil {
			t.Fatalf("%q: %v, %v", e.Raw, e.Err, err)
		}
		jobs = append(jobs, map[string]any{"class": e.Class, "args": args})
	}
	return jobs
}

// What Go says of queues and workers is what Ruby says of them.
func TestGoLooksAsRuby(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := newBench(t, s)
	p := startPeer(t, s, "jobs.rb")
	p.do(`
		5.times { |i| Resque.enqueue(Once, i.to_s, 'ß' => [nil, true]) }
		Resque.enqueue_to('tenant:42:mail', Again)
		Resque.redis.sadd('queues', ['empty'])
		%s.each do |id|
		  host, pid, queues = id.split(':', 3)
		  w = Resque::Worker.new(*queues.split(','))
		  w.hostname, w.pid = host, pid
		  w.to_s = id
		  w.register_worker
		  w.heartbeat!
		end
		Resque::Worker.find('web1:42:jobs,tenant:42:mail').working_on(Resque.reserve('jobs'))
		Resque::Stat.incr('processed:web2:1:low', 12)
		nil`, []string{"web1:42:jobs,tenant:42:mail", "web2:1:low", "web3:7:*"})
	ctx := t.Context()
	same := func(what string, err error, mine any, code string, values ...any) {
		t.Helper()
		if err != nil {
			t.Fatal(what, err)
		}
		theirs := p.do(code, values...)
		if list, ok := mine.([]any); ok && len(list) == 1 && what == "one job" {
			mine = list[0] // Ruby's peek of one
		}
		if diff := cmp.Diff(theirs, mine); diff != "" {
			t.Errorf("%s:\n%s", what, diff)
		}
	}

	queues, err := b.client.Queues(ctx)
	same("queues", err, toAny(queues), "Resque.queues.sort")
	for _, queue := range []string{"jobs", "tenant:42:mail", "empty", "absent"} {
		n, err := b.client.Size(ctx, queue)
		same("size of "+queue, err, int(n), "Resque.size(%s)", queue)
	}
	for _, part := range [][2]int64{{0, 2}, {1, 2}, {3, 7}, {-3, 2}, {-2, 2}, {-9, 7}, {4, 2}} {
		entries, err := b.client.Peek(ctx, "jobs", part[0], part[1])
		same("a part", err, decoded(t, entries...), "Resque.peek('jobs', %s, %s)", part[0], part[1])
	}
	for _, start := range []int64{0, -1, -4} {
		entries, err := b.client.Peek(ctx, "jobs", start, 1)
		same("one job", err, decoded(t, entries...), "Resque.peek('jobs', %s)", start)
	}

	workers, err := b.client.Workers(ctx)
	rows := make([]any, 0, len(workers))
	for _, w := range workers {
		var job any = map[string]any{}
		if w.Hand != nil {
			job = decoded(t, w.Hand.Entry)[0]
		}
		rows = append(rows, []any{w.ID, w.Host, w.PID, toAny(w.Queues), w.Started.Format("2006-01-02 15:04:05"), int(w.Processed), int(w.Failed), job})
	}
	same("workers", err, rows, `Resque.workers.sort_by(&:to_s).map do |w|
		[w.to_s, w.hostname, w.pid.to_s, w.instance_variable_get(:@queues), w.started[0, 19], w.processed, w.failed, w.job['payload'] || {}]
	end`)
	s.Do("SET", s.Key("worker:web3:7:*"), "") // Ruby's working passes over it
	working, err := b.client.Working(ctx)
	ids := make([]string, 0, len(working))
	for _, w := range working {
		ids = append(ids, w.ID+" "+w.State())
	}
	same("working", err, toAny(ids), "Resque.working.map { |w| w.to_s + ' ' + w.state.to_s }.sort")
	info, err := b.client.Info(ctx)
	same("info", err, []any{
		int(info.Pending), int(info.Processed), int(info.Queues), int(info.Workers), int(info.Working), int(info.FailedRecords),
	}, "Resque.info.values_at(:pending, :processed, :queues, :workers, :working, :failed)")
}

// What Go takes out of a queue is what Ruby would take out of it.
func TestGoDequeuesAsRuby(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := newBench(t, s)
	p := startPeer(t, s, "jobs.rb")
	ctx := t.Context()
	fill := func() {
		t.Helper()
		p.do(`
			Resque.remove_queue('jobs')
			2.times do
			  [[], [1], ['1'], [1.0], [{ 'b' => "\u00e9<\u2028", 'a' => nil }], [1, [2]], [1e20]].each do |args|
			    [Once, Again].each { |c| Resque.enqueue(c, *args) }
			  end
			end
			nil`)
	}
	object := map[string]any{"b": "é<\u2028"}
	for name, c := range map[string]struct {
		mine   func() (int64, error)
		theirs string
	}{
		"an integer": {func() (int64, error) { return b.client.Dequeue(ctx, "jobs", "Once", 1) }, "Resque.dequeue(Once, 1)"},
		"a text":     {func() (int64, error) { return b.client.Dequeue(ctx, "jobs", "Once", "1") }, "Resque.dequeue(Once, '1')"},
		"a float":    {func() (int64, error) { return b.client.Dequeue(ctx, "jobs", "Once", 1.0) }, "Resque.dequeue(Once, 1.0)"},
		"a big one":  {func() (int64, error) { return b.client.Dequeue(ctx, "jobs", "Once", 1e20) }, "Resque.dequeue(Once, 1e20)"},
		"an object": {
			func() (int64, error) {
				return b.client.Dequeue(ctx, "jobs", "Once", json.RawMessage("{\"b\":\"é<\u2028\",\"a\":null}"))
			},
			`Resque.dequeue(Once, { 'b' => "\u00e9<\u2028", 'a' => nil })`,
		},
		"another object": {func() (int64, error) { return b.client.Dequeue(ctx, "jobs", "Once", object) }, `Resque.dequeue(Once, { 'b' => "\u00e9<\u2028" })`},
		"nested":         {func() (int64, error) { return b.client.Dequeue(ctx, "jobs", "Again", 1, []int{2}) }, "Resque.dequeue(Again, 1, [2])"},
		"the class":      {func() (int64, error) { return b.client.DequeueClass(ctx, "jobs", "Again") }, "Resque.dequeue(Again)"},
		"the queue":      {func() (int64, error) { return 0, b.client.RemoveQueue(ctx, "jobs") }, "Resque.remove_queue('jobs'); 0"},
		"the next one": {
			func() (int64, error) {
				e, ok, err := b.client.Pop(ctx, "jobs")
				if err != nil || !ok || e.Class != "Once" || string(e.Args) != "[]" {
					t.Errorf("%+v, %v, %v", e, ok, err)
				}
				return 1, err
			},
			"Resque.pop('jobs').length - 1",
		},
	} {
		fill()
		theirs := p.do(c.theirs)
		after := s.Dump()
		fill()
		mine, err := c.mine()
		if err != nil || int(mine) != theirs {
			t.Errorf("%s: %d, %v, want %v", name, mine, err, theirs)
		}
		if diff := cmp.Diff(after, s.Dump()); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	if err := b.client.PauseAll(ctx); err != nil || p.do("worker('jobs').paused?") != true {
		t.Error("Ruby doesn't pause", err)
	}
	if err := b.client.ResumeAll(ctx); err != nil || p.do("worker('jobs').paused?") != false {
		t.Error("Ruby doesn't resume", err)
	}
	p.do("Resque.redis.set('pause-all-workers', \" True\\n\")")
	if paused, err := b.client.AllPaused(ctx); err != nil || !paused || p.do("worker('jobs').paused?") != true {
		t.Error("Ruby pauses, and Go doesn't say so", err)
	}
}

package live_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
)

// adapters are the gems of this Ruby that can encode and decode.
func adapters() []string {
	if installed().versions["oj"] != "" {
		return []string{"json_gem", "oj"}
	}
	return []string{"json_gem"}
}

// refusing is a failure backend whose writes Redis refuses, so that a run that
// failed stays in its hand.
type refusing struct{}

const refusedKey = "no-list"

func (refusing) Writes(*resque.Failure) ([]resque.Write, error) {
	return []resque.Write{{Command: "RPUSH", Key: refusedKey, Args: []string{"x"}}}, nil
}

// elements are what Go has in hand in the tests of what Ruby sees of it, by the
// queue that they come from. Those that are no jobs stay in hand because their
// record is refused.
var elements = map[string]struct {
	raw   string
	job   bool   // it is performed
	class string // what Ruby sees in the hand
}{
	"plain":     {`{"class":"Slow","args":[7,"é <&> 😀"]}`, true, "Slow"},
	"extra":     {`{"args":[1.10],"class":"Slow","id":"x"}`, true, "Slow"},
	"cut":       {`{"class":"Slow","args":[`, false, resque.MalformedClass},
	"list":      {`[]`, false, resque.MalformedClass},
	"null":      {`null`, false, resque.MalformedClass},
	"bytes":     {"\xff\xfe\x00", false, resque.MalformedClass},
	"not UTF-8": {"{\"class\":\"Slow\",\"args\":[\"\xff\"]}", true, resque.MalformedClass},
	"low half":  {`{"class":"Slow","args":["\udc00"]}`, true, resque.MalformedClass},
	"high half": {`{"class":"Slow","args":["\ud800"]}`, false, resque.MalformedClass},
	"infinite":  {`{"class":"Slow","args":[1e400]}`, true, resque.MalformedClass},
	"no class":  {`{"args":[1]}`, false, resque.MalformedClass},
	"number":    {`{"class":5,"args":[]}`, false, resque.MalformedClass},
	"long":      {`{"class":"Slow","args":["` + strings.Repeat("é", 40_000) + `"]}`, true, "Slow"},
	"long cut":  {`{"class":"Slow","args":["` + strings.Repeat("x", 80_000), false, resque.MalformedClass},
}

// hold makes a Go worker that has all elements in hand, and answers its ids.
func (b *bench) hold(failures resque.FailureBackend) (ids []string) {
	b.t.Helper()
	s := b.server
	queues := []string{}
	for queue, e := range elements {
		queues = append(queues, queue)
		s.Seed(map[string]any{"queue:" + queue: redistest.List{e.raw}, "queues": redistest.Set{queue}})
	}
	s.Seed(map[string]any{refusedKey: "a string"})
	w := b.newWorker(func(cfg *resque.WorkerConfig) {
		cfg.Queues, cfg.Concurrency, cfg.Failures = queues, len(elements)+2, failures
		cfg.ShutdownTimeout, cfg.CancelTimeout, cfg.ReleaseTimeout = -1, -1, 10*time.Second
	})
	slow := newBusy(b.t)
	b.handle(w, "Slow", slow)
	b.run(w)
	begun := 0
	for _, e := range elements {
		if e.job {
			begun++
		}
	}
	slow.await(b.t, begun)
	b.eventually("every element in hand, as Ruby can read it", func() bool {
		return len(b.hands()) == len(elements)
	})
	ids, _ = s.Dump()["workers"].(redistest.Set)
	return ids
}

// hands are the hands that are full and not blank.
func (b *bench) hands() map[string]string {
	b.t.Helper()
	hands := map[string]string{}
	for name, value := range b.server.Dump() {
		hand, ok := value.(string)
		if ok && strings.HasPrefix(name, "worker:") && !strings.HasSuffix(name, ":started") && !strings.Contains(hand, `"args":[]`) {
			hands[name] = hand
		}
	}
	return hands
}

// Whatever a Go worker has in hand, Ruby reads it, and all else that it writes
// into the registry.
func TestRubyReadsRegistry(t *testing.T) {
	t.Parallel()
	for _, adapter := range adapters() {
		t.Run(adapter, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			b := newBench(t, s)
			ids := b.hold(refusing{})
			p := startPeerWith(t, s, adapter, "jobs.rb")

			if diff := cmp.Diff(toAny(ids), p.do("Resque.workers.map(&:to_s).sort")); diff != "" {
				t.Errorf("workers:\n%s", diff)
			}
			want := map[string]any{}
			for queue, e := range elements {
				want[queue] = e.class
			}
			const working = "Resque.working.to_h { |w| [w.job['queue'], w.job['payload']['class']] }"
			if diff := cmp.Diff(want, p.do(working)); diff != "" {
				t.Errorf("working:\n%s", diff)
			}
			const read = `Resque.workers.map do |w|
				raise 'state' unless w.state == (w.job == {} ? :idle : :working) && w.working? != w.idle?
				raise 'run_at' unless w.job == {} || (Time.now - Time.iso8601(w.job['run_at'])).abs < 120
				raise 'started' unless (Time.now - Time.parse(w.started)).abs < 120
				raise 'heartbeat' unless (Time.now - w.heartbeat).abs < 120
				raise 'counts' unless [w.processed, w.failed] == [0, 0]
				[w.hostname, w.pid, w.queues.sort].join('|')
			end.tally.size`
			if got := p.do(read); got != 1 { // all slots tell the same of themselves
				t.Errorf("workers tell %v different things of themselves", got)
			}
			if got := p.do("Resque::Worker.all_workers_with_expired_heartbeats.size"); got != 0 {
				t.Errorf("Ruby takes %v heartbeats for expired", got)
			}
			info, _ := p.do("Resque.info.transform_keys(&:to_s)").(map[string]any)
			for key, value := range map[string]any{
				"pending": 0, "processed": 0, "failed": 0, "queues": len(elements),
				"workers": len(ids), "working": len(elements),
			} {
				if info[key] != value {
					t.Errorf("Resque.info: %s is %v, want %v", key, info[key], value)
				}
			}
		})
	}
}

// Go reads what Ruby writes there.
func TestGoReadsRegistry(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := newBench(t, s)
	p := startPeer(t, s, "jobs.rb")
	id, _ := p.do(`
		Resque::Failure.backend = Resque::Failure::Redis
		Outcome.fails = true
		3.times { Resque.enqueue(Once, 'fails') }
		Resque.enqueue(Once, *` + rubyArgs + `)
		Resque.enqueue(Once, 'waits')
		WORKER = worker('jobs').tap(&:register_worker)
		WORKER.heartbeat!
		3.times { WORKER.work_one_job }
		WORKER.working_on(WORKER.reserve)
		WORKER.to_s`).(string)

	w, ok, err := b.client.WorkerInfo(t.Context(), id)
	if err != nil || !ok || w.Err != nil {
		t.Fatalf("%v, %v, %v", ok, err, w.Err)
	}
	if w.Processed != 3 || w.Failed != 3 {
		t.Errorf("processed %d, failed %d", w.Processed, w.Failed)
	}
	if w.Hand == nil || w.Hand.Err != nil {
		t.Fatalf("in hand: %+v", w.Hand)
	}
	args, err := json.Marshal(p.do("WORKER.job['payload']['args']"))
	if err != nil {
		t.Fatal(err)
	}
	var same any
	if err := json.Unmarshal(w.Hand.Args, &same); err != nil {
		t.Fatal(err)
	}
	if again, err := json.Marshal(same); err != nil || w.Hand.Class != "Once" || w.Hand.Queue != "jobs" || string(again) != string(args) {
		t.Errorf("in hand: %s of %s with %s, want %s (%v)", w.Hand.Class, w.Hand.Queue, again, args, err)
	}
	for what, at := range map[string]time.Time{"started": w.Started, "heartbeat": w.Heartbeat, "run at": w.Hand.RunAt} {
		if time.Since(at).Abs() > 2*time.Minute {
			t.Errorf("%s is %v", what, at)
		}
	}
	info, err := b.client.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ruby := p.do("%s.map { |k| Resque.info[k.to_sym] }", []string{"pending", "processed", "queues", "workers", "working", "failed"})
	mine := []any{int(info.Pending), int(info.Processed), int(info.Queues), int(info.Workers), int(info.Working), int(info.FailedRecords)}
	if diff := cmp.Diff(ruby, any(mine)); diff != "" {
		t.Errorf("info:\n%s", diff)
	}
}

func toAny(texts []string) any {
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = text
	}
	return list
}

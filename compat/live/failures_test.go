package live_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/failure"
	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
)

// failedPayloads are those of the list failed, sorted.
func (b *bench) failedPayloads() []string {
	b.t.Helper()
	list, _ := b.server.Dump()["failed"].(redistest.List)
	payloads := []string{}
	for _, text := range list {
		var record struct {
			Payload json.RawMessage `json:"payload"`
		}
		if err := json.Unmarshal([]byte(text), &record); err != nil {
			b.t.Fatal(err)
		}
		payloads = append(payloads, string(record.Payload))
	}
	slices.Sort(payloads)
	return payloads
}

// failing are jobs in the form in which Ruby writes them.
var failing = []string{
	`{"class":"Once","args":[]}`,
	`{"class":"Once","args":[7,"é <&> 😀 \\ \" \n",1.0,2.5e+20,12345678901234567890,null,true]}`,
	`{"class":"Once","args":[{"b":[1,{"k":null}],"a":""},[]]}`,
	`{"class":"NoSuchJob","args":[1]}`,
}

// What Go recorded as failed, Ruby enqueues again: the same class and arguments.
func TestRubyRequeuesWhatGoFailed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, list, backend string
		inner               resque.FailureBackend
		one, all            string
	}{
		{
			"one list", "failed", "Redis",
			failure.List{},
			"Resque::Failure.requeue(1)", "Resque::Failure.requeue_all",
		},
		{
			"a list per queue", "jobs_failed", "RedisMultiQueue",
			failure.ListPerQueue{},
			"Resque::Failure.backend.requeue(1, 'jobs_failed')", "Resque::Failure.requeue_all",
		},
		{
			"by queue", "failed", "Redis",
			failure.List{},
			"Resque::Failure.requeue(1)", "Resque::Failure.requeue_queue('jobs')",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			b := newBench(t, s)
			s.Seed(map[string]any{"queue:jobs": redistest.List(failing)})
			w := b.newWorker(func(cfg *resque.WorkerConfig) { cfg.Failures = c.inner })
			b.jobs.fails = true
			b.start(w)
			for range failing {
				b.step(w)
			}
			b.expect("queue:jobs")

			p := startPeer(t, s, "jobs.rb")
			p.do("Resque::Failure.backend = Resque::Failure::" + c.backend + "\nnil")
			p.do(c.one + "\nnil")
			b.expect("queue:jobs", failing[1])
			p.do("Resque.redis.del('queue:jobs')\n" + c.all + "\nnil")
			queued, _ := s.Dump()["queue:jobs"].(redistest.List)
			if diff := cmp.Diff(slices.Sorted(slices.Values(failing)), slices.Sorted(slices.Values(queued))); diff != "" {
				t.Errorf("queued again:\n%s", diff)
			}
			b.jobs.fails = false
			for range queued {
				b.step(w)
			}
			records, _ := s.Dump()[c.list].(redistest.List)
			if len(records) != len(failing)+1 { // nobody performs NoSuchJob
				t.Errorf("%s holds %d records:\n%q", c.list, len(records), records)
			}
			const read = `Resque::Failure.all(0, 10, %s).map { |r| r['retried_at'] && r.keys - %%w[retried_at] }`
			fields := []any{"failed_at", "payload", "exception", "error", "backtrace", "worker", "queue"}
			if diff := cmp.Diff([]any{fields, fields, fields, fields, nil}, p.do(read, c.list)); diff != "" {
				t.Errorf("fields of the records:\n%s", diff)
			}
		})
	}
}

// Text that Ruby can't carry comes back byte for byte when Ruby enqueues it
// again.
func TestRubyRequeuesBytes(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := newBench(t, s)
	raws := []string{"{\"class\":\"Once\",\"args\":[\"\xff\"]}", "\xff\xfe", `{"class":"Once","args":[`, `null`}
	s.Seed(map[string]any{"queue:jobs": redistest.List(raws)})
	w := b.newWorker(nil)
	b.jobs.fails = true
	b.start(w)
	for range raws {
		b.step(w)
	}
	p := startPeer(t, s, "jobs.rb")
	p.do("Resque::Failure.requeue_all\nnil")

	entries, err := b.client.Peek(t.Context(), "jobs", 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, string(e.Raw))
	}
	if diff := cmp.Diff(raws, got); diff != "" {
		t.Errorf("queued again:\n%s", diff)
	}
	b.jobs.fails = false
	for range raws {
		b.step(w)
	}
	if len(b.jobs.attempts) != 2 { // the first job, twice
		t.Errorf("performed %d times", len(b.jobs.attempts))
	}
	records, _ := s.Dump()["failed"].(redistest.List)
	if len(records) != 2*len(raws)-1 {
		t.Errorf("failed holds %d records", len(records))
	}
}

// What Ruby recorded as failed, Go reads and enqueues again; Ruby's page shows when.
func TestGoRequeuesWhatRubyFailed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		list, backend string
		perQueue      bool
	}{
		{"failed", "Redis", false},
		{"jobs_failed", "RedisMultiQueue", true},
	} {
		t.Run(c.list, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			b := newBench(t, s)
			s.Seed(map[string]any{"queue:jobs": redistest.List(failing)})
			p := startPeer(t, s, "jobs.rb")
			p.do("Resque::Failure.backend = Resque::Failure::" + c.backend +
				"\nOutcome.fails = true\nw = worker('jobs')\nnil while w.work_one_job")

			store := failure.NewStore(b.client, failure.StoreConfig{PerQueue: c.perQueue})
			var records []failure.Record
			for r, err := range store.Each(t.Context(), failure.Filter{}, failure.OldestFirst) {
				if err != nil || r.Err != nil || r.FailedAt.IsZero() || r.Queue != "jobs" || r.List != c.list {
					t.Fatalf("%+v, %v", r, err)
				}
				records = append(records, r)
			}
			if len(records) != len(failing) || records[1].Exception != "ArgumentError" || records[1].Error != "not in Ruby" {
				t.Fatalf("%+v", records)
			}
			if err := store.Requeue(t.Context(), records[1]); err != nil {
				t.Fatal(err)
			}
			b.expect("queue:jobs", failing[1])
			if got := p.do("Resque::Failure.all(1, 1, %s)['retried_at'].nil?", c.list); got != false {
				t.Error("Ruby sees no retried_at")
			}
			s.Do("DEL", s.Key("queue:jobs"))
			if r, err := store.RequeueAll(t.Context(), nil); err != nil || r.Done != int64(len(failing)) {
				t.Fatalf("%+v, %v", r, err)
			}
			want := slices.Clone(failing)
			if c.perQueue { // as Ruby, the newest first
				slices.Reverse(want)
			}
			b.expect("queue:jobs", want...)
			p.do("Outcome.fails = false\nw = worker('jobs')\nnil while w.work_one_job")
			if got, want := p.do("Outcome.attempts.size"), 2*(len(failing)-1); got != want { // nobody performs NoSuchJob
				t.Errorf("Ruby performed %v times, want %d", got, want)
			}
		})
	}
}

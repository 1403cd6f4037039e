package resque_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
)

// frozen is a clock that stands still and notes the sleeps it was asked for.
type frozen struct {
	mu     sync.Mutex
	now    time.Time
	sleeps []time.Duration
}

func newFrozen() *frozen { return &frozen{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func (f *frozen) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *frozen) Sleep(_ context.Context, d time.Duration) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sleeps = append(f.sleeps, d)
	return nil
}

func (f *frozen) add(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

const testID = "host:1:q"

// bench is one worker on a server of its own namespace.
type bench struct {
	t      *testing.T
	server *redistest.Server
	client *resque.Client
	clock  *frozen
}

func newBench(t *testing.T, s *redistest.Server) *bench {
	t.Helper()
	return newBenchAt(t, s, s.URL())
}

func newBenchAt(t *testing.T, s *redistest.Server, url string) *bench {
	t.Helper()
	b := &bench{t: t, server: s, clock: newFrozen()}
	client, err := resque.Open(t.Context(), url, resque.Options{Namespace: s.Namespace(), Clock: b.clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	b.client = client
	return b
}

func (b *bench) worker(change func(*resque.WorkerConfig), handlers map[string]resque.Handler) *resque.Worker {
	b.t.Helper()
	cfg := resque.WorkerConfig{
		Queues: []string{"q"}, Concurrency: 1, Clock: b.clock,
		WorkerID: func(int) string { return testID },
	}
	if change != nil {
		change(&cfg)
	}
	w, err := resque.NewWorker(b.client, cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	for class, h := range handlers {
		if err := w.Handle(class, h); err != nil {
			b.t.Fatal(err)
		}
	}
	return w
}

func (b *bench) start(w *resque.Worker) {
	b.t.Helper()
	if err := w.Start(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := w.Stop(context.WithoutCancel(b.t.Context())); err != nil {
			b.t.Error(err)
		}
	})
}

func (b *bench) step(w *resque.Worker) {
	b.t.Helper()
	if worked, err := w.Step(b.t.Context()); err != nil || !worked {
		b.t.Fatalf("worked %v, error %v", worked, err)
	}
}

// keys is the namespace but for our own state, the registry and the counters of
// work done.
func (b *bench) keys() map[string]any {
	b.t.Helper()
	all := b.server.Dump()
	for name := range all {
		if len(name) > 10 && name[:11] == "understudy:" || name == "workers" || name == "workers:heartbeat" || name == "worker:"+testID+":started" ||
			name == "pruning_dead_workers_in_progress" {
			delete(all, name)
		}
	}
	return all
}

func good(context.Context, *resque.Job) error { return nil }

func bad(context.Context, *resque.Job) error { return errors.New("boom") }

func TestStep(t *testing.T) {
	t.Parallel()
	record := func(payload, exception, message string) string {
		return `{"failed_at":"2026/01/02 03:04:05 UTC","payload":` + payload + `,"exception":"` + exception +
			`","error":"` + message + `","backtrace":[],"worker":"host:1:q","queue":"q"}`
	}
	one := map[string]any{"stat:processed": "1", "stat:processed:" + testID: "1", "queues": redistest.Set{"q"}}
	failed := func(record string) map[string]any {
		return map[string]any{
			"stat:processed": "1", "stat:processed:" + testID: "1", "stat:failed": "1", "stat:failed:" + testID: "1",
			"failed": redistest.List{record}, "queues": redistest.Set{"q"},
		}
	}
	for _, c := range []struct {
		name    string
		element string
		want    map[string]any
	}{
		{"success", `{"class":"Good","args":[1]}`, one},
		{"failure", `{"class":"Bad","args":[1.10]}`, failed(record(`{"class":"Bad","args":[1.10]}`, "RuntimeError", "boom"))},
		{"unknown class", `{"class":"Nobody","args":[]}`, failed(record(`{"class":"Nobody","args":[]}`, "NameError", "uninitialized constant Nobody"))},
		{"success with bytes that are no UTF-8", "{\"class\":\"Good\",\"args\":[\"\xff\"]}", one},
		{"failure with bytes that are no UTF-8", "{\"class\":\"Bad\",\"args\":[\"\xff\"]}", failed(record(
			`{"class":"Understudy::Malformed","args":["eyJjbGFzcyI6IkJhZCIsImFyZ3MiOlsi/yJdfQ=="]}`, "RuntimeError", "boom"))},
		{"a requeued malformed record", `{"class":"Understudy::Malformed","args":["eyJjbGFzcyI6Ikdvb2QiLCJhcmdzIjpbXX0="]}`, one},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				b := newBench(t, s)
				b.server.Seed(map[string]any{"queue:q": redistest.List{c.element}, "queues": redistest.Set{"q"}})
				w := b.worker(nil, map[string]resque.Handler{"Good": resque.HandlerFunc(good), "Bad": resque.HandlerFunc(bad)})
				b.start(w)
				b.step(w)
				if diff := cmp.Diff(c.want, b.keys()); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// decodeMalformed is the original text that a failure record of malformed text
// holds.
func decodeMalformed(t *testing.T, record string) string {
	t.Helper()
	var f struct {
		Payload struct {
			Class string   `json:"class"`
			Args  []string `json:"args"`
		} `json:"payload"`
	}
	if err := json.Unmarshal([]byte(record), &f); err != nil || f.Payload.Class != resque.MalformedClass || len(f.Payload.Args) != 1 {
		t.Fatalf("record %s: %v", record, err)
	}
	text, err := base64.StdEncoding.DecodeString(f.Payload.Args[0])
	if err != nil {
		t.Fatalf("record %s: %v", record, err)
	}
	return string(text)
}

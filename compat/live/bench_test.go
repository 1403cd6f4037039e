package live_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/understudy/failure"
	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
	"example.com/understudy/retry"
	"example.com/understudy/scheduler"
)

// bench is the Go side of a test.
type bench struct {
	t      *testing.T
	server *redistest.Server
	client *resque.Client
	jobs   outcome
}

// outcome is what the jobs do that Go performs: fail, or note their attempt, as
// Outcome does in testdata/jobs.rb.
type outcome struct {
	mu       sync.Mutex
	fails    bool
	attempts []int64
}

var errGo = errors.New("not in Go")

func (o *outcome) Perform(_ context.Context, job *resque.Job) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.attempts = append(o.attempts, job.Attempt)
	if o.fails {
		return errGo
	}
	return nil
}

func newBench(t *testing.T, s *redistest.Server) *bench {
	t.Helper()
	client, err := resque.Open(t.Context(), s.URL(), resque.Options{Namespace: s.Namespace()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return &bench{t: t, server: s, client: client}
}

// newWorker is a worker with the classes of testdata/jobs.rb.
func (b *bench) newWorker(change func(*resque.WorkerConfig)) *resque.Worker {
	b.t.Helper()
	cfg := resque.WorkerConfig{Queues: []string{"jobs"}, Concurrency: 1, Failures: failure.SuppressRetries(nil)}
	if change != nil {
		change(&cfg)
	}
	w, err := resque.NewWorker(b.client, cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	inspect := installed().inspect()
	b.handle(w, "Again", &b.jobs, retry.Policy{Limit: 5, Inspect: inspect})
	b.handle(w, "Later", &b.jobs, retry.Policy{Limit: 5, Delay: retry.Every(time.Minute), Inspect: inspect})
	b.handle(w, "Once", &b.jobs)
	return w
}

func (b *bench) handle(w *resque.Worker, class string, h resque.Handler, options ...resque.HandleOption) {
	b.t.Helper()
	if err := w.Handle(class, h, options...); err != nil {
		b.t.Fatal(err)
	}
}

// start registers a worker; it is stopped at the test's end, if it wasn't.
func (b *bench) start(w *resque.Worker) {
	b.t.Helper()
	if err := w.Start(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = w.Stop(context.WithoutCancel(b.t.Context())) })
}

// step performs one job, and says whether there was one.
func (b *bench) step(w *resque.Worker) bool {
	b.t.Helper()
	worked, err := w.Step(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return worked
}

// run lets a worker work until the test calls what it answers, or ends.
func (b *bench) run(w *resque.Worker) (stop func()) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			b.t.Errorf("the Go worker stopped with: %v", err)
		}
	})
	b.t.Cleanup(stop)
	return stop
}

// deliver is what Go's scheduler does once so many seconds have passed.
func (b *bench) deliver(after time.Duration) {
	b.t.Helper()
	s, err := scheduler.New(b.client, scheduler.Config{Clock: ahead(after)})
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := s.Tick(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	if !s.Master() {
		b.t.Fatal("somebody else holds the master lock")
	}
	if err := s.Stop(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

// ahead is a clock that is ahead of the real one.
type ahead time.Duration

func (a ahead) Now() time.Time { return time.Now().Add(time.Duration(a)) }

func (a ahead) Sleep(ctx context.Context, d time.Duration) error {
	return resque.SystemClock().Sleep(ctx, d)
}

// left is the namespace but for what stays when everything is done: queue names,
// statistics, what only Go knows.
func (b *bench) left() map[string]any {
	b.t.Helper()
	keys := b.server.Dump()
	for name := range keys {
		if name == "queues" || strings.HasPrefix(name, "stat:") || strings.HasPrefix(name, "understudy:") ||
			name == "pruning_dead_workers_in_progress" {
			delete(keys, name)
		}
	}
	return keys
}

// expect compares what a list holds.
func (b *bench) expect(list string, want ...string) {
	b.t.Helper()
	got, _ := b.server.Dump()[list].(redistest.List)
	if !slices.Equal([]string(got), want) {
		b.t.Fatalf("%s holds %q, want %q", list, got, want)
	}
}

// eventually looks until ok answers true.
func (b *bench) eventually(what string, ok func() bool) {
	b.t.Helper()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(peerLife)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			b.t.Fatalf("after %v: still not %s", peerLife, what)
		}
	}
}

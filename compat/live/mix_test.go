package live_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/failure"
	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

const (
	mixJobs  = 300
	mixLimit = 3
)

// mixJob is the n-th job: every third one waits between its attempts; they fail
// 0 to 5 times, more often than some are tried.
func mixJob(n int) (class string, fails int) {
	if n%3 == 0 {
		return "FlakyLater", n / 3 % 6
	}
	return "FlakyAgain", n % 6
}

// mixRuns is what has to happen: each attempt of each job once. failed are the
// jobs that fail for good.
func mixRuns() (runs, failed []string) {
	for n := range mixJobs {
		class, fails := mixJob(n)
		for attempt := range min(fails, mixLimit) + 1 {
			runs = append(runs, fmt.Sprint(class, " ", n, " ", attempt))
		}
		if fails > mixLimit {
			failed = append(failed, fmt.Sprintf(`{"class":%q,"args":[%d,%d]}`, class, n, fails))
		}
	}
	slices.Sort(runs)
	slices.Sort(failed)
	return runs, failed
}

// Two Ruby workers and a Go worker on the same queues, with both schedulers: every
// job is performed exactly as often as its attempts say.
func TestMix(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := newBench(t, s)
	rubies := []*peer{startPeer(t, s, "jobs.rb", "mix.rb"), startPeer(t, s, "jobs.rb", "mix.rb")}
	ticker := startPeer(t, s)
	ticker.do("Resque::Scheduler.poll_sleep_amount = 0.2")
	ticker.tell("Resque::Scheduler.run")
	lock := s.Namespace() + ":resque_scheduler_master_lock"
	b.eventually("Ruby's scheduler the master", func() bool { return s.Dump()[lock] != nil })

	b.enqueueMix(rubies[0])
	for _, p := range rubies {
		p.tell("worker('high', 'low').work(0.05)")
	}
	stopWorker, stopScheduler := b.run(b.mixWorker()), b.schedule()

	runs, failed := mixRuns()
	noted := func() []string {
		list, _ := s.Dump()["runs"].(redistest.List)
		return slices.Sorted(slices.Values(list))
	}
	quiet := func(name string) bool { // what may be there while all is done
		return name == "failed" || name == "runs" || name == "gate" || name == "workers" || name == "workers:heartbeat" ||
			name == lock || strings.HasPrefix(name, "worker:") && strings.HasSuffix(name, ":started")
	}
	b.eventually("done with all", func() bool {
		for name := range b.left() {
			if !quiet(name) {
				return false
			}
		}
		return len(noted()) >= len(runs)
	})
	stopWorker()
	for _, p := range rubies {
		p.signal(syscall.SIGQUIT)
		p.answer()
	}
	ticker.signal(syscall.SIGTERM)
	ticker.ended()
	stopScheduler()

	if diff := cmp.Diff(runs, noted()); diff != "" {
		t.Errorf("runs:\n%s", diff)
	}
	if diff := cmp.Diff(failed, b.failedPayloads()); diff != "" {
		t.Errorf("failed for good:\n%s", diff)
	}
	all := s.Dump()
	if processed := fmt.Sprint(len(runs)); all["stat:processed"] != processed {
		t.Errorf("stat:processed is %v, want %s", all["stat:processed"], processed)
	}
	left := b.left()
	for _, name := range []string{"failed", "runs", "gate"} {
		delete(left, name)
	}
	if diff := cmp.Diff(map[string]any{}, left); diff != "" {
		t.Errorf("something is left:\n%s", diff)
	}
}

// enqueueMix enqueues the jobs, one half from Ruby, the other from Go.
func (b *bench) enqueueMix(p *peer) {
	b.t.Helper()
	var jobs []resque.NewJob
	var code strings.Builder
	for n := range mixJobs {
		class, fails := mixJob(n)
		if n%2 == 0 {
			fmt.Fprintf(&code, "Resque.enqueue(%s, %d, %d)\n", class, n, fails)
			continue
		}
		queue := map[string]string{"FlakyAgain": "high", "FlakyLater": "low"}[class]
		jobs = append(jobs, resque.NewJob{Queue: queue, Class: class, Args: []any{n, fails}})
	}
	p.do(strings.ReplaceAll(code.String(), "%", "%%"))
	if _, err := b.client.EnqueueMany(b.t.Context(), jobs...); err != nil {
		b.t.Fatal(err)
	}
}

// mixWorker is Go's worker, with the classes of testdata/mix.rb.
func (b *bench) mixWorker() *resque.Worker {
	b.t.Helper()
	w, err := resque.NewWorker(b.client, resque.WorkerConfig{
		Queues: []string{"high", "low"}, Concurrency: 2, Failures: failure.SuppressRetries(nil),
	})
	if err != nil {
		b.t.Fatal(err)
	}
	var gate sync.Once
	for class, delay := range map[string]retry.Delay{"FlakyAgain": {}, "FlakyLater": retry.Every(time.Second)} {
		perform := resque.Func(func(ctx context.Context, job *resque.Job, id, fails int64) error {
			gate.Do(func() { b.passGate(ctx) })
			_, err := b.client.Do(ctx, "RPUSH", b.client.Keys().Of("runs"), fmt.Sprint(job.Class, " ", id, " ", job.Attempt))
			if err == nil && job.Attempt < fails {
				err = errors.New("not yet")
			}
			return err
		})
		b.handle(w, class, perform, retry.Policy{Limit: mixLimit, Delay: delay})
	}
	return w
}

// passGate waits until everybody has a job.
func (b *bench) passGate(ctx context.Context) {
	key := b.client.Keys().Of("gate")
	_, err := b.client.Do(ctx, "RPUSH", key, "go")
	for n := int64(0); err == nil && n < 3; {
		if n, err = resque.Int(b.client.Do(ctx, "LLEN", key)); err == nil {
			err = resque.SystemClock().Sleep(ctx, 5*time.Millisecond)
		}
	}
	if err != nil {
		b.t.Error(err)
	}
}

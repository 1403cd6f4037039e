package program_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/understudy/failure"
	"example.com/understudy/internal/program"
	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

// 20,000 jobs over handlers in Go and programs, some of which fail or are tried
// again: each run happens once and is recorded once.
func TestManyJobs(t *testing.T) {
	t.Parallel()
	const (
		jobs     = 20_000
		programs = 500 // every 40th
	)
	s := redistest.New(t)
	if !s.Real() {
		t.Skip("needs a redis-server: 20,000 jobs take miniredis too long")
	}
	client, err := resque.Open(t.Context(), s.URL(), resque.Options{Namespace: s.Namespace()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	var batch []resque.NewJob
	for i := range jobs {
		class := []string{"Good", "Bad", "Again", "Counted"}[i%4]
		if i%40 == 0 {
			class = "Program"
		}
		batch = append(batch, resque.NewJob{Queue: []string{"a", "b"}[i%2], Class: class, Args: []any{i}})
	}
	if n, err := client.EnqueueMany(t.Context(), batch...); err != nil || n != jobs {
		t.Fatal(n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w, err := resque.NewWorker(client, resque.WorkerConfig{
		Queues: []string{"a", "b"}, Concurrency: 40, Failures: failure.SuppressRetries(failure.List{}),
	})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	runs := map[string]int{}
	handle := func(class string, result error, options ...resque.HandleOption) {
		h := resque.HandlerFunc(func(_ context.Context, job *resque.Job) error {
			mu.Lock()
			defer mu.Unlock()
			runs[fmt.Sprintf("%s%s/%d", class, job.Args, job.Attempt)]++
			return result
		})
		if err := w.Handle(class, h, options...); err != nil {
			t.Fatal(err)
		}
	}
	handle("Good", nil)
	errBoom := errors.New("boom")
	handle("Bad", errBoom)
	handle("Again", errBoom, retry.Policy{})
	handle("Counted", nil, retry.Policy{})
	log := filepath.Join(t.TempDir(), "runs")
	script := &program.Handler{Command: []string{"/bin/sh", "-c", `read -r job; echo "$job" >>"$0"`, log}}
	if err := w.Handle("Program", script); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	const again = jobs / 4 // each runs twice
	total := fmt.Sprint(jobs + again)
	for deadline := time.Now().Add(3 * time.Minute); s.Get("stat:processed") != total; {
		if time.Now().After(deadline) {
			t.Fatalf("stat:processed is %v, want %s", s.Get("stat:processed"), total)
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case err := <-done:
			t.Fatal("the worker stopped:", err)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	checkMany(t, s, runs, log, jobs, programs)
}

func checkMany(t *testing.T, s *redistest.Server, runs map[string]int, log string, jobs, programs int) {
	t.Helper()
	if want := jobs + jobs/4 - programs; len(runs) != want {
		t.Errorf("%d different runs in Go, want %d", len(runs), want)
	}
	for run, n := range runs {
		if n != 1 {
			t.Errorf("%s ran %d times", run, n)
		}
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	seen := map[string]bool{}
	for _, line := range lines {
		seen[line] = true
	}
	if len(lines) != programs || len(seen) != programs {
		t.Errorf("%d runs of the program, %d different, want %d", len(lines), len(seen), programs)
	}
	records, _ := s.Get("failed").(redistest.List)
	payloads := map[string]bool{}
	for _, record := range records {
		_, rest, _ := strings.Cut(record, `"payload":`)
		payload, _, _ := strings.Cut(rest, `,"exception"`)
		payloads[payload] = true
	}
	if len(records) != jobs/2 || len(payloads) != jobs/2 {
		t.Errorf("%d failure records, %d different, want %d", len(records), len(payloads), jobs/2)
	}
	if got, want := s.Get("stat:failed"), fmt.Sprint(3*jobs/4); got != want {
		t.Errorf("stat:failed is %v, want %s", got, want)
	}
	for _, name := range s.Names() {
		if strings.HasPrefix(name, "resque-retry:") || strings.HasPrefix(name, "queue:") || strings.HasPrefix(name, "worker:") {
			t.Errorf("%s is left", name)
		}
	}
}

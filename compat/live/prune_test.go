package live_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
)

// busy is a handler that is at it until the test lets go.
type busy struct{ started, release chan struct{} }

func newBusy(t *testing.T) *busy {
	t.Helper()
	b := &busy{started: make(chan struct{}, 100), release: make(chan struct{})}
	t.Cleanup(b.letGo)
	return b
}

func (b *busy) letGo() {
	select {
	case <-b.release:
	default:
		close(b.release)
	}
}

func (b *busy) Perform(ctx context.Context, _ *resque.Job) error {
	b.started <- struct{}{}
	select {
	case <-b.release:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// await returns once so many runs have begun.
func (b *busy) await(t *testing.T, runs int) {
	t.Helper()
	deadline := time.After(peerLife)
	for n := range runs {
		select {
		case <-b.started:
		case <-deadline:
			t.Fatalf("after %v only %d of %d runs have begun", peerLife, n, runs)
		}
	}
}

// A Ruby worker that starts on the same host prunes what isn't there any more,
// and leaves a busy Go worker and its job alone.
func TestRubyPrunesOnlyItsOwn(t *testing.T) {
	t.Parallel()
	for _, queues := range []string{"jobs", "*"} {
		t.Run(queues, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			b := newBench(t, s)
			w := b.newWorker(func(cfg *resque.WorkerConfig) { cfg.Queues = []string{queues} })
			slow := newBusy(t)
			b.handle(w, "Slow", slow)
			stop := b.run(w)
			if err := b.client.Enqueue(t.Context(), "jobs", "Slow", 7); err != nil {
				t.Fatal(err)
			}
			slow.await(t, 1)

			host, err := os.Hostname()
			if err != nil {
				t.Fatal(err)
			}
			dead := host + ":4194999:" + queues // no Linux has that process
			s.Seed(map[string]any{
				"workers":        redistest.Set{dead},
				"worker:" + dead: `{"queue":"jobs","run_at":"2026-01-02T03:04:05Z","payload":{"class":"Once","args":["dead"]}}`,
			})
			s.Do("DEL", s.Key("pruning_dead_workers_in_progress")) // Go has just pruned
			before := s.Dump()
			p := startPeer(t, s, "jobs.rb")
			hostOfRuby := p.do("worker('*').tap(&:prune_dead_workers).hostname")
			if hostOfRuby != host {
				t.Fatalf("Ruby's host is %v, Go's is %s", hostOfRuby, host)
			}

			after := s.Dump()
			if _, ok := after["worker:"+dead]; ok {
				t.Error("Ruby left the dead worker of its own")
			}
			if failed := fmt.Sprint(after["failed"]); !strings.Contains(failed, `"args":["dead"]`) || strings.Contains(failed, "Slow") {
				t.Errorf("failed holds %s", failed)
			}
			mine := w.Name() + "-0:" + queues
			if before["worker:"+mine] == nil || after["worker:"+mine] != before["worker:"+mine] {
				t.Errorf("the hand of %s was %v and is %v", mine, before["worker:"+mine], after["worker:"+mine])
			}
			if got := p.do("Resque.workers.map(&:to_s)"); fmt.Sprint(got) != "["+mine+"]" {
				t.Errorf("workers are %v", got)
			}
			slow.letGo()
			b.eventually("done", func() bool { return s.Dump()["stat:processed"] == "1" })
			stop()
		})
	}
}

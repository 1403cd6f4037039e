package live_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
	"example.com/understudy/scheduler"
)

// A job that a Go worker delays for its next attempt is brought back by Ruby's
// scheduler, without any of Go's.
func TestRubyDeliversWhatGoRetries(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := newBench(t, s)
	p := startPeer(t, s, "scheduler.rb")
	w := b.mixWorker()
	s.Do("RPUSH", s.Key("gate"), "ruby", "ruby") // nobody else comes
	for _, class := range []string{"FlakyLater", "FlakyAgain"} {
		if err := b.client.Enqueue(t.Context(), "low", class, 7, 2); err != nil {
			t.Fatal(err)
		}
	}
	b.start(w)
	for range 4 { // one at once, three with the retries of the other
		b.step(w)
	}
	if n, err := b.client.DelayedCount(t.Context()); err != nil || n != 1 {
		t.Fatalf("%d jobs wait: %v", n, err)
	}
	p.tell("schedule")
	for range 2 {
		b.eventually("delivered", func() bool { return b.step(w) })
	}

	b.expect("runs", "FlakyLater 7 0", "FlakyAgain 7 0", "FlakyAgain 7 1", "FlakyAgain 7 2", "FlakyLater 7 1", "FlakyLater 7 2")
	b.eventually("without a delayed job", func() bool { return len(b.delayed()) == 0 })
	if got := s.Dump()["failed"]; got != nil {
		t.Errorf("failed: %v", got)
	}
}

// A job that a Ruby worker delays for its next attempt is brought back by Go's
// scheduler, without any of Ruby's.
func TestGoDeliversWhatRubyRetries(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := newBench(t, s)
	p := startPeer(t, s, "jobs.rb", "mix.rb")
	s.Do("RPUSH", s.Key("gate"), "go", "go") // nobody else comes
	p.do("Resque.enqueue(FlakyLater, 7, 2)\nWORKER = worker('low')\nWORKER.work_one_job")
	if n, err := b.client.DelayedCount(t.Context()); err != nil || n != 1 {
		t.Fatalf("%d jobs wait: %v", n, err)
	}
	b.schedule()
	for range 2 {
		b.eventually("delivered", func() bool { return p.do("WORKER.work_one_job") == true })
	}

	b.expect("runs", "FlakyLater 7 0", "FlakyLater 7 1", "FlakyLater 7 2")
	b.eventually("without a delayed job", func() bool { return len(b.delayed()) == 0 })
	if got := s.Dump()["failed"]; got != nil {
		t.Errorf("failed: %v", got)
	}
}

const (
	tradeJobs    = 5000
	tradeWriters = 4
	tradeBatch   = 25
)

// Ruby's scheduler and Go's pass the lock to and fro while writers of both
// languages go on delaying jobs (resque-scheduler#46): each job comes to its
// queue once.
//
// The writers stay two seconds ahead: Ruby's scheduler itself can lose a job that
// comes late for a second which it is emptying (docs/differences.md).
func TestTradedLock(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := newBench(t, s)
	writer := startPeer(t, s, "jobs.rb")
	p := startPeer(t, s, "scheduler.rb")

	var movedByGo, delayedByGo atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	all.Go(func() { b.trade(ctx, &movedByGo) })
	p.tell("turns_until('stop')")

	writer.tell(fmt.Sprintf(`
		(0...%d).each { |i| Resque.enqueue_in(2 + i %% 3, Once, "ruby #{i}") }`, tradeJobs/2))
	write := make(chan int)
	for range tradeWriters {
		all.Go(func() {
			for {
				select {
				case n := <-write:
					b.delayMany(ctx, n)
					delayedByGo.Add(tradeBatch)
				case <-ctx.Done():
					return
				}
			}
		})
	}
	for n := 0; n < tradeJobs/2; n += tradeBatch {
		write <- n
	}
	writer.answer()
	// Until both have been masters while jobs were due.
	queue := func() int64 {
		n, err := b.client.Size(ctx, "jobs")
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	goes := tradeJobs / 2
	b.eventually("done by both", func() bool {
		moved, byGo := queue(), movedByGo.Load()
		if moved < tradeJobs/2+delayedByGo.Load() {
			return false
		}
		if byGo > 0 && moved > byGo {
			return true
		}
		write <- goes
		goes += tradeBatch
		return false
	})
	b.eventually("empty", func() bool { return len(b.delayed()) == 1 })
	s.Do("SET", s.Key("stop"), "1")
	turns := p.answer()
	cancel()
	all.Wait()

	var want []string
	for n := range tradeJobs / 2 {
		want = append(want, fmt.Sprintf(`{"class":"Once","args":["ruby %d"]}`, n))
	}
	for n := range goes {
		want = append(want, fmt.Sprintf(`{"class":"Once","args":["go %d"]}`, n))
	}
	got, _ := s.Dump()["queue:jobs"].(redistest.List)
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(got))); diff != "" {
		t.Errorf("jobs that came:\n%s", diff)
	}
	t.Logf("%d jobs, %d of them moved by Go; %v turns of Ruby's", len(got), movedByGo.Load(), turns)
}

// trade moves what is due and gives the lock away, again and again.
func (b *bench) trade(ctx context.Context, moved *atomic.Int64) {
	s, err := scheduler.New(b.client, scheduler.Config{})
	for err == nil && ctx.Err() == nil {
		var n int
		n, err = s.Tick(ctx)
		moved.Add(int64(n))
		if err == nil {
			err = s.Stop(ctx)
		}
		if err == nil {
			err = resque.SystemClock().Sleep(ctx, 2*time.Millisecond)
		}
	}
	if err != nil && ctx.Err() == nil {
		b.t.Error(err)
	}
}

// delayMany delays jobs with a number each, for two to four seconds.
func (b *bench) delayMany(ctx context.Context, from int) {
	jobs := make([]resque.NewJob, tradeBatch)
	for i := range jobs {
		at := time.Now().Add(time.Duration(2+i%3) * time.Second)
		jobs[i] = resque.NewJob{Queue: "jobs", Class: "Once", Args: []any{fmt.Sprint("go ", from+i)}, At: at}
	}
	if _, err := b.client.EnqueueMany(ctx, jobs...); err != nil {
		b.t.Error(err)
	}
}

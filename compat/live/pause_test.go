package live_test

import (
	"testing"

	"example.com/understudy/internal/redistest"
)

// One pause holds for Ruby's workers and for Go's.
func TestPause(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := newBench(t, s)
	p := startPeer(t, s, "jobs.rb")
	p.do("WORKER = worker('jobs').tap(&:register_worker)\nResque.enqueue(Once, 1)\nResque.enqueue(Once, 2)")
	w := b.newWorker(nil)
	b.start(w)

	p.do("Resque.redis.set('pause-all-workers', ' True ')")
	if b.step(w) {
		t.Error("Go took a job although Ruby said to pause")
	}
	p.do("Resque.redis.del('pause-all-workers')")
	if !b.step(w) {
		t.Error("Go took no job after the pause")
	}

	if err := b.client.PauseAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := p.do("WORKER.work_one_job"); got != false {
		t.Errorf("Ruby took a job although Go said to pause: %v", got)
	}
	if err := b.client.ResumeAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := p.do("WORKER.work_one_job"); got != true {
		t.Errorf("Ruby took no job after the pause: %v", got)
	}
	b.expect("queue:jobs")
}

// A Go worker that sleeps hears of the end of a pause at once.
func TestRubyEndsPause(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := newBench(t, s)
	p := startPeer(t, s, "jobs.rb")
	p.do("Resque.redis.set('pause-all-workers', 'true')\nResque.enqueue(Once, 1)")
	w := b.newWorker(nil)
	b.run(w)
	b.eventually("registered", func() bool {
		ids, _ := s.Dump()["workers"].(redistest.Set)
		return len(ids) == 1
	})
	p.do("Resque.redis.del('pause-all-workers')")
	b.eventually("done", func() bool { return s.Dump()["stat:processed"] == "1" })
}

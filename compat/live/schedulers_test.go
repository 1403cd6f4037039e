package live_test

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"example.com/understudy/scheduler"
)

// schedule runs Go's scheduler until the test calls what it answers, or ends.
func (b *bench) schedule() (stop func()) {
	b.t.Helper()
	_, stop = b.scheduleWith(scheduler.Config{Interval: 200 * time.Millisecond})
	return stop
}

// scheduleWith is schedule with a configuration.
func (b *bench) scheduleWith(c scheduler.Config) (s *scheduler.Scheduler, stop func()) {
	b.t.Helper()
	log := &output{}
	c.Logger = slog.New(slog.NewTextHandler(log, nil))
	s, err := scheduler.New(b.client, c)
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			b.t.Errorf("Go's scheduler stopped with: %v", err)
		}
	})
	b.t.Cleanup(func() {
		stop()
		if b.t.Failed() {
			b.t.Logf("Go's scheduler said:\n%s", log)
		}
	})
	return s, stop
}

// lock is the key of the master lock, without the namespace.
func (b *bench) lock() string { return b.server.Namespace() + ":resque_scheduler_master_lock" }

// holder is the value of the master lock; nil: nobody is the master.
func (b *bench) holder() any { return b.server.Do("GET", b.server.Key(b.lock())) }

// mastered waits until somebody else than these is the master, and says who.
func (b *bench) mastered(others ...any) (who any) {
	b.t.Helper()
	b.eventually("another master", func() bool {
		who = b.holder()
		return who != nil && !slices.Contains(others, who)
	})
	return who
}

// loads waits until Ruby's dynamic scheduler, which begin starts, has loaded its
// schedule: what changes before that may be lost to it (docs/differences.md).
func (b *bench) loads(begin func()) {
	b.t.Helper()
	changed := b.server.Key("schedules_changed")
	b.server.Do("SADD", changed, "nobody's")
	begin()
	b.eventually("loaded", func() bool { return b.server.Do("EXISTS", changed) == int64(0) })
}

// arrives waits for a job in a queue, takes it out and compares it.
func (b *bench) arrives(queue, want string) {
	b.t.Helper()
	const seconds = 15 // less than the interval of a scheduler that is to be woken
	popped, _ := b.server.Do("BLPOP", b.server.Key("queue:"+queue), seconds).([]any)
	if len(popped) != 2 || popped[1] != want {
		b.t.Fatalf("in %s arrives %q, want %q", queue, popped, want)
	}
}

// later delays a job of queue "jobs" by a second, and is what arrives there.
func (b *bench) later(what string) (element string) {
	b.t.Helper()
	if err := b.client.EnqueueIn(b.t.Context(), time.Second, "jobs", "Once", what); err != nil {
		b.t.Fatal(err)
	}
	return `{"class":"Once","args":["` + what + `"]}`
}

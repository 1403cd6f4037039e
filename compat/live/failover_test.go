package live_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
	"example.com/understudy/scheduler"
)

// Ruby's scheduler is killed: Go's takes over when the lock has run out, however
// long its own interval. When Go's stops, Ruby's is the master at once, however
// long Go's lock would have lived.
func TestFailover(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := newBench(t, s)
	const rubysLock = 3 * time.Second
	ruby := startPeer(t, s, "scheduler.rb")
	ruby.tell(fmt.Sprintf("schedule('lock_timeout' => %d)", int(rubysLock.Seconds())))
	first := b.mastered()
	b.arrives("jobs", b.later("by Ruby"))

	standing := make(chan struct{})
	clock := watchingClock{sleeps: func(d time.Duration) {
		if d > rubysLock {
			// Not on the test's own connection, where it waits for jobs.
			who, err := resque.String(b.client.Do(context.WithoutCancel(t.Context()), "GET", s.Key(b.lock())))
			if err != nil && !errors.Is(err, resque.ErrNil) || who == first {
				t.Errorf("Go sleeps for %v beside %v and its lock of %v (%v)", d, who, rubysLock, err)
			}
		}
		select {
		case standing <- struct{}{}:
		default:
		}
	}}
	_, stop := b.scheduleWith(scheduler.Config{Interval: 50 * time.Second, LockTimeout: time.Hour, Clock: clock})
	<-standing
	ruby.signal(syscall.SIGKILL)
	ruby.ended()
	b.arrives("jobs", b.later("by Go"))
	second := b.mastered(first)

	next := startPeer(t, s, "scheduler.rb")
	next.tell("schedule")
	element := b.later("by Go, beside Ruby")
	b.arrives("jobs", element)
	if who := b.holder(); who != second {
		t.Errorf("%v is the master beside Go", who)
	}
	stop()
	b.mastered(first, second)
	b.arrives("jobs", b.later("by Ruby again"))
	b.eventually("without a delayed job", func() bool { return len(b.delayed()) == 0 })
}

// watchingClock is the system's, and calls sleeps before each sleep.
type watchingClock struct{ sleeps func(time.Duration) }

func (c watchingClock) Now() time.Time { return time.Now() }

func (c watchingClock) Sleep(ctx context.Context, d time.Duration) error {
	c.sleeps(d)
	return resque.SystemClock().Sleep(ctx, d)
}

// A process of Go's that is the master is killed, and Ruby takes over when its
// lock has run out.
func TestGoIsKilled(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := newBench(t, s)
	child := startChild(t, s, s.URL())
	dead := b.mastered()
	b.arrives("jobs", b.later("by Go"))
	ruby := startPeer(t, s, "scheduler.rb")
	ruby.tell("schedule")
	child.signal(syscall.SIGKILL)
	if left, _ := s.Do("PTTL", s.Key(b.lock())).(int64); left > childLock.Milliseconds() {
		t.Errorf("the lock lives for another %d ms", left)
	}
	b.mastered(dead)
	b.arrives("jobs", b.later("by Ruby"))
}

// A process of Go's is stopped in the middle of a move, with the call on its way.
// When it goes on, and the call arrives, Ruby is the master: neither moves
// anything.
func TestStalledGoMaster(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := newBench(t, s)
	proxy := redistest.NewProxy(t, s.URL())
	child := startChild(t, s, proxy.URL())
	gone := b.mastered()
	b.arrives("jobs", b.later("Redis learns the script"))
	stalled, stall := make(chan struct{}), sync.Once{}
	proxy.SetRule(func(r redistest.Request) redistest.Verdict {
		verdict := redistest.Pass
		if r.Is("EVALSHA") && strings.Contains(strings.Join(r.Args, " "), s.Key("timestamps:")) {
			stall.Do(func() {
				child.signal(syscall.SIGSTOP)
				close(stalled)
				verdict = redistest.Postpone
			})
		}
		return verdict
	})
	var want redistest.List
	for i := range 50 {
		want = append(want, b.later(fmt.Sprint("job ", i)))
	}
	<-stalled
	b.eventually("without a master", func() bool { return b.holder() == nil })

	ruby := startPeer(t, s, "jobs.rb")
	if ruby.do("Resque::Scheduler.master?") != true {
		t.Fatal("Ruby isn't the master")
	}
	before := s.Dump()
	proxy.ReleaseLate()
	child.signal(syscall.SIGCONT)
	child.says("another scheduler is the master")
	if diff := cmp.Diff(before, s.Dump()); diff != "" {
		t.Errorf("the stalled master wrote:\n%s", diff)
	}
	if who := b.holder(); who == gone {
		t.Errorf("%v is the master", who)
	}
	ruby.do("deliver(60)")
	child.signal(syscall.SIGKILL)
	if diff := cmp.Diff(want, s.Dump()["queue:jobs"]); diff != "" {
		t.Errorf("jobs that came:\n%s", diff)
	}
}

const (
	childURL       = "LIVE_SCHEDULER_URL"
	childNamespace = "LIVE_SCHEDULER_NAMESPACE"
	// childLock is how long a child's master lock lives.
	childLock = 2 * time.Second
)

// beChild is a scheduler's process, where the environment asks for one.
func beChild() {
	url := os.Getenv(childURL)
	if url == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), peerLife)
	defer cancel()
	client, err := resque.Open(ctx, url, resque.Options{Namespace: os.Getenv(childNamespace)})
	if err == nil {
		var s *scheduler.Scheduler
		s, err = scheduler.New(client, scheduler.Config{Interval: 100 * time.Millisecond, LockTimeout: childLock, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
		if err == nil {
			err = s.Run(ctx)
		}
	}
	fmt.Fprintln(os.Stderr, "ended:", err)
	os.Exit(1) //nolint:gocritic // the deadline dies with it
}

// child is a scheduler of Go's in a process of its own.
type child struct {
	*bench

	process *os.Process
	said    *output
}

func startChild(t *testing.T, s *redistest.Server, url string) *child {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childURL+"="+url, childNamespace+"="+s.Namespace())
	c := &child{bench: &bench{t: t, server: s}, said: &output{}}
	cmd.Stderr = c.said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.process = cmd.Process
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("Go's process said:\n%s", c.said)
		}
	})
	return c
}

func (c *child) signal(signal os.Signal) {
	if err := c.process.Signal(signal); err != nil {
		c.t.Error(err)
	}
}

// says waits for a word in its log.
func (c *child) says(what string) {
	c.t.Helper()
	c.eventually("said: "+what, func() bool { return strings.Contains(c.said.String(), what) })
}

package scheduler_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
	"example.com/understudy/scheduler"
)

func TestMain(m *testing.M) { redistest.Main(m) }

const (
	now  = 1767323045 // 2026-01-02 03:04:05 UTC
	self = "go.example:4242"
)

// clock stands still. Each sleep is noted and calls onSleep.
type clock struct {
	mu      sync.Mutex
	second  int64
	slept   []time.Duration
	onSleep func(n int)
}

func newClock() *clock { return &clock{second: now} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Unix(c.second, 0).UTC()
}

func (c *clock) advance(seconds int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.second += seconds
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	c.slept = append(c.slept, d)
	n := len(c.slept)
	c.mu.Unlock()
	if c.onSleep != nil {
		c.onSleep(n)
	}
	return context.Cause(ctx)
}

func open(t *testing.T, url, namespace string) *resque.Client {
	t.Helper()
	return openWith(t, url, resque.Options{Namespace: namespace})
}

// openAt opens a client with a clock of its own.
func openAt(t *testing.T, s *redistest.Server, c resque.Clock) *resque.Client {
	t.Helper()
	return openWith(t, s.URL(), resque.Options{Namespace: s.Namespace(), Clock: c})
}

func openWith(t *testing.T, url string, options resque.Options) *resque.Client {
	t.Helper()
	client, err := resque.Open(t.Context(), url, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

func newScheduler(t *testing.T, client *resque.Client, c scheduler.Config) *scheduler.Scheduler {
	t.Helper()
	if c.Clock == nil {
		c.Clock = newClock()
	}
	if c.Value == "" {
		c.Value = self
	}
	s, err := scheduler.New(client, c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func tick(t *testing.T, s *scheduler.Scheduler, want int) {
	t.Helper()
	moved, err := s.Tick(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if moved != want {
		t.Errorf("moved %d, want %d", moved, want)
	}
}

// lockOf is the master lock's key without the namespace.
func lockOf(s *redistest.Server) string { return s.Namespace() + ":resque_scheduler_master_lock" }

// dump is what is there beside the lock.
func dump(s *redistest.Server) map[string]any {
	keys := s.Dump()
	delete(keys, lockOf(s))
	return keys
}

func checkDump(t *testing.T, s *redistest.Server, want map[string]any) {
	t.Helper()
	if diff := cmp.Diff(want, dump(s)); diff != "" {
		t.Errorf("in Redis (-want +got):\n%s", diff)
	}
}

// delayed seeds items that wait for seconds, as resque-scheduler leaves them.
func delayed(s *redistest.Server, items map[string][]string) {
	for second, list := range items {
		for _, item := range list {
			push(s, second, item)
		}
	}
}

func push(s *redistest.Server, second, item string) {
	s.Do("RPUSH", s.Key("delayed:"+second), item)
	s.Do("SADD", s.Key("timestamps:"+item), "delayed:"+second)
	s.Do("ZADD", s.Key("delayed_queue_schedule"), second, second)
}

// log collects lines of a logger.
type log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *log) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// messages are the lines' messages.
func (l *log) messages() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var messages []string
	for line := range strings.Lines(l.buf.String()) {
		_, rest, _ := strings.Cut(line, `msg="`)
		message, _, _ := strings.Cut(rest, `"`)
		messages = append(messages, message)
	}
	return messages
}

func wantConfigError(t *testing.T, err error, field string) {
	t.Helper()
	refused, ok := errors.AsType[*resque.ConfigError](err)
	if !ok || refused.Field != field {
		t.Errorf("error %v, want one about %s", err, field)
	}
}

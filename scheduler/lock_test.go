package scheduler_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
	"example.com/understudy/scheduler"
)

func TestMasterLock(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		client := open(t, server.URL(), server.Namespace())
		one := newScheduler(t, client, scheduler.Config{Value: "one:1"})
		two := newScheduler(t, client, scheduler.Config{Value: "two:2"})
		holds := func(value any, ttl int64) {
			t.Helper()
			got := server.Get(lockOf(server))
			left, _ := server.Do("TTL", server.Key(lockOf(server))).(int64)
			if got != value || left < ttl-2 || left > ttl {
				t.Errorf("the lock holds %v for %d s, want %v for %d s", got, left, value, ttl)
			}
		}
		tick(t, one, 0)
		holds("one:1", 180)
		tick(t, two, 0)
		holds("one:1", 180)
		if !one.Master() || two.Master() {
			t.Errorf("masters: %v, %v", one.Master(), two.Master())
		}
		push(server, "1", `{"class":"A","args":[],"queue":"q"}`)
		tick(t, two, 0)
		server.Do("EXPIRE", server.Key(lockOf(server)), 10)
		tick(t, one, 1)
		holds("one:1", 180)
		if err := two.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		holds("one:1", 180)
		if err := one.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		holds(nil, -2)
		tick(t, two, 0)
		holds("two:2", 180)
		if err := one.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		holds("two:2", 180)
	})
}

// A master whose lock is gone in the middle of a batch moves nothing more of it,
// whether somebody else has the lock or nobody.
func TestLockLostWhileMoving(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lose func(s *redistest.Server)
		then int // moved by the next pass
	}{
		"taken":   {func(s *redistest.Server) { s.Do("SET", s.Key(lockOf(s)), "other:1") }, 0},
		"run out": {func(s *redistest.Server) { s.Do("DEL", s.Key(lockOf(s))) }, 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, server *redistest.Server) {
				for i := range 10 {
					push(server, strconv.Itoa(now-i/5), small(i))
				}
				proxy := redistest.NewProxy(t, server.URL())
				s := newScheduler(t, open(t, proxy.URL(), server.Namespace()), scheduler.Config{Batch: 2})
				moves := 0
				proxy.SetRule(func(r redistest.Request) redistest.Verdict {
					if r.Is("EVALSHA", scheduler.MoveSHA()) {
						if moves++; moves == 3 {
							test.lose(server)
						}
					}
					return redistest.Pass
				})
				tick(t, s, 4)
				if moves != 3 || s.Master() {
					t.Errorf("tried %d moves, master: %v", moves, s.Master())
				}
				checkQueue(t, server, "q", 4)
				tick(t, s, test.then)
				checkQueue(t, server, "q", 4+test.then)
			})
		})
	}
}

// The key stands where Ruby's schedulers look for it.
func TestLockKey(t *testing.T) {
	t.Parallel()
	tests := []struct{ namespace, prefix, want string }{
		{"NS", "", "NS:NS:resque_scheduler_master_lock"},
		{"NS", "blue", "NS:NS:blue:resque_scheduler_master_lock"},
		{"NS:b", "", "NS:b:NS:b:resque_scheduler_master_lock"},
		{resque.NoNamespace, "", ":resque_scheduler_master_lock"},
		{resque.NoNamespace, "blue", ":blue:resque_scheduler_master_lock"},
	}
	for _, test := range tests {
		t.Run(test.want, func(t *testing.T) {
			t.Parallel()
			server := redistest.New(t)
			namespace := strings.ReplaceAll(test.namespace, "NS", server.Namespace())
			key := strings.ReplaceAll(test.want, "NS", server.Namespace())
			s := newScheduler(t, open(t, server.URL(), namespace), scheduler.Config{LockPrefix: test.prefix, LockTimeout: 90 * time.Second})
			tick(t, s, 0)
			if got := server.Do("GET", key); got != self {
				t.Errorf("%s holds %v, want %s", key, got, self)
			}
			if ttl, ok := server.Do("TTL", key).(int64); !ok || ttl < 88 || ttl > 90 {
				t.Errorf("%s lives %v s, want 90", key, ttl)
			}
			if err := s.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	client := open(t, redistest.New(t).URL(), "app")
	tests := []struct {
		field  string
		config scheduler.Config
	}{
		{"Interval", scheduler.Config{Interval: -1}},
		{"Interval", scheduler.Config{Interval: time.Hour}},
		{"Interval", scheduler.Config{Interval: 10 * time.Second, LockTimeout: 10 * time.Second}},
		{"Batch", scheduler.Config{Batch: -1}},
		{"Batch", scheduler.Config{Batch: 5001}},
		{"LockTimeout", scheduler.Config{LockTimeout: time.Millisecond}},
		{"LockTimeout", scheduler.Config{LockTimeout: -time.Second}},
	}
	for _, test := range tests {
		_, err := scheduler.New(client, test.config)
		wantConfigError(t, err, "scheduler.Config."+test.field)
	}
	if _, err := scheduler.New(client, scheduler.Config{}); err != nil {
		t.Error(err)
	}
}

// TestLocked: the lock counts whoever holds it.
func TestLocked(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		s := newScheduler(t, open(t, server.URL(), server.Namespace()), scheduler.Config{})
		for _, want := range []bool{false, true} {
			if got, err := s.Locked(t.Context()); err != nil || got != want {
				t.Errorf("got %v, %v, want %v", got, err, want)
			}
			server.Do("SET", server.Key(lockOf(server)), "ruby:1")
		}
	})
}

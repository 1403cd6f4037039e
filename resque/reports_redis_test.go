package resque_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
)

// journal is a log that tests look into.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(line)
}

func (j *journal) count(text string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Count(j.text.String(), text)
}

func (j *journal) logger() *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

// refusals are the ways in which Redis refuses all writes for a while.
func refusals(t *testing.T) map[string]func(s *redistest.Server) (lift func()) {
	t.Helper()
	return map[string]func(s *redistest.Server) func(){
		"OOM": func(s *redistest.Server) func() {
			s.Do("CONFIG", "SET", "maxmemory", "1")
			return func() { s.Do("CONFIG", "SET", "maxmemory", "0") }
		},
		"MISCONF": func(s *redistest.Server) func() { // it can't save any more
			s.Do("CONFIG", "SET", "save", "3600 1")
			s.Do("BGSAVE")
			eventually(t, "it has noticed", func() bool {
				return strings.Contains(fmt.Sprint(s.Do("INFO", "persistence")), "rdb_last_bgsave_status:err")
			})
			return func() { s.Do("CONFIG", "SET", "stop-writes-on-bgsave-error", "no") }
		},
		"READONLY": func(s *redistest.Server) func() {
			s.Do("REPLICAOF", "127.0.0.1", "1")
			return func() { s.Do("REPLICAOF", "NO", "ONE") }
		},
		"NOREPLICAS": func(s *redistest.Server) func() {
			s.Do("CONFIG", "SET", "min-replicas-to-write", "1")
			return func() { s.Do("CONFIG", "SET", "min-replicas-to-write", "0") }
		},
	}
}

// F7 hibiken/asynq#1051, #55: a job was done, that couldn't be written, and it stayed
// active for ever. F8 lantins/resque-retry#141, #143: nor could a failure. Each is
// written once Redis takes it, exactly once, and the log says so once.
func TestReportRefusedRecords(t *testing.T) {
	t.Parallel()
	for code, refuse := range refusals(t) {
		for name, err := range map[string]error{"a success": nil, "a failure": errors.New("boom")} {
			t.Run(code+" at "+name, func(t *testing.T) {
				t.Parallel()
				gone := filepath.Join(t.TempDir(), "gone") // where MISCONF can't write
				if err := os.Mkdir(gone, 0o700); err != nil {
					t.Fatal(err)
				}
				s := redistest.NewOwn(t, "--dir", gone)
				if err := os.Remove(gone); err != nil {
					t.Fatal(err)
				}
				p := redistest.NewProxy(t, s.URL())
				b := newBenchAt(t, s, p.URL())
				jobs, log := make(calls), &journal{}
				w := b.worker(func(c *resque.WorkerConfig) { own(c); c.Logger = log.logger() }, map[string]resque.Handler{"Job": jobs})
				run(t, w)
				if err := b.client.Enqueue(t.Context(), "q", "Job"); err != nil {
					t.Fatal(err)
				}
				one := jobs.next(t)
				lift := refuse(s)
				one.answer <- err
				names, from := resque.ScriptNames(), len(p.Seen())
				eventually(t, "it is tried again", func() bool {
					tries := 0
					for _, r := range p.Seen()[from:] {
						if len(r.Args) > 1 && names[r.Args[1]] == "record" {
							tries++
						}
					}
					return tries >= 3
				})
				if got := s.Get("stat:processed"); got != nil {
					t.Errorf("stat:processed is %v", got)
				}
				lift()
				eventually(t, "it is recorded", func() bool { return s.Get("stat:processed") == "1" })
				eventually(t, "the hand is empty", func() bool { return len(hands(s)) == 0 })
				records, _ := s.Get("failed").(redistest.List)
				if want := map[bool]int{true: 1}[err != nil]; len(records) != want {
					t.Errorf("failed holds %v", records)
				}
				eventually(t, "the log says so", func() bool { return log.count("Redis answers again") > 0 })
				if refused, again := log.count("Redis refuses"), log.count("Redis answers again"); refused != 1 || again != 1 {
					t.Errorf("the log says it %d and %d times", refused, again)
				}
				select {
				case <-jobs:
					t.Error("it ran again")
				default:
				}
			})
		}
	}
}

// F2 resque/resque#37, #737, #1693, #1531, #852: a worker ended when Redis was away
// for some seconds. Busy or idle, it waits, says so once, and goes on.
func TestReportRedisIsAway(t *testing.T) {
	t.Parallel()
	for _, busy := range []bool{true, false} {
		t.Run(fmt.Sprint("busy ", busy), func(t *testing.T) {
			t.Parallel()
			s := redistest.NewOwn(t, "--appendonly", "yes", "--appendfsync", "always")
			b := newBench(t, s)
			jobs, log := make(calls), &journal{}
			w := b.worker(func(c *resque.WorkerConfig) {
				own(c)
				c.Logger, c.Interval = log.logger(), 10*time.Millisecond
			}, map[string]resque.Handler{"Job": jobs})
			run(t, w)
			eventually(t, "it is there", func() bool { return s.Get("workers") != nil })
			var one call
			if busy {
				if err := b.client.Enqueue(t.Context(), "q", "Job", 1); err != nil {
					t.Fatal(err)
				}
				one = jobs.next(t)
			}
			s.Stop()
			if busy {
				one.answer <- nil
			}
			eventually(t, "it says so", func() bool { return log.count("Redis does not answer") > 0 })
			s.Start()
			eventually(t, "a job is enqueued", func() bool { return b.client.Enqueue(t.Context(), "q", "Job", 2) == nil })
			two := jobs.next(t)
			if string(two.job.Args) != "[2]" {
				t.Errorf("%s ran again", two.job.Args)
			}
			two.answer <- nil
			want := map[bool]string{true: "2", false: "1"}[busy]
			eventually(t, "all is recorded", func() bool { return s.Get("stat:processed") == want })
			if away, again := log.count("Redis does not answer"), log.count("Redis answers again"); away != 1 || again != 1 {
				t.Errorf("the log says it %d and %d times", away, again)
			}
		})
	}
}

// F11 resque/resque-pool#117, resque/resque#1254: there was a connection a job.
func TestReportConnectionsAreKept(t *testing.T) {
	t.Parallel()
	s := redistest.NewOwn(t)
	b := newBench(t, s)
	const jobs = 10_000
	var done atomic.Int64
	w := b.worker(func(c *resque.WorkerConfig) { own(c); c.Concurrency = 25 }, map[string]resque.Handler{
		"Job": resque.HandlerFunc(func(context.Context, *resque.Job) error { done.Add(1); return nil }),
	})
	s.Do("EVAL", `for i = 1, ARGV[1] do redis.call('RPUSH', KEYS[1], '{"class":"Job","args":[]}') end`, 1, s.Key("queue:q"), jobs)
	made := func() int {
		_, rest, _ := strings.Cut(fmt.Sprint(s.Do("INFO", "stats")), "total_connections_received:")
		n := 0
		_, _ = fmt.Sscan(rest, &n)
		return n
	}
	before := made()
	run(t, w)
	eventually(t, "all are done", func() bool { return s.Get("stat:processed") == fmt.Sprint(jobs) })
	if n := made() - before; n >= 60 || done.Load() != jobs {
		t.Errorf("%d connections for %d jobs", n, done.Load())
	}
}

// F12 benmanns/goworker#12: two connections for 25 workers, which share them with
// their jobs.
func TestReportFewConnectionsForMany(t *testing.T) {
	t.Parallel()
	s := redistest.NewOwn(t)
	client, err := resque.Open(t.Context(), s.URL(), resque.Options{Namespace: s.Namespace(), PoolSize: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	b := &bench{t: t, server: s, client: client, clock: newFrozen()}
	w := b.worker(func(c *resque.WorkerConfig) { own(c); c.Concurrency = 25 }, map[string]resque.Handler{
		"Job": resque.HandlerFunc(func(ctx context.Context, _ *resque.Job) error {
			_, err := client.Do(ctx, "INCR", s.Key("counted"))
			return err
		}),
	})
	const jobs = 1000
	s.Do("EVAL", `for i = 1, ARGV[1] do redis.call('RPUSH', KEYS[1], '{"class":"Job","args":[]}') end`, 1, s.Key("queue:q"), jobs)
	run(t, w)
	eventually(t, "all are done", func() bool { return s.Get("stat:processed") == fmt.Sprint(jobs) })
	if got := s.Get("counted"); got != fmt.Sprint(jobs) || s.Get("failed") != nil {
		t.Errorf("%v were counted", got)
	}
}

package resque_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
)

// watchedRedis is a master with a replica, watched by a Sentinel under the name
// "fleet".
type watchedRedis struct {
	t               *testing.T
	master, replica *redistest.Server
	sentinel        *redistest.Server
}

func newWatchedRedis(t *testing.T) *watchedRedis {
	t.Helper()
	w := &watchedRedis{t: t, master: redistest.NewOwn(t)}
	host, port, _ := net.SplitHostPort(w.master.Addr())
	w.replica = redistest.NewOwn(t, "--replicaof", host, port)
	w.sentinel = redistest.NewSentinel(t, "fleet", w.master)
	eventually(t, "the Sentinel knows the replica", func() bool {
		replicas, err := w.sentinel.Try("SENTINEL", "REPLICAS", "fleet")
		return err == nil && strings.Contains(fmt.Sprint(replicas), "master-link-status ok")
	})
	return w
}

func (w *watchedRedis) url() string { return "redis-sentinel://" + w.sentinel.Addr() + "?master=fleet" }

// A worker goes on with the new master, whether the old one hands over, dies, or
// stays behind as a replica, and it loses nothing that is enqueued there.
//
// F6 flyerhzm/redis-sentinel#36: READONLY inside a script wasn't recognised.
func TestReportAWorkerFollowsTheMaster(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(w *watchedRedis){
		"handed over": func(w *watchedRedis) { w.sentinel.Do("SENTINEL", "FAILOVER", "fleet") },
		"died":        func(w *watchedRedis) { w.master.Stop() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redis := newWatchedRedis(t)
			client, err := resque.Open(t.Context(), redis.url(), resque.Options{Namespace: "n"})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = client.Close() }()
			worker, err := resque.NewWorker(client, resque.WorkerConfig{Queues: []string{"q"}, Concurrency: 4, Interval: 100 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			var done atomic.Int64
			if err := worker.Handle("Job", resque.HandlerFunc(func(context.Context, *resque.Job) error {
				done.Add(1)
				return nil
			})); err != nil {
				t.Fatal(err)
			}
			run(t, worker)

			// A writer that tries each job again until it is told that it is there.
			const before, after = 50, 200
			enqueue := func(n int) {
				for range n {
					eventually(t, "a job enqueued", func() bool { return client.Enqueue(t.Context(), "q", "Job") == nil })
				}
			}
			enqueue(before)
			eventually(t, "the jobs before", func() bool { return done.Load() == before })
			eventually(t, "the replica has it all", func() bool {
				processed, err := redis.replica.Try("GET", "n:stat:processed")
				return err == nil && processed == fmt.Sprint(before)
			})
			change(redis)
			// What the old master takes meanwhile may be lost with it.
			eventually(t, "the replica is a master", func() bool {
				role, _ := redis.replica.Try("ROLE")
				return strings.HasPrefix(fmt.Sprint(role), "[master ")
			})
			eventually(t, "calls go to it", func() bool { // nothing is replicated to it any more
				_, err := client.Do(t.Context(), "SET", "n:key", "value")
				kept, _ := redis.replica.Try("GET", "n:key")
				return err == nil && kept == "value"
			})
			enqueue(after)
			// An enqueue whose reply the change took comes twice.
			eventually(t, "the jobs after", func() bool { return done.Load() >= before+after })
			eventually(t, "all recorded on the new master", func() bool {
				processed, err := redis.replica.Try("GET", "n:stat:processed")
				return err == nil && processed == fmt.Sprint(done.Load())
			})
			if failed := redis.replica.Do("LLEN", "n:failed"); failed != int64(0) {
				t.Errorf("%v jobs failed", failed)
			}
		})
	}
}

// A master that is cut off from its Sentinels still takes writes, which are lost
// later: connections to it end as soon as there is another.
func TestConnectionsToAnOldMasterEnd(t *testing.T) {
	t.Parallel()
	redis := newWatchedRedis(t)
	client, err := resque.Open(t.Context(), redis.url(), resque.Options{Namespace: "n"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	own, err := client.DialForTest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = own.Close() }()
	eventually(t, "it is subscribed", func() bool {
		channels, err := redis.sentinel.Try("PUBSUB", "NUMSUB", "+switch-master")
		if err != nil { // Sentinels before 7.? don't tell
			clients := fmt.Sprint(redis.sentinel.Do("CLIENT", "LIST"))
			return strings.Contains(clients, "sub=1")
		}
		return fmt.Sprint(channels) == "[+switch-master 1]"
	})
	freeze(t, redis.master) // which closes no connection
	if _, err := own.Receive(20 * time.Second); err == nil || strings.Contains(err.Error(), "timeout") {
		t.Errorf("the connection stays: %v", err)
	}
	eventually(t, "calls go to the new master", func() bool {
		_, err := client.Do(t.Context(), "SET", "n:key", "value")
		return err == nil && redis.replica.Do("GET", "n:key") == "value"
	})
}

// A dial that was told of the master before it changed doesn't make the old one the
// master again, nor ends the connections to the new one.
func TestAnOldAnswerIsNoNews(t *testing.T) {
	t.Parallel()
	redis := newWatchedRedis(t)
	client, err := resque.Open(t.Context(), redis.url(), resque.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	since, master := client.ChangesForTest()
	if master != redis.master.Addr() {
		t.Fatalf("the master is %s", master)
	}
	redis.sentinel.Stop()                      // which would say otherwise
	client.SwitchForTest(redis.replica.Addr()) // while a dial is on its way to the old one
	fresh, err1 := client.DialToForTest(t.Context(), redis.replica.Addr())
	late, err2 := client.DialToForTest(t.Context(), redis.master.Addr())
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	now, _ := client.ChangesForTest()
	if !client.AdoptForTest(fresh, redis.replica.Addr(), now) {
		t.Error("the new master's connection is refused")
	}
	if client.AdoptForTest(late, redis.master.Addr(), since) {
		t.Error("the old master's connection is taken")
	}
	if _, master := client.ChangesForTest(); master != redis.replica.Addr() {
		t.Errorf("the master is %s again", master)
	}
	if _, err := fresh.Do(t.Context(), "PING"); err != nil {
		t.Errorf("the new master's connection ended: %v", err)
	}
	if err := errors.Join(fresh.Close(), late.Close()); err != nil {
		t.Error(err)
	}
}

// freeze stops a server's process until the end of the test.
func freeze(t *testing.T, s *redistest.Server) {
	t.Helper()
	_, rest, _ := strings.Cut(fmt.Sprint(s.Do("INFO", "server")), "process_id:")
	pid, err := strconv.Atoi(strings.TrimSpace(strings.SplitN(rest, "\n", 2)[0]))
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGSTOP)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
}

func TestSentinelsAreAskedInTurn(t *testing.T) {
	t.Parallel()
	redis := newWatchedRedis(t)
	dead := "127.0.0.1:" + redistest.FreePort(t)
	other := redistest.NewSentinel(t, "another", redis.master)
	for url, says := range map[string]string{
		"redis-sentinel://" + dead + "," + other.Addr() + "," + redis.sentinel.Addr() + "/3?master=fleet": "",
		"redis-sentinel://" + dead + "?master=fleet":                                                      "connection refused",
		"redis-sentinel://" + other.Addr() + "?master=fleet":                                              `it watches no master called "fleet"`,
		"redis-sentinel://" + redis.master.Addr() + "?master=fleet":                                       "unknown command",
		"redis://" + redis.sentinel.Addr():                                                                "write redis-sentinel://host:26379,host:26379/0?master=name",
	} {
		client, err := resque.Open(t.Context(), url, resque.Options{})
		if says == "" {
			if err != nil {
				t.Errorf("%s: %v", url, err)
				continue
			}
			if _, err := client.Do(t.Context(), "SET", "key", "value"); err != nil {
				t.Error(err)
			}
			if err := client.Close(); err != nil {
				t.Error(err)
			}
			redis.master.Do("SELECT", 3)
			if redis.master.Do("GET", "key") != "value" {
				t.Error("it isn't in the database 3")
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, without %q", url, err, says)
		}
		if strings.HasPrefix(url, "redis-s") && !errors.Is(err, resque.ErrNoMaster) {
			t.Errorf("%s: %v is no ErrNoMaster", url, err)
		}
	}
}

// The Sentinels' own password is another than the master's.
func TestSentinelsHaveAPasswordOfTheirOwn(t *testing.T) {
	t.Parallel()
	redis := newWatchedRedis(t)
	redis.master.Do("CONFIG", "SET", "requirepass", "masters")
	locked := redistest.NewSentinel(t, "fleet", redis.master, "requirepass sentinels", "sentinel auth-pass fleet masters")
	url := "redis-sentinel://:masters@" + locked.Addr() + "?master=fleet"
	client, err := resque.Open(t.Context(), url, resque.Options{SentinelPassword: "sentinels"})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	for _, password := range []string{"", "wrong"} {
		if _, err := resque.Open(t.Context(), url, resque.Options{SentinelPassword: password}); err == nil || strings.Contains(err.Error(), "masters") {
			t.Errorf("%q: %v", password, err)
		}
	}
}

func TestSentinelOptionsNeedSentinels(t *testing.T) {
	t.Parallel()
	for field, c := range map[string]struct {
		url     string
		options resque.Options
	}{
		"Options.SentinelUser":     {"redis://localhost", resque.Options{SentinelUser: "u", SentinelPassword: "p"}},
		"Options.SentinelPassword": {"redis://localhost", resque.Options{SentinelPassword: "p"}},
		"Options.SentinelPlain":    {"redis-sentinel://localhost?master=m", resque.Options{SentinelPlain: true}},
		"Options.CAFile":           {"redis-sentinel://localhost?master=m", resque.Options{CAFile: "ca.pem"}},
	} {
		_, err := resque.Open(t.Context(), c.url, c.options)
		if wrong, ok := errors.AsType[*resque.ConfigError](err); !ok || wrong.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// A server that has become a replica is left: dialled anew, its name may lead to
// the master. A worker loses nothing meanwhile, and fails no job for it.
func TestAReplicaIsLeft(t *testing.T) {
	t.Parallel()
	s := redistest.NewOwn(t)
	p := redistest.NewProxy(t, s.URL())
	b := newBenchAt(t, s, p.URL())
	jobs := make(calls)
	w := b.worker(own, map[string]resque.Handler{"Job": jobs})
	r := run(t, w)
	s.Do("RPUSH", s.Key("queue:q"), `{"class":"Job","args":[]}`)
	one := jobs.next(t)
	s.Do("REPLICAOF", "127.0.0.1", "1")
	before := len(p.Seen())
	one.answer <- nil
	for range 2 {
		if err := b.client.Enqueue(t.Context(), "q", "Job"); resque.ErrorCode(err) != "READONLY" {
			t.Errorf("%v", err)
		}
	}
	dialled := map[int]bool{}
	for _, request := range p.Seen()[before:] {
		if strings.Contains(strings.Join(request.Args, " "), `{"class":"Job","args":[]}`) { // the client's
			dialled[request.Conn] = true
		}
	}
	if len(dialled) < 2 {
		t.Error("the second call went to the same connection")
	}
	s.Do("REPLICAOF", "NO", "ONE")
	eventually(t, "the run is recorded", func() bool { return s.Get("stat:processed") == "1" })
	r.stop()
	if failed := s.Get("failed"); failed != nil {
		t.Errorf("failed holds %v", failed)
	}
}

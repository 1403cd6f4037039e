package resque_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
)

// script is one that no other test has sent.
func script(s *redistest.Server, source string) *resque.Script {
	return resque.NewScript("test", "-- "+s.Namespace()+"\n"+source)
}

func TestPipelineAnswersEachCall(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		p := redistest.NewProxy(t, s.URL())
		c := dialTest(t, s, p.URL(), nil)
		before := len(p.Seen())
		replies, err := c.Pipeline(t.Context(),
			resque.Call{Command: "SET", Keys: []string{s.Key("a")}, Args: []any{"x"}},
			resque.Call{Command: "LPUSH", Args: []any{s.Key("a"), 1}},
			resque.Call{Command: "GET", Args: []any{s.Key("absent")}},
			resque.Call{Command: "GET", Args: []any{s.Key("a")}},
			resque.Call{Command: "MGET", Args: []any{s.Key("a"), s.Key("absent")}},
		)
		if err != nil || len(replies) != 5 {
			t.Fatal(replies, err)
		}
		refused, _ := replies[1].(error)
		if resque.ErrorCode(refused) != "WRONGTYPE" {
			t.Error(replies[1])
		}
		replies[1] = nil
		if diff := cmp.Diff([]any{"OK", nil, nil, []byte("x"), []any{[]byte("x"), nil}}, replies); diff != "" {
			t.Error(diff)
		}
		if got := len(p.Seen()) - before; got != 5 {
			t.Errorf("%d requests", got)
		}
		if _, err := c.Do(t.Context(), "LPUSH", s.Key("a"), 1); resque.ErrorCode(err) != "WRONGTYPE" {
			t.Error(err)
		}
	})
}

func TestScriptsGoByTheirDigest(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		p := redistest.NewProxy(t, s.URL())
		c := dialTest(t, s, p.URL(), nil)
		push := script(s, "return {redis.call('RPUSH', KEYS[1], ARGV[1]), ARGV[2]}")
		fail := script(s, "return redis.call('RPUSH', KEYS[2], 'x')")
		s.Do("SCRIPT", "LOAD", "-- "+s.Namespace()+"\nreturn redis.call('RPUSH', KEYS[2], 'x')")
		s.Seed(map[string]any{"text": "x"})
		run := func() []any {
			replies, err := c.Pipeline(t.Context(),
				resque.Call{Script: push, Keys: []string{s.Key("l")}, Args: []any{"a", 1.5}},
				resque.Call{Script: fail, Keys: []string{s.Key("l"), s.Key("text")}},
				resque.Call{Command: "LLEN", Args: []any{s.Key("l")}},
				resque.Call{Script: push, Keys: []string{s.Key("l")}, Args: []any{"b", true}},
			)
			if err != nil {
				t.Fatal(err)
			}
			if refused, _ := replies[1].(error); resque.ErrorCode(refused) != "WRONGTYPE" {
				t.Error(replies[1])
			}
			replies[1] = nil
			return replies
		}
		before := len(p.Seen())
		want := []any{[]any{int64(1), []byte("1.5")}, nil, int64(0), []any{int64(2), []byte("1")}}
		if diff := cmp.Diff(want, run()); diff != "" {
			t.Error("unknown:", diff)
		}
		want = []any{[]any{int64(3), []byte("1.5")}, nil, int64(3), []any{int64(4), []byte("1")}}
		if diff := cmp.Diff(want, run()); diff != "" {
			t.Error("known:", diff)
		}
		var names []string
		for _, request := range p.Seen()[before:] {
			names = append(names, request.Args[0])
		}
		first := []string{"EVALSHA", "EVALSHA", "LLEN", "EVALSHA"}
		if diff := cmp.Diff(append(append(first, "EVAL", "EVAL"), first...), names); diff != "" {
			t.Error(diff)
		}
		if push.SHA() != p.Seen()[before].Args[1] || push.Name() != "test" {
			t.Error(push)
		}
	})
}

func TestABrokenPipelineKeepsWhatItHas(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	p := redistest.NewProxy(t, s.URL())
	c := dialTest(t, s, p.URL(), nil)
	p.SetRule(redistest.On(1, redistest.DropReply, "INCR"))
	incr := resque.Call{Command: "INCR", Keys: []string{s.Key("n")}}
	replies, err := c.Pipeline(t.Context(), incr, incr, incr)
	if diff := cmp.Diff([]any{int64(1), nil, nil}, replies); diff != "" || err == nil || resque.ErrorCode(err) != "" {
		t.Error(diff, err)
	}
	if got, err := resque.Int(c.Do(t.Context(), "INCR", s.Key("n"))); got != 4 || err != nil {
		t.Error(got, err)
	}
}

func TestACancelledCallEndsAtOnce(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	c := dialTest(t, s, s.URL(), func(o *resque.Options) { o.PoolSize, o.ReadTimeout = 1, time.Hour })
	ended := errors.New("ended")
	for range 3 {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(5*time.Millisecond, func() { cancel(ended) })
		if _, err := c.Do(ctx, "BLPOP", s.Key("nothing"), 0); !errors.Is(err, ended) {
			t.Fatal(err)
		}
		if _, err := c.Do(ctx, "PING"); !errors.Is(err, ended) {
			t.Error(err)
		}
		// The connection with the unread reply isn't used again.
		if got, err := resque.String(c.Do(t.Context(), "ECHO", "mine")); got != "mine" || err != nil {
			t.Error(got, err)
		}
	}
	deadline, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	if _, err := c.Do(deadline, "BLPOP", s.Key("nothing"), 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func TestWaitingForAConnectionEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	p := redistest.NewProxy(t, s.URL())
	c := dialTest(t, s, p.URL(), func(o *resque.Options) { o.PoolSize = 1 })
	held := make(chan struct{})
	p.SetRule(func(r redistest.Request) redistest.Verdict {
		if r.Is("BLPOP") {
			close(held)
		}
		return redistest.Pass
	})
	var running sync.WaitGroup
	running.Go(func() {
		if _, err := c.Do(t.Context(), "BLPOP", s.Key("l"), 0); err != nil {
			t.Error(err)
		}
	})
	<-held
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	if _, err := c.Do(ctx, "PING"); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	s.Do("RPUSH", s.Key("l"), "x")
	running.Wait()
	if _, err := c.Do(t.Context(), "PING"); err != nil {
		t.Error(err)
	}
}

func TestManyCallsShareFewConnections(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		p := redistest.NewProxy(t, s.URL())
		c := dialTest(t, s, p.URL(), func(o *resque.Options) { o.PoolSize = 2 })
		var running sync.WaitGroup
		for i := range 25 {
			running.Go(func() {
				for j := range 40 {
					text := fmt.Sprint(i, j)
					got, err := resque.String(c.Do(t.Context(), "ECHO", text))
					if got != text || err != nil {
						t.Error(got, err)
					}
				}
			})
		}
		running.Wait()
		seen := p.Seen()
		for _, request := range seen {
			if request.Conn > 1 {
				t.Fatalf("a connection too many: %+v", request)
			}
		}
		if len(seen) < 1000 {
			t.Error(len(seen))
		}
	})
}

func TestLostConnectionsAreReplaced(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	p := redistest.NewProxy(t, s.URL())
	c := dialTest(t, s, p.URL(), nil)
	fill := func() {
		var together, running sync.WaitGroup
		together.Add(4)
		p.SetRule(func(r redistest.Request) redistest.Verdict {
			if r.Is("BLPOP") {
				together.Done()
			}
			return redistest.Pass
		})
		for range 4 {
			running.Go(func() {
				if _, err := c.Do(t.Context(), "BLPOP", s.Key("l"), 0); err != nil {
					t.Error(err)
				}
			})
		}
		together.Wait()
		s.Do("RPUSH", s.Key("l"), 1, 2, 3, 4)
		running.Wait()
	}
	fill()
	p.Kill()
	if _, err := c.Do(t.Context(), "PING"); err == nil {
		t.Error("a dead connection answered")
	}
	for range 4 {
		if _, err := c.Do(t.Context(), "PING"); err != nil {
			t.Error("the other dead connections weren't dropped:", err)
		}
	}
	fill()
	p.Kill()
	c.AgeIdleForTest(time.Minute)
	if _, err := c.Do(t.Context(), "PING"); err != nil {
		t.Error("a connection that rested long wasn't asked first:", err)
	}
}

func TestClosedClient(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	c := dialTest(t, s, s.URL(), nil)
	for range 2 {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if _, err := c.Do(t.Context(), "PING"); !errors.Is(err, resque.ErrClosed) {
			t.Error(err)
		}
	}
}

func TestAConnectionOfItsOwn(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		c := dialTest(t, s, s.URL(), func(o *resque.Options) { o.PoolSize = 1 })
		k, err := c.DialForTest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		reply, err := k.Do(t.Context(), "SUBSCRIBE", s.Key("c"))
		if diff := cmp.Diff([]any{[]byte("subscribe"), []byte(s.Key("c")), int64(1)}, reply); diff != "" || err != nil {
			t.Error(diff, err)
		}
		s.Do("PUBLISH", s.Key("c"), "hello")
		reply, err = k.Receive(time.Minute)
		if diff := cmp.Diff([]any{[]byte("message"), []byte(s.Key("c")), []byte("hello")}, reply); diff != "" || err != nil {
			t.Error(diff, err)
		}
		if err := k.Send("PING"); err != nil {
			t.Error(err)
		}
		reply, err = k.Receive(time.Minute)
		if diff := cmp.Diff([]any{[]byte("pong"), []byte("")}, reply); diff != "" || err != nil {
			t.Error(diff, err)
		}
		time.AfterFunc(5*time.Millisecond, func() { _ = k.Close() })
		if _, err := k.Receive(0); err == nil {
			t.Error("a closed connection received")
		}
		if err := k.Send("PING"); err == nil {
			t.Error("a closed connection sent")
		}
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestReceiveHasItsTimeout(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	k, err := dialTest(t, s, s.URL(), nil).DialForTest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var timeout interface{ Timeout() bool }
	if _, err := k.Receive(5 * time.Millisecond); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Error(err)
	}
	if _, err := k.Pipeline(t.Context(), resque.Call{Command: "PING"}); err == nil {
		t.Error("the connection was used after a timeout")
	}
	if err := k.Close(); err != nil {
		t.Error(err)
	}
}

func TestErrorsInsideScriptsAreRecognised(t *testing.T) {
	t.Parallel()
	s := redistest.NewOwn(t)
	c := dialTest(t, s, s.URL(), nil)
	set := script(s, "return redis.call('SET', KEYS[1], 'x')")
	s.Do("CONFIG", "SET", "maxmemory", 1)
	if _, err := c.Run(t.Context(), set, []string{s.Key("a")}); resque.ErrorCode(err) != "OOM" {
		t.Error(err)
	}
	s.Do("CONFIG", "SET", "maxmemory", 0)
	s.Do("REPLICAOF", "127.0.0.1", "1")
	if _, err := c.Run(t.Context(), set, []string{s.Key("a")}); resque.ErrorCode(err) != "READONLY" {
		t.Error(err)
	}
}

func TestCallsGoOnOnceTheServerIsBack(t *testing.T) {
	t.Parallel()
	s := redistest.NewOwn(t)
	c := dialTest(t, s, s.URL(), func(o *resque.Options) { o.PoolSize = 2 })
	s.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for range 5 {
		if _, err := c.Do(ctx, "PING"); err == nil || ctx.Err() != nil {
			t.Fatal("without a server:", err)
		}
	}
	s.Start()
	if _, err := c.Do(ctx, "PING"); err != nil {
		t.Error(err)
	}
}

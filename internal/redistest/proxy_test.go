package redistest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
)

func dial(t *testing.T, p *redistest.Proxy, options ...redis.DialOption) redis.Conn {
	t.Helper()
	c, err := redis.DialURL(p.URL(), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// pipeline pushes three texts in one go and tells what came back.
func pipeline(t *testing.T, c redis.Conn, key string) string {
	t.Helper()
	for _, text := range []string{"a", "b", "c"} {
		if err := c.Send("RPUSH", key, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for range 3 {
		n, err := redis.Int(c.Receive())
		if err != nil {
			return strings.Join(append(got, "broken"), " ")
		}
		got = append(got, fmt.Sprint(n))
	}
	if n, err := redis.Int(c.Do("LLEN", key)); err != nil || n < 3 {
		t.Fatal(n, err) // the replies still fit their requests
	}
	return strings.Join(got, " ")
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		verdict redistest.Verdict
		replies string
		before  redistest.List // when the client has its replies
		after   redistest.List // after ReleaseLate
	}{
		{"pass", redistest.Pass, "1 2 3", redistest.List{"a", "b", "c"}, redistest.List{"a", "b", "c"}},
		{"drop reply", redistest.DropReply, "1 broken", redistest.List{"a", "b", "c"}, redistest.List{"a", "b", "c"}},
		{"cut reply", redistest.CutReply, "1 broken", redistest.List{"a", "b"}, redistest.List{"a", "b"}},
		{"drop request", redistest.DropRequest, "1 broken", redistest.List{"a"}, redistest.List{"a"}},
		{"duplicate", redistest.Duplicate, "1 2 4", redistest.List{"a", "b", "b", "c"}, redistest.List{"a", "b", "b", "c"}},
		{"late", redistest.Late, "1 2 3", redistest.List{"a", "b", "c"}, redistest.List{"a", "b", "c", "b"}},
		{"late after one", redistest.Late.After(1), "1 2 4", redistest.List{"a", "b", "b", "c"}, redistest.List{"a", "b", "b", "c"}},
		{"postpone", redistest.Postpone, "1 broken", redistest.List{"a"}, redistest.List{"a", "b"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				p := redistest.NewProxy(t, s.URL())
				p.SetRule(redistest.On(1, test.verdict, "RPUSH"))
				if got := pipeline(t, dial(t, p), s.Key("l")); got != test.replies {
					t.Errorf("replies %q, want %q", got, test.replies)
				}
				if diff := cmp.Diff(test.before, s.Get("l")); diff != "" {
					t.Error("before:", diff)
				}
				p.ReleaseLate()
				if diff := cmp.Diff(test.after, s.Get("l")); diff != "" {
					t.Error("after:", diff)
				}
				if got := p.ReleaseLate(); len(got) != 0 {
					t.Errorf("released again: %v", got)
				}
			})
		})
	}
}

func TestPostponeAfter(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	p := redistest.NewProxy(t, s.URL())
	p.SetRule(redistest.On(0, redistest.Postpone.After(2), "RPUSH"))
	if _, err := dial(t, p).Do("RPUSH", s.Key("l"), "late"); err == nil {
		t.Fatal("no error for a postponed request")
	}
	c := dial(t, p)
	for i, want := range []any{nil, redistest.List{"late"}} {
		if _, err := c.Do("PING"); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, s.Get("l")); diff != "" {
			t.Error(i, diff)
		}
	}
}

func TestReleaseLateGivesReplies(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	p := redistest.NewProxy(t, s.URL())
	p.SetRule(func(redistest.Request) redistest.Verdict { return redistest.Late })
	c := dial(t, p)
	if _, err := c.Do("INCR", s.Key("n")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Do("LPUSH", s.Key("n"), "x"); err == nil {
		t.Fatal("no error")
	}
	replies := p.ReleaseLate()
	if len(replies) != 2 || replies[0] != int64(2) {
		t.Fatal(replies)
	}
	if err, ok := replies[1].(error); !ok || !strings.HasPrefix(err.Error(), "WRONGTYPE") {
		t.Error(replies[1])
	}
}

func TestRulesSeeTheRequests(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	p := redistest.NewProxy(t, s.URL())
	var seen []string
	p.SetRule(func(r redistest.Request) redistest.Verdict {
		seen = append(seen, fmt.Sprintf("%d %d %s %t %t", r.N, r.Conn, r.Args[0], r.Is("get", "K"), r.Is("GET", "k", "more")))
		return redistest.Pass
	})
	for range 2 {
		if _, err := dial(t, p).Do("GET", "k"); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"0 0 GET true false", "1 1 GET true false"}, seen); diff != "" {
		t.Error(diff)
	}
	if got := len(p.Seen()); got != 2 {
		t.Error(got)
	}
}

func TestLargeAndOddReplies(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		c := dial(t, redistest.NewProxy(t, s.URL()))
		large := strings.Repeat("x\r\n\x00", 300_000)
		if _, err := c.Do("SET", s.Key("large"), large); err != nil {
			t.Fatal(err)
		}
		got, err := redis.String(c.Do("GET", s.Key("large")))
		if err != nil || got != large {
			t.Error(len(got), err)
		}
		reply, err := c.Do("EVAL", "return {1, {'a', {}}, false, redis.status_reply('fine')}", 0)
		if diff := cmp.Diff([]any{int64(1), []any{[]byte("a"), []any{}}, nil, "fine"}, reply); diff != "" || err != nil {
			t.Error(diff, err)
		}
	})
}

func TestSubscribersGetTheirMessages(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		c := redis.PubSubConn{Conn: dial(t, redistest.NewProxy(t, s.URL()))}
		if err := c.Subscribe(s.Key("a"), s.Key("b")); err != nil {
			t.Fatal(err)
		}
		want := []any{
			redis.Subscription{Kind: "subscribe", Channel: s.Key("a"), Count: 1},
			redis.Subscription{Kind: "subscribe", Channel: s.Key("b"), Count: 2},
			redis.Message{Channel: s.Key("b"), Data: []byte("hello")},
			redis.Pong{},
			redis.Message{Channel: s.Key("a"), Data: []byte("again")},
		}
		var got []any
		for i := range want {
			switch i {
			case 2:
				s.Do("PUBLISH", s.Key("b"), "hello")
			case 3:
				if err := c.Ping(""); err != nil {
					t.Fatal(err)
				}
			case 4:
				s.Do("PUBLISH", s.Key("a"), "again")
			}
			got = append(got, c.Receive())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestKillEndsConnectionsButNotTheProxy(t *testing.T) {
	t.Parallel()
	p := redistest.NewProxy(t, redistest.New(t).URL())
	c := dial(t, p)
	if _, err := c.Do("PING"); err != nil {
		t.Fatal(err)
	}
	p.Kill()
	if _, err := c.Do("PING"); err == nil {
		t.Error("the connection lives")
	}
	if _, err := dial(t, p).Do("PING"); err != nil {
		t.Error(err)
	}
}

func TestBlackHole(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	p := redistest.NewProxy(t, s.URL())
	old, waiting := dial(t, p, redis.DialReadTimeout(20*time.Millisecond)), dial(t, p)
	if _, err := waiting.Do("PING"); err != nil {
		t.Fatal(err)
	}
	p.BlackHole(true)
	for _, c := range []redis.Conn{old, dial(t, p, redis.DialReadTimeout(20*time.Millisecond))} {
		_, err := c.Do("INCR", s.Key("n"))
		var timeout interface{ Timeout() bool }
		if !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Errorf("instead of a timeout: %v", err)
		}
	}
	if err := waiting.Send("INCR", s.Key("n")); err != nil {
		t.Fatal(err)
	}
	if err := waiting.Flush(); err != nil {
		t.Fatal(err)
	}
	p.BlackHole(false)
	if _, err := waiting.Receive(); err == nil {
		t.Error("a swallowed request got a reply")
	}
	if _, err := dial(t, p).Do("PING"); err != nil {
		t.Error(err)
	}
	if got := s.Get("n"); got != nil {
		t.Errorf("a swallowed request was carried out: %v", got)
	}
}

func TestProxyKeepsLoginAndDatabase(t *testing.T) {
	t.Parallel()
	s := redistest.NewOwn(t, "--user", "app", "on", ">p@ss", "~*", "+@all")
	p := redistest.NewProxy(t, strings.Replace(s.URL(), "redis://", "redis://app:p%40ss@", 1)+"/3")
	p.SetRule(redistest.On(0, redistest.Late, "SET"))
	c := dial(t, p)
	if _, err := c.Do("SET", "k", "v"); err != nil {
		t.Fatal(err)
	}
	s.Do("SELECT", 3)
	s.Do("DEL", "k")
	p.ReleaseLate()
	if got := s.Do("GET", "k"); got != "v" {
		t.Errorf("the late request went elsewhere: %v", got)
	}
}

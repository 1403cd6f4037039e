package redistest

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/gomodule/redigo/redis"
)

// Request is a command on its way through a Proxy.
type Request struct {
	// N counts the requests of all connections, 0 the first.
	N int
	// Conn counts the connections, 0 the first.
	Conn int
	// Args is the command with its arguments.
	Args []string
}

// Is compares the command's name, and where more words are given the arguments
// after it (the digest of an EVALSHA, for example), without regard to case.
func (r Request) Is(words ...string) bool {
	if len(words) > len(r.Args) {
		return false
	}
	for i, word := range words {
		if !strings.EqualFold(word, r.Args[i]) {
			return false
		}
	}
	return true
}

// Verdict is what becomes of a request.
type Verdict int

// The verdicts.
const (
	// Pass lets it through.
	Pass Verdict = iota
	// DropReply has it carried out, and the requests that were sent along behind
	// it; the connection ends instead of the reply.
	DropReply
	// CutReply has it carried out, but nothing behind it; the connection ends
	// instead of the reply.
	CutReply
	// DropRequest ends the connection, after the replies to what came before.
	DropRequest
	// Duplicate has it carried out twice, one right after the other; the second
	// reply is dropped.
	Duplicate
	// Late lets it through, and carries out a copy at ReleaseLate or After.
	Late
	// Postpone ends the connection as DropRequest does, and carries the request
	// out at ReleaseLate or After.
	Postpone
)

const verdictBits = 8

// After makes Late and Postpone carry the request out right before the nth
// request to come (1 is the next one) instead of waiting for ReleaseLate.
func (v Verdict) After(n int) Verdict { return v + Verdict(n<<verdictBits) }

func (v Verdict) kind() Verdict { return v & (1<<verdictBits - 1) }

// Rule decides about each request. A proxy calls its rule for one request at a
// time.
type Rule func(Request) Verdict

// On gives a verdict to the nth request (0 the first) that begins with these
// words, see Request.Is, and lets all others pass.
func On(n int, verdict Verdict, words ...string) Rule {
	seen := 0
	return func(r Request) Verdict {
		if !r.Is(words...) {
			return Pass
		}
		seen++
		if seen-1 == n {
			return verdict
		}
		return Pass
	}
}

// Proxy stands between a client and a Redis and understands what they say.
type Proxy struct {
	tb       testing.TB
	upstream string
	network  string
	address  string
	url      string
	listener net.Listener
	ctx      context.Context //nolint:containedctx // it ends with the proxy
	running  sync.WaitGroup

	mu    sync.Mutex
	rule  Rule
	hole  bool
	links map[*link]bool
	seen  []Request
	late  []lateRequest
	conns int

	// releasing guards the connection on which late requests go.
	releasing sync.Mutex
	side      redis.Conn
}

type lateRequest struct {
	args  []string
	timed bool
	left  int
}

// NewProxy starts a proxy in front of a redis:// or unix:// URL. It lets
// everything through until it is told otherwise.
func NewProxy(tb testing.TB, upstream string) *Proxy {
	tb.Helper()
	network, address, u, err := split(upstream)
	if err != nil {
		tb.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	p := &Proxy{
		tb: tb, upstream: upstream, network: network, address: address, listener: listener, ctx: ctx,
		links: map[*link]bool{}, url: proxyURL(network, u, listener.Addr().String()),
	}
	p.running.Go(p.accept)
	tb.Cleanup(func() {
		cancel()
		_ = listener.Close()
		p.Kill()
		p.running.Wait()
		if p.side != nil {
			_ = p.side.Close()
		}
	})
	return p
}

func proxyURL(network string, u *url.URL, address string) string {
	path := u.Path
	if network == "unix" {
		path = "/" + u.Query().Get("db")
	}
	return (&url.URL{Scheme: "redis", User: u.User, Host: address, Path: path}).String()
}

// URL is how to reach the server through the proxy.
func (p *Proxy) URL() string { return p.url }

// SetRule changes the rule; nil: everything passes.
func (p *Proxy) SetRule(rule Rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rule = rule
}

// Seen lists the requests so far.
func (p *Proxy) Seen() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Request(nil), p.seen...)
}

// Kill ends all connections. New ones are accepted.
func (p *Proxy) Kill() {
	p.mu.Lock()
	links := make([]*link, 0, len(p.links))
	for l := range p.links {
		links = append(links, l)
	}
	p.mu.Unlock()
	for _, l := range links {
		l.close()
	}
}

// BlackHole makes the proxy swallow every request and reply, on connections old
// and new, without a word, as a network that drops packets. Ending it ends the
// connections that there are.
func (p *Proxy) BlackHole(on bool) {
	p.mu.Lock()
	was := p.hole
	p.hole = on
	if was && !on {
		for l := range p.links {
			l.lost = true
		}
	}
	p.mu.Unlock()
	if was && !on {
		p.Kill()
	}
}

// ReleaseLate carries out the requests that Late and Postpone kept without
// After, in their order, on a connection of their own. It answers their replies,
// an error where Redis answered one.
func (p *Proxy) ReleaseLate() []any {
	p.tb.Helper()
	p.mu.Lock()
	var due, kept []lateRequest
	for _, request := range p.late {
		if request.timed {
			kept = append(kept, request)
		} else {
			due = append(due, request)
		}
	}
	p.late = kept
	p.mu.Unlock()
	return p.carryOut(due)
}

// carryOut runs late requests on the connection for them.
func (p *Proxy) carryOut(requests []lateRequest) []any {
	p.releasing.Lock()
	defer p.releasing.Unlock()
	replies := make([]any, 0, len(requests))
	for _, request := range requests {
		if p.side == nil || p.side.Err() != nil {
			side, err := dialURL(p.upstream)
			if err != nil {
				p.tb.Errorf("redistest: late requests: %v", err)
				return replies
			}
			p.side = side
		}
		reply, err := p.side.Do(request.args[0], anys(request.args[1:])...)
		if err != nil {
			reply = err
		}
		replies = append(replies, plain(reply))
	}
	return replies
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.serve(client) })
	}
}

func (p *Proxy) serve(client net.Conn) {
	server, err := (&net.Dialer{}).DialContext(p.ctx, p.network, p.address)
	if err != nil {
		_ = client.Close()
		return
	}
	l := newLink(p, client, server)
	p.mu.Lock()
	l.number = p.conns
	p.conns++
	p.links[l] = true
	ended := p.ctx.Err() != nil
	p.mu.Unlock()
	if ended {
		l.close()
	}
	p.running.Go(l.replies)
	l.requests()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// judge asks the rule and counts the late requests down. A request in the black
// hole is none.
func (p *Proxy) judge(l *link, args []string) (verdict Verdict, due []lateRequest, swallow bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hole || l.lost {
		return Pass, nil, true
	}
	var kept []lateRequest
	for _, request := range p.late {
		request.left--
		if request.timed && request.left <= 0 {
			due = append(due, request)
		} else {
			kept = append(kept, request)
		}
	}
	p.late = kept
	request := Request{N: len(p.seen), Conn: l.number, Args: args}
	p.seen = append(p.seen, request)
	if p.rule != nil {
		verdict = p.rule(request)
	}
	if kind := verdict.kind(); kind == Late || kind == Postpone {
		after := int(verdict) >> verdictBits
		p.late = append(p.late, lateRequest{args: args, timed: after > 0, left: after})
	}
	if verdict.kind() < Pass || verdict.kind() > Postpone {
		panic(fmt.Sprintf("redistest: no such verdict: %d", verdict))
	}
	return verdict.kind(), due, false
}

func (p *Proxy) swallows(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hole || l.lost
}

package redistest

import (
	"bufio"
	"io"
	"net"
	"strings"
	"sync"
)

// link is a client's connection and its own to the server. One goroutine reads
// the client's requests, one the server's replies; what is to become of a reply
// stands in line before its request is sent.
type link struct {
	proxy  *Proxy
	number int
	client net.Conn
	server net.Conn
	// lost says that the black hole took something; the proxy's lock guards it.
	lost bool

	mu sync.Mutex
	// line holds a fate for each reply that is still to come.
	line []fate
	// held is the reply to a request whose copy hasn't been carried out yet.
	held []byte
	// deaf drops all further replies.
	deaf bool
	// ending closes the link when the line is empty.
	ending bool
	// subscribed says that messages may come, which answer no request.
	subscribed bool
	// moved is told when the line gets shorter, or the link ends.
	moved *sync.Cond
	ended bool
}

func newLink(p *Proxy, client, server net.Conn) *link {
	l := &link{proxy: p, client: client, server: server}
	l.moved = sync.NewCond(&l.mu)
	return l
}

type fate int

const (
	forward fate = iota
	// hold keeps the reply until the copy, whose own one is swallowed, was carried
	// out: else a test could go on while the copy is still to come.
	hold
	swallow
	cut
)

// requests reads the client until it, or a verdict, ends the connection.
func (l *link) requests() {
	reader := bufio.NewReader(l.client)
	defer l.leave(reader)
	leaving := false
	for !leaving || reader.Buffered() > 0 {
		raw, args, err := readCommand(reader)
		if err != nil {
			return
		}
		verdict, due, lost := l.proxy.judge(l, args)
		if lost {
			continue
		}
		if len(due) > 0 {
			l.drain()
			l.proxy.carryOut(due)
		}
		switch verdict {
		case DropRequest, Postpone:
			return
		case CutReply:
			l.send(raw, args, cut)
			return
		case DropReply:
			leaving = true
			l.send(raw, args, cut)
		case Duplicate:
			l.send(raw, args, hold)
			l.send(raw, args, swallow)
		case Pass, Late:
			l.send(raw, args, forward)
		}
	}
}

// send lines up the fate of the request's replies and sends it.
func (l *link) send(raw []byte, args []string, f fate) {
	count := 1
	switch strings.ToUpper(args[0]) {
	case "SUBSCRIBE", "PSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE":
		count = max(1, len(args)-1) // a reply for each channel
	}
	l.mu.Lock()
	l.subscribed = l.subscribed || strings.HasSuffix(strings.ToUpper(args[0]), "SUBSCRIBE")
	for range count {
		l.line = append(l.line, f)
	}
	l.mu.Unlock()
	if _, err := l.server.Write(raw); err != nil {
		l.close()
	}
}

// replies reads the server until the link ends.
func (l *link) replies() {
	reader := bufio.NewReader(l.server)
	for {
		r, err := readReply(reader)
		if err != nil {
			l.close()
			return
		}
		answer, last := l.next(r)
		if answer != nil && !l.proxy.swallows(l) {
			if _, err := l.client.Write(answer); err != nil {
				l.close()
				return
			}
		}
		if last {
			l.part()
			return
		}
	}
}

// next takes the reply's fate out of the line, and answers what the client gets
// now; nil: nothing.
func (l *link) next(r reply) (answer []byte, last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	answer = r.raw
	if !l.subscribed || r.first != "message" && r.first != "pmessage" {
		answer, last = l.fated(r.raw)
	}
	if l.deaf {
		answer = nil
	}
	return answer, last
}

// fated does with a reply what stands first in the line.
func (l *link) fated(raw []byte) (answer []byte, last bool) {
	if len(l.line) == 0 {
		return raw, false
	}
	f := l.line[0]
	l.line = l.line[1:]
	l.moved.Broadcast()
	last = l.ending && len(l.line) == 0
	switch f {
	case hold:
		l.held = raw
	case swallow:
		answer, l.held = l.held, nil
	case cut:
		l.deaf = true
	case forward:
		answer = raw
	}
	return answer, last
}

// leave ends the link once the replies that are still to come have come, so
// that the client sees its end only after all was carried out. What the client
// sends meanwhile is read and dropped: a connection closed over it would be
// reset, and take those replies with it.
func (l *link) leave(reader io.Reader) {
	l.mu.Lock()
	l.ending = true
	empty := len(l.line) == 0
	l.mu.Unlock()
	if empty {
		l.part()
	}
	_, _ = io.Copy(io.Discard, reader) // until the client is gone too
	l.drain()
	l.close()
}

// part tells the client that nothing more will come.
func (l *link) part() {
	_ = l.server.Close()
	if half, ok := l.client.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// drain waits until all requests so far were carried out.
func (l *link) drain() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.line) > 0 && !l.ended {
		l.moved.Wait()
	}
}

func (l *link) close() {
	l.mu.Lock()
	l.ended = true
	l.moved.Broadcast()
	l.mu.Unlock()
	_ = l.client.Close()
	_ = l.server.Close()
}

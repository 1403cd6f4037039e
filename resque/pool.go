package resque

import (
	"context"
	"errors"
	"sync"
	"time"
)

// pool keeps the connections that a client's calls share. A call holds one only
// while it waits for its replies, so calls that wait for a free one get it
// within the timeouts, whoever makes them.
type pool struct {
	// free holds a token for each connection that may still be taken.
	free chan struct{}

	mu     sync.Mutex
	idle   []idleConn
	closed bool
}

type idleConn struct {
	*conn
	since time.Time
}

// testAfter is the rest after which a connection is asked whether it still
// lives: servers and firewalls drop connections that rest.
const testAfter = 5 * time.Second

func (p *pool) init(size int) {
	p.free = make(chan struct{}, size)
	for range size {
		p.free <- struct{}{}
	}
}

// take waits for a free connection.
func (p *pool) take(ctx context.Context, dial func(context.Context) (*conn, error)) (*conn, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	select {
	case <-p.free:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	k, err := p.pick(ctx, dial)
	if err != nil {
		p.free <- struct{}{}
	}
	return k, err
}

func (p *pool) pick(ctx context.Context, dial func(context.Context) (*conn, error)) (*conn, error) {
	for {
		k, err := p.pop()
		if err != nil {
			return nil, err
		}
		if k.conn == nil {
			return dial(ctx)
		}
		if time.Since(k.since) < testAfter {
			return k.conn, nil
		}
		if _, err := k.do(ctx, "PING"); !k.broken.Load() && (err == nil || ErrorCode(err) != "") {
			return k.conn, nil
		}
		_ = k.close() // it is broken
	}
}

func (p *pool) pop() (idleConn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return idleConn{}, ErrClosed
	}
	if len(p.idle) == 0 {
		return idleConn{}, nil
	}
	last := len(p.idle) - 1
	k := p.idle[last]
	p.idle = p.idle[:last]
	return k, nil
}

// give takes a connection back. A lost one takes those at rest with it: most
// likely they lost the same server, and would fail a call each.
func (p *pool) give(k *conn) {
	var drop []idleConn
	p.mu.Lock()
	if k.lost.Load() {
		drop, p.idle = p.idle, nil
	}
	if k.broken.Load() || p.closed {
		drop = append(drop, idleConn{conn: k})
	} else {
		p.idle = append(p.idle, idleConn{conn: k, since: time.Now()})
	}
	p.mu.Unlock()
	for _, k := range drop {
		_ = k.close() // nobody waits for what it says
	}
	p.free <- struct{}{}
}

func (p *pool) close() error {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	var errs []error
	for _, k := range idle {
		errs = append(errs, k.close())
	}
	return errors.Join(errs...)
}

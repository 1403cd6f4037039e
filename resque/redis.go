package resque

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"
)

// This file is the only door to the driver.

// conn is one connection. One goroutine at a time sends on it and one receives;
// close may come from any.
type conn struct {
	driver redis.Conn
	// raw is the connection below TLS: closing it ends a blocked read or write
	// at once, which no deadline does while the driver sets its own.
	raw net.Conn
	// broken says that it is of no use any more, lost that this was none of
	// our own doing.
	broken, lost atomic.Bool
	// closing hears of close. nil: nobody does.
	closing func(*conn)
}

// dial makes a connection of its own, logged in and on the right database.
func (c *Client) dial(ctx context.Context) (*conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.options.DialTimeout, errDialTimeout)
	defer cancel()
	if c.sentinels != nil {
		return c.sentinels.dial(ctx)
	}
	return c.dialTo(ctx, c.target)
}

func (c *Client) dialTo(ctx context.Context, t target) (*conn, error) {
	raw, err := (&net.Dialer{}).DialContext(ctx, t.network, t.address)
	if err != nil {
		return nil, fmt.Errorf("resque: connecting to Redis: %w", causeOr(ctx, err))
	}
	stream := raw
	if t.tls {
		secured := tls.Client(raw, namedServer(c.tls, t.host))
		if err := secured.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("resque: connecting to Redis at %s by TLS: %w", t.address, causeOr(ctx, err)), raw.Close())
		}
		stream = secured
	}
	k := &conn{driver: redis.NewConn(stream, c.options.ReadTimeout, c.options.WriteTimeout), raw: raw}
	if err := k.greet(ctx, t); err != nil {
		return nil, errors.Join(err, k.close())
	}
	return k, nil
}

var errDialTimeout = fmt.Errorf("resque: connecting to Redis took longer than Options.DialTimeout: %w", context.DeadlineExceeded)

// greet logs in and selects the database.
func (k *conn) greet(ctx context.Context, t target) error {
	var calls []Call
	if t.login {
		auth := Call{Command: "AUTH", Args: []any{t.password}}
		if t.user != "" {
			auth.Args = []any{t.user, t.password}
		}
		calls = append(calls, auth)
	}
	if t.db != 0 {
		calls = append(calls, Call{Command: "SELECT", Args: []any{t.db}})
	}
	if len(calls) == 0 {
		return nil
	}
	replies, err := k.pipeline(ctx, calls)
	if err != nil {
		return err
	}
	for i, reply := range replies {
		if refused, ok := reply.(error); ok {
			return greetError(calls[i].Command, t, refused)
		}
	}
	return nil
}

// greetError never quotes the answer to AUTH: a server that doesn't know the
// command quotes the password in it.
func greetError(command string, t target, err error) error {
	switch code := ErrorCode(err); {
	case code == "LOADING":
		return err
	case command == "AUTH":
		return fmt.Errorf("%w (Redis answered %s)", ErrLogin, code)
	case code == "NOAUTH":
		return fmt.Errorf("%w (Redis answered %s)", ErrLogin, code)
	default:
		return fmt.Errorf("resque: selecting the database %d: %w", t.db, err)
	}
}

func causeOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// pipeline sends the calls in one go and answers an element for each: the
// reply, or an error where Redis answered one. Scripts that Redis didn't know
// are sent again with their text, after all the others. The second result means
// that the connection is of no use any more; the replies that came before that
// are still there, the others are nil.
func (k *conn) pipeline(ctx context.Context, calls []Call) ([]any, error) {
	replies := make([]any, len(calls))
	all := make([]int, len(calls))
	for i := range all {
		all[i] = i
	}
	if err := k.exchange(ctx, calls, all, false, replies); err != nil {
		return replies, err
	}
	var unknown []int
	for i, call := range calls {
		if err, ok := replies[i].(error); ok && call.Script != nil && ErrorCode(err) == "NOSCRIPT" {
			unknown = append(unknown, i)
		}
	}
	if len(unknown) == 0 {
		return replies, nil
	}
	return replies, k.exchange(ctx, calls, unknown, true, replies)
}

// exchange sends those of the calls that which names and fills in their
// replies.
func (k *conn) exchange(ctx context.Context, calls []Call, which []int, byText bool, replies []any) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	release := k.watch(ctx)
	defer release()
	for _, i := range which {
		name, args := calls[i].wire(byText)
		if err := k.driver.Send(name, args...); err != nil {
			return k.failed(ctx, err)
		}
	}
	if err := k.driver.Flush(); err != nil {
		return k.failed(ctx, err)
	}
	for _, i := range which {
		reply, err := answer(k.driver.Receive())
		if err != nil {
			return k.failed(ctx, err)
		}
		replies[i] = reply
		if refused, ok := reply.(error); ok && ErrorCode(refused) == "READONLY" {
			// It is a replica since a failover: whoever dials anew finds the master,
			// by the Sentinels or by a name that leads there by then.
			k.broken.Store(true)
			k.lost.Store(true)
		}
	}
	return nil
}

// abandon makes the connection useless, as if it had been lost.
func (k *conn) abandon() {
	k.broken.Store(true)
	k.lost.Store(true)
	_ = k.raw.Close() // it may be closed already
}

// keepAlive pings a subscriber, so that its receive hears something, until over.
func keepAlive(k *conn, over <-chan struct{}) {
	ticker := time.NewTicker(alive)
	defer ticker.Stop()
	for {
		select {
		case <-over:
			return
		case <-ticker.C:
			if k.send("PING") != nil {
				return
			}
		}
	}
}

// watch closes the connection as soon as ctx ends, until it is released.
func (k *conn) watch(ctx context.Context) (release func()) {
	stop := context.AfterFunc(ctx, func() {
		k.broken.Store(true)
		_ = k.raw.Close() // what it says is the error of the blocked call
	})
	return func() {
		if !stop() {
			k.broken.Store(true)
		}
	}
}

func (k *conn) failed(ctx context.Context, err error) error {
	k.broken.Store(true)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	k.lost.Store(true)
	return fmt.Errorf("resque: talking to Redis: %w", err)
}

// do is a pipeline of one command, whose error it returns.
func (k *conn) do(ctx context.Context, command string, args ...any) (any, error) {
	return single(k.pipeline(ctx, []Call{{Command: command, Args: args}}))
}

func single(replies []any, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	if refused, ok := replies[0].(error); ok {
		return nil, refused
	}
	return replies[0], nil
}

// send sends a command without waiting for a reply. A goroutine may send while
// another one is in receive.
func (k *conn) send(command string, args ...any) error {
	err := k.driver.Send(command, args...)
	if err == nil {
		err = k.driver.Flush()
	}
	if err != nil {
		return k.failed(context.Background(), err)
	}
	return nil
}

// receive waits for one reply or message; 0: without limit. After a timeout the
// connection is of no use any more. close from another goroutine ends it.
func (k *conn) receive(timeout time.Duration) (any, error) {
	reply, err := answer(redis.ReceiveWithTimeout(k.driver, timeout))
	if err != nil {
		return nil, k.failed(context.Background(), err)
	}
	if refused, ok := reply.(error); ok {
		return nil, refused
	}
	return reply, nil
}

// close closes the connection, at once.
func (k *conn) close() error {
	if k.closing != nil {
		k.closing(k)
	}
	if k.broken.Swap(true) {
		_ = k.raw.Close() // it may be closed already
		_ = k.driver.Close()
		return nil
	}
	err := k.raw.Close()
	_ = k.driver.Close() // says again that it is closed
	return err
}

// answer turns what the driver received into a reply, whose errors are of our
// own type, or an error of the connection.
func answer(reply any, err error) (any, error) {
	if refused, ok := errors.AsType[redis.Error](err); ok {
		return newRedisError(string(refused)), nil
	}
	return ownErrors(reply), err
}

func ownErrors(reply any) any {
	switch r := reply.(type) {
	case redis.Error:
		return newRedisError(string(r))
	case []any:
		for i := range r {
			r[i] = ownErrors(r[i])
		}
	}
	return reply
}

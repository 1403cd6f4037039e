package resque

import (
	"context"
	"time"
)

// TestConn shows a connection of one's own to tests.
type TestConn struct{ k *conn }

func (c *Client) DialForTest(ctx context.Context) (TestConn, error) {
	k, err := c.dial(ctx)
	return TestConn{k}, err
}

func (t TestConn) Pipeline(ctx context.Context, calls ...Call) ([]any, error) {
	return t.k.pipeline(ctx, calls)
}

func (t TestConn) Do(ctx context.Context, command string, args ...any) (any, error) {
	return t.k.do(ctx, command, args...)
}
func (t TestConn) Send(command string, args ...any) error     { return t.k.send(command, args...) }
func (t TestConn) Receive(timeout time.Duration) (any, error) { return t.k.receive(timeout) }
func (t TestConn) Close() error                               { return t.k.close() }

// AgeIdleForTest makes the connections at rest so much older.
func (c *Client) AgeIdleForTest(d time.Duration) {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	for i := range c.pool.idle {
		c.pool.idle[i].since = c.pool.idle[i].since.Add(-d)
	}
}

func BackoffForTest(first, most time.Duration, failed int, random float64) time.Duration {
	return backoff{first, most}.wait(failed, random)
}

func NewRedisErrorForTest(message string) *RedisError { return newRedisError(message) }

// URLForTest is what a URL says.
func URLForTest(text string) (network, address, user, password string, db int, tls bool, err error) {
	t, err := parseURL(text)
	return t.network, t.address, t.user, t.password, t.db, t.tls, err
}

package resque

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// What Open refuses, for errors.Is.
var (
	// ErrLogin says that Redis refused the user name or password, or asks for
	// one.
	ErrLogin = errors.New("resque: Redis refused the login: write user and password as in redis://user:password@host:6379/0, " +
		"or redis://:password@… without a user")
	// ErrUnsupportedServer says that the server is none that this package can
	// work with: Redis 6.2 or later, or Valkey, without Redis Cluster.
	ErrUnsupportedServer = errors.New("resque: unsupported server")
	// ErrClosed says that the client was closed.
	ErrClosed = errors.New("resque: the client is closed")
)

// Client is a connection to the Redis of a Resque, safe for use by any number of
// goroutines. Make it with Open.
type Client struct {
	options Options
	target  target
	tls     *tls.Config
	keys    Keys
	pool    pool
	// sentinels name the master. nil: the target is it.
	sentinels *sentinels

	writeScript, editScript, forgetScript, removeScript, pageScript, noteScript *Script
}

// Open connects to Redis and checks that it can be worked with. The URL is
// redis://user:password@host:6379/0, rediss://… for TLS, or
// unix:///path/redis.sock?db=0; redis-sentinel://host:26379,host:26379/0?master=name
// asks Sentinels for the master, and follows it. Special characters of user and
// password are percent-escaped. While Redis is loading its data, Open waits until
// ctx ends; every other trouble is an error at once.
func Open(ctx context.Context, url string, o Options) (*Client, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	t, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	if err := o.checkSentinel(t); err != nil {
		return nil, err
	}
	config, err := o.tlsConfig(t)
	if err != nil {
		return nil, err
	}
	c := &Client{
		options: o, target: t, tls: config, keys: NewKeys(o.Namespace),
		writeScript: NewScript("write", writeLua), editScript: NewScript("edit", editLua), forgetScript: NewScript("forget", forgetLua),
		removeScript: NewScript("remove queue", removeQueueLua), pageScript: NewScript("page", pageLua), noteScript: NewScript("note", noteLua),
	}
	c.sentinels = newSentinels(c)
	c.pool.init(o.PoolSize)
	if err := c.meet(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// meet checks the server, and waits while it is loading.
func (c *Client) meet(ctx context.Context) error {
	for failed := 1; ; failed++ {
		err := c.checkServer(ctx)
		if ErrorCode(err) != "LOADING" {
			return err
		}
		c.options.Logger.WarnContext(ctx, "Redis is loading its data, waiting", "address", c.target.address, "try", failed)
		if err := c.options.Clock.Sleep(ctx, backoff{}.next(failed)); err != nil {
			return fmt.Errorf("resque: waiting for Redis to load its data: %w", err)
		}
	}
}

func (c *Client) checkServer(ctx context.Context) error {
	replies, err := c.Pipeline(ctx, Call{Command: "PING"}, Call{Command: "INFO", Args: []any{"server"}})
	if err != nil {
		return err
	}
	if _, err := String(replies[0], nil); err != nil && ErrorCode(err) != "NOPERM" {
		if ErrorCode(err) == "NOAUTH" {
			return fmt.Errorf("%w (Redis answered NOAUTH)", ErrLogin)
		}
		return fmt.Errorf("resque: greeting Redis: %w", err)
	}
	info, err := String(replies[1], nil)
	if ErrorCode(err) == "LOADING" {
		return err
	}
	if err != nil {
		// A user without the right, or a server for tests.
		c.options.Logger.DebugContext(ctx, "Redis doesn't tell its version", "error", err)
		return nil
	}
	return checkInfo(info)
}

// checkInfo judges a server by what INFO says; what isn't said is no reason to
// refuse it.
func checkInfo(info string) error {
	fields := map[string]string{}
	for line := range strings.Lines(info) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	switch fields["redis_mode"] {
	case "cluster":
		return fmt.Errorf("%w: Redis Cluster spreads the keys of one step over several servers; use a Redis without cluster mode", ErrUnsupportedServer)
	case "sentinel":
		return fmt.Errorf("%w: this is a Sentinel; write "+sentinelForm, ErrUnsupportedServer)
	}
	if fields["server_name"] == "valkey" {
		return nil
	}
	version := fields["redis_version"]
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	majorNumber, err1 := strconv.Atoi(major)
	minorNumber, err2 := strconv.Atoi(minor)
	if err1 != nil || err2 != nil {
		return nil //nolint:nilerr // a version that can't be read is none that is known to be too old
	}
	if majorNumber < 6 || majorNumber == 6 && minorNumber < 2 {
		return fmt.Errorf("%w: this is Redis %s, and 6.2 is the oldest that will do (LPOP with a count)", ErrUnsupportedServer, version)
	}
	return nil
}

// Close closes the client's connections; those in use when their call ends.
func (c *Client) Close() error {
	err := c.pool.close()
	c.sentinels.close()
	return err
}

// Keys names the keys of the client's namespace.
func (c *Client) Keys() Keys { return c.keys }

// Do sends one command. Keys among the arguments are full keys, see Keys.
func (c *Client) Do(ctx context.Context, command string, args ...any) (any, error) {
	return single(c.Pipeline(ctx, Call{Command: command, Args: args}))
}

// Run runs a script with full keys, see Keys.
func (c *Client) Run(ctx context.Context, s *Script, keys []string, args ...any) (any, error) {
	return single(c.Pipeline(ctx, Call{Script: s, Keys: keys, Args: args}))
}

// Pipeline sends the calls in one round trip (a script that Redis doesn't know
// takes a second one, after all the others). It answers an element for each: the
// reply, or an error where Redis answered one. The second result is an error of
// the connection; the replies that came before it are there, the others nil, and
// what became of those calls is unknown.
func (c *Client) Pipeline(ctx context.Context, calls ...Call) ([]any, error) {
	k, err := c.pool.take(ctx, c.dial)
	if err != nil {
		return make([]any, len(calls)), err
	}
	defer c.pool.give(k)
	return k.pipeline(ctx, calls)
}

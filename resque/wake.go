package resque

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// tracker hears from Redis that a key changed (CLIENT TRACKING, redirected to a
// connection that subscribes). Redis watches only what is read right behind a
// watchNext (OPTIN): else the keys that the scripts read, and write, would wake
// the process that wrote them. A nil tracker is one that hears nothing.
type tracker struct {
	client *Client
	log    *slog.Logger

	change chan struct{} // one is waiting at most
	queues atomic.Bool   // the set of queues changed

	// Its reader's own.
	unable  bool      // Redis doesn't know the command
	retryAt time.Time // when to try again for a subscriber that fell

	mu     sync.Mutex
	conn   *conn
	id     int64
	on     atomic.Bool // the reader's connection is redirected here
	closed bool
	ended  sync.WaitGroup
}

// invalidations is where Redis publishes what changed.
const invalidations = "__redis__:invalidate"

// alive is how often the subscriber is pinged: Redis tells nobody that a
// subscriber is dead, its changes just stop.
const alive = 10 * time.Second

func newTracker(client *Client, log *slog.Logger) *tracker {
	return &tracker{client: client, log: log, change: make(chan struct{}, 1)}
}

// startTracking makes changes of the queues wake the dispatcher, where Redis can
// do that; else polling does.
func (d *dispatcher) startTracking(ctx context.Context) {
	d.track = newTracker(d.client, d.log)
	if d.conn != nil {
		d.track.attach(ctx, d.conn)
	}
}

// mendTracking takes a new subscriber where the old one fell.
func (d *dispatcher) mendTracking(ctx context.Context, now time.Time) {
	if d.track == nil || d.conn == nil || d.track.ready() || !d.track.mayTry(now, d.cfg.Interval) {
		return
	}
	d.track.attach(ctx, d.conn)
}

// mayTry says, once in every, that a new subscriber may be tried.
func (t *tracker) mayTry(now time.Time, every time.Duration) bool {
	if t.unable || now.Before(t.retryAt) {
		return false
	}
	t.retryAt = now.Add(every)
	return true
}

// watchNext makes Redis watch the keys that the next command reads.
func watchNext() Call { return Call{Command: "CLIENT", Args: []any{"CACHING", "YES"}} }

// changes is signalled when a watched key changed, or may have.
func (t *tracker) changes() <-chan struct{} {
	if t == nil {
		return nil
	}
	return t.change
}

// ready says that watched keys are told of.
func (t *tracker) ready() bool { return t != nil && t.on.Load() }

// queuesChanged says, once, that the set of queues changed.
func (t *tracker) queuesChanged() bool { return t != nil && t.queues.Swap(false) }

// attach redirects what the reader's connection reads to the subscriber, which it
// makes where there is none.
func (t *tracker) attach(ctx context.Context, reader *conn) {
	if t == nil {
		return
	}
	t.on.Store(false)
	id, err := t.subscriber(ctx)
	if err == nil {
		_, err = reader.do(ctx, "CLIENT", "TRACKING", "ON", "REDIRECT", id, "OPTIN")
	}
	if err != nil {
		t.unable = strings.Contains(err.Error(), "unknown") // the command or its form: Redis never can
		t.disown()
		t.log.DebugContext(ctx, "no CLIENT TRACKING: polling", "error", err)
		return
	}
	t.on.Store(true)
}

// subscriber answers the client id of the subscribed connection.
func (t *tracker) subscriber(ctx context.Context) (int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn != nil || t.closed {
		return t.id, nil
	}
	k, err := t.client.dial(ctx)
	if err != nil {
		return 0, err
	}
	id, err := Int(k.do(ctx, "CLIENT", "ID"))
	if err == nil {
		err = k.send("SUBSCRIBE", invalidations)
	}
	if err != nil {
		_ = k.close() // the error that matters is err
		return 0, err
	}
	t.conn, t.id = k, id
	listening := make(chan struct{})
	t.ended.Go(func() {
		defer close(listening)
		t.listen(k)
	})
	t.ended.Go(func() { keepAlive(k, listening) })
	return id, nil
}

// disown ends a subscriber that Redis doesn't know, or can't use; the next try
// makes another.
func (t *tracker) disown() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn != nil {
		_ = t.conn.close() // listen forgets it
	}
}

// listen takes in what Redis tells, until the connection ends.
func (t *tracker) listen(k *conn) {
	for {
		message, err := k.receive(alive + alive/2)
		if err != nil {
			t.fell(k)
			return
		}
		row, _ := message.([]any)
		if len(row) != 3 || text(row[0]) != "message" {
			continue // the answer to SUBSCRIBE or PING
		}
		keys, _ := row[2].([]any)
		for _, key := range keys {
			if text(key) == t.client.keys.Of(keyQueues) {
				t.queues.Store(true)
			}
		}
		if keys == nil { // everything was flushed
			t.queues.Store(true)
		}
		t.signal()
	}
}

// fell forgets a connection that ended: nothing is watched any more, so the reader
// is told to look.
func (t *tracker) fell(k *conn) {
	_ = k.close() // it ended
	t.on.Store(false)
	t.mu.Lock()
	t.conn = nil
	t.mu.Unlock()
	t.queues.Store(true)
	t.signal()
}

func (t *tracker) signal() {
	select {
	case t.change <- struct{}{}:
	default:
	}
}

// close ends the tracker.
func (t *tracker) close() {
	if t == nil {
		return
	}
	t.mu.Lock()
	t.closed = true
	if t.conn != nil {
		_ = t.conn.close() // nobody listens any more
	}
	t.mu.Unlock()
	t.ended.Wait()
}

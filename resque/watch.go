package resque

import (
	"context"
	"log/slog"
	"time"
)

// Watcher reads keys and hears from Redis when one of them changes, whoever
// changes it. It has two connections of its own. One goroutine at a time may
// call Read, Send and Close. Make it with NewWatcher, and close it.
type Watcher struct {
	client *Client
	track  *tracker
	every  time.Duration
	conn   *conn
}

// NewWatcher makes a watcher. Where its connections fell it tries to make others
// at most once in every. log hears, at debug level, that a server doesn't know
// CLIENT TRACKING; nil: nobody does.
func (c *Client) NewWatcher(every time.Duration, log *slog.Logger) *Watcher {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Watcher{client: c, track: newTracker(c, log), every: every}
}

// Changes is signalled when a key changed that was read, or may have. It tells of
// a key once: to hear more, read it again.
func (w *Watcher) Changes() <-chan struct{} { return w.track.changes() }

// Read sends the calls, of which each reads, and answers their replies as
// Client.Pipeline does. watched says that Changes tells from then on when one of
// their keys changes; where it is false, nobody does. A call may be sent twice.
func (w *Watcher) Read(ctx context.Context, calls ...Call) (replies []any, watched bool, err error) {
	if !w.prepare(ctx) {
		replies, err = w.client.Pipeline(ctx, calls...)
		return replies, false, err
	}
	watching := make([]Call, 0, 2*len(calls)) //nolint:mnd // each behind its watchNext
	for _, call := range calls {
		watching = append(watching, watchNext(), call)
	}
	all, err := w.conn.pipeline(ctx, watching)
	if err != nil {
		w.drop()
		replies, err = w.client.Pipeline(ctx, calls...)
		return replies, false, err
	}
	watched = true
	for i := range calls {
		_, refused := all[2*i].(error)
		watched = watched && !refused
		replies = append(replies, all[2*i+1])
	}
	return replies, watched && w.track.ready(), nil
}

// Send sends the calls without watching anything, on the same connection: a
// watcher that sends now and then notices when that is gone. A call may be sent
// twice.
func (w *Watcher) Send(ctx context.Context, calls ...Call) ([]any, error) {
	if w.conn == nil {
		return w.client.Pipeline(ctx, calls...)
	}
	replies, err := w.conn.pipeline(ctx, calls)
	if err != nil {
		w.drop()
		return w.client.Pipeline(ctx, calls...)
	}
	return replies, nil
}

// Watching says that what was read before is still watched, as far as is known.
func (w *Watcher) Watching() bool { return w.track.ready() }

// prepare makes the connections where they are missing, and says that what is
// read will be watched.
func (w *Watcher) prepare(ctx context.Context) bool {
	if w.track.ready() || !w.track.mayTry(time.Now(), w.every) {
		return w.track.ready()
	}
	if w.conn == nil {
		k, err := w.client.dial(ctx)
		if err != nil {
			return false // the caller's own call says why
		}
		w.conn = k
	}
	w.track.attach(ctx, w.conn)
	if !w.track.ready() {
		w.drop()
	}
	return w.track.ready()
}

// drop forgets the connection; the next Read may make another.
func (w *Watcher) drop() {
	_ = w.conn.close() // it is of no use any more
	w.conn = nil
	w.track.on.Store(false)
}

// Close ends the watcher.
func (w *Watcher) Close() {
	w.track.close()
	if w.conn != nil {
		w.drop()
	}
}

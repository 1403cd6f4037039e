package resque

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// one sends a single call on the dispatcher's connection, which it makes where
// there is none.
func (d *dispatcher) one(ctx context.Context, call Call) (any, error) {
	replies, err := d.send(ctx, []Call{call})
	if err != nil {
		return nil, err
	}
	if refused, ok := replies[0].(error); ok {
		return nil, refused
	}
	return replies[0], nil
}

// send sends calls on the dispatcher's connection. After an error of the
// connection the replies that came before it are there.
func (d *dispatcher) send(ctx context.Context, calls []Call) ([]any, error) {
	if d.conn == nil {
		conn, err := d.client.dial(ctx)
		if err != nil {
			return nil, err
		}
		if err := d.scripts.load(ctx, conn); err != nil {
			return nil, errors.Join(err, conn.close())
		}
		d.conn = conn
		d.track.attach(ctx, d.conn)
		d.want.armed = false
	}
	return d.conn.pipeline(ctx, calls)
}

// drop closes the connection; the next call makes a new one.
func (d *dispatcher) drop() {
	if d.conn != nil {
		_ = d.conn.close() // it is of no use any more, whatever it says
		d.conn = nil
	}
	d.want.armed, d.want.hungry = false, true
}

// outage logs once per change whether Redis answers, and grows the waits.
type outage struct{ failed int }

// outageMost bounds the waits, so that work resumes within 3 s of Redis' return.
const outageMost = 2 * time.Second

func (o *outage) note(log *slog.Logger, err error) {
	switch {
	case err != nil && o.failed == 0 && ErrorCode(err) != "":
		log.Error("Redis refuses; trying again", "error", err)
	case err != nil && o.failed == 0:
		log.Error("Redis does not answer; trying again", "error", err)
	case err == nil && o.failed > 0:
		log.Info("Redis answers again", "tries", o.failed)
	}
	if err == nil {
		o.failed = 0
	} else {
		o.failed++
	}
}

func (o *outage) wait() time.Duration { return backoff{most: outageMost}.next(o.failed) }

var errProtocol = errors.New("resque: Redis answered what the protocol doesn't know")

func protocolError(what string, reply any) error {
	return fmt.Errorf("%w: %s: %v", errProtocol, what, reply)
}

package resque

import (
	"context"
	"errors"
	"strings"
	"time"

	"example.com/understudy/compat/ruby"
)

// prune buries workers whose last heartbeat is too old, under Ruby's lock and by
// Ruby's rule (prune_dead_workers): only ids that ever wrote a heartbeat. Ids of
// Go workers are left to their leases. Ruby's other rule, for workers of its own
// host whose process is gone, can't concern us: our host part is no host. Who
// has the lock also sweeps our own state, and looks whether delayed jobs are overdue.
// id stands in the lock, as in Ruby.
func (w *Worker) prune(ctx context.Context, id string) error {
	if w.cfg.PruneAfter < 0 {
		return nil
	}
	keys := w.client.keys
	lock := max(1, int64(w.cfg.Heartbeat/time.Second))
	locked, err := w.client.Do(ctx, "SET", keys.Of(keyPruningLock), id, "EX", lock, "NX")
	if err != nil || locked == nil {
		return err
	}
	replies, err := w.client.Pipeline(ctx,
		Call{Command: "TIME"}, Call{Command: "HGETALL", Keys: []string{keys.Of(keyHeartbeats)}})
	if err != nil {
		return err
	}
	now, err := Values(replies[0], nil)
	if err != nil {
		return err
	}
	beats, err := StringMap(replies[1], nil)
	if err != nil {
		return err
	}
	faults := []error{w.sweep(ctx), w.watchDelays(ctx)}
	for id, beat := range beats {
		if !isGoID(id) && w.beatTooOld(beat, time.Unix(number(now[0]), 0)) {
			w.log.WarnContext(ctx, "burying a dead worker", "worker", id, "last_heartbeat", beat)
			faults = append(faults, w.bury(ctx, id, func(class string) error {
				return PruneDeadWorkerDirtyExit{WorkerID: id, Class: class}
			}))
		}
	}
	return errors.Join(faults...)
}

func (w *Worker) beatTooOld(beat string, now time.Time) bool {
	at, err := ruby.ParseTime(beat, time.UTC)
	return err == nil && now.Sub(at) > w.cfg.PruneAfter
}

// isGoID says that a worker id is one of this project's: the host part ends in
// ".go".
func isGoID(id string) bool {
	host, _, ok := strings.Cut(id, ":")
	return ok && strings.HasSuffix(host, ".go")
}

// backgroundPrune prunes beside the dispatcher.
func (d *dispatcher) backgroundPrune() {
	ctx, id := d.aside, d.slots[0].id
	d.after.Go(func() {
		if err := d.w.prune(ctx, id); err != nil && ctx.Err() == nil {
			d.log.Warn("pruning dead workers failed", "error", err)
		}
	})
}

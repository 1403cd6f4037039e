package resque

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// recordChunk is how many runs one record or begin call carries.
const recordChunk = 200

// recordBytes bounds the records of one flush, so that they go through on a slow
// line: a run that is larger goes alone.
const recordBytes = 1 << 20

// flush is one round trip: calls, and for each what to do with its reply.
type flush struct {
	calls []Call
	then  []func(reply any) error
}

func (f *flush) add(call Call, then func(reply any) error) {
	f.calls = append(f.calls, call)
	f.then = append(f.then, then)
}

// flush sends what is due and applies the answers. An error means that some
// answers are missing; what they were about is still due.
func (d *dispatcher) flush(ctx context.Context) error {
	switch {
	case d.closed:
		return d.replace(ctx)
	case d.lost:
		return d.move(ctx)
	}
	now := time.Now()
	if d.silentTooLong(now) {
		return d.replace(ctx)
	}
	if err := d.readQueueNames(ctx, now); err != nil {
		return err
	}
	var f flush
	d.addRenewal(&f, now)
	d.addRecords(&f, now)
	d.addBegins(&f, now)
	d.addAsks(&f, now)
	if len(f.calls) == 0 {
		return nil
	}
	replies, err := d.send(ctx, f.calls)
	faults := []error{err}
	for i, reply := range replies {
		if reply == nil && err != nil {
			break // it never came
		}
		if refused, ok := reply.(error); ok {
			faults = append(faults, fmt.Errorf("resque: %s: %w", f.calls[i].name(), refused))
			continue
		}
		faults = append(faults, f.then[i](reply))
	}
	if err == nil {
		d.contact = now
	}
	return errors.Join(faults...)
}

func (c Call) name() string {
	if c.Script != nil {
		return c.Script.name
	}
	return c.Command
}

// maxSilence is after how long without contact a process takes itself for dead:
// well before the 24 h for which a closed process is remembered.
const maxSilence = 12 * time.Hour

// silentTooLong says, before anything is sent, that the process was taken for
// dead long ago.
func (d *dispatcher) silentTooLong(now time.Time) bool { return now.Sub(d.contact) > maxSilence }

// renewed notes a renewal of the lease at the given time of the server.
func (d *dispatcher) renewed(server time.Time) {
	now := time.Now()
	d.renewAt = now.Add(min(d.cfg.Lease/3, d.cfg.Heartbeat))
	d.server, d.serverSeen = server, now
}

// serverNow is the time of the Redis server, as far as the last answer tells.
func (d *dispatcher) serverNow(now time.Time) time.Time { return d.server.Add(now.Sub(d.serverSeen)) }

// addRenewal renews the lease, and writes heartbeats, when it is time.
func (d *dispatcher) addRenewal(f *flush, now time.Time) {
	if now.Before(d.renewAt) {
		return
	}
	f.add(d.renewCall(), func(reply any) error {
		row, _ := reply.([]any)
		if len(row) != 2 {
			return protocolError("renew", reply)
		}
		server := time.Unix(number(row[1]), 0)
		switch text(row[0]) {
		case "closed":
			d.closed = true
		case "lost":
			d.lost = true
		}
		d.renewed(server)
		return nil
	})
	if now.Sub(d.beaten) < d.cfg.Heartbeat {
		return
	}
	d.beaten = now
	d.backgroundPrune()
	for _, call := range d.beatCalls(beatText(d.serverNow(now))) {
		f.add(call, func(reply any) error {
			if n := number(reply); n > 0 {
				d.log.Warn("entered workers again that had been removed from the registry", "workers", n)
			}
			return nil
		})
	}
}

// addRecords records what has finished. What was refused alone is tried alone.
func (d *dispatcher) addRecords(f *flush, now time.Time) {
	var batch []*run
	size := 0
	for _, s := range d.slots {
		if s.state != finished || now.Before(s.run.notBefore) {
			continue
		}
		if size += s.run.outcome.size(); size > recordBytes && len(batch) > 0 {
			break // the next flush takes it
		}
		s.run.sent = true
		if s.run.rewrites() {
			d.addRewrite(f, s.run, func() {})
		}
		if s.run.refusals > 0 {
			d.addRecord(f, []*run{s.run})
			continue
		}
		batch = append(batch, s.run)
	}
	for runs := range slices.Chunk(batch, recordChunk) {
		d.addRecord(f, runs)
	}
}

func (d *dispatcher) addRecord(f *flush, runs []*run) {
	f.add(d.recordCall(runs), func(reply any) error {
		answers, hands, err := readRecord(reply, len(runs))
		if err != nil {
			return err
		}
		written := 0
		for i, r := range runs {
			if answers[i].verdict == "ok" {
				written++
			}
			d.recorded(r, answers[i])
		}
		if hands < written {
			d.log.Warn("hands were emptied by somebody else before their runs were recorded", "hands", written-hands)
		}
		return nil
	})
}

// recorded applies the answer to one record.
func (d *dispatcher) recorded(r *run, answer recorded) {
	s := r.slot
	switch answer.verdict {
	case "ok":
		if answer.detail != "" {
			d.log.Error("a write of an outcome failed", "class", r.job.Class, "error", answer.detail)
		}
		d.settled(r)
	case "already":
		d.settled(r)
	case "lost":
		d.lost = true
	case "wrongtype":
		d.refused(r, answer.detail)
	default: // revoked
		d.log.Warn("a run was not recorded: its job was given to somebody else", "class", r.job.Class, "queue", r.queue)
		d.free(s)
	}
}

// refused puts a begin or record off that a key of the wrong type prevents.
func (d *dispatcher) refused(r *run, key string) {
	if r.refusals == 0 {
		d.log.Error("a run can't go on while a key is of the wrong type; trying again", "class", r.job.Class, "key", key)
	}
	r.refusals++
	r.notBefore = time.Now().Add(backoff{}.next(r.refusals))
}

// settled ends a recorded run.
func (d *dispatcher) settled(r *run) {
	d.logOutcome(r)
	d.notify(r.outcome.failure)
	d.tellEnqueued(r)
	s := r.slot
	d.free(s)
	if r.outcome.sleep > 0 {
		s.state = pausing
		ctx := d.perform
		go func() {
			_ = d.clock.Sleep(ctx, r.outcome.sleep) // an early end is the stop's
			select {
			case d.rested <- s:
			case <-ctx.Done():
			}
		}()
	}
}

// notify tells the failure backend of a recorded failure, beside the work.
func (d *dispatcher) notify(f *Failure) {
	if _, ok := d.cfg.Failures.(FailureNotifier); !ok || f == nil {
		return
	}
	if !d.beside(func() { d.w.notify(d.aside, f) }) {
		d.log.Error("a failure was not notified of: too many notifications are under way", "class", f.Job.Class)
	}
}

// tellEnqueued calls the hooks after the jobs that a run enqueued, beside the work.
func (d *dispatcher) tellEnqueued(r *run) {
	if r.outcome.kind != Done || !r.pending.tells() {
		return
	}
	tell := func() { d.w.callHook(d.aside, "AfterEnqueue", func() { r.pending.tell(d.aside) }) }
	if !d.beside(tell) {
		d.log.Error("the hooks after a job's own enqueues were not called: too many are under way", "class", r.job.Class)
	}
}

// beside calls a user's function beside the work. One that doesn't keep up loses
// news rather than hold the worker up: false then.
func (d *dispatcher) beside(call func()) bool {
	select {
	case d.notices <- struct{}{}:
	default:
		return false
	}
	d.after.Go(func() {
		defer func() { <-d.notices }()
		call()
	})
	return true
}

// addBegins begins what was reserved and has a retry counter; an element that
// Ruby couldn't carry in a hand is rewritten there first.
func (d *dispatcher) addBegins(f *flush, now time.Time) {
	var batch []*run
	for _, s := range d.slots {
		if s.state != reserved || !d.starting || now.Before(s.run.notBefore) {
			continue
		}
		counted := s.run.counter.Key != ""
		if s.run.rewrites() {
			d.addRewrite(f, s.run, func() {
				if !counted {
					d.launch(s.run)
				}
			})
		}
		if counted {
			batch = append(batch, s.run)
		}
	}
	for runs := range slices.Chunk(batch, recordChunk) {
		f.add(d.beginCall(runs), func(reply any) error {
			answers, err := readBegin(reply, len(runs))
			if err != nil {
				return err
			}
			for i, r := range runs {
				d.begun(r, answers[i])
			}
			return nil
		})
	}
}

// begun applies the answer to one begin.
func (d *dispatcher) begun(r *run, answer begun) {
	switch answer.verdict {
	case "ok":
		r.job.Attempt = answer.attempt
		d.launch(r)
	case "error":
		r.counterErr = counterError{answer.reason}
		r.counter = Counter{}
		d.launch(r)
	case "lost":
		d.lost = true
	case "wrongtype":
		d.refused(r, answer.reason)
	default: // refused
		d.log.Warn("a job was given to somebody else before it began", "class", r.job.Class, "queue", r.queue)
		d.free(r.slot)
	}
}

// addRewrite puts an element into its hand as malformed, where only Go saw that
// it must be.
func (d *dispatcher) addRewrite(f *flush, r *run, then func()) {
	f.add(d.rewriteCall(r), func(any) error {
		r.wrapped, r.blank = r.wraps(), false
		then()
		return nil
	})
}

// logOutcome tells of one finished run.
func (d *dispatcher) logOutcome(r *run) {
	attrs := []any{
		"class", r.job.Class, "queue", r.queue, "attempt", r.job.Attempt,
		"duration", rounded(d.clock.Now().Sub(r.began)), "outcome", string(r.outcome.kind),
	}
	f := r.outcome.failure
	if f == nil {
		d.log.Info("job finished", attrs...)
		return
	}
	attrs = append(attrs, "exception", f.Exception, "error", f.Message)
	if f.RetryPending {
		attrs = append(attrs, "retry_in", max(f.RetryDelay, 0))
	}
	if _, unknown := errors.AsType[nameError](f.Err); unknown {
		attrs = append(attrs, "hint", "whoever works a queue must know every class on it: give this one a handler, or its own queue")
	}
	d.log.Warn("job failed", attrs...)
}

// rounded is a duration as people read it: 4.27s, 12ms.
func rounded(d time.Duration) time.Duration {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond)
	case d >= time.Millisecond:
		return d.Round(time.Millisecond)
	default:
		return d.Round(time.Microsecond)
	}
}

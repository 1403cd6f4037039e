package resque

import (
	"context"
	"slices"
	"strings"
	"time"
)

// addAsks asks for jobs: again for asks whose answer never came, and anew for
// idle slots and those whose outcome goes with this flush.
func (d *dispatcher) addAsks(f *flush, now time.Time) {
	if !d.starting {
		return // the stop finds in the fields what a lost answer took
	}
	looks := d.looks(now)
	var asks []ask
	for _, s := range d.asking() {
		if s.asked == 0 {
			free := s.state == idle || s.state == finished && s.run.sent && s.run.refusals == 0 && s.run.outcome.sleep <= 0
			if !looks || !free {
				continue
			}
			d.token++
			s.asked = d.token
		}
		asks = append(asks, ask{slot: s, token: s.asked})
	}
	if len(asks) == 0 {
		return
	}
	queues := d.w.queues.Order(d.want.names, d.cfg.Random)
	armed := d.addWatch(f, queues)
	look := looking{left: len(asks)}
	for chunk := range slices.Chunk(asks, reserveSlots) {
		f.add(d.reserveCall(chunk, queues), func(reply any) error {
			answer, err := readReserve(reply, chunk, queues)
			if err != nil {
				return err
			}
			d.granted(&look, chunk, answer)
			if look.left == 0 {
				d.looked(look, armed)
			}
			return nil
		})
	}
}

// asking are the slots that may ask: all, but in Step, where one works.
func (d *dispatcher) asking() []*slot {
	if d.single {
		return d.slots[:1]
	}
	return d.slots
}

// looking adds up what the reserve calls of one flush answered.
type looking struct {
	left  int  // asks without an answer yet
	short bool // some slot got nothing
}

// granted applies a reserve call's answer.
func (d *dispatcher) granted(l *looking, asks []ask, answer reserveReply) {
	l.left -= len(asks)
	for _, a := range asks {
		a.slot.asked = 0
	}
	switch answer.status {
	case "closed":
		d.closed = true
		return
	case "lost":
		d.lost = true
		return
	}
	for _, queue := range answer.wrongType {
		d.log.Error("a queue's key is no list: it is passed over", "queue", queue)
	}
	jobs := 0
	for i := range answer.grants {
		g := &answer.grants[i]
		if g.verdict == "job" || g.verdict == "held" {
			jobs++
			d.take(g)
		}
	}
	l.short = l.short || jobs < len(asks) && !answer.more
}

// take starts on a granted job.
func (d *dispatcher) take(g *grant) {
	s := g.ask.slot
	s.last = g.ask.token
	d.empty.worked = true
	r := d.w.newRun(s, g)
	s.run = r
	if r.starts() && (r.counter.Key != "" || r.rewrites()) {
		s.state = reserved
		return
	}
	d.launch(r)
}

// looked notes what a look at the queues says about the next one.
func (d *dispatcher) looked(l looking, armed bool) {
	d.want.lookAt = time.Now().Add(d.cfg.Interval)
	if !l.short {
		d.want.hungry, d.want.dry = true, false
		return
	}
	// The queues were empty at that moment. A change since then is told only if
	// they were watched before the look; else look once more, watching.
	d.want.hungry = d.track.ready() && !armed
	d.want.dry, d.want.armed = true, armed
}

// changed notes that Redis told of a change.
func (d *dispatcher) changed() {
	d.want.hungry, d.want.armed = true, false
	if d.track.queuesChanged() {
		d.want.stale = true
	}
}

// addWatch makes Redis tell when one of the queues changes; it must stand before
// the look. armed says whether it will.
func (d *dispatcher) addWatch(f *flush, queues []string) (armed bool) {
	if !d.track.ready() {
		return false
	}
	if d.want.armed {
		return true
	}
	if !d.want.dry {
		return false
	}
	keys := make([]string, 0, len(queues)+1)
	for _, queue := range queues {
		keys = append(keys, d.keys.Of(queueKey(queue)))
	}
	keys = append(keys, d.keys.Of(keyPauseAll))
	nothing := func(any) error { return nil }
	f.add(watchNext(), nothing)
	f.add(Call{Command: "EXISTS", Keys: keys}, nothing)
	return true
}

// readQueueNames learns the names of all queues, where the worker's list has
// patterns: when Redis told of a change, and at each look that an interval
// brings.
func (d *dispatcher) readQueueNames(ctx context.Context, now time.Time) error {
	if !d.w.queues.Dynamic() || !d.looks(now) || !d.want.stale && now.Before(d.want.lookAt) {
		return nil
	}
	read := []Call{{Command: "SMEMBERS", Keys: []string{d.keys.Of(keyQueues)}}}
	if d.track.ready() {
		read = slices.Insert(read, 0, watchNext())
	}
	replies, err := d.send(ctx, read)
	if err != nil {
		return err
	}
	names, err := Strings(replies[len(replies)-1], nil)
	if err != nil { // the queues known so far go on
		if !d.want.blind {
			d.log.ErrorContext(ctx, "the names of the queues can't be read", "key", d.keys.Of(keyQueues), "error", err)
		}
		d.want.blind, d.want.stale = true, false
		return nil
	}
	slices.SortFunc(names, strings.Compare)
	d.want.names, d.want.stale, d.want.blind = names, false, false
	return nil
}

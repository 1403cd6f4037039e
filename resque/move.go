package resque

import (
	"context"
	"fmt"

	"example.com/understudy/compat/ruby"
)

// moveLua gives a process whose data went (its lease is gone, but nobody closed
// it) a new name: registration, fields and hands of the runs under way are
// written under it, only where absent, and the old hands emptied.
//
//	KEYS 1 epoch, 2 old runs, 3 new runs, 4 processes, 5 workers, 6 heartbeats,
//	     then for each slot: new started, new hand, old started, old hand,
//	     old stat:processed, old stat:failed
//	ARGV 1 epoch, 2 new process, 3 lease in ms, 4 started text,
//	     5 heartbeat text, then for each slot: new id, old id, slot, field and
//	     hand of the run under way ("" for none); last the old process
//
// It answers "ok", "closed" (the old name is closed: its runs are somebody
// else's) or "epoch". An old id with a job in hand that isn't this process's
// stays, for recovery to find.
const moveLua = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 'epoch' end
if redis.call('HEXISTS', KEYS[2], 'closed') == 1 then return 'closed' end
local k = 7
for a = 6, #ARGV - 1, 5 do
  local id, old, slot, field, hand = ARGV[a], ARGV[a + 1], ARGV[a + 2], ARGV[a + 3], ARGV[a + 4]
  redis.call('SADD', KEYS[5], id)
  redis.call('SETNX', KEYS[k], ARGV[4])
  redis.call('HSET', KEYS[6], id, ARGV[5])
  if field ~= '' and redis.call('HSETNX', KEYS[3], slot, field) == 1 then
    redis.call('SETNX', KEYS[k + 1], hand)
    if id ~= old then redis.call('DEL', KEYS[k + 3]) end
  end
  if id ~= old and redis.call('EXISTS', KEYS[k + 3]) == 0 then
    redis.call('SREM', KEYS[5], old)
    redis.call('HDEL', KEYS[6], old)
    redis.call('DEL', KEYS[k + 2], KEYS[k + 4], KEYS[k + 5])
    redis.call('HDEL', KEYS[2], slot)
  end
  k = k + 6
end
redis.call('ZREM', KEYS[4], ARGV[#ARGV])
local time = redis.call('TIME')
redis.call('ZADD', KEYS[4], time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[3], ARGV[2])
return 'ok'
`

// moveChunk is how many slots one call moves.
const moveChunk = 200

// move takes a new name after the data went, and puts the runs under way back
// into Redis under it. It can be called again after an error.
func (d *dispatcher) move(ctx context.Context) error {
	if err := d.readEpoch(ctx); err != nil {
		return err
	}
	now, err := d.serverTime(ctx)
	if err != nil {
		return err
	}
	old := d.process
	oldIDs := make([]string, len(d.slots))
	for i, s := range d.slots {
		oldIDs[i] = s.id
	}
	if d.movedFrom != "" { // an earlier try wrote some of it under the present name
		old, oldIDs = d.movedFrom, d.movedIDs
	} else {
		if err := d.rename(); err != nil {
			return err
		}
		d.movedFrom, d.movedIDs = old, oldIDs
		d.started = ruby.TimeToS(d.clock.Now())
		d.log.WarnContext(ctx, "the data in Redis went: going on under a new name", "old", old, "new", d.process)
	}
	for from := 0; from < len(d.slots); from += moveChunk {
		to := min(from+moveChunk, len(d.slots))
		reply, err := d.one(ctx, d.moveCall(old, oldIDs, from, to, ruby.ISO8601(now.UTC())))
		if err != nil {
			return fmt.Errorf("resque: move: %w", err)
		}
		switch text(reply) {
		case "ok":
		case "closed":
			d.closed = true
			return nil
		default:
			return fmt.Errorf("%w: it changed again", ErrOtherData)
		}
	}
	d.lost, d.movedFrom, d.movedIDs = false, "", nil
	d.renewed(now)
	return nil
}

func (d *dispatcher) moveCall(old string, oldIDs []string, from, to int, beat string) Call {
	keys := []string{
		d.keys.Of(keyEpoch), d.keys.Of(runsKey(old)), d.keys.Of(runsKey(d.process)),
		d.keys.Of(keyProcesses), d.keys.Of(keyWorkers), d.keys.Of(keyHeartbeats),
	}
	args := []any{d.epoch, d.process, d.cfg.Lease.Milliseconds(), d.started, beat}
	for i, s := range d.slots[from:to] {
		oldID := oldIDs[from+i]
		keys = append(keys, d.keys.Of(startedKey(s.id)), d.keys.Of(handKey(s.id)), d.keys.Of(startedKey(oldID)),
			d.keys.Of(handKey(oldID)), d.keys.Of(processedKey(oldID)), d.keys.Of(failedStatKey(oldID)))
		field, hand := s.movedRun()
		args = append(args, s.id, oldID, s.field, field, hand)
	}
	args = append(args, old)
	return Call{Script: d.scripts.move, Keys: keys, Args: args}
}

// movedRun is what Redis should hold about the slot's run. It is written as
// reserved, also where it has begun: its counter went, or counts one too many.
func (s *slot) movedRun() (field string, hand []byte) {
	if s.run == nil {
		return "", nil
	}
	field = fmt.Sprintf("%d o", s.run.token)
	if s.run.wraps() {
		field += "\n" + string(s.run.element)
	}
	return field, s.run.handText(s.run.wraps())
}

// replace starts anew under a new name after this process was taken for dead:
// its runs are somebody else's now, so they are dropped.
func (d *dispatcher) replace(ctx context.Context) error {
	dropped := 0
	for _, s := range d.slots {
		if s.run != nil {
			dropped++
			if s.run.cancel != nil {
				s.run.cancel(ErrRunLost)
			}
		}
		s.run, s.state = nil, idle
	}
	old := d.process
	if err := d.rename(); err != nil {
		return err
	}
	d.lost, d.movedFrom, d.movedIDs = false, "", nil
	if err := d.register(ctx); err != nil {
		return err
	}
	d.closed = false
	d.log.ErrorContext(ctx, "this process was taken for dead and its jobs given back: going on under a new name",
		"old", old, "new", d.process, "dropped_runs", dropped)
	return nil
}

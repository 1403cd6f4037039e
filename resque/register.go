package resque

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"example.com/understudy/compat/ruby"
)

// schema numbers the state under understudy:; it rises when its form changes.
const schema = 1

// registryChunk is how many worker ids one call registers or removes.
const registryChunk = 500

// ErrOtherData says that the Redis server came back with other data than the
// worker knew (understudy:epoch differs).
var ErrOtherData = errors.New("resque: the data in Redis is not what it was")

// epochLua makes the data's epoch, or tells the one that is there.
//
//	KEYS 1 epoch
//	ARGV 1 a random text
const epochLua = `
redis.call('SETNX', KEYS[1], ARGV[1])
return redis.call('GET', KEYS[1])
`

// registerLua enters workers into Ruby's registry and the process into ours.
//
//	KEYS 1 epoch, 2 runs of the process, 3 processes, 4 workers, 5 heartbeats,
//	     then the started key of each worker, then the schema
//	ARGV 1 the epoch that the process knows, 2 process, 3 lease in ms,
//	     4 started text, 5 heartbeat text, then the ids, then the schema's number
//
// It answers "ok", "closed" or "epoch" (the data is not what it was), or an error
// before it wrote anything where a key is of the wrong type.
const registerLua = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 'epoch' end
if redis.call('HEXISTS', KEYS[2], 'closed') == 1 then return 'closed' end
for key, want in pairs({[KEYS[3]] = 'zset', [KEYS[4]] = 'set', [KEYS[5]] = 'hash'}) do
  local is = redis.call('TYPE', key)
  is = is.ok or is
  if is ~= 'none' and is ~= want then return redis.error_reply('WRONGTYPE ' .. key .. ' is no ' .. want) end
end
local beats, last = {}, #ARGV - 1
for i = 6, last do
  redis.call('SET', KEYS[i], ARGV[4])
  beats[#beats + 1] = ARGV[i]
  beats[#beats + 1] = ARGV[5]
end
if (tonumber(redis.call('GET', KEYS[#KEYS]) or 0) or 0) < tonumber(ARGV[#ARGV]) then
  redis.call('SET', KEYS[#KEYS], ARGV[#ARGV])
end
redis.call('SADD', KEYS[4], unpack(ARGV, 6, last))
redis.call('HSET', KEYS[5], unpack(beats))
local time = redis.call('TIME')
redis.call('ZADD', KEYS[3], time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[3], ARGV[2])
return 'ok'
`

// renewLua renews the lease of the process.
//
//	KEYS 1 runs of the process, 2 processes
//	ARGV 1 process, 2 lease in ms
//
// It answers {"ok" | "closed" | "lost", seconds of the server's clock}.
const renewLua = `
local time = redis.call('TIME')
if redis.call('HEXISTS', KEYS[1], 'closed') == 1 then return {'closed', time[1]} end
if not redis.call('ZSCORE', KEYS[2], ARGV[1]) then return {'lost', time[1]} end
redis.call('ZADD', KEYS[2], time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2], ARGV[1])
return {'ok', time[1]}
`

// beatLua writes Ruby's heartbeats, and enters again what somebody removed
// from the registry.
//
//	KEYS 1 runs of the process, 2 workers, 3 heartbeats, then the started keys
//	ARGV 1 heartbeat text, 2 started text, then the ids
const beatLua = `
if redis.call('HEXISTS', KEYS[1], 'closed') == 1 then return 0 end
local beats = {}
for i = 3, #ARGV do
  beats[#beats + 1] = ARGV[i]
  beats[#beats + 1] = ARGV[1]
end
redis.call('HSET', KEYS[3], unpack(beats))
local back = redis.call('SADD', KEYS[2], unpack(ARGV, 3))
if back > 0 then
  for i = 3, #ARGV do redis.call('SETNX', KEYS[i + 1], ARGV[2]) end
end
return back
`

// newProcessName names one start of the program. The random part keeps a
// container that starts again with the same host and pid from being taken for
// its predecessor.
func newProcessName(host string, pid int) (string, error) {
	random := make([]byte, 6)
	if _, err := rand.Read(random); err != nil {
		return "", fmt.Errorf("resque: no random process name: %w", err)
	}
	return fmt.Sprintf("%s.go:%d-%s", host, pid, hex.EncodeToString(random)), nil
}

// register takes a new name and enters it and its slots into Redis.
func (d *dispatcher) register(ctx context.Context) error {
	if err := d.readEpoch(ctx); err != nil {
		return err
	}
	now, err := d.serverTime(ctx)
	if err != nil {
		return err
	}
	d.started = ruby.TimeToS(d.clock.Now())
	d.entered = true // as far as Redis may have heard
	for ids := range d.idChunks() {
		keys := []string{
			d.keys.Of(keyEpoch), d.keys.Of(runsKey(d.process)), d.keys.Of(keyProcesses),
			d.keys.Of(keyWorkers), d.keys.Of(keyHeartbeats),
		}
		args := []any{d.epoch, d.process, d.cfg.Lease.Milliseconds(), d.started, beatText(now)}
		for _, id := range ids {
			keys = append(keys, d.keys.Of(startedKey(id)))
			args = append(args, id)
		}
		keys, args = append(keys, d.keys.Of(keySchema)), append(args, schema)
		reply, err := d.one(ctx, Call{Script: d.scripts.register, Keys: keys, Args: args})
		if err != nil {
			return fmt.Errorf("resque: register: %w", err)
		}
		if status := text(reply); status != "ok" {
			return fmt.Errorf("%w (%s)", ErrOtherData, status)
		}
	}
	d.renewed(now)
	d.beaten, d.contact = time.Now(), time.Now()
	return nil
}

// readEpoch learns which data Redis holds, making its epoch where there is none.
func (d *dispatcher) readEpoch(ctx context.Context) error {
	reply, err := d.one(ctx, Call{
		Script: d.scripts.epoch, Keys: []string{d.keys.Of(keyEpoch)}, Args: []any{rand.Text()},
	})
	if err != nil {
		return fmt.Errorf("resque: register: %w", err)
	}
	d.epoch = text(reply)
	return nil
}

// serverTime asks the Redis server for its time: the clock of heartbeats.
func (d *dispatcher) serverTime(ctx context.Context) (time.Time, error) {
	reply, err := d.one(ctx, Call{Command: "TIME"})
	if err != nil {
		return time.Time{}, fmt.Errorf("resque: time: %w", err)
	}
	parts, _ := reply.([]any)
	if len(parts) != 2 {
		return time.Time{}, fmt.Errorf("resque: TIME answered %T", reply)
	}
	return time.Unix(number(parts[0]), number(parts[1])*1000).UTC(), nil
}

// renewCall is the call that renews the lease.
func (d *dispatcher) renewCall() Call {
	return Call{
		Script: d.scripts.renew,
		Keys:   []string{d.keys.Of(runsKey(d.process)), d.keys.Of(keyProcesses)},
		Args:   []any{d.process, d.cfg.Lease.Milliseconds()},
	}
}

// heartbeat writes the heartbeats of all slots at the caller's wish.
func (d *dispatcher) heartbeat(ctx context.Context, at time.Time) error {
	if !d.fetching || d.hasEnded() {
		return errors.New("resque: Heartbeat needs a worker that was started and not stopped")
	}
	beat := ruby.ISO8601(at)
	switch {
	case at.IsZero():
		now, err := Values(d.client.Do(ctx, "TIME"))
		if err == nil && len(now) != 2 {
			err = protocolError("TIME", now)
		}
		if err != nil {
			return fmt.Errorf("resque: heartbeat: %w", err)
		}
		beat = beatText(time.Unix(number(now[0]), 0))
	case at.Location() == time.UTC:
		beat = ruby.ISO8601UTC(at)
	}
	replies, err := d.client.Pipeline(ctx, d.beatCalls(beat)...)
	faults := []error{err}
	for _, reply := range replies {
		refused, _ := reply.(error)
		faults = append(faults, refused)
	}
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("resque: heartbeat: %w", err)
	}
	return nil
}

// beatText is a heartbeat by the server's clock, as Ruby writes it where the zone
// is UTC.
func beatText(server time.Time) string { return ruby.ISO8601(server.UTC()) }

// beatCalls are the calls that write the heartbeats of all slots.
func (d *dispatcher) beatCalls(beat string) []Call {
	var calls []Call
	for ids := range d.idChunks() {
		keys := []string{d.keys.Of(runsKey(d.process)), d.keys.Of(keyWorkers), d.keys.Of(keyHeartbeats)}
		args := []any{beat, d.started}
		for _, id := range ids {
			keys = append(keys, d.keys.Of(startedKey(id)))
			args = append(args, id)
		}
		calls = append(calls, Call{Script: d.scripts.beat, Keys: keys, Args: args})
	}
	return calls
}

// idChunks walks the ids of all slots, registryChunk at a time.
func (d *dispatcher) idChunks() func(yield func([]string) bool) {
	return func(yield func([]string) bool) {
		ids := make([]string, 0, registryChunk)
		for i, s := range d.slots {
			ids = append(ids, s.id)
			if len(ids) == registryChunk || i == len(d.slots)-1 {
				if !yield(ids) {
					return
				}
				ids = ids[:0]
			}
		}
	}
}

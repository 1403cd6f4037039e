package resque

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"example.com/understudy/compat/ruby"
)

// buryLua fails the job in a dead worker's hand and takes the worker out of the
// registry.
//
//	KEYS 1 hand, 2 retry counter (the hand again where there is none),
//	     3 workers, 4 heartbeats, 5 started, 6 stat:processed of the id,
//	     7 stat:failed of the id, 8 begins, then a key for each write
//	ARGV 1 id, 2 hand as it was read ("": empty), 3 counter as it was read
//	     ("": absent), 4 number of writes, then for each: command, number of
//	     arguments, the arguments
//
// It answers "ok", "changed" (hand or counter differ: read and decide again) or
// "wrongtype <key>". Neither stat: total rises, as in Ruby.
const buryLua = `
local types = {RPUSH = 'list', LPUSH = 'list', SADD = 'set', ZADD = 'zset', DECR = 'string'}
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[2] then return 'changed' end
if KEYS[2] ~= KEYS[1] and (redis.call('GET', KEYS[2]) or '') ~= ARGV[3] then return 'changed' end
local a = 5
for k = 9, #KEYS do
  local is = redis.call('TYPE', KEYS[k])
  is = is.ok or is
  local want = types[ARGV[a]]
  if want and is ~= 'none' and is ~= want then return 'wrongtype ' .. KEYS[k] end
  a = a + 2 + tonumber(ARGV[a + 1])
end
a = 5
for k = 9, #KEYS do
  local command, count = ARGV[a], tonumber(ARGV[a + 1])
  if command == 'CLEAR' then
    redis.call('DEL', KEYS[k])
    redis.call('HDEL', KEYS[8], ARGV[a + 2])
  else
    redis.call(command, KEYS[k], unpack(ARGV, a + 2, a + 1 + count))
  end
  a = a + 2 + count
end
redis.call('SREM', KEYS[3], ARGV[1])
redis.call('HDEL', KEYS[4], ARGV[1])
redis.call('DEL', KEYS[1], KEYS[5], KEYS[6], KEYS[7])
return 'ok'
`

// Bury is Ruby's unregistering of a worker that died: the job in its hand fails
// as Resque::DirtyExit through the retry rules of this worker's registrations,
// and the id leaves the registry, with its heartbeat and stats (Ruby:
// unregister_worker).
func (w *Worker) Bury(ctx context.Context, id string) error {
	return w.bury(ctx, id, func(string) error { return DirtyExit{} })
}

// buryTries bounds how often a job that somebody else works on is decided anew.
const buryTries = 10

// bury fails the job in hand with the error that cause makes of its class.
func (w *Worker) bury(ctx context.Context, id string, cause func(class string) error) error {
	for range buryTries {
		done, err := w.tryBury(ctx, id, cause)
		if err != nil {
			return fmt.Errorf("resque: burying %q: %w", id, err)
		}
		if done {
			return nil
		}
	}
	return fmt.Errorf("resque: burying %q: its job keeps changing", id)
}

func (w *Worker) tryBury(ctx context.Context, id string, cause func(class string) error) (done bool, err error) {
	keys := w.client.keys
	hand, err := Bytes(w.client.Do(ctx, "GET", keys.Of(handKey(id))))
	if err != nil && !errors.Is(err, ErrNil) {
		return false, err
	}
	args := []any{id, hand, "", 0}
	counterKey := keys.Of(handKey(id))
	var f *Failure
	var writes []Write
	if len(hand) > 0 {
		r := w.deadRun(ctx, id, hand)
		counter, err := w.deadCounter(ctx, r)
		if err != nil {
			return false, err
		}
		if r.counter.Key != "" {
			counterKey = keys.Of(r.counter.Key)
		}
		out := w.failed(r, cause(r.job.Class))
		f, writes = out.failure, out.writes
		args = []any{id, hand, counter, len(writes)}
	}
	names := []string{
		keys.Of(handKey(id)), counterKey, keys.Of(keyWorkers), keys.Of(keyHeartbeats), keys.Of(startedKey(id)),
		keys.Of(processedKey(id)), keys.Of(failedStatKey(id)), keys.Of(keyBegins),
	}
	names, args = appendWrites(names, args, keys, writes)
	reply, err := w.client.Run(ctx, w.dispatcher.scripts.bury, names, args...)
	if err != nil {
		return false, err
	}
	switch status := text(reply); status {
	case "ok":
		w.notify(ctx, f)
		return true, nil
	case "changed":
		return false, nil
	default:
		return false, errors.New(status)
	}
}

// deadRun is the run in the hand of a dead worker, of whatever language.
func (w *Worker) deadRun(ctx context.Context, id string, hand []byte) *run {
	g := &grant{verdict: "held", wrapped: true}
	var err error
	if g.queue, g.element, err = foreignHand(hand); err != nil {
		g.element = hand
	}
	r := w.newRun(&slot{id: id}, g)
	r.ctx = ctx
	return r
}

// foreignHand reads any worker's hand, in whichever order its keys stand.
func foreignHand(hand []byte) (queue string, element []byte, err error) {
	members, err := ruby.Members(hand)
	if err != nil {
		return "", nil, err
	}
	for _, m := range members {
		switch m.Key {
		case "queue":
			if queue, err = ruby.String(m.Value); err != nil {
				return "", nil, err
			}
		case "payload":
			element = m.Value
		}
	}
	return queue, element, nil
}

// deadCounter reads the retry counter as it stands: the attempt of a job that is
// buried (absent: 0).
func (w *Worker) deadCounter(ctx context.Context, r *run) (stored string, err error) {
	if r.counter.Key == "" {
		return "", nil
	}
	stored, err = String(w.client.Do(ctx, "GET", w.client.keys.Of(r.counter.Key)))
	if err != nil && !errors.Is(err, ErrNil) {
		return "", err
	}
	// A text that is no number counts as 0, as Ruby's to_i.
	r.job.Attempt, _ = strconv.ParseInt(stored, 10, 64)
	return stored, nil
}

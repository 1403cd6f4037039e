package resque

import (
	"fmt"
	"strings"
)

// recordLua writes the outcomes of runs.
//
//	KEYS 1 runs of the process, 2 begins, 3 stat:processed, 4 stat:failed,
//	     then for each run: hand, stat:processed:<id>, stat:failed:<id>,
//	     and a key for each of its writes
//	ARGV 1 number of runs, then for each run: slot, token, stats
//	     ("p" processed, "f" processed and failed), number of writes, and for
//	     each write: command, number of arguments, the arguments
//
// It answers {verdict…, number of hands emptied}. A verdict is "ok";
// "already" (recorded before); "revoked" (closed, or the run was given to
// somebody else); "lost" (the data went); "wrongtype <key>" (a key isn't what
// the writes need). Only "ok" wrote anything. Lua doesn't roll back, so each
// run's keys are looked at before its first write, and that first write is one
// that Redis refuses when memory is short: the field, marked done. A write that
// fails all the same (a bug) is told as "ok <error>" and doesn't hold the rest.
//
// The command CLEAR deletes a retry counter and the note of its last begin.
const recordLua = `
local types = {RPUSH = 'list', LPUSH = 'list', SADD = 'set', ZADD = 'zset', DECR = 'string', LREM = 'list', SREM = 'set'}
local runs, begins = KEYS[1], KEYS[2]
local n = tonumber(ARGV[1])
local list, ask = {}, {'closed'}
local a, k = 2, 5
for i = 1, n do
  local r = {slot = ARGV[a], token = ARGV[a + 1], stats = ARGV[a + 2], hand = KEYS[k], key = k, first = a + 4}
  local nw = tonumber(ARGV[a + 3])
  a, k = a + 4, k + 3
  for _ = 1, nw do
    a, k = a + 2 + tonumber(ARGV[a + 1]), k + 1
  end
  r.writes = nw
  list[i], ask[i + 1] = r, r.slot
end
local fields = redis.call('HMGET', runs, unpack(ask))

local function check(r)
  local at = r.first
  for w = 1, r.writes do
    local command, key = ARGV[at], KEYS[r.key + 2 + w]
    local want = types[command]
    if command == 'CLEAR' then key, want = begins, 'hash' end
    if want then
      local is = redis.call('TYPE', key)
      is = is.ok or is
      if is ~= 'none' and is ~= want then return key end
      if command == 'DECR' and is ~= 'none' and not string.match(redis.call('GET', key), '^%-?%d+$') then return key end
    end
    at = at + 2 + tonumber(ARGV[at + 1])
  end
end

local function verdict(r, field)
  if fields[1] then return 'revoked' end
  if not field then return 'lost' end
  local t, st = string.match(field, '^(%d+) (%a)')
  if tonumber(t) < tonumber(r.token) then return 'lost' end
  if tonumber(t) > tonumber(r.token) or st == 'd' then return 'already' end
  if st == 'r' then return 'revoked' end
  local bad = check(r)
  if bad then return 'wrongtype ' .. bad end
  return 'ok'
end

local out, marks, hands, processed, failed = {}, {}, {}, 0, 0
for i = 1, n do
  out[i] = verdict(list[i], fields[i + 1])
  if out[i] == 'ok' then
    marks[#marks + 1] = list[i].slot
    marks[#marks + 1] = list[i].token .. ' d'
    hands[#hands + 1] = list[i].hand
  end
end
out[n + 1] = 0
if #hands == 0 then return out end
redis.call('HSET', runs, unpack(marks))
for i = 1, n do
  local r = list[i]
  if string.sub(out[i], 1, 2) == 'ok' then
    local at = r.first
    for w = 1, r.writes do
      local command, key, count = ARGV[at], KEYS[r.key + 2 + w], tonumber(ARGV[at + 1])
      if command == 'CLEAR' then
        redis.call('DEL', key)
        redis.call('HDEL', begins, ARGV[at + 2])
      else
        local did = redis.pcall(command, key, unpack(ARGV, at + 2, at + 1 + count))
        if type(did) == 'table' and did.err then out[i] = 'ok ' .. did.err end
      end
      at = at + 2 + count
    end
    processed = processed + 1
    redis.pcall('INCR', KEYS[r.key + 1])
    if r.stats == 'f' then
      failed = failed + 1
      redis.pcall('INCR', KEYS[r.key + 2])
    end
  end
end
out[n + 1] = redis.call('DEL', unpack(hands))
redis.pcall('INCRBY', KEYS[3], processed)
if failed > 0 then redis.pcall('INCRBY', KEYS[4], failed) end
return out
`

// clearWrite drops a retry counter and the note of its last begin.
func clearWrite(counter string) Write {
	return Write{Command: "CLEAR", Key: counter, Args: []string{counter}}
}

// recordCall builds the call that records the outcomes of runs.
func (d *dispatcher) recordCall(runs []*run) Call {
	keys := append(make([]string, 0, 4+6*len(runs)), d.keys.Of(runsKey(d.process)), d.keys.Of(keyBegins),
		d.keys.Of(keyProcessed), d.keys.Of(keyFailedStat))
	args := append(make([]any, 0, 1+8*len(runs)), len(runs))
	for _, r := range runs {
		stats := "p"
		if r.outcome.failed {
			stats = "f"
		}
		id := r.slot.id
		keys = append(keys, d.keys.Of(handKey(id)), d.keys.Of(processedKey(id)), d.keys.Of(failedStatKey(id)))
		args = append(args, r.slot.field, r.token, stats, len(r.outcome.writes))
		keys, args = appendWrites(keys, args, d.keys, r.outcome.writes)
	}
	return Call{Script: d.scripts.record, Keys: keys, Args: args}
}

// appendWrites adds writes to a script's keys and arguments.
func appendWrites(keys []string, args []any, k Keys, writes []Write) ([]string, []any) {
	for _, w := range writes {
		keys = append(keys, k.Of(w.Key))
		args = append(args, w.Command, len(w.Args))
		for _, arg := range w.Args {
			args = append(args, arg)
		}
	}
	return keys, args
}

// recorded is a record call's answer about one run.
type recorded struct {
	verdict string // ok, already, revoked, lost, wrongtype
	detail  string // wrongtype: the key; ok: a write's error, if one failed
}

func readRecord(reply any, n int) (out []recorded, hands int, err error) {
	rows, ok := reply.([]any)
	if !ok || len(rows) != n+1 {
		return nil, 0, fmt.Errorf("resque: record answered %T for %d runs", reply, n)
	}
	out = make([]recorded, n)
	for i, row := range rows[:n] {
		out[i].verdict, out[i].detail, _ = strings.Cut(text(row), " ")
	}
	return out, int(number(rows[n])), nil
}

package resque

import (
	"context"
	"errors"
	"strings"
)

// writeLua carries out writes, all or none.
//
//	KEYS a key for each write
//	ARGV for each write: command, number of arguments, the arguments; the command
//	     HOLDS is a condition: these are all members of the set
//
// It answers "ok"; "wrongtype <key>" when a key isn't what its write needs; or
// "changed" when a condition doesn't hold. Only "ok" has written anything. Lua
// doesn't roll back, so all keys are looked at before the first write; a shortage
// of memory and the like refuse that first one.
const writeLua = `
local types = {RPUSH = 'list', LPUSH = 'list', SADD = 'set', ZADD = 'zset', LREM = 'list', SREM = 'set', HOLDS = 'set'}
local function holds(key, first, count)
  if redis.call('SCARD', key) ~= count then return false end
  for i = first, first + count - 1 do
    if redis.call('SISMEMBER', key, ARGV[i]) == 0 then return false end
  end
  return true
end
local at = 1
for i = 1, #KEYS do
  local want, count = types[ARGV[at]], tonumber(ARGV[at + 1])
  local is = redis.call('TYPE', KEYS[i])
  is = is.ok or is
  if is ~= 'none' and is ~= want then return 'wrongtype ' .. KEYS[i] end
  if ARGV[at] == 'HOLDS' and not holds(KEYS[i], at + 2, count) then return 'changed' end
  at = at + 2 + count
end
at = 1
for i = 1, #KEYS do
  local count = tonumber(ARGV[at + 1])
  if ARGV[at] ~= 'HOLDS' then redis.call(ARGV[at], KEYS[i], unpack(ARGV, at + 2, at + 1 + count)) end
  at = at + 2 + count
end
return 'ok'
`

// commandHolds is the condition of writeLua.
const commandHolds = "HOLDS"

// errChanged says that a condition didn't hold.
var errChanged = errors.New("resque: changed meanwhile")

// write carries out writes of jobs, all or none.
func (c *Client) write(ctx context.Context, writes []Write) error {
	keys, args := appendWrites(make([]string, 0, len(writes)), nil, c.keys, writes)
	answer, err := String(c.Run(ctx, c.writeScript, keys, args...))
	if err != nil {
		return err
	}
	if key, ok := strings.CutPrefix(answer, "wrongtype "); ok {
		return wrongType(key)
	}
	if answer == "changed" {
		return errChanged
	}
	return nil
}

// merge puts the writes of many jobs together: one write for a command and key,
// with the arguments of all in their order. Adding to sets commutes, and the
// two ends of a list don't mind each other.
func merge(jobs [][]Write) []Write {
	type place struct{ command, key string }
	var merged []Write
	index := map[place]int{}
	seen := map[string]bool{}
	for _, writes := range jobs {
		for _, w := range writes {
			at, ok := index[place{w.Command, w.Key}]
			switch {
			case !ok:
				index[place{w.Command, w.Key}] = len(merged)
				merged = append(merged, Write{Command: w.Command, Key: w.Key, Args: append([]string(nil), w.Args...)})
			case w.Command != "SADD" || !seen[w.Key+"\x00"+w.Args[0]]:
				merged[at].Args = append(merged[at].Args, w.Args...)
			}
			if w.Command == "SADD" {
				seen[w.Key+"\x00"+w.Args[0]] = true
			}
		}
	}
	return merged
}

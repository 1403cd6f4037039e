package resque

import (
	"context"
	"strings"
)

// writeLua carries out writes, all or none.
//
//	KEYS a key for each write
//	ARGV for each write: command, number of arguments, the arguments
//
// It answers "ok", or "wrongtype <key>" when a key isn't what its write needs;
// then nothing was written. Lua doesn't roll back, so all keys are looked at
// before the first write; a shortage of memory and the like refuse that first
// one.
const writeLua = `
local types = {RPUSH = 'list', LPUSH = 'list', SADD = 'set', ZADD = 'zset'}
local at = 1
for i = 1, #KEYS do
  local want = types[ARGV[at]]
  local is = redis.call('TYPE', KEYS[i])
  is = is.ok or is
  if is ~= 'none' and is ~= want then return 'wrongtype ' .. KEYS[i] end
  at = at + 2 + tonumber(ARGV[at + 1])
end
at = 1
for i = 1, #KEYS do
  local count = tonumber(ARGV[at + 1])
  redis.call(ARGV[at], KEYS[i], unpack(ARGV, at + 2, at + 1 + count))
  at = at + 2 + count
end
return 'ok'
`

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

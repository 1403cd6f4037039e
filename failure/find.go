package failure

import (
	"context"
	"fmt"

	"example.com/understudy/resque"
)

// findLua looks for an element by its digest, from an index towards the head.
//
//	KEYS 1 list
//	ARGV 1 index to begin with (behind the end: the last one), 2 beginning of the
//	     digest, 3 elements at most, 4 bytes at most
//
// It answers {index, element} where it found one, {next index} where it has to
// go on, {} where there is nothing more, and {"wrongtype"} for what is no list.
const findLua = `
local kind = redis.call('TYPE', KEYS[1])
kind = kind.ok or kind
if kind == 'none' then return {} end
if kind ~= 'list' then return {'wrongtype'} end
local index = math.min(tonumber(ARGV[1]), redis.call('LLEN', KEYS[1]) - 1)
local count, room = tonumber(ARGV[3]), tonumber(ARGV[4])
while index >= 0 do
  local chunk = redis.call('LRANGE', KEYS[1], math.max(index - 7, 0), index)
  for i = #chunk, 1, -1 do
    if string.sub(redis.sha1hex(chunk[i]), 1, #ARGV[2]) == ARGV[2] then return {index, chunk[i]} end
    index, count, room = index - 1, count - 1, room - #chunk[i]
  end
  if index >= 0 and (count <= 0 or room <= 0) then return {index} end
end
return {}
`

// How much one call of the search looks at.
const (
	findRecords = 2000
	findBytes   = 8 << 20
)

// Find looks for a record by its ID, the newest first; ErrGone says that there is
// none. It looks through the lists on the server, some thousand records a call.
func (s *Store) Find(ctx context.Context, id string) (Record, error) {
	if len(id) != idDigits {
		return Record{}, fmt.Errorf("failure: %q is no ID: use the %d hex digits of Record.ID", id, idDigits)
	}
	lists, err := s.Lists(ctx)
	if err != nil {
		return Record{}, err
	}
	for _, list := range lists {
		if r, ok, err := s.findIn(ctx, list, id); ok || err != nil {
			return r, err
		}
	}
	return Record{}, fmt.Errorf("%w: %s", ErrGone, id)
}

// findIn looks through one list. Elements only ever move towards its head, so
// none gets past the search.
func (s *Store) findIn(ctx context.Context, list, id string) (r Record, ok bool, err error) {
	for from := int64(1) << 40; ; {
		reply, err := resque.Values(s.client.Run(ctx, s.find, []string{s.client.Keys().Of(list)}, from, id, findRecords, findBytes))
		if err != nil {
			return r, false, fmt.Errorf("failure: looking through %s: %w", list, err)
		}
		if len(reply) == 0 {
			return r, false, nil
		}
		if from, err = resque.Int(reply[0], nil); err != nil {
			return r, false, wrongType(list)
		}
		if len(reply) == 2 {
			raw, err := resque.Bytes(reply[1], nil)
			return readRecord(list, from, raw, s.clock.Now().Location()), err == nil, err
		}
	}
}

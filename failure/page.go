package failure

import (
	"context"
	"errors"
	"fmt"

	"example.com/understudy/resque"
)

// pageLua reads a piece of a list: texts, and digests of others.
//
//	KEYS 1 list
//	ARGV for the texts, then for the digests: index of the first, step (1 or -1),
//	     how many at most, and of how many bytes at most
//
// It answers {length, index of the first text, texts, digests}, both in the
// order of their reading; or {"wrongtype"} for what is no list. A negative index
// counts from the end, and what lies before the list counts as read; with the step
// -1, an index behind the end is the last one. The first text and the first digest
// are there whatever their bytes. The elements are taken eight at a time, so that
// a few large ones never make a large whole.
const pageLua = `
local kind = redis.call('TYPE', KEYS[1])
kind = kind.ok or kind
if kind ~= 'none' and kind ~= 'list' then return {'wrongtype'} end
local length = redis.call('LLEN', KEYS[1])
local function first(at)
  local index, step = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
  if index < 0 then index = length + index end
  if step < 0 then return math.min(index, length - 1) end
  return math.max(index, 0)
end
local function read(at, show)
  local index, step, count, room = first(at), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  local out = {}
  if step > 0 then count = count + math.min(length + tonumber(ARGV[at]), 0) end
  while count > 0 and index >= 0 and index < length do
    local n = math.min(count, 8)
    local chunk
    if step > 0 then
      chunk = redis.call('LRANGE', KEYS[1], index, index + n - 1)
    else
      chunk = redis.call('LRANGE', KEYS[1], math.max(index - n + 1, 0), index)
    end
    for i = 1, #chunk do
      local element = chunk[step > 0 and i or #chunk + 1 - i]
      room = room - #element
      if room < 0 and #out > 0 then return out end
      out[#out + 1] = show(element)
    end
    index, count = index + step * n, count - n
  end
  return out
end
local texts = read(1, function(element) return element end)
local digests = read(5, redis.sha1hex)
return {length, first(1), texts, digests}
`

// span is a piece of a list, as the script takes it.
type span struct {
	first, step, count int64
	bytes              int
}

// piece is what the script answers.
type piece struct {
	length, first int64
	texts         [][]byte
	digests       []string
}

// read reads a piece of a list.
func (s *Store) read(ctx context.Context, list string, texts, digests span) (piece, error) {
	reply, err := resque.Values(s.client.Run(ctx, s.page, []string{s.client.Keys().Of(list)},
		texts.first, texts.step, texts.count, texts.bytes, digests.first, digests.step, digests.count, digests.bytes))
	if err != nil {
		return piece{}, fmt.Errorf("failure: reading %s: %w", list, err)
	}
	if len(reply) != 4 {
		return piece{}, wrongType(list)
	}
	var p piece
	var values []any
	var problems [4]error
	p.length, problems[0] = resque.Int(reply[0], nil)
	p.first, problems[1] = resque.Int(reply[1], nil)
	values, problems[2] = resque.Values(reply[2], nil)
	p.digests, problems[3] = resque.Strings(reply[3], nil)
	p.texts = make([][]byte, len(values))
	for i, value := range values {
		p.texts[i], err = resque.Bytes(value, err)
	}
	return p, errors.Join(append(problems[:], err)...)
}

func wrongType(list string) error {
	return fmt.Errorf("failure: reading it: %w", &resque.RedisError{
		Code: "WRONGTYPE", Message: fmt.Sprintf("WRONGTYPE %q is no list, as failures stand in", list),
	})
}

// All answers up to count records from start on, oldest first (Ruby:
// Resque::Failure.all); "" is the list failed. A negative start counts from the
// end, and what would stand before the list is none of the records. It answers
// fewer where they take more than 4 MB together, one at least: go on behind the
// last one's Index. Blank and broken ones are among them.
func (s *Store) All(ctx context.Context, list string, start, count int64) ([]Record, error) {
	if list == "" {
		list = keyFailed
	}
	if err := s.checkList(list); err != nil || count <= 0 {
		return nil, err
	}
	p, err := s.read(ctx, list, span{first: start, step: 1, count: count, bytes: s.batch.bytes}, span{step: 1})
	if err != nil {
		return nil, err
	}
	return s.records(list, p, 1), nil
}

// records reads the texts of a piece.
func (s *Store) records(list string, p piece, step int64) []Record {
	loc := s.clock.Now().Location()
	records := make([]Record, len(p.texts))
	for i, raw := range p.texts {
		records[i] = readRecord(list, p.first+int64(i)*step, raw, loc)
	}
	return records
}

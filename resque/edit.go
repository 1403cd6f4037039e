package resque

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Edit removes or replaces elements of a list. They are found by their text, not
// by their place, so that whoever pushes or removes at the same time never makes
// it hit another one.
type Edit struct {
	// Key is the list, without namespace. A list delayed:<second> loses its time
	// in the schedule with its last element, and an element its note in
	// timestamps:<element>, if that is a set.
	Key string
	// Raw is the element's text.
	Raw []byte
	// Near is the index where the element was seen. It is a hint that saves
	// looking through the list. Of elements with the same text it means the one
	// that stands there, else the last one before it (a list that is pushed to at
	// its end moves towards its head), else the first one behind it.
	Near int64
	// All means every element with this text, else it is one.
	All bool
	// most bounds All: so many at most, the first ones; within: among so many of
	// the list's first elements. 0: no bound.
	most, within int64
	// sole says that no other element of a list delayed:<second> has this text, so
	// that its note goes without a look through the list.
	sole bool
	// Replace is the text that takes the element's place; nil removes it.
	Replace []byte
	// Then is carried out for each element that was found, in the same step. It
	// must not push to the head of a list that is edited.
	Then []Write
}

// editLua removes or replaces elements of lists, with writes that follow.
//
//	KEYS for each edit: list, timestamps:<element>, delayed_queue_schedule (the
//	     list again for both where it holds no delayed jobs), then a key for each
//	     of its writes
//	ARGV 1 a text that is no element, 2 number of edits, then for each: "one", or
//	     how many at most (0: all), index where it was seen, or among how many of
//	     the first elements they are looked for (0: all), element, "replace",
//	     "remove", or "sole" for one that has no twin among the delayed jobs, the
//	     new text, member of the schedule ("": none), number of writes, and for
//	     each write: command, number of arguments, the arguments
//
// It answers {"ok", elements found for each edit}, or {"wrongtype", key} when a
// key isn't what it should be; then nothing was written. A key
// timestamps:<element> that is no set stays as it is, and its element goes all the
// same. A second arrival finds nothing to do, but for elements with the same text.
//
// An element is looked for at its index. Those that aren't there are looked for
// together, in one pass from their places towards the head, and behind these if
// need be. All are found before anything is written, what follows is written
// before they go, and those to be removed are marked first, so that one pass takes
// all of them out and no index moves meanwhile. Where memory is too short for
// marks, they are removed one by one: making room must work then. Whether delayed
// jobs have twins that keep their notes is seen in one pass, too, where they are
// many.
const editLua = `
local types = {RPUSH = 'list', LPUSH = 'list', SADD = 'set', ZADD = 'zset'}
local mark = ARGV[1]
local edits = {}
local a, k = 3, 1
local function is(key, want)
  local kind = redis.call('TYPE', key)
  kind = kind.ok or kind
  return kind == 'none' or kind == want
end
for i = 1, tonumber(ARGV[2]) do
  local e = {list = KEYS[k], stamps = KEYS[k + 1], schedule = KEYS[k + 2], most = tonumber(ARGV[a]), within = tonumber(ARGV[a + 1]), near = tonumber(ARGV[a + 1]),
    raw = ARGV[a + 2], replace = ARGV[a + 3] == 'replace', sole = ARGV[a + 3] == 'sole', text = ARGV[a + 4], member = ARGV[a + 5],
    writes = tonumber(ARGV[a + 6]), key = k + 3, first = a + 7, at = {}}
  a, k = a + 7, k + 3
  if not is(e.list, 'list') then return {'wrongtype', e.list} end
  if e.member ~= '' then
    e.noted = is(e.stamps, 'set')
    if not is(e.schedule, 'zset') then return {'wrongtype', e.schedule} end
  end
  for _ = 1, e.writes do
    local want = types[ARGV[a]]
    if want and not is(KEYS[k], want) then return {'wrongtype', KEYS[k]} end
    a, k = a + 2 + tonumber(ARGV[a + 1]), k + 1
  end
  edits[i] = e
end

local taken = {}
local function take(e, index)
  if taken[e.list][index] then return false end
  taken[e.list][index] = true
  e.at[#e.at + 1] = index
  return true
end
local function seek(list, missing)
  local wanted, spare, left, top = {}, {}, #missing, -1
  for _, e in ipairs(missing) do
    wanted[e.raw] = wanted[e.raw] or {}
    table.insert(wanted[e.raw], e)
    top = math.max(top, e.near)
  end
  local function give(index, raw, anywhere)
    for _, e in ipairs(wanted[raw]) do
      if not e.at[1] and (anywhere or index <= e.near) and take(e, index) then
        left = left - 1
        return
      end
    end
    if not anywhere then table.insert(spare, {index, raw}) end
  end
  local function look(index, to)
    local count = 1
    while left > 0 and index >= to do
      local low, size = math.max(index - count + 1, to), 0
      local chunk = redis.call('LRANGE', list, low, index)
      for i = #chunk, 1, -1 do
        size = size + #chunk[i]
        if wanted[chunk[i]] then give(low + i - 1, chunk[i]) end
      end
      index = low - 1
      if size < 65536 then count = math.min(2 * count, 256) else count = 1 end
    end
  end
  local last = redis.call('LLEN', list) - 1
  look(math.min(top, last), 0)
  look(last, math.max(top + 1, 0))
  table.sort(spare, function(one, other) return one[1] < other[1] end)
  for _, s in ipairs(spare) do give(s[1], s[2], true) end
end
local missing = {}
for _, e in ipairs(edits) do
  taken[e.list], missing[e.list] = taken[e.list] or {}, missing[e.list] or {}
  if e.most then
    for _, index in ipairs(redis.call('LPOS', e.list, e.raw, 'COUNT', e.most, 'MAXLEN', e.within)) do take(e, index) end
  elseif e.near < 0 or redis.call('LINDEX', e.list, e.near) ~= e.raw or not take(e, e.near) then
    table.insert(missing[e.list], e)
  end
end
for list, some in pairs(missing) do seek(list, some) end

for _, e in ipairs(edits) do
  for _ = 1, #e.at do
    local at = e.first
    for w = 1, e.writes do
      local count = tonumber(ARGV[at + 1])
      redis.call(ARGV[at], KEYS[e.key + w - 1], unpack(ARGV, at + 2, at + 1 + count))
      at = at + 2 + count
    end
  end
end
local marked = {}
for _, e in ipairs(edits) do
  for _, index in ipairs(e.at) do
    if e.replace then
      redis.call('LSET', e.list, index, e.text)
    else
      local did = redis.pcall('LSET', e.list, index, mark)
      if type(did) == 'table' and did.err then
        e.late = (e.late or 0) + 1
      else
        marked[e.list] = (marked[e.list] or 0) + 1
      end
    end
  end
end
for list, count in pairs(marked) do redis.call('LREM', list, count, mark) end
local answer, noted, count = {'ok'}, {}, {}
for i, e in ipairs(edits) do
  if e.late then redis.call('LREM', e.list, e.late, e.raw) end
  if e.member ~= '' and not e.sole then
    noted[e.list] = noted[e.list] or {}
    if not noted[e.list][e.raw] then count[e.list] = (count[e.list] or 0) + 1 end
    noted[e.list][e.raw] = 'gone'
  end
  answer[i + 1] = #e.at
end
for list, texts in pairs(noted) do
  if count[list] <= 16 then
    for raw in pairs(texts) do
      if redis.call('LPOS', list, raw) then texts[raw] = 'there' end
    end
  else
    for first = 0, redis.call('LLEN', list) - 1, 256 do
      for _, raw in ipairs(redis.call('LRANGE', list, first, first + 255)) do
        if texts[raw] then texts[raw] = 'there' end
      end
    end
  end
end
for _, e in ipairs(edits) do
  if e.member ~= '' then
    local gone
    if e.sole then gone = #e.at > 0 else gone = noted[e.list][e.raw] == 'gone' end
    if e.noted and gone then redis.call('SREM', e.stamps, 'delayed:' .. e.member) end
    if redis.call('EXISTS', e.list) == 0 then redis.call('ZREM', e.schedule, e.member) end
  end
end
return answer
`

// editMark is no element of Resque's.
const editMark = "\x00understudy:removed"

// Edit carries out edits in one step, a few hundred at a time at most, and
// answers for each how many elements it found: 0 says that the element isn't
// there any more, and that nothing that should follow was written.
func (c *Client) Edit(ctx context.Context, edits ...Edit) (found []int64, err error) {
	if len(edits) == 0 {
		return nil, nil
	}
	keys, args := make([]string, 0, 3*len(edits)), []any{editMark, len(edits)}
	for _, e := range edits {
		keys, args = e.appendTo(keys, args, c.keys)
	}
	reply, err := Values(c.Run(ctx, c.editScript, keys, args...))
	if err != nil {
		return nil, err
	}
	if len(reply) == 2 && text(reply[0]) == "wrongtype" {
		return nil, wrongType(text(reply[1]))
	}
	if len(reply) != len(edits)+1 {
		return nil, protocolError("edit", reply)
	}
	for _, n := range reply[1:] {
		found = append(found, number(n))
	}
	return found, nil
}

func (e Edit) appendTo(keys []string, args []any, k Keys) ([]string, []any) {
	list := k.Of(e.Key)
	member, delayed := strings.CutPrefix(e.Key, delayedPrefix)
	if delayed {
		keys = append(keys, list, k.Of(timestampsKey(e.Raw)), k.Of(keyDelayedSchedule))
	} else {
		keys, member = append(keys, list, list, list), ""
	}
	var which any = "one"
	near, how := e.Near, "remove"
	if e.All {
		which, near = e.most, e.within
	}
	switch {
	case e.Replace != nil:
		how = "replace"
	case e.sole:
		how = "sole"
	}
	args = append(args, which, near, e.Raw, how, e.Replace, member, len(e.Then))
	return appendWrites(keys, args, k, e.Then)
}

func wrongType(key string) error {
	return &wrongTypeError{key, &RedisError{Code: "WRONGTYPE", Message: fmt.Sprintf("WRONGTYPE %q is of another type than Resque's", key)}}
}

// wrongTypeError says which key, with its namespace, kept a step from being
// carried out.
type wrongTypeError struct {
	key string
	err error
}

func (e *wrongTypeError) Error() string { return e.err.Error() }
func (e *wrongTypeError) Unwrap() error { return e.err }

// touches says whether an edit needs a key, given with its namespace.
func (e Edit) touches(k Keys, key string) bool {
	return k.Of(e.Key) == key || slices.ContainsFunc(e.Then, func(w Write) bool { return k.Of(w.Key) == key })
}

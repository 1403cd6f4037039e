package resque

import (
	"bytes"
	"fmt"
	"strconv"

	"example.com/understudy/compat/ruby"
)

// Bounds of one reserve call, so that no call holds Redis up.
const (
	reserveSlots = 500     // slots asked for in one call
	reserveBytes = 4 << 20 // popped text after which no further batch is popped
)

// reserveLua moves jobs from the queues into the hands of idle slots.
//
//	KEYS 1 runs of the process, 2 processes, 3 pause-all-workers,
//	     then the queues in their order, then a hand for each slot
//	ARGV 1 process, 2 number of slots, 3 number of queues, 4 bound of bytes,
//	     then for each queue the text of a hand up to its payload,
//	     then for each slot: slot, token, the token of its last run, 1 if that
//	     run is under way
//
// It answers {"closed"} or {"lost"} (the process has no lease, or a run under way
// no field: the data went), else
// {"ok", {slot number in the call, verdict, …}…, {0, "wrongtype", queue}…}:
//
//	{i, "job", queue number, element, how the hand holds it: 0 as it is, 1 as
//	          malformed, 2 not yet, since it is large and looking at it takes long}
//	{i, "held", hand, raw}  answered again, or a late copy's catch adopted
//	{i, "gone"}             the token is spent: go on with the next one
//	{i, "busy"}             the last run of the slot isn't recorded yet, or
//	                        somebody else's job is in the hand
//	{0, "more"}             the bound of bytes ended it: there may be more
//
// A slot without an entry got nothing. The hand keeps the element's own bytes;
// what cjson refuses, or isn't an object, stands there as a job of the class
// Understudy::Malformed and raw in the field, since resque-web and Ruby's pruning
// break on anything else in a hand (wrapMalformed does the same in Go). The field
// probe is written before the first pop: where memory is short Redis refuses it,
// and nothing has been popped yet.
const reserveLua = `
local digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
local function base64(text)
  local out = {}
  for i = 1, #text, 3 do
    local a, b, c = string.byte(text, i, i + 2)
    local n = a * 65536 + (b or 0) * 256 + (c or 0)
    local four = {}
    for place = 4, 1, -1 do
      local digit = n % 64 + 1
      four[place] = string.sub(digits, digit, digit)
      n = math.floor(n / 64)
    end
    if not b then four[3] = '=' end
    if not c then four[4] = '=' end
    out[#out + 1] = table.concat(four)
  end
  return table.concat(out)
end
local runs, process = KEYS[1], ARGV[1]
local ns, nq, bound = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local ask = {'closed'}
local handkeys = {}
for i = 1, ns do
  ask[i + 1] = ARGV[4 + nq + 4 * i - 3]
  handkeys[i] = KEYS[3 + nq + i]
end
local fields = redis.call('HMGET', runs, unpack(ask))
if fields[1] then return {'closed'} end
if not redis.call('ZSCORE', KEYS[2], process) then return {'lost'} end
local hands = redis.call('MGET', unpack(handkeys))

local out, want, held = {'ok'}, {}, {}
for i = 1, ns do
  local at = 4 + nq + 4 * i
  local token, last, mine = tonumber(ARGV[at - 2]), tonumber(ARGV[at - 1]), ARGV[at] == '1'
  local field, hand = fields[i + 1], hands[i]
  local tok, st = 0, 'd'
  if field then
    local t, s = string.match(field, '^(%d+) (%a)')
    tok, st = tonumber(t), s
  elseif hand and mine then
    return {'lost'}
  end
  if st == 'o' or st == 'b' then
    if tok == token then
      if hand and st == 'o' then
        out[#out + 1] = {i, 'held', hand, string.match(field, '\n(.*)$') or ''}
      else
        out[#out + 1] = {i, hand and 'busy' or 'gone'}
      end
    elseif tok <= last or tok > token then
      out[#out + 1] = {i, 'busy'}
    elseif hand then
      local kl, ml = string.match(field, '^%d+ b %S+ %S+ %S+ (%d+) (%d+)\n')
      local raw = string.match(field, '\n(.*)$') or ''
      if kl then raw = string.sub(raw, kl + ml + 1) end
      held[#held + 1] = ask[i + 1]
      held[#held + 1] = ARGV[at - 2] .. ' o' .. (raw ~= '' and '\n' .. raw or '')
      out[#out + 1] = {i, 'held', hand, raw}
    else
      want[#want + 1] = i
    end
  elseif tok < token and not hand then
    want[#want + 1] = i
  else
    out[#out + 1] = {i, tok < token and 'busy' or 'gone'}
  end
end
if #held > 0 then redis.call('HSET', runs, unpack(held)) end

local pause = redis.pcall('GET', KEYS[3])
if type(pause) == 'string' and string.lower(string.match(pause, '^%s*(.-)%s*$')) == 'true' then
  return out
end
if #want == 0 then return out end
redis.call('HSET', runs, 'probe', '0')

local mset, hset = {}, {}
local filled, taken = 0, 0
for q = 1, nq do
  while filled < #want and taken < bound do
    local n = math.min(#want - filled, 16)
    local got = redis.pcall('LPOP', KEYS[3 + q], n)
    if got and got.err then
      out[#out + 1] = {0, 'wrongtype', q}
      break
    end
    if not got or #got == 0 then break end
    for j = 1, #got do
      local elem = got[j]
      filled = filled + 1
      taken = taken + #elem
      local i = want[filled]
      local at = 4 + nq + 4 * i
      local text, field, wrapped = elem, ARGV[at - 2] .. ' o', 0
      if #elem > 65536 then
        text = '{"class":"Understudy::Malformed","args":[]}'
        field, wrapped = field .. '\n' .. elem, 2
      elseif not string.match(elem, '^[ \t\r\n]*{') or not pcall(cjson.decode, elem) then
        text = '{"class":"Understudy::Malformed","args":["' .. base64(elem) .. '"]}'
        field, wrapped = field .. '\n' .. elem, 1
      end
      mset[#mset + 1] = handkeys[i]
      mset[#mset + 1] = ARGV[4 + q] .. text .. '}'
      hset[#hset + 1] = ask[i + 1]
      hset[#hset + 1] = field
      out[#out + 1] = {i, 'job', q, elem, wrapped}
    end
    if #got < n then break end
  end
  if filled >= #want or taken >= bound then break end
end
if filled < #want and taken >= bound then out[#out + 1] = {0, 'more'} end
if filled > 0 then
  redis.call('MSET', unpack(mset))
  redis.call('HSET', runs, unpack(hset))
end
return out
`

// ask is one slot's wish for a job.
type ask struct {
	slot  *slot
	token int64
}

// grant is what a reserve call answered to one ask.
type grant struct {
	ask     ask
	verdict string // job, held, gone, busy
	queue   string
	element []byte
	// wrapped says that the hand holds the element as malformed, blank that it
	// doesn't hold it yet; the field has its bytes.
	wrapped, blank bool
}

// reserveReply is a reserve call's answer, decoded.
type reserveReply struct {
	status string // ok, closed, lost
	more   bool   // the bound of bytes ended it
	grants []grant
	// wrongType names queues whose key is no list.
	wrongType []string
}

// reserveCall builds the call that asks for jobs from queues, in their order.
func (d *dispatcher) reserveCall(asks []ask, queues []string) Call {
	keys := make([]string, 0, 3+len(queues)+len(asks))
	keys = append(keys, d.keys.Of(runsKey(d.process)), d.keys.Of(keyProcesses), d.keys.Of(keyPauseAll))
	args := make([]any, 0, 4+len(queues)+4*len(asks))
	args = append(args, d.process, len(asks), len(queues), reserveBytes)
	runAt := d.clock.Now()
	for _, queue := range queues {
		keys = append(keys, d.keys.Of(queueKey(queue)))
		args = append(args, handPrefix(queue, ruby.ISO8601UTC(runAt)))
	}
	for _, a := range asks {
		keys = append(keys, d.keys.Of(handKey(a.slot.id)))
		args = append(args, a.slot.field, a.token, a.slot.last, a.slot.run != nil)
	}
	return Call{Script: d.scripts.reserve, Keys: keys, Args: args}
}

// handPrefix is the text of a hand up to its payload, in Ruby's key order.
func handPrefix(queue, runAt string) []byte {
	dst := append(make([]byte, 0, 64+len(queue)), `{"queue":`...)
	dst = ruby.AppendScrubbed(dst, queue)
	dst = append(dst, `,"run_at":"`...)
	dst = append(dst, runAt...)
	return append(dst, `","payload":`...)
}

// handPayload cuts the payload out of a hand's text: the inverse of handPrefix
// with its payload and the closing brace. The queue stands before it in quotes,
// where a bare quote can't stand, so the first match is the right one.
func handPayload(hand []byte) (payload []byte, ok bool) {
	mark := []byte(`,"payload":`)
	at := bytes.Index(hand, mark)
	if at < 0 || hand[len(hand)-1] != '}' {
		return nil, false
	}
	return hand[at+len(mark) : len(hand)-1], true
}

// handJob reads a hand of ours: the queue, and the element's own bytes. raw is
// what the field holds where the hand couldn't.
func handJob(hand, raw []byte) (queue string, element []byte, err error) {
	payload, ok := handPayload(hand)
	if !ok {
		return "", nil, fmt.Errorf("resque: hand %.100q has no payload", hand)
	}
	members, err := ruby.Members(append(hand[:bytes.Index(hand, []byte(`,"payload":`)):bytes.Index(hand, []byte(`,"payload":`))], '}'))
	if err != nil {
		return "", nil, fmt.Errorf("resque: hand %.100q: %w", hand, err)
	}
	for _, m := range members {
		if m.Key == "queue" {
			if queue, err = ruby.String(m.Value); err != nil {
				return "", nil, fmt.Errorf("resque: queue of hand %.100q: %w", hand, err)
			}
		}
	}
	if len(raw) > 0 {
		return queue, raw, nil
	}
	return queue, payload, nil
}

// readReserve decodes a reserve call's reply.
func readReserve(reply any, asks []ask, queues []string) (reserveReply, error) {
	rows, ok := reply.([]any)
	if !ok || len(rows) == 0 {
		return reserveReply{}, fmt.Errorf("resque: reserve answered %T", reply)
	}
	out := reserveReply{status: text(rows[0])}
	if out.status != "ok" {
		return out, nil
	}
	for _, r := range rows[1:] {
		row, _ := r.([]any)
		if len(row) < 2 {
			return out, fmt.Errorf("resque: reserve answered a row %v", row)
		}
		i, verdict := int(number(row[0])), text(row[1])
		if verdict == "more" {
			out.more = true
			continue
		}
		if verdict == "wrongtype" {
			out.wrongType = append(out.wrongType, queues[number(row[2])-1])
			continue
		}
		g := grant{ask: asks[i-1], verdict: verdict}
		var err error
		switch verdict {
		case "job":
			g.queue, g.element = queues[number(row[2])-1], blob(row[3])
			g.wrapped, g.blank = number(row[4]) == 1, number(row[4]) == 2
		case "held":
			hand, raw := blob(row[2]), blob(row[3])
			g.queue, g.element, err = handJob(hand, raw)
			g.blank = len(raw) > 0 // it may hold it; it is written once more
		}
		if err != nil {
			return out, err
		}
		out.grants = append(out.grants, g)
	}
	return out, nil
}

// text, number and blob read parts of a script's reply.
func text(reply any) string {
	switch v := reply.(type) {
	case []byte:
		return string(v)
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	}
	return ""
}

func number(reply any) int64 {
	switch v := reply.(type) {
	case int64:
		return v
	case []byte:
		n, _ := strconv.ParseInt(string(v), 10, 64)
		return n
	}
	return 0
}

func blob(reply any) []byte {
	switch v := reply.(type) {
	case []byte:
		return v
	case string:
		return []byte(v)
	}
	return nil
}

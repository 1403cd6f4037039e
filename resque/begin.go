package resque

import "fmt"

// beginLua steps the retry counters of runs that are about to start
// (resque-retry: before_perform_retry).
//
//	KEYS 1 runs of the process, 2 begins, then a counter for each run
//	ARGV 1 process, 2 number of runs, then for each run: slot, token,
//	     the counter's name without namespace, number of TTLs, the TTLs
//
// It answers a row a run: {"ok", attempt}, also when this very begin was done
// before; {"refused"}: the run is not ours any more; {"lost"}: the data went;
// {"error", text}: the counter can't be counted; {"wrongtype", key}: begins is no
// hash, so nothing was counted. The field then holds
// "<token> b <attempt> <before> <expires> <len key> <len mark>\n<key><mark><raw>":
// what the counter was before ("-": absent), the moment of its expiry in ms
// ("-": none) and whose begin it noted, so that a give-back can restore it.
const beginLua = `
local runs, begins = KEYS[1], KEYS[2]
local process, n = ARGV[1], tonumber(ARGV[2])
local closed = redis.call('HEXISTS', runs, 'closed') == 1
local kind = redis.call('TYPE', begins)
kind = kind.ok or kind
local now
local out, a = {}, 3
for i = 1, n do
  local slot, token, key, nt = ARGV[a], ARGV[a + 1], ARGV[a + 2], tonumber(ARGV[a + 3])
  local field = redis.call('HGET', runs, slot)
  local t, st = string.match(field or '', '^(%d+) (%a)')
  if closed then
    out[i] = {'refused'}
  elseif not field or tonumber(t) < tonumber(token) then
    out[i] = {'lost'}
  elseif t == token and st == 'b' then
    out[i] = {'ok', tonumber(string.match(field, '^%d+ b (%S+)'))}
  elseif t ~= token or st ~= 'o' then
    out[i] = {'refused'}
  elseif kind ~= 'none' and kind ~= 'hash' then
    out[i] = {'wrongtype', begins}
  else
    local counter = KEYS[2 + i]
    local before = redis.pcall('GET', counter)
    if type(before) == 'table' then
      out[i] = {'error', 'the retry counter ' .. key .. ' is no string'}
    elseif before and not (string.match(before, '^%-?%d+$') and #before < 15) then
      out[i] = {'error', 'the retry counter ' .. key .. ' holds no number'}
    else
      redis.call('SETNX', counter, '-1')
      local ttl = redis.call('PTTL', counter)
      local attempt = redis.call('INCR', counter)
      if not now then
        local time = redis.call('TIME')
        now = time[1] * 1000 + math.floor(time[2] / 1000)
      end
      if nt > 0 then
        redis.call('EXPIRE', counter, ARGV[a + 3 + math.max(1, math.min(attempt + 1, nt))])
      end
      local mark = redis.call('HGET', begins, key) or ''
      redis.call('HSET', begins, key, process .. ' ' .. slot .. ' ' .. token)
      local raw = string.match(field, '\n(.*)$') or ''
      local expires = ttl > 0 and string.format('%.0f', now + ttl) or '-'
      redis.call('HSET', runs, slot, token .. ' b ' .. attempt .. ' ' .. (before or '-') .. ' ' .. expires
        .. ' ' .. #key .. ' ' .. #mark .. '\n' .. key .. mark .. raw)
      out[i] = {'ok', attempt}
    end
  end
  a = a + 4 + nt
end
return out
`

// beginCall builds the call that begins runs.
func (d *dispatcher) beginCall(runs []*run) Call {
	keys := append(make([]string, 0, 2+len(runs)), d.keys.Of(runsKey(d.process)), d.keys.Of(keyBegins))
	args := append(make([]any, 0, 2+5*len(runs)), d.process, len(runs))
	for _, r := range runs {
		keys = append(keys, d.keys.Of(r.counter.Key))
		args = append(args, r.slot.field, r.token, r.counter.Key, len(r.counter.TTLs))
		for _, ttl := range r.counter.TTLs {
			args = append(args, ttl)
		}
	}
	return Call{Script: d.scripts.begin, Keys: keys, Args: args}
}

// begun is a begin call's answer about one run.
type begun struct {
	verdict string // ok, refused, lost, error, wrongtype
	attempt int64
	reason  string
}

func readBegin(reply any, n int) ([]begun, error) {
	rows, ok := reply.([]any)
	if !ok || len(rows) != n {
		return nil, fmt.Errorf("resque: begin answered %T for %d runs", reply, n)
	}
	out := make([]begun, n)
	for i, r := range rows {
		row, _ := r.([]any)
		if len(row) == 0 {
			return nil, fmt.Errorf("resque: begin answered a row %v", r)
		}
		out[i].verdict = text(row[0])
		if len(row) > 1 {
			out[i].attempt, out[i].reason = number(row[1]), text(row[1])
		}
	}
	return out, nil
}

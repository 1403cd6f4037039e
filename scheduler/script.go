package scheduler

import "example.com/understudy/resque"

// The names below carry no namespace.
const (
	keySchedule = "delayed_queue_schedule"
	keyQueues   = "queues"
	keyFailed   = "failed"

	delayedPrefix    = "delayed:"
	timestampsPrefix = "timestamps:"
	queuePrefix      = "queue:"
)

// A script has neither globals nor state, so its value can stand in a variable
// of the package.

// keepScript takes the master lock if it is free, renews it if it is ours, and
// tells what there is to do.
//
//	KEYS 1 lock, 2 delayed_queue_schedule,
//	     then keys whose existence asks for a pass
//	ARGV 1 our value, 2 milliseconds the lock lives, 3 the second that it is
//
// It answers {held, due, next, asked}: held is 0 when the lock is somebody
// else's, 1 when it is ours as before, 2 when it is ours anew; due is how many
// times of the schedule are due, next the first score behind them ("": none),
// asked how many of the further keys exist. A schedule that is none counts as
// due, so that who moves says what is wrong with it.
//
//nolint:gochecknoglobals // immutable
var keepScript = resque.NewScript("scheduler-keep", `
local held = 1
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  if redis.call('SETNX', KEYS[1], ARGV[1]) == 0 then return {0, 0, '', 0} end
  held = 2
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
local due = redis.pcall('ZCOUNT', KEYS[2], '-inf', ARGV[3])
if type(due) ~= 'number' then return {held, 1, '', 0} end
local later = redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. ARGV[3], '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
local asked = 0
for i = 3, #KEYS do asked = asked + redis.call('EXISTS', KEYS[i]) end
return {held, due, later[2] or '', asked}
`)

// releaseScript drops the master lock if it is ours.
//
//	KEYS 1 lock
//	ARGV 1 our value
//
// It answers 1 when it was ours, else 0.
//
//nolint:gochecknoglobals // immutable
var releaseScript = resque.NewScript("scheduler-release", `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
`)

// peekScript reads the first items of several times, up to a number of items
// and, an item more or less, of bytes. It takes them one by one: an answer of
// several large ones takes Redis many times longer.
//
//	KEYS the lists delayed:<time>, oldest time first
//	ARGV 1 items at most, 2 bytes at most
//
// It answers, for as many of the keys as it got to, the items, or the type of a
// key that is no list.
//
//nolint:gochecknoglobals // immutable
var peekScript = resque.NewScript("scheduler-peek", `
local left, bytes = tonumber(ARGV[1]), tonumber(ARGV[2])
local function read(key)
  local kind = redis.call('TYPE', key)
  kind = kind.ok or kind
  if kind ~= 'list' and kind ~= 'none' then return kind end
  local items = {}
  while left > 0 and bytes > 0 do
    local item = redis.call('LINDEX', key, #items)
    if not item then break end
    items[#items + 1] = item
    left, bytes = left - 1, bytes - #item
  end
  return items
end
local times = {}
for i, key in ipairs(KEYS) do
  if left <= 0 or bytes <= 0 then break end
  times[i] = read(key)
end
return times
`)

// moveScript moves the first items of several times to their queues, drops what
// is known about them, and drops the times that are empty then. It does so only
// under our lock, and for each time only if the list still begins with exactly
// these items: so it moves nothing twice, whoever else moved, removed or added
// meanwhile, and however often the call arrives.
//
//	KEYS 1 lock, 2 delayed_queue_schedule, 3 queues, 4 failed,
//	     then the list of each time, then the list of each queue,
//	     then timestamps:<item> of each item, time by time
//	ARGV 1 our value, 2 milliseconds the lock lives, 3 number of times,
//	     4 number of queues, 5 length of the key timestamps:,
//	     then for each time its member in the schedule and its number of items,
//	     then for each queue its name,
//	     then for each item the number of its queue (0: failed) and what to push
//
// It answers {"lost"} when the lock isn't ours; {"type", key…} when some of the
// keys that it would write are of the wrong type; else {"ok", items moved, times
// dropped}: times that have changed stay for the next look. Only "ok" has written
// anything.
//
//nolint:gochecknoglobals // immutable
var moveScript = resque.NewScript("scheduler-move", `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {'lost'} end
local ntimes, nqueues, prefix = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local lists, queues, marks = 4, 4 + ntimes, 4 + ntimes + nqueues
local members, names, items = 5, 5 + 2 * ntimes, 5 + 2 * ntimes + nqueues

local function is(key, want)
  local kind = redis.call('TYPE', key)
  kind = kind.ok or kind
  return kind == want or kind == 'none'
end
if not is(KEYS[2], 'zset') then return {'type', KEYS[2]} end
if not is(KEYS[3], 'set') then return {'type', KEYS[3]} end
local wrong = {'type'}
for q = 1, nqueues do
  if not is(KEYS[queues + q], 'list') then wrong[#wrong + 1] = KEYS[queues + q] end
end
if #wrong > 1 then return wrong end

local function begins(t, first, count)
  local list = KEYS[lists + t]
  local length = redis.pcall('LLEN', list)
  if type(length) ~= 'number' then return end
  for i = 1, count do
    if redis.call('LINDEX', list, i - 1) ~= string.sub(KEYS[marks + first + i], prefix + 1) then return end
  end
  return length
end

local pushes = {}
for q = 0, nqueues do pushes[q] = {} end
local moved, unchanged, item = 0, {}, 0
for t = 1, ntimes do
  local count = tonumber(ARGV[members + 2 * t])
  local length = begins(t, item, count)
  if length then
    for i = item + 1, item + count do
      local to = pushes[tonumber(ARGV[items + 2 * i - 1])]
      to[#to + 1] = ARGV[items + 2 * i]
    end
    unchanged[#unchanged + 1] = {t, item, count, length}
    moved = moved + count
  end
  item = item + count
end

local function each500(command, key, list)
  for first = 1, #list, 500 do redis.call(command, key, unpack(list, first, math.min(first + 499, #list))) end
end
if #pushes[0] > 0 and not is(KEYS[4], 'list') then return {'type', KEYS[4]} end
local served, over = {}, {}
for q = 0, nqueues do
  each500('RPUSH', q == 0 and KEYS[4] or KEYS[queues + q], pushes[q])
  if q > 0 and #pushes[q] > 0 then served[#served + 1] = ARGV[names + q] end
end
each500('SADD', KEYS[3], served)
for _, u in ipairs(unchanged) do
  local t, before, count = u[1], u[2], u[3]
  local member = ARGV[members + 2 * t - 1]
  for i = before + 1, before + count do redis.pcall('SREM', KEYS[marks + i], 'delayed:' .. member) end
  if count == u[4] then
    redis.call('DEL', KEYS[lists + t])
    over[#over + 1] = member
  else
    redis.call('LTRIM', KEYS[lists + t], count, -1)
  end
end
local dropped = #over
each500('ZREM', KEYS[2], over)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {'ok', moved, dropped}
`)

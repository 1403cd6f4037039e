package scheduler

import "example.com/understudy/resque"

// The names below carry no namespace.
const (
	keySchedules    = "persistent_schedules"
	keyChanged      = "schedules_changed"
	keyLastEnqueued = "delayed:last_enqueued_at"
	keyFired        = "understudy:fired"
)

// setScript writes configurations of recurring jobs, all or none, and tells that
// they changed.
//
//	KEYS 1 persistent_schedules, 2 schedules_changed
//	ARGV for each job: "set" (its configuration is kept), "drop" (it goes) or
//	     "tell" (neither), its name, its configuration
//
// It answers "ok", or the key that is of the wrong type; then nothing was
// written. A second arrival writes the same once more.
//
//nolint:gochecknoglobals // immutable
var setScript = resque.NewScript("schedules-set", `
local types = {'hash', 'set'}
for i, key in ipairs(KEYS) do
  local kind = redis.call('TYPE', key)
  kind = kind.ok or kind
  if kind ~= 'none' and kind ~= types[i] then return key end
end
for i = 1, #ARGV, 3 do
  if ARGV[i] == 'set' then redis.call('HSET', KEYS[1], ARGV[i + 1], ARGV[i + 2]) end
  if ARGV[i] == 'drop' then redis.call('HDEL', KEYS[1], ARGV[i + 1]) end
  redis.call('SADD', KEYS[2], ARGV[i + 1])
end
return 'ok'
`)

// loadScript reads what recurring jobs there are, or those that changed, and
// takes note of the change: only under our lock, so that what it takes out of
// schedules_changed is never missing to another master.
//
//	KEYS 1 lock, 2 schedules_changed, 3 persistent_schedules, 4 understudy:fired
//	ARGV 1 our value, 2 "all" or "changed", 3 "drop" where schedules_changed is
//	     to be dropped with "all"
//
// It answers {"lost"} when the lock isn't ours; {"all", {name, configuration, …},
// {name, time fired, …}}; {"same"} when nothing has changed; else {"changed",
// names, their configurations, their times fired}, nothing in the place of what
// isn't there. Keys of the wrong type count as empty and come last, in a list of
// their own; they stay as they are.
//
// A "changed" whose answer gets lost has to be followed by an "all".
//
//nolint:gochecknoglobals // immutable
var loadScript = resque.NewScript("schedules-load", `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {'lost'} end
local wrong = {}
local function there(key, want)
  local kind = redis.call('TYPE', key)
  kind = kind.ok or kind
  if kind == want then return true end
  if kind ~= 'none' then wrong[#wrong + 1] = key end
  return false
end
local changed, configs, fired = there(KEYS[2], 'set'), there(KEYS[3], 'hash'), there(KEYS[4], 'hash')
if ARGV[2] == 'all' then
  if changed and ARGV[3] == 'drop' then redis.call('DEL', KEYS[2]) end
  return {'all', configs and redis.call('HGETALL', KEYS[3]) or {}, fired and redis.call('HGETALL', KEYS[4]) or {}, wrong}
end
if not changed then return {'same', wrong} end
local names = redis.call('SMEMBERS', KEYS[2])
redis.call('DEL', KEYS[2])
local function values(ok, key)
  local all = {}
  for i, name in ipairs(names) do all[i] = ok and redis.call('HGET', key, name) end
  return all
end
return {'changed', names, values(configs, KEYS[3]), values(fired, KEYS[4]), wrong}
`)

// fireScript enqueues recurring jobs whose time has come. It does so only under
// our lock, and each only if its planned time is later than the one that was
// fired last, and than what Ruby's note of the last run says: so no planned time
// fires twice, whichever scheduler planned it, by whatever clock, and however
// often the call arrives.
//
//	KEYS 1 lock, 2 queues, 3 failed, 4 delayed:last_enqueued_at, 5 understudy:fired,
//	     then the list of each queue
//	ARGV 1 our value, 2 milliseconds the lock lives, 3 the time as Ruby's note has it,
//	     4 the last second that such a note may name, 5 number of queues,
//	     then for each queue its name,
//	     then for each firing the job's name, its planned time in ms, the number
//	     of its queue (0: failed), what to push, and the note that this scheduler
//	     wrote last, which counts for nothing
//
// It answers {"lost"} when the lock isn't ours; {"type", key} when one of the
// keys that it would write is of the wrong type; else {"ok"} with 1 for each
// firing that took place, and 0 for each whose time somebody had fired. Only "ok"
// has written anything. A note of the wrong type is none, and isn't written: as
// in Ruby, the job is enqueued all the same.
//
//nolint:gochecknoglobals // immutable
var fireScript = resque.NewScript("scheduler-fire", `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {'lost'} end
local horizon, nqueues = tonumber(ARGV[4]), tonumber(ARGV[5])
local names, firings = 5, 6 + nqueues

local function is(key, want)
  local kind = redis.call('TYPE', key)
  kind = kind.ok or kind
  return kind == want or kind == 'none'
end
if not is(KEYS[2], 'set') then return {'type', KEYS[2]} end
if not is(KEYS[5], 'hash') then return {'type', KEYS[5]} end
for q = 1, nqueues do
  if not is(KEYS[5 + q], 'list') then return {'type', KEYS[5 + q]} end
end
local noted = is(KEYS[4], 'hash')

local function seconds(text)
  local y, mo, d, h, mi, s, zone = string.match(text, '^(%d%d%d%d)-(%d%d)-(%d%d) (%d%d):(%d%d):(%d%d) (%S+)$')
  if not y then return nil end
  local sign, zh, zm = string.match(zone, '^([+-])(%d%d):?(%d%d)$')
  if zone == 'UTC' then sign, zh, zm = '+', 0, 0 end
  if not sign then return nil end
  y, mo = tonumber(y), tonumber(mo) - 3
  if mo < 0 then y, mo = y - 1, mo + 12 end
  local days = 365 * y + math.floor(y / 4) - math.floor(y / 100) + math.floor(y / 400) + math.floor((153 * mo + 2) / 5) + d - 719469
  local offset = 3600 * zh + 60 * zm
  if sign == '-' then offset = -offset end
  return 86400 * days + 3600 * h + 60 * mi + s - offset
end
local function due(name, planned, own)
  local fired = tonumber(redis.call('HGET', KEYS[5], name) or nil)
  if fired and fired >= planned then return false end
  local note = noted and redis.call('HGET', KEYS[4], name)
  note = note and note ~= own and seconds(note)
  return not note or note > horizon or 1000 * note < planned
end

local pushes, answer, fired = {}, {'ok'}, {}
for q = 0, nqueues do pushes[q] = {} end
for i = firings, #ARGV, 5 do
  local queue = tonumber(ARGV[i + 2])
  if queue == 0 and not is(KEYS[3], 'list') then return {'type', KEYS[3]} end
  local takes = due(ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 4])
  answer[#answer + 1] = takes and 1 or 0
  if takes then
    fired[#fired + 1] = i
    table.insert(pushes[queue], ARGV[i + 3])
  end
end
for q = 0, nqueues do
  local key = q == 0 and KEYS[3] or KEYS[5 + q]
  for first = 1, #pushes[q], 500 do
    redis.call('RPUSH', key, unpack(pushes[q], first, math.min(first + 499, #pushes[q])))
  end
  if q > 0 and #pushes[q] > 0 then redis.call('SADD', KEYS[2], ARGV[names + q]) end
end
for _, i in ipairs(fired) do
  if noted then redis.call('HSET', KEYS[4], ARGV[i], ARGV[3]) end
  redis.call('HSET', KEYS[5], ARGV[i], ARGV[i + 1])
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return answer
`)

// forgetScript drops what is known about firings of jobs that are no more, under
// our lock and unless somebody fired them meanwhile.
//
//	KEYS 1 lock, 2 understudy:fired
//	ARGV 1 our value, then for each job its name and the time fired that was read
//
// It answers how many it dropped. A second arrival drops nothing.
//
//nolint:gochecknoglobals // immutable
var forgetScript = resque.NewScript("scheduler-forget", `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local dropped = 0
for i = 2, #ARGV, 2 do
  if redis.call('HGET', KEYS[2], ARGV[i]) == ARGV[i + 1] then dropped = dropped + redis.call('HDEL', KEYS[2], ARGV[i]) end
end
return dropped
`)

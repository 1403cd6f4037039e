# frozen_string_literal: true

# What resque-scheduler does with recurring jobs: how they are kept, when they
# fire and what that writes, and who holds the master lock.

require_relative '../recorder/scheduling'

class SendMail
  @queue = :mail

  def self.perform(*); end
end

class Report
  @queue = :reports

  def self.perform(*); end
end

# A class that has no queue.
class Homeless
  def self.perform(*); end
end

CLASSES = { 'SendMail' => { 'queue' => 'mail', 'raises' => 'nothing' },
            'Report' => { 'queue' => 'reports', 'raises' => 'nothing' } }.freeze
T0 = Recorder::Clock::START
S = Recorder::Schedules
MINUTE = 60
HOUR = 60 * MINUTE
DAY = 24 * HOUR
OTHER = 'other.example:99'

# A group with one recurring job, and passes so many seconds apart.
def firing(name, timing, *waits, **settings)
  S.record("firing: #{name}", **settings) do
    set('job', timing.merge('class' => 'SendMail', 'args' => [1]))
    pass
    waits.each { |seconds| pass(seconds) }
  end
end

S.record('set and replaced') do
  set('a', { 'cron' => '0 4 * * *', 'class' => 'SendMail' })
  set('a', { 'every' => '1h', 'class' => 'Report', 'persist' => true })
  shown
  set('a', { 'every' => '2h', 'class' => 'SendMail' })
  shown
  op('fetch_schedule', 'a') { Resque.fetch_schedule('a') }
  op('fetch_schedule', 'none') { Resque.fetch_schedule('none') }
  remove('a')
  shown
  remove('a')
  remove('none')
end

S.record('persist in every form') do
  [true, false, nil, 'true', 'false', '', 0, 1, [], {}].each_with_index do |value, i|
    set("p#{i}", { 'every' => '1h', 'class' => 'SendMail', 'persist' => value })
  end
  shown
end

S.record('configs of every form, kept') do
  { 'order' => { 'queue' => 'low', 'args' => [], 'class' => 'SendMail', 'description' => 'd', 'cron' => '0 4 * * *' },
    'unknown members' => { 'every' => '1h', 'class' => 'SendMail', 'owner' => { 'b' => 1, 'a' => [nil, true] }, 'parameters' => { 'x' => { 'default' => 1 } } },
    'unicode' => { 'every' => '1h', 'class' => 'SendMail', 'description' => "é \u2028 </script> \u{1f600} \u0001 \"q\" \\ / \t" },
    'numbers' => { 'every' => '1h', 'class' => 'SendMail', 'args' => [1, 1.0, -0.0, 1e20, 1e-7, 123_456_789_012_345_678_901_234_567_890, 100_000_000_000_000_000.0, 0.1] },
    'no class' => { 'every' => '1h', 'queue' => 'low' },
    'no time' => { 'class' => 'SendMail' },
    'empty' => {},
    '' => { 'every' => '1h', 'class' => 'SendMail' },
    "na\u00efve: \"name\"" => { 'every' => '1h', 'class' => 'SendMail' },
    'custom' => { 'every' => '1h', 'class' => 'SendMail', 'custom_job_class' => 'Status::Job', 'rails_env' => 'production, staging' } }.each do |name, config|
    set(name, config.merge('persist' => true))
  end
  shown
end

S.record('the same, in memory') do
  set('order', { 'queue' => 'low', 'args' => [], 'class' => 'SendMail', 'cron' => '0 4 * * *' })
  set('numbers', { 'every' => '1h', 'class' => 'SendMail', 'args' => [1, 1.0, 1e20] })
  set('no class', { 'every' => '1h', 'queue' => 'low' })
  set('empty', {})
  shown
end

S.record('schedule=') do
  set('old', { 'every' => '1h', 'class' => 'SendMail' })
  set('old kept', { 'every' => '1h', 'class' => 'SendMail', 'persist' => true })
  redis('del', 'schedules_changed')
  replace('Report' => { 'every' => '1h' }, 'named' => { 'cron' => '0 4 * * *', 'class' => 'SendMail' },
          'kept' => { 'every' => '1h', 'persist' => true }, 'null' => { 'class' => nil, 'every' => '1h' })
  shown
  replace({})
  shown
end

S.record('what others wrote') do
  redis('hset', 'persistent_schedules', 'x', '{"every": "1h",  "class":"SendMail", "args":[1.0,"\u00e9\/"]}')
  shown
  redis('sadd', 'schedules_changed', 'ghost')
  redis('hset', 'persistent_schedules', 'y', '{"class":"Report","cron":"0 4 * * *"}')
  op('fetch_schedule', 'y') { Resque.reload_schedule!['y'] }
  remove('x')
  shown
end

S.record('last_enqueued_at') do
  op('get_last_enqueued_at', 'a') { Resque.get_last_enqueued_at('a') }
  op('last_enqueued_at', 'a') { Resque.last_enqueued_at('a', Time.now.to_s); nil }
  op('get_last_enqueued_at', 'a') { Resque.get_last_enqueued_at('a') }
  Recorder::Clock.advance(90)
  op('last_enqueued_at', 'a') { Resque.last_enqueued_at('a', Time.now.to_s); nil }
  op('get_last_enqueued_at', 'a') { Resque.get_last_enqueued_at('a') }
end

S.record('last_enqueued_at elsewhere', tz: 'America/St_Johns') do
  op('last_enqueued_at', 'a') { Resque.last_enqueued_at('a', Time.now.to_s); nil }
  op('get_last_enqueued_at', 'a') { Resque.get_last_enqueued_at('a') }
end

S.record('enqueue_from_config') do
  [nil, [], {}, '', 'text', 0, 1.5, false, true, [nil], [[]], [[1, 2]], [{}], [1, 'two', { 'three' => [4.0] }], { 'b' => 1, 'a' => { 'c' => nil } }, "\u2028 </b>"].each do |args|
    enqueue({ 'class' => 'SendMail', 'args' => args, 'queue' => 'low' })
  end
  enqueue({ 'class' => 'SendMail', 'queue' => 'low' }, 'without args')
  enqueue({ 'class' => 'Report', 'args' => [1] }, 'queue of the class')
  enqueue({ 'class' => 'Report', 'args' => [1], 'queue' => false }, 'queue false')
  enqueue({ 'class' => 'Report', 'args' => [1], 'queue' => nil }, 'queue null')
  enqueue({ 'class' => 'Report', 'args' => [1], 'queue' => 'a b:c' }, 'queue with spaces')
  enqueue({ 'class' => 'Not::Here', 'args' => [1], 'queue' => 'low' }, 'unknown class')
  enqueue({ 'class' => 'lower', 'args' => [1], 'queue' => 'low' }, 'class in lower case')
  enqueue({ 'class' => 'SendMail', 'args' => [1], 'queue' => 'low', 'cron' => '0 4 * * *', 'every' => '1h', 'description' => 'd', 'env' => 'x', 'x' => 1 }, 'other members')
  enqueue({ 'class' => 'SendMail', 'custom_job_class' => 'Status::Job', 'args' => { 'a' => 1 }, 'queue' => 'low' }, 'custom_job_class unknown')
  enqueue({ 'class' => 'SendMail', 'custom_job_class' => 'Status::Job', 'args' => [1] }, 'custom_job_class unknown, queue of the class')
  enqueue({ 'class' => 'SendMail', 'custom_job_class' => 'Report', 'args' => [1] }, 'custom_job_class known')
  enqueue({ 'class' => 'SendMail', 'custom_job_class' => 'Resque::Job', 'args' => [1] }, 'custom_job_class Resque::Job')
  enqueue({ 'class' => 'SendMail', 'custom_job_class' => nil, 'args' => [1] }, 'custom_job_class null')
  enqueue({ 'class' => 'Not::Here', 'custom_job_class' => 'Status::Job', 'args' => [1], 'queue' => 'low' }, 'custom_job_class, both unknown')
end

S.record('no queue') do
  set('unknown', { 'every' => '1h', 'class' => 'Not::Here', 'args' => [1] })
  set('homeless', { 'every' => '1h', 'class' => 'Homeless' })
  pass
  pass(HOUR)
end

S.record('master lock, two processes') do
  op('master?') { Resque::Scheduler.master? }
  op('master?') { Resque::Scheduler.master? }
  redis('set', 'resque:resque_scheduler_master_lock', OTHER)
  op('master?') { Resque::Scheduler.master? }
  op('release_master_lock') { Resque::Scheduler.release_master_lock; nil }
  op('master?') { Resque::Scheduler.master? }
  redis('del', 'resque:resque_scheduler_master_lock')
  op('release_master_lock') { Resque::Scheduler.release_master_lock; nil }
  op('master?') { Resque::Scheduler.master? }
  op('release_master_lock') { Resque::Scheduler.release_master_lock; nil }
end

S.record('master lock with a prefix', lock_prefix: 'blue') do
  op('master?') { Resque::Scheduler.master? }
  pass
  op('release_master_lock') { Resque::Scheduler.release_master_lock; nil }
end

firing('every', { 'every' => '30s' }, 29, 1, 30, 31, 100, 1, HOUR)
firing('every in words', { 'every' => '5 minutes' }, 300)
firing('every, seconds alone', { 'every' => '90' }, 89, 1)
firing('every, 1h30 has seconds', { 'every' => '1h30' }, HOUR + 29, 1)
firing('every month is 30 days', { 'every' => '1M' }, (30 * DAY), DAY)
firing('every with a fraction', { 'every' => '1.5m' }, 89, 1, 90)
firing('every, one element', { 'every' => ['1h'] }, HOUR)
firing('every, two elements that are texts', { 'every' => %w[1h 5m] }, 300, HOUR)
firing('every, three elements', { 'every' => ['1h', { 'first_in' => '5m' }, { 'times' => 1 }] }, 300, HOUR)
firing('every, a number before options', { 'every' => [90, { 'first_in' => 30 }] }, 30, 90)
firing('first_in', { 'every' => ['1h', { 'first_in' => '5m' }] }, 299, 1, HOUR - 1, 1, HOUR + 5, HOUR - 5)
firing('first_in, late', { 'every' => ['1h', { 'first_in' => '5m' }] }, 7500, 20 * MINUTE, HOUR)
firing('first_in as number', { 'every' => ['1h', { 'first_in' => 300 }] }, 300, HOUR)
firing('first_in 0', { 'every' => ['1h', { 'first_in' => 0 }] }, 1, HOUR)
firing('first_at', { 'every' => ['1h', { 'first_at' => '2026-01-02 04:00:00' }] }, 3354, 1, HOUR)
firing('first_at with a zone', { 'every' => ['1h', { 'first_at' => '2026-01-02 06:00:00 +0200' }] }, 3355, HOUR)
firing('first_at elsewhere', { 'every' => ['1h', { 'first_at' => '2026-01-02 05:00:00' }] }, 3355, HOUR, tz: 'Europe/Berlin')
firing('first_at without seconds', { 'every' => ['1d', { 'first_at' => '2026-01-03 04:00' }] }, DAY + 3355, DAY)
firing('first_at is a duration, too', { 'every' => ['1h', { 'first_at' => '10m' }] }, 600, HOUR)
firing('first before first_at before first_in', { 'every' => ['1h', { 'first_in' => '5m', 'first_at' => '10m', 'first' => '15m' }] }, 300, 300, 300)
firing('first_at before first_in', { 'every' => ['1h', { 'first_in' => '5m', 'first_at' => '10m' }] }, 300, 300)
firing('options that are false or null', { 'every' => ['1h', { 'first_in' => nil, 'last_in' => false, 'times' => nil }] }, HOUR, HOUR)
firing('unknown options', { 'every' => ['1h', { 'tag' => 'x', 'overlap' => false, 'zzz' => 1 }] }, HOUR, HOUR)
firing('times', { 'every' => ['1h', { 'times' => 2 }] }, HOUR, HOUR, HOUR, HOUR)
firing('times, late', { 'every' => ['1h', { 'times' => 2 }] }, 10 * HOUR, HOUR, HOUR)
firing('times 0', { 'every' => ['1h', { 'times' => 0 }] }, HOUR, HOUR)
firing('last_in', { 'every' => ['1h', { 'last_in' => '3h' }] }, HOUR, HOUR - 1, 1, HOUR, HOUR)
firing('last_in, planned before and looked at after', { 'every' => ['1h', { 'last_in' => 7201 }] }, HOUR, HOUR + 5, HOUR)
firing('last_at with first_in and times', { 'every' => ['10m', { 'last_at' => '2026-01-02 04:00:00', 'first_in' => '1m', 'times' => 9 }] }, 60, 600, 600, 600, 600, 600, 600)
firing('cron', { 'cron' => '*/5 * * * *' }, 54, 1, 299, 1, 301, 30 * MINUTE, 60)
firing('cron with seconds', { 'cron' => '*/10 * * * * *' }, 4, 1, 9, 1, 95)
firing('cron with a zone', { 'cron' => '30 5 * * * Europe/Berlin' }, 5155, DAY)
firing('cron elsewhere', { 'cron' => '0 5 * * *' }, 3355, DAY, tz: 'Europe/Berlin')
firing('cron, an hour that is left out', { 'cron' => '30 2 * * *' }, 85 * DAY, DAY, DAY, DAY, tz: 'Europe/Berlin')
firing('cron, an hour that comes twice', { 'cron' => '30 * * * *' }, (295 * DAY) + (20 * HOUR), HOUR, HOUR, HOUR, HOUR, HOUR, tz: 'Europe/Berlin')
firing('every over a change of clocks', { 'every' => '1d' }, DAY, 85 * DAY, DAY, DAY, tz: 'Europe/Berlin')
firing('cron in words', { 'cron' => '@daily' }, DAY, DAY)
firing('cron, one element', { 'cron' => ['0 4 * * *'] }, 3355, DAY)
firing('cron with first_in', { 'cron' => ['0 4 * * *', { 'first_in' => '2d' }] }, DAY, DAY, 3355, DAY)
firing('cron with times', { 'cron' => ['0 4 * * *', { 'times' => 2 }] }, 3355, DAY, DAY)
firing('cron with last_in', { 'cron' => ['0 4 * * *', { 'last_in' => '1d' }] }, 3355, DAY, DAY)
firing('cron before every', { 'every' => '1m', 'cron' => '0 4 * * *' }, 60, 3295)
firing('cron that is empty, and every', { 'cron' => '', 'every' => '1m' }, 60)
firing('cron without elements, and every', { 'cron' => [], 'every' => '1m' }, 60)
firing('neither', {}, DAY)
firing('neither, empty', { 'cron' => nil, 'every' => '' }, DAY)

[[nil, nil, nil], ['prod', nil, nil], [nil, 'prod', nil], ['prod', nil, 'prod'], ['prod', 'test', 'test'], ['prod', 'test', 'prod'], [nil, 'a, b', 'b'], [nil, "a\tb\nc", 'c'],
 [nil, '', 'prod'], [nil, ' , ', 'prod'], [nil, 'PROD', 'prod'], [nil, 'prod,', 'prod'], [nil, '*', 'prod'], [nil, nil, 'prod'], [false, 'prod', 'test'], [false, nil, 'test']].each do |rails, env, ours|
  firing("rails_env #{rails.inspect}, env #{env.inspect}, as #{ours.inspect}", { 'every' => '1h', 'rails_env' => rails, 'env' => env }.compact, HOUR, env: ours)
end

S.record('firing: what is written') do
  set('weekly', { 'every' => '1h', 'class' => 'SendMail', 'args' => 'weekly', 'queue' => 'low' })
  set('of its class', { 'every' => '1h', 'class' => 'Report', 'args' => { 'a' => 1.0 } })
  set('unknown', { 'every' => '1h', 'class' => 'Not::Here', 'args' => [[1], nil], 'queue' => 'go' })
  set('custom', { 'every' => '1h', 'class' => 'Not::Here', 'custom_job_class' => 'Status::Job', 'args' => [1], 'queue' => 'status' })
  set('custom, known', { 'every' => '1h', 'class' => 'Not::Here', 'custom_job_class' => 'Report', 'args' => 1, 'queue' => 'custom' })
  set('Resque::Job', { 'every' => '1h', 'class' => 'SendMail', 'custom_job_class' => 'Resque::Job' })
  set("na\u00efve: name", { 'every' => '1h', 'class' => 'SendMail', 'args' => "\u2028 </b>", 'queue' => 'text' })
  pass
  pass(HOUR)
  pass(HOUR + 1)
end

S.record('firing: a name is a class') do
  replace('SendMail' => { 'every' => '1h' }, 'Report' => { 'cron' => '0 * * * *', 'args' => [1] })
  pass
  pass(HOUR)
end

S.record('firing: beside delayed jobs') do
  op('enqueue_in', HOUR, 'Report', ['delayed']) { Resque.enqueue_in(HOUR, Report, 'delayed') }
  set('job', { 'every' => '1h', 'class' => 'SendMail' })
  pass
  pass(HOUR)
end

S.record('dynamic: set, changed, removed', dynamic: true) do
  set('a', { 'every' => '1h', 'class' => 'SendMail', 'persist' => true })
  set('b', { 'every' => '1h', 'class' => 'Report', 'persist' => true })
  pass
  pass(600)
  set('b', { 'every' => '1h', 'class' => 'Report', 'args' => ['again'], 'persist' => true })
  pass(600)
  pass(2400)
  pass(1200)
  remove('a')
  pass(0)
  pass(2 * HOUR)
  set('c', { 'cron' => '0 * * * *', 'class' => 'SendMail', 'persist' => true })
  set('d', { 'every' => '10m', 'class' => 'SendMail' })
  pass(0)
  pass(HOUR)
  remove('d')
  set('c', { 'class' => 'SendMail', 'persist' => true })
  pass(0)
  pass(HOUR)
end

S.record('dynamic: written by another process', dynamic: true, env: 'prod') do
  pass
  redis('hset', 'persistent_schedules', 'x', '{"every":["1h",{"first_in":"5m"}],"class":"SendMail"}')
  pass(60)
  redis('sadd', 'schedules_changed', 'x', 'ghost')
  pass(60)
  pass(300)
  redis('hset', 'persistent_schedules', 'x', '{"every":"10m","class":"SendMail","env":"test"}')
  redis('sadd', 'schedules_changed', 'x')
  pass(60)
  pass(HOUR)
  redis('hset', 'persistent_schedules', 'x', '{"every":"10m","class":"SendMail","env":"test, prod"}')
  redis('sadd', 'schedules_changed', 'x')
  pass(0)
  pass(600)
  redis('hdel', 'persistent_schedules', 'x')
  pass(600)
  redis('sadd', 'schedules_changed', 'x')
  pass(600)
  pass(600)
end

S.record('dynamic: a change and the firing in one turn', dynamic: true) do
  set('a', { 'every' => '10m', 'class' => 'SendMail', 'persist' => true })
  pass
  set('a', { 'every' => '10m', 'class' => 'Report', 'persist' => true })
  pass(600)
  pass(599)
  pass(1)
end

S.record('not dynamic: changes are for later') do
  set('a', { 'every' => '10m', 'class' => 'SendMail', 'persist' => true })
  pass
  redis('hset', 'persistent_schedules', 'b', '{"every":"10m","class":"SendMail"}')
  redis('sadd', 'schedules_changed', 'b')
  pass(600)
  pass(600)
end

[true, false].each do |dynamic|
  S.record("mastership lost and won, #{dynamic ? '' : 'not '}dynamic", dynamic: dynamic) do
    set('a', { 'every' => '10m', 'class' => 'SendMail', 'persist' => true })
    set('c', { 'cron' => '*/10 * * * *', 'class' => 'Report' })
    pass
    pass(300)
    redis('set', 'resque:resque_scheduler_master_lock', OTHER)
    pass(200)
    pass(HOUR)
    set('d', { 'every' => '10m', 'class' => 'SendMail' })
    redis('sadd', 'schedules_changed', 'ghost')
    pass(60)
    redis('del', 'resque:resque_scheduler_master_lock')
    pass(60)
    pass(599)
    pass(1)
    stop
    pass(HOUR)
    pass(600)
  end
end

S.record('a new master fires nothing that was missed', dynamic: true) do
  redis('set', 'resque:resque_scheduler_master_lock', OTHER)
  set('a', { 'every' => ['10m', { 'first_in' => '5m', 'times' => 2 }], 'class' => 'SendMail', 'persist' => true })
  pass
  pass(20 * MINUTE)
  redis('del', 'resque:resque_scheduler_master_lock')
  pass(10)
  pass(299)
  pass(1)
  pass(600)
  pass(600)
end

# Turns drawn by chance: jobs set, removed and written by others, masters lost
# and won. Every number that is drawn, and the order, decide what a seed means.
class Drawn
  PERIODS = %w[10m 15m 1h 90s 7m 2h30m].freeze
  LINES = ['*/10 * * * *', '0 * * * *', '5,35 * * * *', '0 */2 * * *', '30 3 * * *', '15 * * * * *', '0 4 * * * Europe/Berlin', '*/7 3-5 * * *'].freeze
  NAMES = %w[a b c d].freeze

  def initialize(random)
    @random = random
  end

  def turns(group)
    18.times { turn(group) }
  end

  private

  def turn(group)
    case @random.rand(10)
    when 0..2
      name = pick(NAMES)
      group.set(name, config(name).merge('persist' => true))
    when 3 then group.remove(pick(NAMES))
    when 4 then written(group, pick(NAMES))
    when 5 then handed_over(group)
    end
    group.pass(pick([0, 1, 59, 60, 61, 300, 600, 600, 1800, HOUR, HOUR + 1, 5 * HOUR]))
  end

  def written(group, name)
    group.redis('hset', 'persistent_schedules', name, JSON.generate(config(name)))
    group.redis('sadd', 'schedules_changed', name)
  end

  def handed_over(group)
    group.redis('set', 'resque:resque_scheduler_master_lock', OTHER)
    group.pass(pick([0, 60, HOUR]))
    group.redis('del', 'resque:resque_scheduler_master_lock')
  end

  # Each job has a queue of its own: in which order those fire that are due at
  # the same time, Ruby doesn't say.
  def config(name)
    timing.merge('class' => pick(%w[SendMail Report]), 'queue' => "of #{name}", 'args' => [@random.rand(100)])
  end

  def timing
    return { 'cron' => pick(LINES) } if @random.rand(2).zero?
    return { 'every' => pick(PERIODS) } if @random.rand(2).zero?

    { 'every' => [pick(PERIODS), pick([{ 'first_in' => '5m' }, { 'times' => 3 }, { 'last_in' => '3h' }, { 'first_in' => 90, 'times' => 2 }, { 'first_in' => '1h', 'last_in' => '5h' }])] }
  end

  def pick(list)
    list[@random.rand(list.size)]
  end
end

random = Random.new(Integer(ENV['RECORDER_SEED'] || 41))
40.times do |i|
  zone = %w[UTC Europe/Berlin America/St_Johns][i % 3]
  S.record("by chance #{i + 1}", dynamic: true, tz: zone) { Drawn.new(random).turns(self) }
end

# Changes of clocks in the zone of the process, drawn by chance: lines that are due
# at all hours of the night, and turns before, in and after the change.
class ClockChange
  ZONES = {
    'Europe/Berlin' => [[3, 29], [10, 25]], 'America/New_York' => [[3, 8], [11, 1]], 'America/St_Johns' => [[3, 8], [11, 1]],
    'Australia/Sydney' => [[4, 4], [10, 3]], 'Africa/Casablanca' => [[2, 15], [3, 22]], 'Europe/London' => [[3, 29], [10, 25]]
  }.freeze
  MINUTES = %w[0 30 15 */15 0,30 59 */7 *].freeze
  HOURS = %w[0 1 2 3 1-3 */2 * 2,3 0-2 23 */3 24].freeze
  DAYS = ['* * *', '* * *', '* * 0', '25,29 * *', 'L * *', '1-7 * mon-fri'].freeze
  STEPS = [60, 900, 1800, 1800, 3600, 3600, 5400, 7200, 21_600].freeze

  def initialize(random, month, day)
    @random = random
    @month = month
    @day = day
  end

  def turns(group)
    3.times { |i| group.set("job #{i}", { 'cron' => line, 'class' => 'Report', 'queue' => "of #{i}", 'persist' => true }) }
    group.set('every', { 'every' => pick(%w[30m 1h 90m 1d]), 'class' => 'Report', 'queue' => 'every', 'persist' => true })
    group.pass(Time.utc(2026, @month, @day).to_i - HOUR * 12 + @random.rand(12 * HOUR) - T0)
    20.times { group.pass(pick(STEPS)) }
  end

  private

  def line
    "#{pick(MINUTES)} #{pick(HOURS)} #{pick(DAYS)}"
  end

  def pick(list)
    list[@random.rand(list.size)]
  end
end

ClockChange::ZONES.each do |zone, changes|
  changes.each do |month, day|
    S.record("clocks change, #{zone}, month #{month}", dynamic: true, tz: zone) { ClockChange.new(random, month, day).turns(self) }
  end
end

Recorder.write(ARGV[0], { 'recorded with' => Recorder.versions.merge('rufus-scheduler' => Rufus::Scheduler::VERSION, 'fugit' => Fugit::VERSION), 'classes' => CLASSES },
               { 'groups' => Recorder::GROUPS })

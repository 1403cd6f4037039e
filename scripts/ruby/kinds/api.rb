# frozen_string_literal: true

# What the public calls of Resque, resque-scheduler and the failure backends
# answer, and what they do to Redis.

require_relative '../recorder/calls'

class SendMail
  @queue = :mail

  def self.perform(*args)
    raise ArgumentError, "no #{args.inspect}" if args.first == 'bad'
  end
end

class Report
  @queue = :reports

  def self.perform(*)
    raise 'report'
  end
end

CLASSES = { 'SendMail' => { 'queue' => 'mail', 'raises' => 'ArgumentError "no <args.inspect>" when the first argument is "bad"' },
            'Report' => { 'queue' => 'reports', 'raises' => 'RuntimeError "report"' } }.freeze
T0 = Recorder::Clock::START

Recorder::Group.record('queues') do
  op('enqueue', 'SendMail', [1, 'a']) { Resque.enqueue(SendMail, 1, 'a') }
  op('enqueue_to', 'urgent', 'SendMail', [2]) { Resque.enqueue_to(:urgent, SendMail, 2) }
  op('push', 'raw', { 'class' => 'Other', 'args' => [] }) { Resque.push('raw', 'class' => 'Other', 'args' => []); nil }
  3.times { |i| op('enqueue', 'SendMail', [i]) { Resque.enqueue(SendMail, i) } }
  op('queues') { Resque.queues.sort }
  op('size', 'mail') { Resque.size('mail') }
  op('size', 'nope') { Resque.size('nope') }
  op('peek', 'mail', 0, 1) { Resque.peek('mail', 0, 1) }
  op('peek', 'mail', 1, 2) { Resque.peek('mail', 1, 2) }
  op('pop', 'mail') { Resque.pop('mail') }
  op('pop', 'nope') { Resque.pop('nope') }
  op('dequeue', 'SendMail', [1]) { Resque.dequeue(SendMail, 1) }
  op('dequeue', 'SendMail', nil) { Resque.dequeue(SendMail) }
  op('remove_queue', 'urgent') { Resque.remove_queue('urgent'); nil }
  op('info') { Resque.info.reject { |k, _| %i[environment servers].include?(k) }.transform_keys(&:to_s) }
end

Recorder::Group.record('delayed jobs') do
  op('enqueue_at', T0 + 60, 'SendMail', [1]) { Resque.enqueue_at(Time.at(T0 + 60), SendMail, 1) }
  op('enqueue_at', T0 + 60, 'SendMail', [1]) { Resque.enqueue_at(Time.at(T0 + 60), SendMail, 1) }
  op('enqueue_in', 60, 'Report', [{ 'id' => 1 }]) { Resque.enqueue_in(60, Report, 'id' => 1) }
  op('enqueue_in', 0.4, 'Report', [0]) { Resque.enqueue_in(0.4, Report, 0) }
  op('enqueue_in', 90.7, 'Report', [0]) { Resque.enqueue_in(90.7, Report, 0) }
  op('enqueue_at', T0 - 5, 'SendMail', ['past']) { Resque.enqueue_at(Time.at(T0 - 5), SendMail, 'past') }
  op('enqueue_at_with_queue', 'urgent', T0 + 120, 'SendMail', [1]) { Resque.enqueue_at_with_queue('urgent', Time.at(T0 + 120), SendMail, 1) }
  op('enqueue_in_with_queue', 'urgent', 30, 'SendMail', [2]) { Resque.enqueue_in_with_queue('urgent', 30, SendMail, 2) }
  op('enqueue_in', 'soon', 'SendMail', [2]) { Resque.enqueue_in('soon', SendMail, 2) }
  op('delayed_queue_schedule_size') { Resque.delayed_queue_schedule_size }
  op('delayed_queue_peek', 0, 2) { Resque.delayed_queue_peek(0, 2) }
  op('delayed_timestamp_size', T0 + 60) { Resque.delayed_timestamp_size(T0 + 60) }
  op('delayed_timestamp_peek', T0 + 60, 0, 1) { Resque.delayed_timestamp_peek(T0 + 60, 0, 1) }
  op('delayed_timestamp_peek', T0 + 60, 0, 10) { Resque.delayed_timestamp_peek(T0 + 60, 0, 10) }
  op('count_all_scheduled_jobs') { Resque.count_all_scheduled_jobs }
  op('scheduled_at', 'SendMail', [1]) { Resque.scheduled_at(SendMail, 1).sort }
  op('delayed?', 'SendMail', [1]) { Resque.delayed?(SendMail, 1) }
  op('delayed?', 'SendMail', [77]) { Resque.delayed?(SendMail, 77) }
  op('next_delayed_timestamp', T0) { Resque.next_delayed_timestamp(T0) }
  op('next_delayed_timestamp', T0 + 61) { Resque.next_delayed_timestamp(T0 + 61) }
  op('remove_delayed', 'SendMail', [1]) { Resque.remove_delayed(SendMail, 1) }
  op('remove_delayed_in_queue', 'SendMail', 'urgent', [1]) { Resque.remove_delayed_in_queue(SendMail, 'urgent', 1) }
  op('delay_or_enqueue_at', T0 + 200, 'SendMail', [9]) { Resque.delay_or_enqueue_at(Time.at(T0 + 200), SendMail, 9) }
  op('delay_or_enqueue_at', T0 + 300, 'SendMail', [9]) { Resque.delay_or_enqueue_at(Time.at(T0 + 300), SendMail, 9) }
  op('enqueue_delayed', 'SendMail', [9]) { Resque.enqueue_delayed(SendMail, 9) }
  op('remove_delayed_selection id=1', 'Report') { Resque.remove_delayed_selection(Report) { |a| a[0].is_a?(Hash) && a[0]['id'] == 1 } }
  op('enqueue_delayed_selection args=[2]') { Resque.enqueue_delayed_selection { |a| a == [2] } }
  op('enqueue_in', 500, 'SendMail', ['x']) { Resque.enqueue_in(500, SendMail, 'x') }
  op('remove_delayed_job_from_timestamp', T0 + 500, 'SendMail', ['x']) { Resque.remove_delayed_job_from_timestamp(T0 + 500, SendMail, 'x') }
  op('tick', 100) { Recorder::Clock.advance(100); Resque::Scheduler.handle_delayed_items; nil }
  op('tick', 1000) { Recorder::Clock.advance(1000); Resque::Scheduler.handle_delayed_items; nil }
end

Recorder::Group.record('due jobs keep their order') do
  op('enqueue_in', 10, 'SendMail', ['b1']) { Resque.enqueue_in(10, SendMail, 'b1') }
  op('enqueue_in', 5, 'SendMail', ['a']) { Resque.enqueue_in(5, SendMail, 'a') }
  op('enqueue_in', 10, 'SendMail', ['b2']) { Resque.enqueue_in(10, SendMail, 'b2') }
  op('enqueue_in', 10, 'SendMail', ['b1']) { Resque.enqueue_in(10, SendMail, 'b1') }
  op('delayed_push', T0 + 7, { 'class' => 'NotRuby', 'args' => [1], 'queue' => 'go' }) { Resque.delayed_push(T0 + 7, class: 'NotRuby', args: [1], queue: 'go'); nil }
  op('tick', 11) { Recorder::Clock.advance(11); Resque::Scheduler.handle_delayed_items; nil }
end

Recorder::Group.record('250 due jobs at one time') do
  op('enqueue_in x250', 10) { 250.times { |i| Resque.enqueue_in(10, SendMail, i) }; nil }
  op('tick', 11) { Recorder::Clock.advance(11); Resque::Scheduler.handle_delayed_items; nil }
end

Recorder::Group.record('reset') do
  op('enqueue_in', 10, 'SendMail', [1]) { Resque.enqueue_in(10, SendMail, 1) }
  op('enqueue_in', 20, 'SendMail', [1]) { Resque.enqueue_in(20, SendMail, 1) }
  op('reset_delayed_queue') { Resque.reset_delayed_queue; nil }
end

%w[redis redis_multi_queue].each do |b|
  Recorder::Group.record("failures, #{b}", backend: b) do
    w = Recorder.make_worker('mail', 'reports')
    op('register_worker') { w.register_worker; nil }
    [[SendMail, 'bad', 1], [Report, 2], [SendMail, 'bad', 3], [Report, 4]].each do |k, *a|
      op('enqueue', k.name, a) { Resque.enqueue(k, *a) }
    end
    4.times { op('work') { w.work_one_job } }
    F = Resque::Failure unless defined?(F)
    fq = b == 'redis' ? nil : 'mail_failed'
    op('failure.count', fq) { F.count(*[fq].compact) }
    op('failure.queues') { F.queues.map(&:to_s).sort }
    op('failure.all', 0, 1, fq) { F.all(0, 1, *[fq].compact) }
    op('failure.all', 0, 10, fq) { F.all(0, 10, *[fq].compact) }
    op('failure.count class', 'SendMail', fq) { F.count(fq, 'SendMail') } if b == 'redis'
    Recorder::Clock.advance(5)
    op('failure.requeue', 0, fq) { fq ? F.backend.requeue(0, fq) : F.requeue(0); nil }
    op('failure.remove', 1, fq) { fq ? F.backend.remove(1, fq) : F.remove(1); nil }
    op('failure.requeue_queue', 'reports') { F.requeue_queue('reports'); nil }
    op('failure.requeue_all') { F.requeue_all; nil } if b == 'redis'
    op('failure.remove_queue', 'reports') { F.remove_queue('reports'); nil }
    op('failure.clear', fq) { fq ? F.clear(fq) : F.clear; nil }
    op('unregister_worker') { w.unregister_worker; nil }
  end
end

Recorder::Group.record('workers') do
  w = Recorder.make_worker('high', 'low')
  op('register_worker', w.to_s) { w.register_worker; nil }
  op('heartbeat!', T0) { w.heartbeat!(Time.at(T0)); nil }
  op('heartbeat! UTC', T0) { w.heartbeat!(Time.at(T0).utc); nil }
  op('push', 'high', { 'class' => 'SendMail', 'args' => ['ok'] }) { Resque.push('high', 'class' => 'SendMail', 'args' => ['ok']); nil }
  op('working_on') { w.working_on(w.reserve); nil }
  op('state') { w.state.to_s }
  op('job') { w.job }
  op('done_working') { w.done_working; nil }
  op('processed') { w.processed }
  op('paused?') { w.paused? }
  op('set pause-all-workers', ' True ') { Recorder::RAW.set('resque:pause-all-workers', ' True '); nil }
  op('paused?') { w.paused? }
  op('work while paused') { w.work_one_job }
  op('unregister_worker') { w.unregister_worker; nil }
end

Recorder::Group.record('pruning') do
  dead = Recorder.make_worker('mail')
  dead.hostname = 'gone.example'
  dead.to_s = 'gone.example:99:mail'
  op('register_worker', dead.to_s) { dead.register_worker; nil }
  op('heartbeat!', dead.to_s, 'server time - 301 s') { dead.heartbeat!(Time.at(Recorder::RAW.time[0] - 301)); nil }
  op('push', 'mail', { 'class' => 'SendMail', 'args' => ['bad'] }) { Resque.push('mail', 'class' => 'SendMail', 'args' => ['bad']); nil }
  op('working_on', dead.to_s) { dead.working_on(dead.reserve); nil }
  silent = Recorder.make_worker('mail')
  silent.hostname = 'other.example'
  silent.to_s = 'other.example:7:mail'
  op('register_worker (never sent a heartbeat)', silent.to_s) { silent.register_worker; nil }
  w = Recorder.make_worker('mail')
  op('prune_dead_workers', w.to_s) { w.prune_dead_workers; nil }
  op('prune_dead_workers again (lock held)', w.to_s) { w.prune_dead_workers; nil }
end

Recorder::Group.record('recurring schedules') do
  op('set_schedule', 'clear', { 'cron' => '0 0 * * *', 'class' => 'SendMail', 'args' => 'weekly', 'queue' => 'low', 'persist' => true }) { Resque.set_schedule('clear', { 'cron' => '0 0 * * *', 'class' => 'SendMail', 'args' => 'weekly', 'queue' => 'low', 'persist' => true }); nil }
  op('set_schedule', 'poll', { every: ['1h', { first_in: '5m' }], class: 'SendMail', args: [1, 2], persist: true }) { Resque.set_schedule('poll', { every: ['1h', { first_in: '5m' }], class: 'SendMail', args: [1, 2], persist: true }); nil }
  op('set_schedule', 'mem', { 'every' => '30s', 'class' => 'SendMail' }) { Resque.set_schedule('mem', { 'every' => '30s', 'class' => 'SendMail' }); nil }
  op('schedule') { Resque.schedule }
  [['string', 'weekly'], ['array', [1, 2]], ['hash', { 'a' => 1 }], ['nil', nil], ['nested', [[1], { 'x' => 2 }]]].each do |n, a|
    op("enqueue_from_config #{n}", { 'class' => 'SendMail', 'args' => a, 'queue' => 'low' }) { Resque::Scheduler.enqueue_from_config({ 'class' => 'SendMail', 'args' => a, 'queue' => 'low' }); nil }
  end
  op('enqueue_from_config without queue', { 'class' => 'SendMail', 'args' => 1 }) { Resque::Scheduler.enqueue_from_config({ 'class' => 'SendMail', 'args' => 1 }); nil }
  op('enqueue_from_config unknown class', { 'class' => 'GoOnly', 'args' => 1, 'queue' => 'go' }) { Resque::Scheduler.enqueue_from_config({ 'class' => 'GoOnly', 'args' => 1, 'queue' => 'go' }); nil }
  op('enqueue_from_config custom_job_class', { 'class' => 'GoOnly', 'custom_job_class' => 'Status::Job', 'args' => [1], 'queue' => 'go' }) { Resque::Scheduler.enqueue_from_config({ 'class' => 'GoOnly', 'custom_job_class' => 'Status::Job', 'args' => [1], 'queue' => 'go' }); nil }
  op('last_enqueued_at', 'clear') { Resque.last_enqueued_at('clear', Time.now.to_s); nil }
  op('remove_schedule', 'clear') { Resque.remove_schedule('clear'); nil }
  op('master?') { Resque::Scheduler.master? }
  op('release_master_lock') { Resque::Scheduler.release_master_lock; nil }
end
schedules, calls = Recorder::GROUPS.partition { |g| g['name'] == 'recurring schedules' }
[calls, schedules].zip(ARGV) do |groups, path|
  Recorder.write(path, { 'recorded with' => Recorder.versions, 'classes' => CLASSES }, { 'groups' => groups })
end

# frozen_string_literal: true

# A scheduler whose recurring jobs fire when a step says so: without threads, at
# the frozen clock's time.

require_relative 'calls'

module Rufus
  # A scheduler without a thread: whoever holds it lets it look at its jobs.
  class Scheduler
    def start
      @started_at = EoTime.now
      @thread = Thread.current
    end

    def look
      unschedule_jobs
      trigger_jobs
      unschedule_jobs
    end

    # Jobs are done at once.
    class Job
      def trigger_queue(time)
        trigger_now(time)
      end
    end
  end
end

module Recorder
  # The names of the recurring jobs that fired.
  FIRED = [] # rubocop:disable Style/MutableConstant

  # Notes what fires.
  module Noting
    private

    def enqueue_recurring(name, config)
      FIRED << name if am_master
      super
    end
  end
  Resque::Scheduler.singleton_class.prepend(Noting)

  # The scheduler of a group, and turns of its loop.
  module Scheduling
    class << self
      # A process that has just begun. Its zone stands in ENV, where all of Ruby
      # looks for it.
      def begin(dynamic: false, env: nil, tz: 'UTC', lock_prefix: nil)
        ENV['TZ'] = tz
        ENV['RESQUE_SCHEDULER_MASTER_LOCK_PREFIX'] = lock_prefix
        %i[@schedule @non_persistent_schedules].each { |v| Resque.instance_variable_set(v, nil) }
        %i[@master_lock @am_master @env].each { |v| scheduler.instance_variable_set(v, nil) }
        scheduler.clear_schedule!
        scheduler.dynamic = dynamic
        scheduler.env = env
        @was_master = nil
      end

      # One turn of Ruby's loop, with the firings of its other thread in it.
      def pass
        FIRED.clear
        master = scheduler.master?
        scheduler.instance_variable_set(:@am_master, master)
        scheduler.reload_schedule! if master != @was_master
        scheduler.handle_delayed_items if master
        scheduler.rufus_scheduler.look
        scheduler.update_schedule if master && scheduler.dynamic
        @was_master = master
        { 'master' => master, 'fired' => FIRED.sort }.merge(master ? { 'next' => planned } : {})
      end

      def stop
        scheduler.release_master_lock
        scheduler.clear_schedule!
        @was_master = nil
      end

      private

      def scheduler
        Resque::Scheduler
      end

      # When the jobs fire next, in milliseconds.
      def planned
        scheduler.scheduled_jobs.select { |_, job| job.next_time }.sort_by(&:first).to_h { |name, job| [name, (job.next_time.to_f * 1000).round] }
      end
    end
  end

  # What groups of schedules have besides: a scheduler, and calls in its words.
  class Schedules < Group
    def self.record(name, **settings, &block)
      Scheduling.begin(**settings)
      super(name, &block)
      GROUPS.last['scheduler'] = settings unless settings.empty?
    end

    def set(name, config)
      op('set_schedule', name, config) { Resque.set_schedule(name, copy(config)); nil }
    end

    def remove(name)
      op('remove_schedule', name) { Resque.remove_schedule(name); nil }
    end

    def replace(all)
      op('schedule=', all) { Resque.schedule = copy(all); nil }
    end

    def shown
      op('reload_schedule!') { Resque.reload_schedule!.sort.to_h }
    end

    def enqueue(config, *words)
      op(['enqueue_from_config', *words].join(' '), config) { Resque::Scheduler.enqueue_from_config(copy(config)); nil }
    end

    # The clock moves, and the loop turns once.
    def pass(seconds = 0)
      Clock.advance(seconds)
      op('pass') { Scheduling.pass }
    end

    def stop
      op('stop') { Scheduling.stop }
    end

    # What another process, or a hand, did to Redis.
    def redis(command, key, *arguments)
      op('redis', command, key, *arguments) { RAW.call(command, "resque:#{key}", *arguments); nil }
    end

    private

    # The gem keeps the objects that it is given, and changes them.
    def copy(value)
      Marshal.load(Marshal.dump(value))
    end

    def lock
      key = RAW.keys("*#{LOCK_NAME}").first or return {}
      fields = { 'value' => RAW.get(key).sub(/\d+\z/, '<pid>'), 'ttl' => RAW.ttl(key) }
      fields['key'] = key unless key == MASTER_LOCK
      { 'lock' => fields }
    end
  end
end

# frozen_string_literal: true

# Runs scenarios, and notes after each step what changed in Redis.

require_relative 'job_class'

module Recorder
  # One scenario.
  class Scenario
    def self.record_all(path, scenarios)
      recorded = scenarios.map { |s| new(s).record }
      Recorder.write(path, { 'recorded with' => Recorder.versions, 'exceptions' => Recorder.ancestry }, { 'scenarios' => recorded })
    end

    def initialize(scenario)
      @scenario = scenario
      @head = scenario.reject { |key, _| key == 'steps' }
    end

    def record
      RAW.flushdb
      Clock.reset
      Recorder.use_backend(@scenario['failure_backend'])
      refused = define_jobs
      return @head.merge('definition_error' => refused) if refused

      @worker = Recorder.make_worker(*@scenario['queues'])
      @worker.register_worker
      @before = Recorder.dump
      @head.merge('start' => Clock.now, 'redis' => @before, 'steps' => @scenario['steps'].map { |s| step(s) })
    end

    private

    # Answers why a class was refused.
    def define_jobs
      @scenario['jobs'].each { |j| JobClass.build(j) }
      nil
    rescue StandardError => e
      described(e)
    end

    def described(error)
      { 'class' => error.class.name, 'message' => error.message }
    end

    def step(step)
      TRACE.clear
      JobClass.during = nil
      error = attempt(step)
      recorded = step.merge('now' => Clock.now, 'trace' => TRACE.map(&:dup))
      recorded['error'] = error if error
      recorded['during'] = JobClass.during if JobClass.during
      recorded.merge(changes)
    end

    def changes
      now = Recorder.dump
      gone = @before.keys - now.keys
      changed = { 'redis' => now.reject { |key, entry| @before[key] == entry } }
      changed['gone'] = gone unless gone.empty?
      @before = now
      changed
    end

    def attempt(step)
      carry_out(step)
      nil
    rescue StandardError => e
      described(e)
    end

    def carry_out(step)
      case step['do']
      when 'enqueue' then Resque.enqueue(JobClass.const(step['class']), *step['args'])
      when 'push_raw' then push_raw(step)
      when 'work' then work(step)
      when 'tick' then tick(step)
      when 'advance' then Clock.advance(step['seconds'])
      when 'dirty_exit' then dirty_exit
      else abort "record: no step #{step['do'].inspect}"
      end
    end

    def push_raw(step)
      RAW.sadd('resque:queues', step['queue'])
      RAW.rpush("resque:queue:#{step['queue']}", step['payload'])
    end

    def work(step)
      JobClass.outcome = step['outcome']
      @worker.work_one_job
    end

    def tick(step)
      Clock.advance(step['advance'] || 0)
      Resque::Scheduler.handle_delayed_items
    end

    # A process died with a job in hand, and another one buries it.
    def dirty_exit
      job = @worker.reserve or return
      @worker.working_on(job)
      @worker.unregister_worker
      @worker.register_worker
    end
  end
end

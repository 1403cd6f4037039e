# frozen_string_literal: true

# The payloads that Active Job puts into Resque, and what its own retries do.

require_relative '../recorder/calls'
require 'active_job'
require 'bigdecimal'
require 'securerandom'

# Newer adapters have a parent that older versions of Active Job don't know.
ActiveJob::QueueAdapters::AbstractAdapter = Class.new unless ActiveJob::QueueAdapters.const_defined?(:AbstractAdapter)
require 'active_job/queue_adapters/resque_adapter'
ActiveJob::Base.logger = nil
ActiveJob::Base.queue_adapter = ActiveJob::QueueAdapters::ResqueAdapter.new

# Job ids count up.
module SecureRandom
  class << self
    undef uuid

    def uuid
      format('00000000-0000-4000-8000-%012d', @number = (@number || 0) + 1)
    end
  end
end

class Declined < StandardError; end
class Gone < StandardError; end

# The error of the next run, with its message.
OUTCOME = {} # rubocop:disable Style/MutableConstant

class ChargeJob < ActiveJob::Base
  queue_as :billing
  retry_on Declined, wait: 30, attempts: 3
  discard_on Gone

  def perform(*_args, **_options)
    raise Object.const_get(OUTCOME['raise']), OUTCOME['message']
  end
end

class PlainJob < ActiveJob::Base
  def perform(*)
    raise ArgumentError, 'plain'
  end
end

module Work
  def work(outcome)
    OUTCOME.replace(outcome)
    Recorder.worker.work_one_job
  end

  def tick(seconds)
    Recorder::Clock.advance(seconds)
    Resque::Scheduler.handle_delayed_items
  end
end

def group(name, &block)
  Recorder::Group.record(name, results: false) do
    extend Work
    Recorder.make_worker('billing', 'default').register_worker
    instance_exec(&block)
  end
end

group('enqueue') do
  op('perform_later', 'ChargeJob', [1, 'two', 3.5, nil, true]) { ChargeJob.perform_later(1, 'two', 3.5, nil, true) }
  op('perform_later symbols, hashes, times') { ChargeJob.perform_later(:sym, { 'a' => 1, b: [2] }, Time.utc(2026, 5, 4, 3, 2, 1), Date.new(2026, 5, 4), BigDecimal('1.25'), amount: 5, tags: %w[x y]) }
  op('set wait', 60) { ChargeJob.set(wait: 60).perform_later(1) }
  op('set queue and priority') { ChargeJob.set(queue: :vip, priority: 5).perform_later(1) }
  op('plain') { PlainJob.perform_later('x') }
end
group('retry_on, three attempts') do
  op('perform_later') { ChargeJob.perform_later(7) }
  3.times do
    op('work, Declined') { work({ 'raise' => 'Declined', 'message' => 'card declined' }) }
    op('tick', 31) { tick(31) }
  end
end
group('discard_on') do
  op('perform_later') { ChargeJob.perform_later(7) }
  op('work, Gone') { work({ 'raise' => 'Gone', 'message' => 'no such order' }) }
end
group('no handler: recorded as failed') do
  op('perform_later') { PlainJob.perform_later(7) }
  op('work, ArgumentError') { work({ 'raise' => 'ArgumentError', 'message' => 'plain' }) }
end
versions = Recorder.versions.merge('activejob' => ActiveJob.version.to_s)
Recorder.write(ARGV[0], { 'recorded with' => versions }, { 'groups' => Recorder::GROUPS })

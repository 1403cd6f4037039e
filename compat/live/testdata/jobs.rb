# frozen_string_literal: true

# The classes that Ruby performs, in the tests that say whether they fail.

# What the jobs do that are performed here: fail, or note their attempt.
module Outcome
  class << self
    attr_accessor :fails
    attr_reader :attempts
  end
  @attempts = []

  def perform(*_args)
    Outcome.attempts << (respond_to?(:retry_attempt) ? retry_attempt : nil)
    raise ArgumentError, 'not in Ruby' if Outcome.fails
  end
end

# Tried again at once.
class Again
  extend Outcome
  extend Resque::Plugins::Retry
  @queue = 'jobs'
  @retry_limit = 5
end

# Tried again after a minute.
class Later
  extend Outcome
  extend Resque::Plugins::Retry
  @queue = 'jobs'
  @retry_limit = 5
  @retry_delay = 60
end

# Not tried again.
class Once
  extend Outcome
  @queue = 'jobs'
end

# A worker that performs in this process.
def worker(*queues)
  Resque::Worker.new(*queues).tap { |w| w.fork_per_job = false }
end

# What the scheduler does once so many seconds have passed.
def deliver(seconds)
  raise 'somebody else holds the master lock' unless Resque::Scheduler.master?

  Resque::Scheduler.instance_variable_set(:@am_master, true)
  Resque::Scheduler.handle_delayed_items(Time.now + seconds)
  Resque::Scheduler.release_master_lock
end

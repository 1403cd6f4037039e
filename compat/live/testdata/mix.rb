# frozen_string_literal: true

# Jobs that fail so often and then succeed, whoever performs them.

# A run: noted, and failed where its attempt is below the number.
module Flaky
  GATE_SECONDS = 150

  def perform(id, fails)
    Flaky.gate
    Resque.redis.rpush('runs', "#{name} #{id} #{retry_attempt}")
    raise ArgumentError, 'not yet' if retry_attempt < fails
  end

  # Nobody goes on before everybody has a job.
  def self.gate
    return if @passed

    Resque.redis.rpush('gate', "ruby #{Process.pid}")
    deadline = Time.now + GATE_SECONDS
    until Resque.redis.llen('gate') >= 3
      raise 'not everybody has come' if Time.now > deadline

      sleep 0.005
    end
    @passed = true
  end
end

# Tried again at once.
class FlakyAgain
  extend Flaky
  extend Resque::Plugins::Retry
  @queue = 'high'
  @retry_limit = 3
end

# Tried again after a second.
class FlakyLater
  extend Flaky
  extend Resque::Plugins::Retry
  @queue = 'low'
  @retry_limit = 3
  @retry_delay = 1
end

# frozen_string_literal: true

# A worker with a name of its own, and the failure backends.

require_relative 'redis'
require 'resque/failure/redis'
require 'resque/failure/redis_multi_queue'

module Recorder
  class << self
    attr_reader :worker
  end

  module_function

  def make_worker(*queues)
    @worker = Resque::Worker.new(*queues).tap do |w|
      w.fork_per_job = false
      w.hostname = 'ruby.example'
      w.pid = 4242
      w.to_s = "ruby.example:4242:#{queues.join(',')}"
    end
  end

  BACKENDS = {
    'redis' => Resque::Failure::Redis,
    'redis_multi_queue' => Resque::Failure::RedisMultiQueue,
    'multiple_with_retry_suppression' => Resque::Failure::MultipleWithRetrySuppression,
    'suppression_over_multi_queue' => Resque::Failure::MultipleWithRetrySuppression,
  }.freeze

  def use_backend(name)
    inner = name == 'suppression_over_multi_queue' ? Resque::Failure::RedisMultiQueue : Resque::Failure::Redis
    Resque::Failure::MultipleWithRetrySuppression.classes = [inner]
    Resque::Failure.backend = BACKENDS.fetch(name)
  end
end

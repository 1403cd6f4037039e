# frozen_string_literal: true

# What every kind needs that records Resque: the gems, and how they encode.

require_relative 'file'
require 'multi_json'
require 'resque'
require 'resque-scheduler'
require 'resque-retry'

# The form in which Ruby encodes depends on the gem that does it.
MultiJson.use(:json_gem)
Resque.logger.level = Logger::FATAL
Resque::Scheduler.quiet = true

module Recorder
  module_function

  # What the recordings depend on.
  def versions
    { 'ruby' => RUBY_VERSION, 'resque' => Resque::VERSION, 'resque-scheduler' => Resque::Scheduler::VERSION,
      'resque-retry' => ResqueRetry::VERSION, 'json adapter' => 'json_gem', 'json' => JSON::VERSION,
      'multi_json' => MultiJson::VERSION, 'redis-rb' => ::Redis::VERSION }
  end
end

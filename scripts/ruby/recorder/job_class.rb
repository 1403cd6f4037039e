# frozen_string_literal: true

# Job classes made from data. README.md of testdata/ruby says what the fields
# mean.

require_relative 'clock'
require_relative 'errors'
require_relative 'worker'

module Recorder
  # One job class of a scenario.
  class JobClass
    VARIABLES = %w[retry_limit retry_delay sleep_after_requeue backoff_strategy retry_delay_multiplicand_min
                   retry_delay_multiplicand_max expire_retry_key_after].freeze

    class << self
      # What the next run does: "ok", or the error that it raises.
      attr_accessor :outcome
      # The worker's hand during the last run.
      attr_accessor :during

      def build(spec)
        new(spec).build
      end

      def const(name)
        name.split('::').inject(Object) { |m, n| m.const_get(n, false) }
      end

      def perform(attempt, args)
        TRACE << ['perform', attempt, args]
        self.during = RAW.get("resque:worker:#{Recorder.worker}")
        raise const(outcome['raise']), outcome['message'] if outcome.is_a?(Hash)
      end
    end

    def initialize(spec)
      @spec = spec
      @class = Class.new
    end

    def build
      define(@spec['class'])
      set('queue', @spec['queue'].to_sym) if @spec['queue']
      method(:perform) { |*args| JobClass.perform(respond_to?(:retry_attempt) ? retry_attempt : nil, args) }
      retries unless [nil, 'none'].include?(@spec['plugin'])
      @class
    end

    private

    def define(name)
      *modules, last = name.split('::')
      parent = modules.inject(Object) do |m, n|
        m.const_defined?(n, false) ? m.const_get(n, false) : m.const_set(n, Module.new)
      end
      parent.send(:remove_const, last) if parent.const_defined?(last, false)
      parent.const_set(last, @class)
    end

    def set(name, value)
      @class.instance_variable_set("@#{name}", value)
    end

    def method(name, &block)
      @class.define_singleton_method(name, &block)
    end

    def retries
      VARIABLES.each { |name| set(name, @spec[name]) if @spec.key?(name) }
      errors
      set('retry_job_delegate', JobClass.build(@spec['retry_job_delegate'])) if @spec['retry_job_delegate']
      @class.extend(@spec['plugin'] == 'exponential_backoff' ? Resque::Plugins::ExponentialBackoff : Resque::Plugins::Retry)
      keys
      arguments
      delays
      callbacks
    end

    def errors
      if (listed = @spec['retry_exceptions'])
        with_delays = listed.first.is_a?(Array)
        set('retry_exceptions', with_delays ? listed.to_h { |n, d| [JobClass.const(n), d] } : listed.map { |n| JobClass.const(n) })
      end
      %w[fatal_exceptions ignore_exceptions].each do |name|
        set(name, @spec[name].map { |n| JobClass.const(n) }) if @spec.key?(name)
      end
    end

    def keys
      queue, identifier, key = @spec.values_at('retry_queue', 'retry_identifier', 'redis_retry_key')
      method(:retry_queue) { |_error, *_args| queue } if queue
      method(:redis_retry_key) { |*_args| key } if key
      return unless identifier

      method(:retry_identifier) do |*args|
        identifier.fetch('fixed') { identifier['fields'].map { |i| args[i] }.join(identifier['join']) }
      end
    end

    def arguments
      change = @spec['retry_args'] or return
      if change.key?('replace')
        method(:retry_args) { |*_args| change['replace'] }
      elsif change.key?('increment')
        method(:retry_args) { |*args| args.dup.tap { |a| a[change['increment']] += 1 } }
      elsif change['append_exception']
        method(:retry_args_for_exception) { |e, *args| args + ["#{e.class}: #{e.message}"] }
      end
    end

    def delays
      if (by_error = @spec['retry_delay_by_exception'])
        method(:retry_delay) { |error = nil| by_error.fetch(error.to_s, by_error['*']) }
      end
      return unless (index = @spec['retry_delay_from_arg'])

      method(:retry_delay) { |_error, *args| args[index].to_i }
    end

    def callbacks
      (@spec['criteria_checks'] || []).each_with_index do |check, n|
        @class.retry_criteria_check do |e, *_args|
          TRACE << ['criteria_check', n]
          e.message.include?(check['message_includes']) ? check['returns'] : false
        end
      end
      { 'try_again' => :try_again_callback, 'give_up' => :give_up_callback }.each do |name, register|
        (@spec["#{name}_callbacks"] || 0).times do |n|
          @class.public_send(register) { |e, *args| TRACE << [name, n, e.class.name, args] }
        end
      end
    end
  end
end

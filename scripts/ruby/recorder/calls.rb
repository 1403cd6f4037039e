# frozen_string_literal: true

# Makes calls in groups, and notes after each what it answered and changed.

require_relative 'clock'
require_relative 'worker'

module Recorder
  # The groups that were recorded.
  GROUPS = [] # rubocop:disable Style/MutableConstant

  # A group of calls that begins with an empty Redis.
  class Group
    def self.record(name, backend: 'redis', results: true, &block)
      group = new(results)
      RAW.flushdb
      Clock.reset
      Recorder.use_backend(backend)
      group.instance_exec(&block)
      GROUPS << { 'name' => name, 'failure_backend' => backend, 'start' => Clock::START, 'steps' => group.steps }
    end

    attr_reader :steps

    def initialize(results)
      @results = results
      @steps = []
      @before = {}
    end

    # A call: Ruby's method and its parameters, then the call itself.
    def op(name, *params, &call)
      answer, error = answer_of(call)
      step = { 'op' => name, 'params' => params, 'now' => Clock.now }
      step['result'] = error || answer if @results
      step['error'] = error if error && !@results
      @steps << step.merge(changes)
    end

    private

    def answer_of(call)
      [plain(call.call), nil]
    rescue StandardError => e
      [nil, { (@results ? 'error' : 'class') => e.class.name, 'message' => e.message }]
    end

    def plain(value)
      case value
      when Hash then value.to_h { |k, v| [k.to_s, k.to_s == 'backtrace' ? [] : plain(v)] }
      when Array then value.map { |v| plain(v) }
      when String, Numeric, true, false, nil then value
      when Time then value.to_i
      else value.to_s
      end
    end

    def changes
      now = steady(Recorder.dump)
      gone = @before.keys - now.keys
      changed = { 'redis' => now.reject { |key, entry| @before[key] == entry } }
      changed['gone'] = gone unless gone.empty?
      @before = now
      changed.merge(lock)
    end

    # Heartbeats by the server's clock differ from one recording to the next.
    def steady(state)
      state['resque:workers:heartbeat']&.fetch('value')&.transform_values! { |v| v.start_with?('2026-01-02') ? v : '<server time>' }
      state
    end

    def lock
      value = @results && RAW.get(MASTER_LOCK) or return {}
      { 'lock' => { 'value' => value.sub(/\d+\z/, '<pid>'), 'ttl' => RAW.ttl(MASTER_LOCK) } }
    end
  end
end

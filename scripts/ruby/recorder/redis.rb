# frozen_string_literal: true

# The database that is recorded, and what it holds.

require_relative 'setup'

Redis.silence_deprecations = true if Redis.respond_to?(:silence_deprecations=)
Redis.sadd_returns_boolean = false if Redis.respond_to?(:sadd_returns_boolean=)

module Recorder
  RAW = ::Redis.new(url: ENV.fetch('RECORDER_REDIS'))
  Resque.redis = ::Redis.new(url: ENV.fetch('RECORDER_REDIS'))

  LOCK_NAME = 'resque_scheduler_master_lock'
  MASTER_LOCK = "resque:resque:#{LOCK_NAME}".freeze
  BACKTRACE = /"backtrace":(?:null|\[(?:"(?:[^"\\]|\\.)*",?)*\])/.freeze

  module_function

  # Whoever gives a URL may have given the wrong one.
  def claim_database
    abort 'record: the database of --redis isn\'t empty, and would be emptied: give another one, such as redis://localhost:6379/9' unless RAW.dbsize.zero?
    at_exit { RAW.flushdb }
  rescue ::Redis::BaseError => e
    abort "record: no Redis at --redis #{ENV['RECORDER_REDIS']}: #{e.message}"
  end

  # Backtraces are those of the machine that records.
  def without_backtrace(text)
    text.gsub(BACKTRACE, '"backtrace":[]')
  end

  # Every key with its type, value, and time to live in seconds where it has one.
  def dump
    RAW.keys('*').sort.reject { |key| key.end_with?(LOCK_NAME) }.to_h do |key|
      type = RAW.type(key)
      entry = { 'type' => type, 'value' => value(key, type) }
      ttl = RAW.ttl(key)
      entry['ttl'] = ttl if ttl >= 0
      [key, entry]
    end
  end

  def value(key, type)
    case type
    when 'string' then without_backtrace(RAW.get(key))
    when 'list' then RAW.lrange(key, 0, -1).map { |x| without_backtrace(x) }
    when 'set' then RAW.smembers(key).sort
    when 'zset' then RAW.zrange(key, 0, -1, with_scores: true).map { |member, score| [member, score.to_i] }
    when 'hash' then RAW.hgetall(key).sort.to_h
    else raise "#{key} is a #{type}"
    end
  end
end

Recorder.claim_database

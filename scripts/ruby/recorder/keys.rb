# frozen_string_literal: true

# Lists of arguments, and the retry keys that Ruby makes of them.

require_relative 'arguments'
require_relative 'setup'

class KeyJob
  extend Resque::Plugins::Retry
  @queue = :q
end

module Billing
  class Send
    extend Resque::Plugins::Retry
    @queue = :q
  end
end

module Recorder
  module_function

  def record_keys(path, inspect)
    rows = (Arguments::TROUBLESOME + Arguments.drawn).map { |args| key_row(args) }
    write(path, { 'recorded with' => versions, 'inspect' => inspect }, { 'rows' => rows })
  end

  def key_row(args)
    json = MultiJson.dump(args)
    args = MultiJson.load(json)
    { 'args_json' => json, 'joined' => args.join('-'), 'identifier' => KeyJob.retry_identifier(*args),
      'key' => KeyJob.redis_retry_key(*args), 'namespaced_key' => Billing::Send.redis_retry_key(*args) }
  end
end

# frozen_string_literal: true

# Ruby's side of a test. Each line of the standard input is Ruby code, as a JSON
# text; the answer to it is a line with its value, or its error, as JSON. It ends
# with its input, whatever it is doing.
#
# Arguments: the URL of Redis, the namespace, then files to load.

require 'json'
require 'resque'
require 'resque-scheduler'
require 'resque-retry'
require 'resque/failure/redis'
require 'resque/failure/redis_multi_queue'

# Settings of whoever runs the tests. Workers say what they do: it is shown when a
# test fails.
%w[QUEUE QUEUES FAILURE_BACKEND INTERVAL LOGGING VVERBOSE].each { |name| ENV.delete(name) }
ENV['VERBOSE'] = '1'

# What gems print must not stand among the answers.
ANSWERS = $stdout.dup
$stdout.reopen($stderr)
ANSWERS.sync = true

LINES = Queue.new
Thread.new do
  while (line = $stdin.gets)
    LINES << line
  end
  exit!
end

adapter = ENV.fetch('LIVE_JSON', 'json_gem')
MultiJson.use(adapter.to_sym)
Redis.silence_deprecations = true if Redis.respond_to?(:silence_deprecations=)
Redis.sadd_returns_boolean = false if Redis.respond_to?(:sadd_returns_boolean=)
Resque.redis = Redis::Namespace.new(ARGV[1], redis: Redis.new(url: ARGV[0]))
Resque::Scheduler.quiet = true
Resque::Failure::MultipleWithRetrySuppression.classes = [Resque::Failure::Redis]
Resque::Failure.backend = Resque::Failure::MultipleWithRetrySuppression
ARGV.drop(2).each { |file| load file }

def plain(value)
  case value
  when Hash then value.to_h { |k, v| [k.to_s.scrub, plain(v)] }
  when Array then value.map { |v| plain(v) }
  when String then value.dup.force_encoding('UTF-8').scrub
  when Numeric, true, false, nil then value
  else value.to_s.scrub
  end
end

def answer_to(code)
  { 'value' => plain(TOPLEVEL_BINDING.eval(code)) }
rescue SystemExit
  raise
rescue Exception => e # rubocop:disable Lint/RescueException
  { 'error' => "#{e.class}: #{e.message}".scrub, 'backtrace' => (e.backtrace || []).first(12).map(&:scrub) }
end

loop { ANSWERS.puts JSON.generate(answer_to(JSON.parse(LINES.pop))) }

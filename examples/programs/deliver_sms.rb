#!/usr/bin/env ruby
# Performs DeliverSMS(id, number, text).
require "json"

class NetworkError < StandardError; end
class BadRecipient < StandardError; end

def perform(id, number, text)
  raise BadRecipient, "#{number} is no number" unless number.match?(/\A\+\d+\z/)
  raise NetworkError, "the gateway is busy" if text.include?("busy") && ENV["RESQUE_ATTEMPT"] == "0"

  puts "message #{id} to #{number}: #{text}"
end

begin
  perform(*JSON.parse($stdin.read)["args"])
rescue StandardError => e
  # The last line says what went wrong, in a form that retry_exceptions and
  # fatal_exceptions understand.
  ancestors = e.class.ancestors.grep(Class).drop(1).map(&:name)
  warn JSON.generate(exception: e.class.name, ancestors: ancestors.take_while { |a| a != "Exception" },
                     error: e.message, backtrace: e.backtrace)
  exit 1
end

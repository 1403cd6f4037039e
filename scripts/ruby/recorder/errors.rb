# frozen_string_literal: true

# The errors of the scenarios, with their ancestors.

require_relative 'setup'

class NetworkError < StandardError; end
class ConnectionRefused < NetworkError; end
class RateLimited < StandardError; end
class PermanentError < StandardError; end
class BadRecipient < PermanentError; end

module Recorder
  ERRORS = [NetworkError, ConnectionRefused, RateLimited, PermanentError, BadRecipient,
            ArgumentError, RuntimeError, Resque::TermException, Resque::DirtyExit].freeze

  module_function

  def ancestry
    ERRORS.to_h do |c|
      [c.name, c.ancestors.grep(Class).map(&:name).take_while { |n| n != 'Object' }]
    end
  end
end

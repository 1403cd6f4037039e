# frozen_string_literal: true

# Time stands still and moves only when a step says so; sleeps are noted.

module Recorder
  TRACE = [] # rubocop:disable Style/MutableConstant

  # The frozen clock.
  module Clock
    START = 1_767_323_045 # 2026-01-02 03:04:05 UTC

    class << self
      attr_reader :now

      def reset
        @now = START
      end

      def advance(seconds)
        @now += seconds
      end
    end
    reset
  end
end

class << Time
  def now(*)
    Time.at(Recorder::Clock.now)
  end
end

module Kernel
  def sleep(seconds = 0)
    Recorder::TRACE << ['sleep', seconds]
    seconds
  end
end

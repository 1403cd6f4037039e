# frozen_string_literal: true

module Recorder
  # Arguments drawn by chance. What is drawn, and in which order, decides what a
  # seed means: a change here changes all random recordings.
  class Chance
    FLOATS = [0.5, -2.25, 1.0e20, 1.0e-7, 12_345_678.9, 3.0, 1.0e16, 123_456_789_012_345_680.0].freeze
    TEXTS = ['', 'a', 'hello world', "tab\tnl\n", 'é漢字🙂', '<&>"\'\\', "\u0001\u001f\u007f", "\u2028", 'a-b', '#{x} #$y #@z', "\e[0m"].freeze # rubocop:disable Lint/InterpolationCheck
    WORDS = %w[user@example.org 2026-01-01T00:00:00Z +46701234567].freeze
    FIELDS = ['id', 'k é', 'a-b', '', 'q"t', "n\n"].freeze

    attr_reader :random

    def initialize(seed)
      @random = Random.new(seed)
    end

    def pick(list)
      list[@random.rand(list.size)]
    end

    def maybe(probability)
      @random.rand < probability
    end

    def sample(list, count)
      list.sample(count, random: @random)
    end

    # How many, then that many.
    def several(counts, &block)
      Array.new(@random.rand(counts), &block)
    end

    def arg(depth = 0)
      case @random.rand(depth > 2 ? 9 : 12)
      when 0 then nil
      when 1 then true
      when 2 then false
      when 3 then @random.rand(-1000..100_000)
      when 4 then pick(FLOATS)
      when 5, 6 then pick(TEXTS)
      when 7 then 2**@random.rand(40..90)
      when 8 then pick(WORDS)
      when 9 then several(0..3) { arg(depth + 1) }
      else several(0..3) { |i| [pick(FIELDS) + i.to_s, arg(depth + 1)] }.to_h
      end
    end

    def args(counts = 0..4)
      several(counts) { arg }
    end
  end
end

# frozen_string_literal: true

require_relative 'chance'

module Recorder
  # Lists of arguments: those that make trouble, then some drawn by chance.
  module Arguments
    TROUBLESOME = [
      [], [nil], [''], [' '], [[]], [{}], [nil, nil], [true, false, nil], [0], [-0.0], [1.0], [1.5], [100.0], [1e15], [1e16],
      [123456789012345.6], [1e-4], [1e-5], [1.0e+100], [0.1 + 0.2],
      [2**64], [-(2**70)], ['a-b', 'c'], ['a', 'b-c'], [[1, [2, [3, nil]]], 4], [{ 'a' => 1 }], [{ 'a' => { 'b' => [1, nil, true, 'x'] } }],
      [{ 'é' => 'ü', "q\"" => "b\\s", "n\n" => "t\t" }],
      ["\u0000"], ["\u0007\b\v\f\e"], [{ 'c' => "\u0000\u0007\b\v\f\e\u007f" }], [{ 'i' => '#{x} #$y #@z # #a' }],
      [{ 'u' => "\u2028\u200b\u00a0\ufeff🙂" }], ["sp ace\ttab\nnl\rcr\ffeed\vvt"], ["\u00a0\u2003"], [{ '' => '' }],
      [[{}], [[]], { 'x' => [] }], ['漢字', 'é'], [{ 'f' => [1.0, 1e20, 1e-7, 2**65] }], ["e\u0301"], %w[null true 1], [1, '1'],
      [[1, 2], 3], [1, [2, 3]],
    ].freeze

    module_function

    def drawn
      chance = Chance.new(Integer(ENV['RECORDER_SEED'] || 11))
      Array.new(160) { chance.args(0..5) }
    end
  end
end

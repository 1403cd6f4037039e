# frozen_string_literal: true

# When fugit, which rufus-scheduler uses, fires for cron lines, and how long its
# durations are.

require_relative '../recorder/file'
require 'fugit'

CRONS = [
  '*/5 * * * *', '0 0 * * *', '30 6 * * 1', '30 6 * * 1 Europe/Stockholm', '0 9 * * mon-fri America/New_York', '15 10 * * 7',
  '15 10 * * 0', '0 0 1 * *', '0 0 31 * *', '0 0 29 2 *', '0 0 13 * 5', '*/10 * * * * *', '30 5 6 * * *', '5,35 8-18/2 * * *',
  '0 0 1 jan,jul *', '@hourly', '@daily', '@weekly', '@monthly', '@yearly', '0 2 * * * Europe/Paris', '30 2 * * * America/New_York',
  '30 1 * * * America/New_York', '0 12 * * sun#2', '0 12 L * *', '0 12 * * fri#L', '5/* * * *', '60 * * * *', '* * * *', 'nonsense',
  '0 0 * * 1%2', '0 22-2 * * *', '*/7 * * * *', '0 0 1,15 * 3', '0 24 * * *', '1-59/20 * * * *', '0 0 * * * Asia/Kathmandu',
  '0 3 * * * Australia/Lord_Howe',
].freeze
FROM = [Time.utc(2026, 1, 2, 3, 4, 5), Time.utc(2026, 3, 7, 23, 59, 59), Time.utc(2026, 10, 24, 12, 0, 0), Time.utc(2026, 10, 31, 12, 0, 0),
        Time.utc(2028, 2, 28, 23, 0, 0)].freeze
DURATIONS = ['30s', '1m', '1h', '1d', '1w', '1y', '1M', '1h30m', '5m 30s', '1.5h', '90', '0', '-5m', '1d12h', '10', '1Y2M', 'PT1H', 'P1DT2H',
             '15mins', '1 hour', 'every 5m', '', 'x', '2w3d', '1h 1h', '3.5s', '1w2d3h4m5s'].freeze

def next_times(cron, from, count = 4)
  Array.new(count) { (from = Time.at(cron.next_time(from).to_i).utc).to_i }
end

def cron_row(line)
  cron = Fugit::Cron.parse(line) or return { 'cron' => line, 'valid' => false }
  { 'cron' => line, 'valid' => true, 'next' => FROM.map { |t| { 'from' => t.to_i, 'times' => next_times(cron, t) } } }
end

def seconds(duration)
  Fugit::Duration.parse(duration)&.to_sec
rescue StandardError
  nil
end

# With a seed, lines and durations drawn by chance come on top. What is known to
# differ (docs/differences.md) isn't among them: weeks (# and %), days and hours
# that lack their beginning, several zones around a change of clocks, 293 years.
class Drawn
  ZONES = ['', '', '', ' Europe/Berlin', ' America/New_York', ' Asia/Kathmandu', ' Australia/Sydney', ' UTC'].freeze
  WEEKDAYS = ['*', '*', '*', '0', '7', 'sun', 'mon-fri', '1,3', '5-1', '*/2'].freeze
  DAYS = ['*', '*', '*', 'L', '1', '31', '*/5', '1-7', '25,29', '-2'].freeze
  UNITS = %w[y M w d h m s].freeze
  # Far from any change of clocks.
  FROM = [Time.utc(2026, 1, 2, 3, 4, 5), Time.utc(2026, 7, 15, 12, 0, 0), Time.utc(2028, 2, 20, 23, 59, 59)].freeze

  def initialize(random)
    @random = random
  end

  def line
    fields = [field(0, 59), field(0, 23), pick(DAYS), @random.rand(4).zero? ? field(1, 12) : '*', pick(WEEKDAYS)]
    fields.unshift(field(0, 59)) if @random.rand(5).zero?
    fields.pop if @random.rand(40).zero?
    fields.join(' ') + pick(ZONES)
  end

  def row
    text = line
    cron = Fugit::Cron.parse(text) or return { 'cron' => text, 'valid' => false }
    { 'cron' => text, 'valid' => true, 'next' => FROM.map { |t| { 'from' => t.to_i, 'times' => next_times(cron, t, 2) } } }
  end

  def duration
    Array.new(1 + @random.rand(3)) { "#{pick(['', '', '', '-'])}#{@random.rand(90)}#{pick(['', '', '.5'])}#{pick(UNITS)}" }.join(pick(['', ' ', ', ']))
  end

  private

  def field(first, last)
    a, b = Array.new(2) { first + @random.rand(last - first + 1) }.minmax
    pick(['*', a.to_s, a.to_s, "#{a},#{b}", "#{a}-#{b}", "*/#{[a, 1].max}", "#{a}-#{b}/#{pick([1, 2, 3, 7])}", (last + 1).to_s])
  end

  def pick(list)
    list[@random.rand(list.size)]
  end
end

drawn = ENV['RECORDER_SEED'] && Drawn.new(Random.new(Integer(ENV['RECORDER_SEED'])))
crons = CRONS.map { |c| cron_row(c) } + (drawn ? Array.new(300) { drawn.row } : [])
durations = DURATIONS + (drawn ? Array.new(100) { drawn.duration } : [])

Recorder.write(ARGV[0], { 'recorded with' => { 'ruby' => RUBY_VERSION, 'fugit' => Fugit::VERSION } },
               { 'crons' => crons, 'durations' => durations.map { |d| { 'duration' => d, 'seconds' => seconds(d) } } })

# frozen_string_literal: true

# Scenarios drawn by chance: options, arguments, errors and the order of events.

require_relative '../recorder/chance'
require_relative '../recorder/scenario'

# Draws scenarios.
class RandomScenarios < Recorder::Chance
  ERRORS = %w[NetworkError ConnectionRefused RateLimited PermanentError BadRecipient ArgumentError RuntimeError Resque::TermException].freeze
  MESSAGES = ['boom', 'try again', 'twice as slow', '', "é ü 漢 <b>&amp;\"q\" \\ '", "line one\nline two\ttab", 'x' * 300].freeze
  CLASSES = %w[DeliverSMS Billing::Invoices::Send A::B WebHook].freeze
  BACKENDS = %w[redis multiple_with_retry_suppression multiple_with_retry_suppression multiple_with_retry_suppression redis_multi_queue
                suppression_over_multi_queue].freeze
  # One line of ancestry only: which of two unrelated ancestors is nearer can't be
  # said.
  LISTED = [%w[StandardError NetworkError], %w[NetworkError], %w[NetworkError PermanentError],
            %w[StandardError PermanentError BadRecipient], %w[ConnectionRefused RateLimited]].freeze

  def initialize(seed)
    super
    @seed = seed
  end

  def draw(number)
    jobs = sample(CLASSES, random.rand(1..2)).map { |c| job(c) }
    args = jobs.to_h { |j| [j['class'], Array.new(2) { args() }] }
    steps = []
    random.rand(4..14).times { steps << step(pick(jobs), args, steps.empty?) }
    { 'name' => "random #{@seed}/#{number}", 'failure_backend' => pick(BACKENDS),
      'queues' => %w[high mt_messages low emergency], 'jobs' => jobs, 'steps' => steps }
  end

  private

  def step(job, args, first)
    chance = random.rand(100)
    if first || chance < 18 then { 'do' => 'enqueue', 'class' => job['class'], 'args' => pick(args[job['class']]) }
    elsif chance < 72 then { 'do' => 'work', 'outcome' => maybe(0.8) ? failure : 'ok' }
    elsif chance < 96 then { 'do' => 'tick', 'advance' => pick([0, 1, 31, 61, 601, 3601]) }
    else { 'do' => 'dirty_exit' }
    end
  end

  # A signal's exception refuses any message that is no signal's name.
  def failure
    error = pick(ERRORS)
    { 'raise' => error, 'message' => error == 'Resque::TermException' ? 'SIGTERM' : pick(MESSAGES) }
  end

  def delays
    maybe(0.5) ? random.rand(0..90) : several(1..3) { random.rand(0..90) }
  end

  def job(name)
    job = { 'class' => name, 'queue' => pick(%w[mt_messages high low]), 'plugin' => maybe(0.3) ? 'exponential_backoff' : 'retry' }
    job['retry_limit'] = pick([-1, 0, 1, 2, 3, 5]) if maybe(0.6)
    draw_delay(job)
    job['sleep_after_requeue'] = random.rand(1..9) if maybe(0.15)
    draw_errors(job)
    job['expire_retry_key_after'] = pick([10, 3600]) if maybe(0.25)
    draw_callbacks(job)
    job['retry_queue'] = pick(%w[high low]) if maybe(0.15)
    draw_arguments(job)
    job
  end

  def draw_delay(job)
    if job['plugin'] == 'retry'
      job['retry_delay'] = pick([0, 1, 30, 60, 3600, -1]) if maybe(0.5)
      return
    end
    job['backoff_strategy'] = several(1..4) { pick([0, 5, 60, 600]) } if maybe(0.6)
    return unless maybe(0.4)

    job['retry_delay_multiplicand_min'] = job['retry_delay_multiplicand_max'] = pick([0.5, 1.5, 2.0, 0.33])
  end

  def draw_errors(job)
    case random.rand(6)
    when 0 then job['retry_exceptions'] = sample(ERRORS, random.rand(0..3))
    when 1
      names = pick(LISTED)
      job['retry_exceptions'] = names.map { |n| [n, delays] } if job['plugin'] == 'retry'
    when 2 then job['fatal_exceptions'] = sample(ERRORS, random.rand(0..3))
    end
    job['ignore_exceptions'] = sample(ERRORS, random.rand(1..2)) if maybe(0.2)
  end

  def draw_callbacks(job)
    # Delays by error remember the classes that a check let through, as long as
    # the process lives.
    by_error = job['retry_exceptions']&.first.is_a?(Array)
    if maybe(0.25) && !by_error
      job['criteria_checks'] = [{ 'message_includes' => 'again', 'returns' => true },
                                { 'message_includes' => 'twice', 'returns' => pick([true, false]) }]
    end
    job['try_again_callbacks'] = random.rand(1..2) if maybe(0.3)
    job['give_up_callbacks'] = random.rand(1..2) if maybe(0.3)
  end

  def draw_arguments(job)
    case random.rand(10)
    when 0 then job['retry_args'] = { 'replace' => args(0..3) }
    when 1 then job['retry_args'] = { 'append_exception' => true }
    end
    job['retry_identifier'] = pick([{ 'fields' => [0], 'join' => ':' }, { 'fixed' => "one key\t1" }]) if maybe(0.15)
    job['retry_job_delegate'] = { 'class' => 'Fallback', 'queue' => pick(%w[emergency low]), 'plugin' => 'none' } if maybe(0.1)
  end
end

chance = RandomScenarios.new(Integer(ENV['RECORDER_SEED'] || 101))
Recorder::Scenario.record_all(ARGV[0], Array.new(Integer(ENV.fetch('RECORDER_COUNT', '150'))) { |n| chance.draw(n) })

# frozen_string_literal: true

# One scenario for each documented behaviour of resque-retry and of a worker.

require_relative '../recorder/scenario'

SCENARIOS = [] # rubocop:disable Style/MutableConstant
C = 'DeliverSMS'
OK = { 'do' => 'work', 'outcome' => 'ok' }.freeze

# A job is enqueued.
def enqueue(name, *args)
  { 'do' => 'enqueue', 'class' => name, 'args' => args }
end

# It is performed, and fails.
def fails(error = 'RuntimeError', message = 'boom')
  { 'do' => 'work', 'outcome' => { 'raise' => error, 'message' => message } }
end

# Time passes, and the scheduler looks.
def tick(seconds)
  { 'do' => 'tick', 'advance' => seconds }
end

def scenario(name, job, steps, backend: 'multiple_with_retry_suppression', queues: nil)
  job = { 'class' => C, 'queue' => 'mt_messages', 'plugin' => 'retry' }.merge(job)
  SCENARIOS << { 'name' => name, 'failure_backend' => backend, 'queues' => queues || [job['queue']], 'jobs' => [job], 'steps' => steps }
end

scenario('no plugin: a failure is recorded at once', { 'plugin' => 'none' }, [enqueue(C, 7), fails])
scenario('no plugin, plain redis backend', { 'plugin' => 'none' }, [enqueue(C, 7), fails], backend: 'redis')
scenario('success leaves only counters', {}, [enqueue(C, 1, 'two'), OK])
scenario('defaults: one retry at once, then recorded', {}, [enqueue(C, 1), fails, fails])
scenario('defaults: retry then success clears the counter', {}, [enqueue(C, 1), fails, OK])
scenario('defaults with the plain redis backend: every failure is recorded', {}, [enqueue(C, 1), fails, fails], backend: 'redis')
scenario('no args: key without identifier', {}, [enqueue(C), fails, OK])
scenario('limit 3 delay 60', { 'retry_limit' => 3, 'retry_delay' => 60 }, [enqueue(C, 1), fails, tick(61), fails, tick(61), fails, tick(61), fails])
scenario('limit 0 never retries', { 'retry_limit' => 0 }, [enqueue(C, 1), fails])
scenario('limit -1 retries for ever', { 'retry_limit' => -1 }, [enqueue(C, 1)] + [fails] * 5)
scenario('delay: not due yet', { 'retry_delay' => 60 }, [enqueue(C, 1), fails, tick(59), OK, tick(1), OK])
scenario('failure detail expires at twice the delay', { 'retry_delay' => 7 }, [enqueue(C, 1), fails])
scenario('sleep after requeue', { 'sleep_after_requeue' => 5 }, [enqueue(C, 1), fails])
scenario('sleep after requeue with delay', { 'sleep_after_requeue' => 5, 'retry_delay' => 30 }, [enqueue(C, 1), fails])
scenario('backoff defaults', { 'plugin' => 'exponential_backoff' },
         [enqueue(C, 1), fails, fails, tick(61), fails, tick(601), fails, tick(3601), fails, tick(10_801), fails, tick(21_601), fails])
scenario('backoff custom: last delay repeats up to the limit', { 'plugin' => 'exponential_backoff', 'retry_limit' => 4, 'backoff_strategy' => [10, 20] },
         [enqueue(C, 1), fails, tick(11), fails, tick(21), fails, tick(21), fails, tick(21), fails])
scenario('backoff multiplicand 2.0', { 'plugin' => 'exponential_backoff', 'backoff_strategy' => [10, 25], 'retry_delay_multiplicand_min' => 2.0, 'retry_delay_multiplicand_max' => 2.0 },
         [enqueue(C, 1), fails, tick(21), fails])
scenario('backoff multiplicand truncates', { 'plugin' => 'exponential_backoff', 'backoff_strategy' => [7], 'retry_delay_multiplicand_min' => 0.3, 'retry_delay_multiplicand_max' => 0.3 },
         [enqueue(C, 1), fails])
scenario('backoff multiplicand min above max is refused', { 'plugin' => 'exponential_backoff', 'retry_delay_multiplicand_min' => 1.1 }, [])
scenario('retry exceptions: listed', { 'retry_exceptions' => ['NetworkError'] }, [enqueue(C, 1), fails('NetworkError'), fails('NetworkError')])
scenario('retry exceptions: subclass', { 'retry_exceptions' => ['NetworkError'] }, [enqueue(C, 1), fails('ConnectionRefused')])
scenario('retry exceptions: not listed', { 'retry_exceptions' => ['NetworkError'] }, [enqueue(C, 1), fails('RateLimited')])
scenario('retry exceptions: empty list never retries', { 'retry_exceptions' => [] }, [enqueue(C, 1), fails('RateLimited')])
DELAYS = [['NetworkError', 30], ['RateLimited', [120, 240]]].freeze
scenario('retry exceptions with delays: limit inferred', { 'retry_exceptions' => DELAYS },
         [enqueue(C, 1), fails('NetworkError'), tick(31), fails('NetworkError'), tick(31), fails('NetworkError')])
scenario('retry exceptions with delay lists', { 'retry_exceptions' => DELAYS },
         [enqueue(C, 1), fails('RateLimited'), tick(121), fails('RateLimited'), tick(241), fails('RateLimited')])
scenario('retry exceptions: mixed', { 'retry_exceptions' => DELAYS }, [enqueue(C, 1), fails('NetworkError'), tick(31), fails('RateLimited')])
scenario('retry exceptions with delays: explicit limit wins', { 'retry_limit' => 1, 'retry_exceptions' => DELAYS },
         [enqueue(C, 1), fails('RateLimited'), tick(121), fails('RateLimited')])
scenario('retry exceptions: closest ancestor gives the delay', { 'retry_exceptions' => [['StandardError', 5], ['NetworkError', 50]] },
         [enqueue(C, 1), fails('ConnectionRefused')])
scenario('fatal exceptions: listed', { 'fatal_exceptions' => ['PermanentError'] }, [enqueue(C, 1), fails('PermanentError')])
scenario('fatal exceptions: subclass', { 'fatal_exceptions' => ['PermanentError'] }, [enqueue(C, 1), fails('BadRecipient')])
scenario('fatal exceptions: others retry', { 'fatal_exceptions' => ['PermanentError'] }, [enqueue(C, 1), fails('NetworkError')])
scenario('fatal and retry exceptions together are refused', { 'fatal_exceptions' => ['PermanentError'], 'retry_exceptions' => ['NetworkError'] }, [])
scenario('fatal on the second attempt', { 'retry_limit' => 5, 'fatal_exceptions' => ['PermanentError'] },
         [enqueue(C, 1), fails('NetworkError'), fails('PermanentError')])
CHECKS = [{ 'message_includes' => 'again', 'returns' => true }, { 'message_includes' => 'twice', 'returns' => true }].freeze
scenario('criteria check adds to retry exceptions', { 'retry_limit' => 9, 'retry_exceptions' => ['NetworkError'], 'criteria_checks' => CHECKS },
         [enqueue(C, 1), fails('RateLimited', 'try again'), fails('RateLimited', 'twice'), fails('NetworkError', 'x'), fails('RateLimited', 'never')])
scenario('criteria checks alone', { 'retry_limit' => 9, 'retry_exceptions' => [], 'criteria_checks' => CHECKS },
         [enqueue(C, 1), fails('NetworkError', 'again'), fails('NetworkError', 'no')])
scenario('criteria checks are not asked past the limit', { 'retry_limit' => 1, 'retry_exceptions' => [], 'criteria_checks' => CHECKS },
         [enqueue(C, 1), fails('NetworkError', 'again'), fails('NetworkError', 'again')])
scenario('criteria check overrides fatal', { 'retry_limit' => 2, 'fatal_exceptions' => ['PermanentError'], 'criteria_checks' => CHECKS },
         [enqueue(C, 1), fails('PermanentError', 'again')])
scenario('retry args replaced: the counter of the new args starts anew', { 'retry_limit' => 2, 'retry_args' => { 'replace' => [999, 'fallback'] } },
         [enqueue(C, 1, 'm'), fails, fails, fails, fails])
scenario('retry args by exception', { 'retry_limit' => 2, 'retry_delay' => 10, 'retry_args' => { 'append_exception' => true } },
         [enqueue(C, 1), fails('RateLimited', 'slow'), tick(11), OK])
scenario('retry args with an identifier that ignores them', { 'retry_limit' => 2, 'retry_args' => { 'increment' => 1 }, 'retry_identifier' => { 'fields' => [0], 'join' => ':' } },
         [enqueue(C, 'u1', 5), fails, fails, fails])
scenario('retry queue', { 'retry_queue' => 'low' }, [enqueue(C, 1), fails, OK], queues: %w[mt_messages low])
scenario('retry queue with delay', { 'retry_queue' => 'low', 'retry_delay' => 30 }, [enqueue(C, 1), fails, tick(31), OK], queues: %w[mt_messages low])
DELEGATE = { 'class' => 'EmergencySMS', 'queue' => 'emergency', 'plugin' => 'none' }.freeze
scenario('retry delegate', { 'retry_job_delegate' => DELEGATE }, [enqueue(C, 1), fails, OK], queues: %w[mt_messages emergency])
scenario('retry delegate with delay', { 'retry_job_delegate' => DELEGATE, 'retry_delay' => 20 },
         [enqueue(C, 1), fails, tick(21), OK], queues: %w[mt_messages emergency])
scenario('identifier from fields', { 'retry_identifier' => { 'fields' => [1, 0], 'join' => ':' } }, [enqueue(C, 11, '+4670 123', 'hi'), fails])
scenario('identifier with spaces loses them', { 'retry_identifier' => { 'fixed' => "a b\tc\nd" } }, [enqueue(C, 1), fails])
scenario('whole key replaced', { 'redis_retry_key' => 'retries/sms' }, [enqueue(C, 1), fails, OK])
scenario('expiry: set at each perform', { 'retry_limit' => 3, 'retry_delay' => 60, 'expire_retry_key_after' => 3600 },
         [enqueue(C, 1), fails, tick(61), fails])
scenario('expiry with backoff', { 'plugin' => 'exponential_backoff', 'backoff_strategy' => [5, 50], 'expire_retry_key_after' => 100 },
         [enqueue(C, 1), fails, tick(6), fails, tick(51), fails])
scenario('expiry with delays by exception', { 'retry_exceptions' => [['StandardError', 7]], 'expire_retry_key_after' => 10 }, [enqueue(C, 1), fails])
scenario('expiry without delay, after success', { 'expire_retry_key_after' => 10 }, [enqueue(C, 1), OK])
scenario('callbacks: again, then give up', { 'try_again_callbacks' => 2, 'give_up_callbacks' => 2 },
         [enqueue(C, 1, 'x'), fails('NetworkError', 'down'), fails('NetworkError', 'down')])
scenario('callbacks: none on success', { 'try_again_callbacks' => 1, 'give_up_callbacks' => 1 }, [enqueue(C, 1), OK])
scenario('callbacks: fatal gives up at once', { 'fatal_exceptions' => ['PermanentError'], 'try_again_callbacks' => 1, 'give_up_callbacks' => 1 },
         [enqueue(C, 1), fails('PermanentError')])
scenario('ignored exception does not count', { 'retry_limit' => 1, 'retry_exceptions' => ['Resque::TermException'], 'ignore_exceptions' => ['Resque::TermException'] },
         [enqueue(C, 1), fails('Resque::TermException', 'SIGTERM'), fails('Resque::TermException', 'SIGTERM'), fails('Resque::TermException', 'SIGTERM'), OK])
scenario('ignored, then counted', { 'retry_limit' => 1, 'ignore_exceptions' => ['RateLimited'] },
         [enqueue(C, 1), fails('RateLimited'), fails('NetworkError'), fails('RateLimited'), fails('NetworkError')])
scenario('ignored exception: a subclass counts', { 'retry_limit' => 1, 'ignore_exceptions' => ['NetworkError'] },
         [enqueue(C, 1), fails('ConnectionRefused'), fails('ConnectionRefused')])
scenario('ignored with delay list', { 'plugin' => 'exponential_backoff', 'backoff_strategy' => [5, 50], 'ignore_exceptions' => ['RateLimited'] },
         [enqueue(C, 1), fails('RateLimited'), tick(6), fails('RateLimited'), tick(60), fails('NetworkError')])
scenario('delay by exception method', { 'retry_limit' => 3, 'retry_delay_by_exception' => { 'RateLimited' => 10, '*' => 1 } },
         [enqueue(C, 1), fails('RateLimited'), tick(11), fails('NetworkError')])
scenario('delay from an argument', { 'retry_limit' => 3, 'retry_delay_from_arg' => 0 }, [enqueue(C, '3'), fails, tick(4), OK])
scenario('negative delay is no delay', { 'retry_delay' => -5 }, [enqueue(C, 1), fails])
scenario('same class, other args: counters apart', { 'retry_limit' => 2 }, [enqueue(C, 1), enqueue(C, 2), fails, fails, OK, fails])
scenario('same job twice shares one counter', { 'retry_limit' => 1 }, [enqueue(C, 1), enqueue(C, 1), fails, fails, fails])
scenario('namespaced class', { 'class' => 'Billing::Invoices::Send' },
         [{ 'do' => 'enqueue', 'class' => 'Billing::Invoices::Send', 'args' => [{ 'id' => 5 }] }, fails, fails])
scenario('args of every type', { 'retry_delay' => 9 },
         [enqueue(C, nil, true, false, 0, -1, 1.5, 'é <&> "q" \\', [1, [2, nil]], { 'k' => { 'n' => [nil, 'v'] } }), fails, tick(10), fails])
scenario('unknown class is recorded as failed', { 'plugin' => 'none' },
         [{ 'do' => 'push_raw', 'queue' => 'mt_messages', 'payload' => '{"class":"NoSuchJob","args":[1]}' }, OK])
scenario('a worker that died with the job in hand', { 'retry_limit' => 2 }, [enqueue(C, 1), { 'do' => 'dirty_exit' }, OK])
scenario('a worker that died, no retry plugin', { 'plugin' => 'none' }, [enqueue(C, 1), { 'do' => 'dirty_exit' }])
scenario('a worker that died at the last attempt', { 'retry_limit' => 1 }, [enqueue(C, 1), fails, { 'do' => 'dirty_exit' }])
scenario('a worker that died, with delay', { 'retry_limit' => 2, 'retry_delay' => 40 },
         [enqueue(C, 1), fails, tick(41), { 'do' => 'dirty_exit' }, tick(41), OK])
scenario('multi queue failures', { 'plugin' => 'none' }, [enqueue(C, 1), fails, enqueue(C, 2), fails], backend: 'redis_multi_queue')
scenario('multi queue failures under suppression', {}, [enqueue(C, 1), fails, fails], backend: 'suppression_over_multi_queue')

Recorder::Scenario.record_all(ARGV[0], SCENARIOS)

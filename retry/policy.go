package retry

import (
	"log/slog"
	"math"
	"time"

	"example.com/understudy/compat/ruby"
	"example.com/understudy/resque"
)

// Limits beside the positive ones.
const (
	// Never is a policy that keeps a counter and runs its callbacks, but never
	// tries again (Ruby: retry_limit 0).
	Never = math.MinInt
	// Forever tries again without end (Ruby: retry_limit -1). All negative
	// limits but Never do.
	Forever = -1
)

// Policy says what becomes of a class's failed runs. The zero value is
// resque-retry's default: one retry, at once. The name of Ruby's option stands in
// parentheses at each field.
//
// The functions in it are called by several goroutines at once. The job that
// they get is a copy whose Attempt is the number that the rules go by. A function
// that panics loses no job: the job is then recorded as failed, with both errors
// in its text.
type Policy struct {
	// Limit is how many retries there are at most (retry_limit). 0 is not Ruby's
	// 0, which is Never here, but the default: the number of delays of Backoff,
	// else the longest Wait of On, else 1. Negative: Never, or for ever.
	Limit int
	// Delay is the wait before a retry (retry_delay), after which a scheduler,
	// Ruby's or package scheduler, puts the job into its queue. Zero value, 0 or
	// negative: none.
	Delay Delay
	// Backoff is a wait for each retry, in its order; after the last one, that
	// one again (the plugin ExponentialBackoff and its backoff_strategy). nil:
	// none; see DefaultBackoff. Negative: no wait.
	Backoff []time.Duration
	// Jitter multiplies the waits of Backoff by a random factor
	// (retry_delay_multiplicand_min and _max). Zero value: none.
	Jitter Jitter
	// Strategy says how often and when instead of Limit, Delay, Backoff, Jitter
	// and the Wait of On, which are refused beside it; so is ExpireAfter. nil:
	// those fields do.
	Strategy Strategy
	// On lists the errors that are tried again (retry_exceptions). nil: all;
	// empty: none, so that Check alone decides. With Wait each error has delays
	// of its own; the nearest entry counts, and an error that only Check lets
	// through waits for nothing. With any Wait, Delay is that of the entries
	// without, and what ExpireAfter adds to.
	On Errors
	// Fatal lists the errors that are not tried again (fatal_exceptions).
	// Refused together with On.
	Fatal Errors
	// Ignore lists errors that don't count as an attempt: the counter steps
	// back (ignore_exceptions). Named entries mean exactly that class, without
	// its descendants. Whether such an error is tried again is the business of
	// the other fields.
	Ignore Errors
	// Check are asked in order whether to try again, once the errors said no
	// and while the limit isn't reached; the first true wins
	// (retry_criteria_check).
	Check []Check
	// Args changes the arguments of the retry (retry_args,
	// retry_args_for_exception). nil: the same ones, byte for byte. A counter
	// belongs to arguments: other arguments begin to count anew, unless
	// Identifier or Key leave the difference out.
	Args ArgsFunc
	// Queue names the queue of the retry (retry_queue). nil, or "": the class's
	// own one, else the one that the job came from.
	Queue QueueFunc
	// Delegate hands the retry to another class, and forgets the counter
	// (retry_job_delegate). nil: the same class.
	Delegate *Delegate
	// Identifier tells the counters of a class apart (retry_identifier). nil:
	// the SHA-1 of the joined arguments.
	Identifier IdentifierFunc
	// Key is the counter's whole key, without namespace, white space kept
	// (redis_retry_key). nil: resque-retry:<class>:<identifier>. "" fails the
	// run. Refused together with Identifier.
	Key KeyFunc
	// ExpireAfter is how long a counter lives beyond the delay, from the start
	// of each run (expire_retry_key_after); whole seconds. 0: for ever;
	// negative: refused.
	ExpireAfter time.Duration
	// SleepAfterRequeue keeps the slot from its next job after each retry
	// (sleep_after_requeue). 0 or negative: not at all.
	SleepAfterRequeue time.Duration
	// TryAgain are called in order before a retry (try_again_callback). When
	// one fails, the others are skipped, there is no retry, and the failure is
	// recorded with the callback's error added to its text.
	TryAgain []Callback
	// GiveUp are called in order when there is no retry (give_up_callback),
	// also when a function of the policy failed. When one fails, the others are
	// still called, and the failure is recorded with its error added.
	GiveUp []Callback
	// Inspect is the Ruby whose Hash#inspect goes into the keys of jobs with
	// objects among their arguments; it has to be that of the Ruby workers on
	// the same queues. Zero value: Ruby up to 3.1.
	Inspect ruby.InspectForm
	// Logger gets a line for each decision, at debug level. nil: none.
	Logger *slog.Logger

	// fields is the Identifier of a Spec: it needs Inspect, which is set later.
	fields *IdentifierSpec
}

// The functions of a Policy. err is the error of the run.
type (
	// Check says whether to try again.
	Check func(job *resque.Job, err error) bool
	// ArgsFunc answers the arguments of the retry. Elements that are
	// json.RawMessage keep their bytes; Arguments takes the job's apart so.
	ArgsFunc func(job *resque.Job, err error) ([]any, error)
	// QueueFunc answers a queue.
	QueueFunc func(job *resque.Job, err error) string
	// IdentifierFunc answers what tells the job from others of its class. Not
	// ok: nothing does, all of them share one counter.
	IdentifierFunc func(job *resque.Job) (id string, ok bool)
	// KeyFunc answers the whole key of the job's counter.
	KeyFunc func(job *resque.Job) string
	// Callback hears of a decision.
	Callback func(job *resque.Job, err error) error
)

// Delegate is the class that a retry is handed to.
type Delegate struct {
	// Class is the other class.
	Class string
	// Queue is its own queue; "" is refused unless Policy.Queue is set.
	Queue string
}

// InQueue is a Policy.Queue that is always the same.
func InQueue(name string) QueueFunc {
	return func(*resque.Job, error) string { return name }
}

// Apply makes the policy that of a registered class. A policy whose fields
// contradict each other is refused, with a *ConfigError for each reason.
func (p Policy) Apply(r *resque.Registration) error {
	retrier, err := p.Retrier()
	if err != nil {
		return err
	}
	r.Retrier = retrier
	return nil
}

// Retrier compiles the policy, for use outside of a registration.
func (p Policy) Retrier() (resque.Retrier, error) {
	if err := p.validate(goNames()); err != nil {
		return nil, err
	}
	return compile(p), nil
}

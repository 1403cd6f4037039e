package resque

import (
	"log/slog"
	"math/rand/v2"
	"os"
	"time"
)

// WorkerConfig is what a Worker is made from. Only Queues must be given.
type WorkerConfig struct {
	// Queues are names in the order of their priority, patterns ("mail_*"),
	// what to leave out ("!slow"), or names with weights ("high=2"); each text
	// may hold several with commas between.
	Queues []string

	// Concurrency is the number of slots: how many jobs run at a time, and how
	// many workers Ruby sees. 0: 10. Negative: refused.
	Concurrency int

	// Interval is the longest wait before idle slots look at the queues, and
	// that after which a new queue or pause-all-workers is seen at the latest.
	// Where Redis has CLIENT TRACKING it is only the net below that. 0: 5 s
	// (Ruby: INTERVAL). Negative: refused.
	Interval time.Duration

	// Failures is where failures go. nil: the list failed, as in Ruby.
	Failures FailureBackend

	// Retry is for the classes that have no policy of their own, on queues that
	// have none: a retry.Policy or a retry.Waits. nil: they aren't tried again,
	// as in Ruby.
	Retry RetryPolicy
	// QueueRetry is the same for the jobs that came from a queue, by its name.
	// The nearest wins, whole: class, then queue, then worker. A job whose class
	// has no handler isn't tried again.
	QueueRetry map[string]RetryPolicy

	// History is about how many attempts of all workers together are kept in
	// Redis, as one entry each of some 250 bytes (Client.History). 0: none are.
	// Negative: refused.
	History int

	// Middleware wraps every handler; the first one is outermost.
	Middleware []Middleware

	// Hooks are called at the turns of the worker's life. Zero: none.
	Hooks WorkerHooks

	// Fallback performs the jobs of classes that have no handler of their own.
	// nil: they fail as Ruby's unknown classes do (NameError), also those that
	// a Ruby worker on the same queue would know: give a class that moves to Go
	// a queue of its own.
	Fallback Handler

	// Clock is the time by which jobs run and retry. nil: the client's.
	Clock Clock

	// Random gives numbers from [0, 1) for the factor of delays and for the
	// weights of queues. nil: math/rand. It is called by several goroutines.
	Random func() float64

	// WorkerID names a slot in Ruby's registry:
	// host, colon, a pid part that begins with digits, colon, queues. No two
	// workers alive may share one. nil: <host>.go:<pid>-<random>-<slot>:<queues>.
	WorkerID func(slot int) string

	// Hostname is the host part of ids; colons in it become dots. "": the
	// machine's. ".go" is added, so that Ruby's pruning leaves its workers alone.
	Hostname string

	// ShutdownTimeout is how long a stop waits for running jobs before it
	// cancels their contexts; Worker.Hurry ends that. 0: 10 s. Negative: not at
	// all.
	ShutdownTimeout time.Duration
	// CancelTimeout is how long it waits for the cancelled ones. 0: 5 s.
	// Negative: not at all.
	CancelTimeout time.Duration
	// ReleaseTimeout is how long giving back unfinished jobs and unregistering
	// may take. 0: 10 s. Negative: refused.
	ReleaseTimeout time.Duration

	// Lease is how long the process is taken for alive without a word from it;
	// it says a word every third of that. 0: 30 s. Negative: refused.
	Lease time.Duration
	// Heartbeat is the interval of Ruby's heartbeats and of pruning dead
	// workers. 0: 60 s (Ruby: Resque.heartbeat_interval). Negative: refused.
	// Who prunes also warns when delayed jobs have been due for a minute.
	Heartbeat time.Duration
	// PruneAfter is the age at which a heartbeat tells of a dead Ruby worker.
	// 0: 300 s (Ruby: Resque.prune_interval). Negative: no pruning.
	PruneAfter time.Duration

	// Logger is told what happens. nil: nothing is logged.
	Logger *slog.Logger
}

func (c WorkerConfig) complete(clock Clock) (WorkerConfig, error) {
	for _, d := range []struct {
		field    string
		value    *time.Duration
		standard time.Duration
		negative bool // means none
	}{
		{"Interval", &c.Interval, 5 * time.Second, false},
		{"ShutdownTimeout", &c.ShutdownTimeout, 10 * time.Second, true},
		{"CancelTimeout", &c.CancelTimeout, 5 * time.Second, true},
		{"ReleaseTimeout", &c.ReleaseTimeout, 10 * time.Second, false},
		{"Lease", &c.Lease, 30 * time.Second, false},
		{"Heartbeat", &c.Heartbeat, 60 * time.Second, false},
		{"PruneAfter", &c.PruneAfter, 300 * time.Second, true},
	} {
		switch {
		case *d.value == 0:
			*d.value = d.standard
		case *d.value < 0 && !d.negative:
			return c, configError("WorkerConfig."+d.field, "is negative: use 0 for "+d.standard.String())
		}
	}
	switch {
	case c.Interval < time.Millisecond:
		return c, configError("WorkerConfig.Interval", "is under a millisecond: use 0 for 5s")
	case c.History < 0:
		return c, configError("WorkerConfig.History", "is negative: use 0 for none")
	case c.Concurrency < 0:
		return c, configError("WorkerConfig.Concurrency", "is negative: use 0 for 10 slots")
	case c.Concurrency == 0:
		c.Concurrency = 10
	}
	if c.Clock == nil {
		c.Clock = clock
	}
	if c.Random == nil {
		c.Random = rand.Float64
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Hostname == "" {
		host, err := os.Hostname()
		if err != nil {
			return c, configError("WorkerConfig.Hostname", "can't be asked of the machine; set it: "+err.Error())
		}
		c.Hostname = host
	}
	return c, nil
}

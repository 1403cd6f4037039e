package scheduler

import (
	"fmt"
	"log/slog"
	"os"
	"time"

	"example.com/understudy/resque"
)

// Config are the settings of a Scheduler. The zero value is a good one.
type Config struct {
	// Interval is the wait between two passes. 0: 5 s; negative: refused.
	Interval time.Duration
	// Batch is the most items that one call moves, and so what bounds the time
	// for which it keeps Redis from others; fewer where they are large. 0: 500;
	// negative or more than 5000: refused.
	Batch int
	// QueueOf answers the queue of a class for delayed and recurring jobs that name
	// none; "": it has none, and the job goes to the list of failed jobs. nil: no
	// class has one.
	QueueOf func(class string) string

	// Schedules are the recurring jobs to fire. nil: none.
	Schedules *Schedules
	// Dynamic makes a change of the recurring jobs count at run time, whoever made
	// it (Ruby: DYNAMIC_SCHEDULE). false: it counts when mastership begins, and
	// after Reload.
	Dynamic bool
	// Env is the environment (Ruby: RAILS_ENV): a recurring job that names some
	// fires only where this is among them. "": those that name any don't fire.
	Env string
	// Location is the time zone of lines of cron that name none, and that in which
	// the last runs are noted. nil: the process's (time.Local), as Ruby.
	Location *time.Location

	// LockPrefix stands, with a colon, before the name of the master lock (Ruby:
	// RESQUE_SCHEDULER_MASTER_LOCK_PREFIX). "": none.
	LockPrefix string
	// LockTimeout is how long the master lock outlives a master that stopped
	// renewing it. 0: 180 s, as Ruby; less than 1 s, or not more than the
	// Interval: refused.
	LockTimeout time.Duration
	// Value names this scheduler in the master lock. "": host:pid, as Ruby.
	Value string

	// Clock tells what is due, and waits between passes. nil: the system's.
	Clock resque.Clock
	// Logger hears of changes of the state and of items that can't be moved.
	// nil: nobody does.
	Logger *slog.Logger
}

const (
	defaultInterval    = 5 * time.Second
	defaultBatch       = 500
	maxBatch           = 5000
	defaultLockTimeout = 180 * time.Second
)

// complete checks c and fills in the defaults.
func (c Config) complete() (Config, error) {
	switch {
	case c.Interval < 0:
		return c, refuse("Interval", "is negative: use 0 for the default of 5 s")
	case c.Batch < 0 || c.Batch > maxBatch:
		return c, refuse("Batch", fmt.Sprintf("is %d: use 1 to %d, or 0 for the default of %d", c.Batch, maxBatch, defaultBatch))
	case c.LockTimeout != 0 && c.LockTimeout < time.Second:
		return c, refuse("LockTimeout", "is less than a second: use 0 for Ruby's 180 s")
	}
	if c.Interval == 0 {
		c.Interval = defaultInterval
	}
	if c.Batch == 0 {
		c.Batch = defaultBatch
	}
	if c.LockTimeout == 0 {
		c.LockTimeout = defaultLockTimeout
	}
	if c.Interval >= c.LockTimeout {
		return c, refuse("Interval", fmt.Sprintf("is %v, so that the master lock would run out between two passes: use less than its %v", c.Interval, c.LockTimeout))
	}
	if c.Location == nil {
		c.Location = time.Local
	}
	if c.QueueOf == nil {
		c.QueueOf = func(string) string { return "" }
	}
	if c.Value == "" {
		host, err := os.Hostname()
		if err != nil {
			return c, fmt.Errorf("scheduler: no name for the master lock, set Config.Value: %w", err)
		}
		c.Value = fmt.Sprintf("%s:%d", host, os.Getpid())
	}
	if c.Clock == nil {
		c.Clock = resque.SystemClock()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

func refuse(field, reason string) error {
	return &resque.ConfigError{Field: "scheduler.Config." + field, Reason: reason}
}

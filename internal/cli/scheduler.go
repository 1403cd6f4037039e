package cli

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"example.com/understudy/resque"
	"example.com/understudy/scheduler"
)

const schedulerHelp = `Moves delayed jobs and retries to their queues once they are due, and enqueues
recurring jobs. Any number may run, Ruby's resque-scheduler among them: the
master lock in Redis says which one works.

TERM, INT and QUIT stop it, USR1 prints the schedule with the next times to
standard error, USR2 reads it anew: the file, and what Redis holds. A file with
a fault changes nothing. --dynamic follows what Ruby's or Go's set_schedule
changes in Redis.

Examples:
   understudy scheduler
   understudy scheduler --schedule schedule.yml --dynamic --env production
   understudy scheduler --interval 1 --redis redis://redis.internal:6379/2
   RESQUE_SCHEDULER_INTERVAL=1 VERBOSE=1 understudy scheduler`

func (a *app) scheduler() *cli.Command {
	return &cli.Command{
		Name:        "scheduler",
		Usage:       "enqueue delayed and recurring jobs when they are due",
		UsageText:   binary + " scheduler [options]",
		Description: schedulerHelp,
		Flags: append(append(redisFlags(),
			&cli.StringFlag{Name: "interval", Usage: "`TIME` between two looks [$RESQUE_SCHEDULER_INTERVAL] (default: 5s)"},
			&cli.StringFlag{Name: "schedule", Usage: "`FILE` of recurring jobs, in resque-scheduler's form"},
			&cli.BoolFlag{Name: "dynamic", Usage: "follow changes of the recurring jobs in Redis [$DYNAMIC_SCHEDULE]"},
			&cli.StringFlag{Name: "lock-timeout", Usage: "`TIME` after which a dead master is replaced [$LOCK_TIMEOUT] (default: 180s)"},
			&cli.StringFlag{Name: "batch", Usage: "`NUMBER` of jobs that one call moves at most [$DELAYED_REQUEUE_BATCH_SIZE] (default: 500)"},
			&cli.StringFlag{Name: "lock-prefix", Usage: "`TEXT` before the name of the master lock [$" + lockPrefixVariable + "]"},
			&cli.StringFlag{Name: "pidfile", Usage: "`FILE` that gets the process id [$PIDFILE]"},
		), append(scheduleFlags(), logFlags()...)...),
		Action: func(c *cli.Context) error { return a.runScheduler(c.Context, a.settings(c)) },
	}
}

func (a *app) runScheduler(ctx context.Context, s settings) (err error) {
	if s.c.NArg() > 0 {
		return refuse(s.line(""), "scheduler takes no arguments, but got %q", s.c.Args().First())
	}
	log := a.logger(s)
	config, where, err := s.schedulerConfig(time.Now())
	if err != nil {
		return err
	}
	config.Logger = log
	s.warnOfRubys(log)
	plan := schedulePlan{a: a, log: log, where: where}
	plan.path, _ = s.text("schedule")
	jobs, err := plan.read()
	if err != nil {
		return err
	}
	address, err := s.redisURL()
	if err != nil {
		return err
	}
	client, err := a.connect(ctx, s, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	if plan.path != "" || config.Dynamic {
		config.Schedules = scheduler.NewSchedules(client)
		config.Schedules.QueueOf = config.QueueOf
	}
	mover, err := scheduler.New(client, config)
	if err != nil {
		return refuse(s.line(worksInstead(err)), "%v", withoutPrefix(err))
	}
	if plan.path != "" {
		if err := config.Schedules.SetAll(ctx, jobs); err != nil {
			return err
		}
	}
	if err := s.writePIDFile(); err != nil {
		return err
	}
	plan.scheduler, plan.schedules = mover, config.Schedules
	a.say("moving delayed jobs%s on %s (stop: Ctrl-C)", plan.also(len(jobs)), shownURL(address))
	stopped, done := a.untilStopped(ctx, stopping{say: a.say, others: a.schedulerSignals(&plan)})
	defer done()
	return mover.Run(stopped)
}

// worksInstead is an option in the place of the one that a scheduler refuses.
func worksInstead(err error) string {
	wrong, ok := errors.AsType[*resque.ConfigError](err)
	switch {
	case ok && strings.HasSuffix(wrong.Field, ".LockTimeout"):
		return "--lock-timeout 180"
	case ok && strings.HasSuffix(wrong.Field, ".Batch"):
		return "--batch 500"
	default:
		return "--interval 5"
	}
}

// warnOfRubys tells of variables that mean something to resque-scheduler only.
func (s settings) warnOfRubys(log *slog.Logger) {
	for _, v := range []struct{ name, instead string }{
		{"BACKGROUND", "let systemd or a container run it"},
		{"INITIALIZER_PATH", "it is Ruby; name the queues of classes by --jobs"},
		{"APP_NAME", "it names Ruby's process; give a container or unit a name"},
		{"RESQUE_SCHEDULER_OPTIONS", "write the options on the command line"},
		{"LOGFILE", "redirect standard error"},
		{"LOGFORMAT", "read the log's own form, key=value"},
	} {
		if s.env(v.name) != "" {
			log.Warn("a variable of resque-scheduler has no effect here", "variable", v.name, "instead", v.instead)
		}
	}
}

// schedulerConfig reads the settings of a scheduler.
func (s settings) schedulerConfig(now time.Time) (config scheduler.Config, where circumstances, err error) {
	if where, err = s.circumstances(now); err != nil {
		return config, where, err
	}
	config.Env, config.Location, config.QueueOf = where.Env, where.zone, where.QueueOf
	config.Dynamic = s.on("dynamic", "DYNAMIC_SCHEDULE")
	config.LockPrefix, _ = s.text("lock-prefix", lockPrefixVariable)
	interval, set, err := s.duration("interval", "RESQUE_SCHEDULER_INTERVAL")
	if err != nil {
		return config, where, err
	}
	if set && interval == 0 {
		return config, where, refuse(s.line("--interval 1"), "--interval is 0: write the seconds between two looks")
	}
	config.Interval = interval
	if config.LockTimeout, _, err = s.duration("lock-timeout", "LOCK_TIMEOUT"); err != nil {
		return config, where, err
	}
	config.Batch, err = s.count("batch", "DELAYED_REQUEUE_BATCH_SIZE")
	return config, where, err
}

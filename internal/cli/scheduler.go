package cli

import (
	"context"
	"errors"

	"github.com/urfave/cli/v2"

	"example.com/understudy/scheduler"
)

const schedulerHelp = `Moves delayed jobs and retries to their queues once they are due. Any number may
run, Ruby's resque-scheduler among them: the master lock in Redis says which one
works.

Examples:
   understudy scheduler
   understudy scheduler --interval 1 --redis redis://redis.internal:6379/2
   RESQUE_SCHEDULER_INTERVAL=1 VERBOSE=1 understudy scheduler`

func (a *app) scheduler() *cli.Command {
	return &cli.Command{
		Name:        "scheduler",
		Usage:       "move delayed jobs to their queues when they are due",
		UsageText:   binary + " scheduler [options]",
		Description: schedulerHelp,
		Flags: append(append(redisFlags(),
			&cli.StringFlag{Name: "interval", Usage: "`TIME` between two looks [$RESQUE_SCHEDULER_INTERVAL] (default: 5)"},
			&cli.StringFlag{Name: "lock-prefix", Usage: "`TEXT` before the name of the master lock [$" + lockPrefixVariable + "]"},
			&cli.StringFlag{Name: "pidfile", Usage: "`FILE` that gets the process id [$PIDFILE]"},
		), logFlags()...),
		Action: func(c *cli.Context) error { return a.runScheduler(c.Context, a.settings(c)) },
	}
}

func (a *app) runScheduler(ctx context.Context, s settings) (err error) {
	if s.c.NArg() > 0 {
		return refuse(s.line(""), "scheduler takes no arguments, but got %q", s.c.Args().First())
	}
	log := a.logger(s)
	config := scheduler.Config{Logger: log}
	config.LockPrefix, _ = s.text("lock-prefix", lockPrefixVariable)
	interval, set, err := s.duration("interval", "RESQUE_SCHEDULER_INTERVAL")
	if err != nil {
		return err
	}
	if set && interval == 0 {
		return refuse(s.line("--interval 1"), "--interval is 0: write the seconds between two looks")
	}
	config.Interval = interval
	address, err := s.redisURL()
	if err != nil {
		return err
	}
	client, err := a.connect(ctx, s, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	mover, err := scheduler.New(client, config)
	if err != nil {
		return refuse(s.line("--interval 5"), "%v", withoutPrefix(err))
	}
	if err := s.writePIDFile(); err != nil {
		return err
	}
	a.say("moving delayed jobs on %s (stop: Ctrl-C)", shownURL(address))
	stopped, done := a.untilStopped(ctx, stopping{say: a.say})
	defer done()
	return mover.Run(stopped)
}

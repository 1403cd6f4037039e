package cli

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"example.com/understudy/resque"
)

const delayedHelp = `Jobs that wait for their time, enqueued by EnqueueAt and EnqueueIn, by Ruby's
enqueue_at and enqueue_in, and retries with a delay. A scheduler moves them into
their queues.

Examples:
   understudy delayed ls --before 2h
   understudy delayed count --by class
   understudy delayed run --class Report --dry-run
   understudy delayed rm --class DeliverSMS --args '[7,"hello"]'`

// delayed is the group of commands about jobs that wait for their time.
func (a *app) delayed() *cli.Command {
	return &cli.Command{
		Name:        "delayed",
		Usage:       "look at delayed jobs, enqueue or remove them",
		UsageText:   binary + " delayed COMMAND [options]",
		Description: delayedHelp,
		Subcommands: []*cli.Command{a.delayedList(), a.delayedCount(), a.delayedChange(&runNow), a.delayedChange(&remove)},
	}
}

// delayedFlags are those of all commands of the group.
func delayedFlags(more ...cli.Flag) []cli.Flag {
	return slices.Concat(redisFlags(), filterFlags(), timeFlags(), []cli.Flag{limitFlag(), outputFlag()}, more)
}

// delayedAsked is what a command about delayed jobs was asked for.
type delayedAsked struct {
	resque.DelayedSelection
	json bool
	// filtered says that there is a filter at all.
	filtered bool
}

func (s settings) delayed(now time.Time) (asked delayedAsked, err error) {
	if words := s.c.Args().Slice(); len(words) > 0 {
		return asked, refuse(s.line(""), "%s takes no arguments, but got %q", s.c.Command.Name, words[0])
	}
	f, err := s.filter()
	if err != nil {
		return asked, err
	}
	if !f.any() {
		asked.Match = func(job resque.DelayedJob) bool { return f.fits(job.Queue, job.Class, job.Args, job.Raw) }
	}
	if asked.From, err = s.bound("after", now); err != nil {
		return asked, err
	}
	if asked.Until, err = s.bound("before", now); err != nil {
		return asked, err
	}
	if asked.Limit, err = s.limit(); err != nil {
		return asked, err
	}
	asked.json, err = s.json()
	asked.filtered = !f.any() || !asked.From.IsZero() || !asked.Until.IsZero()
	return asked, err
}

// withDelayed reads what was asked for, and does it, where may (nil: anybody) lets
// it.
func (a *app) withDelayed(
	c *cli.Context, may func(s settings, asked delayedAsked) error,
	do func(ctx context.Context, client *resque.Client, s settings, asked delayedAsked) error,
) (err error) {
	s := a.settings(c)
	asked, err := s.delayed(time.Now())
	if err == nil && may != nil {
		err = may(s, asked)
	}
	if err != nil {
		return err
	}
	client, err := a.connect(c.Context, s, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	return do(c.Context, client, s, asked)
}

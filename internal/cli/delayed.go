package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"
)

const delayedHelp = `Jobs that wait for their time, enqueued by EnqueueAt and EnqueueIn, by Ruby's
enqueue_at and enqueue_in, and retries with a delay. A scheduler moves them into
their queues.

Examples:
   understudy delayed count`

// delayed is the group of commands about jobs that wait for their time.
func (a *app) delayed() *cli.Command {
	return &cli.Command{
		Name:        "delayed",
		Usage:       "look at delayed jobs, enqueue or remove them",
		UsageText:   binary + " delayed COMMAND [options]",
		Description: delayedHelp,
		Subcommands: []*cli.Command{a.delayedCount()},
	}
}

func (a *app) delayedCount() *cli.Command {
	return &cli.Command{
		Name:      "count",
		Usage:     "count delayed jobs",
		UsageText: binary + " delayed count [options]",
		Flags:     redisFlags(),
		Action:    func(c *cli.Context) error { return a.runDelayedCount(c.Context, a.settings(c)) },
	}
}

func (a *app) runDelayedCount(ctx context.Context, s settings) (err error) {
	client, err := a.connect(ctx, s, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	n, err := client.DelayedCount(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.stdout, n)
	return err
}

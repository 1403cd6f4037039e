package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"example.com/understudy/resque"
)

// delayedDoing is what a command does with delayed jobs.
type delayedDoing struct {
	name, usage, help string
	verb, done        string                       // enqueue, enqueued
	can               func(resque.DelayedJob) bool // nil: with every job
	cannot            string                       // what is said of the others
	call              func(*resque.Client, context.Context, resque.DelayedSelection) (resque.DelayedResult, error)
}

//nolint:gochecknoglobals // immutable
var (
	runNow = delayedDoing{
		name: "run", usage: "enqueue delayed jobs now", verb: "enqueue", done: "enqueued",
		call:   (*resque.Client).EnqueueDelayedSelection,
		can:    func(job resque.DelayedJob) bool { return job.Err == nil && job.Queue != "" },
		cannot: "without a class or queue: such a job stays",
		help: `Puts delayed jobs into their queues now, as a scheduler would when their time
has come (Ruby: enqueue_delayed_selection). A job that names no queue stays.

Examples:
   understudy delayed run --class Report
   understudy delayed run --class DeliverSMS --args '[7,"hello"]' --yes
   understudy delayed run --before 1h --limit 100
   understudy delayed run --all --dry-run`,
	}
	remove = delayedDoing{
		name: "rm", usage: "remove delayed jobs", verb: "remove", done: "removed",
		call: (*resque.Client).RemoveDelayedSelection,
		help: `Removes delayed jobs: they never run (Ruby: remove_delayed_selection).

Examples:
   understudy delayed rm --class DeliverSMS --args '[7,"hello"]'
   understudy delayed rm --queue reports --after 24h --dry-run
   understudy delayed rm --match +4912345 --yes
   understudy delayed rm --all`,
	}
)

func (a *app) delayedChange(d *delayedDoing) *cli.Command {
	return &cli.Command{
		Name:        d.name,
		Usage:       d.usage,
		UsageText:   binary + " delayed " + d.name + " [options]",
		Description: d.help,
		Flags:       delayedFlags(changeFlags()...),
		Action: func(c *cli.Context) error {
			may := func(s settings, asked delayedAsked) error { return a.mayChange(s, asked, d) }
			return a.withDelayed(c, may, func(ctx context.Context, client *resque.Client, s settings, asked delayedAsked) error {
				return a.changeDelayed(ctx, client, s, asked, d)
			})
		},
	}
}

// mayChange refuses what would hit more than was thought of.
func (a *app) mayChange(s settings, asked delayedAsked, d *delayedDoing) error {
	if !asked.filtered && !s.on("all") {
		return refuse(s.again("--all --dry-run"), "this would %s all delayed jobs: say --all, or which ones by --class, --queue, --args, --match, --before or --after", d.verb)
	}
	if s.on("dry-run") {
		return nil
	}
	return a.canConfirm(s)
}

func (a *app) changeDelayed(ctx context.Context, client *resque.Client, s settings, asked delayedAsked, d *delayedDoing) error {
	if !s.on("yes") || s.on("dry-run") {
		n, others, err := d.count(ctx, client, asked.DelayedSelection)
		if err != nil {
			return err
		}
		if n == 0 || s.on("dry-run") { // of none, what comes by now is nobody's wish
			return a.foretell(s, asked, d, n, others)
		}
		if err := a.confirm(s, fmt.Sprintf("%s %s?", d.verb, jobs(n))); err != nil {
			return err
		}
	}
	stopped, done := a.untilStopped(ctx, stopping{say: a.say})
	defer done()
	p := newProgress(a.stderr, a.errScreen, time.Now)
	asked.Progress = func(r resque.DelayedResult) {
		p.tell("%d looked at, %d %s", r.Seen, r.Done, d.done)
	}
	r, err := d.call(client, stopped, asked.DelayedSelection)
	p.end()
	return errors.Join(a.changed(asked, r, d), err)
}

// foretell says with how many jobs it would be done, and what becomes of the others.
func (a *app) foretell(s settings, asked delayedAsked, d *delayedDoing, n, others int64) error {
	if others > 0 {
		a.say("%s %s", jobs(others), d.cannot)
	}
	if !s.on("dry-run") {
		return a.changed(asked, resque.DelayedResult{Chosen: n + others}, d)
	}
	return a.result(asked.json, map[string]any{"would_be_" + d.done: n}, "would %s %d", d.verb, n)
}

func (a *app) changed(asked delayedAsked, r resque.DelayedResult, d *delayedDoing) error {
	return a.result(asked.json, map[string]any{d.done: r.Done, "of": r.Chosen}, "%s %d of %d", d.done, r.Done, r.Chosen)
}

// count counts those of a selection with which it can be done, and the others.
func (d *delayedDoing) count(ctx context.Context, client *resque.Client, s resque.DelayedSelection) (n, others int64, err error) {
	if d.can != nil {
		match := s.Match
		s.Match = func(job resque.DelayedJob) bool {
			if match != nil && !match(job) {
				return false
			}
			can := d.can(job)
			if !can {
				others++
			}
			return can
		}
	}
	n, err = client.CountDelayed(ctx, s)
	return n, others, err
}

// result writes what a command has done, as an object or as a line.
func (a *app) result(asJSON bool, object map[string]any, format string, args ...any) error {
	if asJSON {
		return jsonLines(a.stdout).Encode(object)
	}
	_, err := fmt.Fprintf(a.stdout, format+"\n", args...)
	return err
}

// jobs is a number of delayed jobs.
func jobs(n int64) string {
	if n == 1 {
		return "1 delayed job"
	}
	return fmt.Sprintf("%d delayed jobs", n)
}

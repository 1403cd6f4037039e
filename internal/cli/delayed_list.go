package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"example.com/understudy/resque"
)

const delayedListHelp = `Lists delayed jobs, the earliest first: when they are due, in how long, for
which queue, class and arguments. On a terminal lines are cut to 80 characters,
or to COLUMNS; what isn't to be seen in them is escaped. JSON has all of it.

Examples:
   understudy delayed ls --limit 20
   understudy delayed ls --class 'Mail::*' --before 2h
   understudy delayed ls --queue reports --after '2026-12-31 23:59'
   understudy delayed ls --match +4912345 --output json`

func (a *app) delayedList() *cli.Command {
	return &cli.Command{
		Name:        "ls",
		Usage:       "list delayed jobs",
		UsageText:   binary + " delayed ls [options]",
		Description: delayedListHelp,
		Flags:       delayedFlags(),
		Action: func(c *cli.Context) error {
			return a.withDelayed(c, nil, func(ctx context.Context, client *resque.Client, _ settings, asked delayedAsked) error {
				show := a.delayedTable
				if asked.json {
					show = a.delayedLines
				}
				return show(ctx, client, asked.DelayedSelection)
			})
		},
	}
}

// The widest that columns of names get.
const (
	queueWidth = 24
	classWidth = 32
)

func (a *app) delayedTable(ctx context.Context, client *resque.Client, asked resque.DelayedSelection) error {
	t := newTable(a.stdout, a.width(),
		column{title: "DUE"}, column{title: "IN", right: true}, column{title: "QUEUE", most: queueWidth},
		column{title: "CLASS", most: classWidth}, column{title: "ARGUMENTS"})
	none := true
	for job, err := range client.Delayed(ctx, asked) {
		if err != nil {
			return errors.Join(t.end(), err)
		}
		none = false
		class, args := job.Class, string(job.Args)
		if job.Err != nil {
			class, args = "(no job)", string(job.Raw)
		}
		if err := t.row(job.At.Format("2006-01-02 15:04:05"), inHow(job.At, time.Now()), job.Queue, class, args); err != nil {
			return unlessUnread(err)
		}
	}
	if none {
		_, err := fmt.Fprintln(a.stderr, "no delayed jobs")
		return err
	}
	return unlessUnread(t.end())
}

// inHow is how long from now a time is.
func inHow(at, now time.Time) string {
	switch seconds := max(at.Unix(), math.MinInt64/2) - now.Unix(); {
	case seconds == 0:
		return "now"
	case seconds < 0:
		return span(-seconds) + " ago"
	default:
		return span(seconds)
	}
}

// span is a time in the two units that matter.
func span(seconds int64) string {
	const minute, hour, day = 60, 60 * 60, 24 * 60 * 60
	switch {
	case seconds < minute:
		return fmt.Sprintf("%ds", seconds)
	case seconds < hour:
		return fmt.Sprintf("%dm%02ds", seconds/minute, seconds%minute)
	case seconds < day:
		return fmt.Sprintf("%dh%02dm", seconds/hour, seconds%hour/minute)
	}
	return fmt.Sprintf("%dd%02dh", seconds/day, seconds%day/hour)
}

// delayedJSON is a line of ls.
type delayedJSON struct {
	Time string `json:"time"`
	At   int64  `json:"at"` // seconds since 1970
	jobJSON
}

func (a *app) delayedLines(ctx context.Context, client *resque.Client, asked resque.DelayedSelection) error {
	buffer := bufio.NewWriter(a.stdout)
	lines := jsonLines(buffer)
	for job, err := range client.Delayed(ctx, asked) {
		if err != nil {
			return errors.Join(buffer.Flush(), err)
		}
		err = lines.Encode(delayedJSON{
			job.At.UTC().Format(time.RFC3339), job.At.Unix(),
			newJobJSON(job.Queue, job.Class, job.Args, job.Raw, job.Err),
		})
		if err != nil {
			return unlessUnread(err)
		}
	}
	return unlessUnread(buffer.Flush())
}

const delayedCountHelp = `Counts delayed jobs, all or those that fit the filters.

Examples:
   understudy delayed count
   understudy delayed count --before 24h --by class
   understudy delayed count --queue reports --output json`

func (a *app) delayedCount() *cli.Command {
	return &cli.Command{
		Name:        "count",
		Usage:       "count delayed jobs",
		UsageText:   binary + " delayed count [options]",
		Description: delayedCountHelp,
		Flags:       delayedFlags(&cli.StringFlag{Name: "by", Usage: "count each `KIND` by itself: class or queue"}),
		Action: func(c *cli.Context) error {
			by := c.String("by")
			if c.IsSet("by") && by != "class" && by != "queue" {
				return refuse(a.settings(c).line("--by class"), "--by is %q: write class or queue", by)
			}
			return unlessUnread(a.withDelayed(c, nil, func(ctx context.Context, client *resque.Client, _ settings, asked delayedAsked) error {
				if by != "" {
					return a.countDelayedBy(ctx, client, asked, by)
				}
				n, err := client.CountDelayed(ctx, asked.DelayedSelection)
				if err != nil {
					return err
				}
				if asked.json {
					return jsonLines(a.stdout).Encode(map[string]int64{"count": n})
				}
				_, err = fmt.Fprintln(a.stdout, n)
				return err
			}))
		},
	}
}

func (a *app) countDelayedBy(ctx context.Context, client *resque.Client, asked delayedAsked, by string) error {
	counts := map[string]int64{}
	for job, err := range client.Delayed(ctx, asked.DelayedSelection) {
		if err != nil {
			return err
		}
		name := job.Class
		if by == "queue" {
			name = job.Queue
		}
		counts[name]++
	}
	names := slices.SortedFunc(maps.Keys(counts), func(one, other string) int {
		return cmp.Or(cmp.Compare(counts[other], counts[one]), cmp.Compare(one, other))
	})
	if asked.json {
		lines := jsonLines(a.stdout)
		for _, name := range names {
			if err := lines.Encode(map[string]any{by: name, "count": counts[name]}); err != nil {
				return err
			}
		}
		return nil
	}
	t := newTable(a.stdout, a.width(), column{title: "COUNT", right: true}, column{title: map[string]string{"class": "CLASS", "queue": "QUEUE"}[by]})
	for _, name := range names {
		if err := t.row(strconv.FormatInt(counts[name], 10), cmp.Or(name, "(none)")); err != nil {
			return err
		}
	}
	return t.end()
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/urfave/cli/v2"

	"example.com/understudy/failure"
	"example.com/understudy/resque"
	"example.com/understudy/scheduler"
)

const demoHelp = `A worker, a scheduler and five jobs: one succeeds, two fail and are tried again,
one must not be tried again, one is given up. Redis is in memory, so nothing is
needed and nothing is left behind.

Examples:
   understudy demo            goes on until Ctrl-C
   understudy demo --once     ends when all jobs are through
   understudy demo --redis redis://localhost:6379
                              leaves keys to look at, in the namespace
                              ` + demoNamespace

func (a *app) demo() *cli.Command {
	return &cli.Command{
		Name:        "demo",
		Usage:       "see jobs succeed, fail, wait, be tried again and be given up",
		UsageText:   binary + " demo [--once]",
		Description: demoHelp,
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "once", Usage: "end when all jobs are through"},
			&cli.StringFlag{Name: "redis", Usage: "`URL` of a Redis to use (default: one in memory)"},
			&cli.StringFlag{Name: "namespace", Usage: "`TEXT` before every key (default: " + demoNamespace + ")"},
		}, logFlags()...),
		Action: func(c *cli.Context) error { return a.runDemo(c.Context, a.settings(c)) },
	}
}

const (
	demoNamespace = "understudy-demo" // nobody else's
	demoLimit     = time.Minute       // for --once, should something hold it up
	demoPause     = 5 * time.Second   // between rounds
	demoInterval  = 100 * time.Millisecond
)

func (a *app) runDemo(ctx context.Context, s settings) (err error) {
	if s.c.NArg() > 0 {
		return refuse(s.line("--once"), "demo takes no arguments, but got %q", s.c.Args().First())
	}
	address := s.c.String("redis")
	if address == "" {
		server, err := miniredis.Run()
		if err != nil {
			return fmt.Errorf("start a Redis in memory: %w", err)
		}
		defer server.Close()
		address = "redis://" + server.Addr()
	}
	log, screen := a.logger(s), a.screen
	if !s.on("verbose", "VERBOSE", "LOGGING") && !s.on("vverbose", "VVERBOSE") {
		log = slog.New(slog.DiscardHandler) // the view tells of failures
	} else {
		screen = false // the log would be in the table's way
	}
	client, err := a.open(ctx, s, address, resque.Options{Namespace: s.namespace(demoNamespace), Logger: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	d := &demo{client: client, log: log, board: newBoard(a.stdout, screen), once: s.on("once")}
	if d.worker, err = d.newWorker(); err != nil {
		return err
	}
	say := a.say
	if screen {
		say = d.board.remark // a line of its own would be in the table's way
	}
	stopped, done := a.untilStopped(ctx, stopping{hurry: d.worker.Hurry, say: say})
	defer done()
	d.board.title(fmt.Sprintf("on %s, namespace %s", shownURL(address), client.Keys().Namespace()), d.once)
	return d.run(stopped)
}

// demo is a worker and a scheduler at work on a few jobs.
type demo struct {
	client *resque.Client
	log    *slog.Logger
	board  *board
	worker *resque.Worker
	once   bool
}

func (d *demo) newWorker() (*resque.Worker, error) {
	// Every run is shown when it starts and succeeds (middleware), and every
	// failure once it is recorded (a failure backend beside Ruby's).
	worker, err := resque.NewWorker(d.client, resque.WorkerConfig{
		Queues:      []string{demoQueue},
		Concurrency: 3,
		Interval:    demoInterval,
		Middleware:  []resque.Middleware{d.board.watch},
		History:     defaultHistory,
		Failures:    failure.Several(failure.SuppressRetries(failure.List{}), failure.Func(d.board.failed)),
		Logger:      d.log,
	})
	if err != nil {
		return nil, err
	}
	return worker, handleDemoJobs(worker)
}

func (d *demo) run(ctx context.Context) error {
	mover, err := scheduler.New(d.client, scheduler.Config{Interval: demoInterval, Logger: d.log})
	if err != nil {
		return err
	}
	before, err := d.numbers(ctx)
	if err != nil {
		return err
	}

	working, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 3) //nolint:mnd // one for each
	go func() { ended <- unlessStopped(working, d.worker.Run(working)) }()
	go func() { ended <- mover.Run(working) }()
	go func() { d.board.show(working); ended <- nil }()

	err = d.rounds(ctx)
	stop()
	err = errors.Join(err, <-ended, <-ended, <-ended)
	return errors.Join(err, d.summary(context.WithoutCancel(ctx), before))
}

// rounds enqueues the jobs and waits until all are through, again and again.
func (d *demo) rounds(ctx context.Context) error {
	for {
		jobs := demoJobs()
		d.board.begin(jobs)
		if _, err := d.client.EnqueueMany(ctx, jobs...); err != nil {
			return unlessStopped(ctx, err)
		}
		limit := time.NewTimer(demoLimit)
		defer limit.Stop()
		select {
		case <-d.board.through():
		case <-limit.C:
			return fmt.Errorf("the jobs are not through after %v; is another worker or scheduler at work in this namespace?", demoLimit)
		case <-ctx.Done():
			return nil
		}
		if d.once {
			return nil
		}
		pause := time.NewTimer(demoPause)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return nil
		}
	}
}

// demoNumbers are what Redis counts.
type demoNumbers struct{ processed, failures, records, waiting int64 }

func (d *demo) numbers(ctx context.Context) (n demoNumbers, err error) {
	keys := d.client.Keys()
	replies, err := d.client.Pipeline(ctx,
		resque.Call{Command: "GET", Keys: []string{keys.Of("stat:processed")}},
		resque.Call{Command: "GET", Keys: []string{keys.Of("stat:failed")}},
		resque.Call{Command: "LLEN", Keys: []string{keys.Of("failed")}},
		resque.Call{Command: "ZCARD", Keys: []string{keys.Of("delayed_queue_schedule")}},
	)
	if err != nil {
		return n, err
	}
	for i, number := range []*int64{&n.processed, &n.failures, &n.records, &n.waiting} {
		if replies[i] == nil {
			continue
		}
		if *number, err = resque.Int(replies[i], nil); err != nil {
			return n, err
		}
	}
	return n, nil
}

func (d *demo) summary(ctx context.Context, before demoNumbers) error {
	after, err := d.numbers(ctx)
	if err != nil {
		return err
	}
	d.board.end(fmt.Sprintf("Redis holds what Ruby's Resque would have left:\n"+
		"  stat:processed %d, stat:failed %d (each failed try counts, as in Ruby),\n"+
		"  %d records in failed for resque-web (none while a retry is to come),\n"+
		"  %d jobs waiting.",
		after.processed-before.processed, after.failures-before.failures, after.records-before.records, after.waiting))
	return nil
}

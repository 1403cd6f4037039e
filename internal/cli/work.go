package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"example.com/understudy/failure"
	"example.com/understudy/internal/endpoint"
	"example.com/understudy/internal/jobsfile"
	"example.com/understudy/internal/program"
	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

const workHelp = `Takes jobs from the queues and performs them with the programs and addresses of
a jobs file:

` + jobsfile.Example + `

docs/jobs.md lists all keys; examples/programs has programs to begin with. In
exec's place, http: https://sms.internal/deliver posts the jobs to an address.

A program gets the job on standard input and RESQUE_CLASS, RESQUE_QUEUE,
RESQUE_ATTEMPT and RESQUE_WORKER in its environment. Exit status 0 is success;
else its last line on standard error is the error: a plain text is a
RuntimeError, {"exception":"BadRecipient","error":"…"} names its class.

An address gets the job as the body of a POST, and Resque-Class, Resque-Queue,
Resque-Attempt and Resque-Worker as headers. 2xx is success; of any other answer
the body may say the same, else 503 is an HTTP::503.

Examples:
   understudy work --queues mt_messages --jobs jobs.yml
   understudy work --queues 'critical,*,!slow' --jobs jobs.yml --concurrency 25
   understudy work --queues high=2,low=1 --jobs jobs.yml     by weight
   understudy work --queues '*' --jobs jobs.yml --until-empty
   QUEUES=high,low COUNT=5 VERBOSE=1 understudy work --jobs jobs.yml

With * it takes every job there is, and fails those of classes that the file
doesn't name (NameError), as a Ruby worker does: whoever works a queue must know
every class on it. To move one class, give it a queue of its own first.

TERM and INT wait 10 s for the running jobs, then cancel them, wait 5 s more
and give the rest back to the heads of their queues; QUIT waits without limit,
so does TERM with GRACEFUL_TERM. A second signal cancels at once, a third ends
the process. USR1 cancels the running jobs and goes on, USR2 pauses, CONT ends
the pause.`

func (a *app) work() *cli.Command {
	return &cli.Command{
		Name:        "work",
		Usage:       "perform jobs with the programs and addresses of a jobs file",
		UsageText:   binary + " work --queues LIST --jobs FILE [options]",
		Description: workHelp,
		Flags: append(append(redisFlags(),
			&cli.StringFlag{Name: "queues", Usage: "`LIST` of queues by priority, with patterns (mail_*), exceptions (!slow) and weights (high=2) [$QUEUES, $QUEUE]"},
			&cli.StringFlag{Name: "jobs", Usage: "`FILE` that says how to perform which class"},
			&cli.StringFlag{Name: "concurrency", Usage: "`NUMBER` of jobs at a time [$COUNT] (default: 10)"},
			&cli.StringFlag{Name: "interval", Usage: "`TIME` between looks at the queues, where Redis can't tell of changes; 0 is --until-empty, as in Ruby [$INTERVAL] (default: 5s)"},
			&cli.StringFlag{Name: "failures", Usage: "`WHERE` failures go, list or per-queue [$FAILURE_BACKEND: redis or redis_multi_queue] (default: list)"},
			&cli.BoolFlag{Name: "no-suppress", Usage: "record each failure, also while a retry is pending"},
			&cli.StringFlag{Name: "history", Usage: "`NUMBER` of attempts that Redis keeps, of all workers together; 0: none (default: 10000)"},
			&cli.BoolFlag{Name: "until-empty", Usage: "end when no job is left that is due; due delayed jobs are moved to their queues"},
			&cli.StringFlag{Name: "pidfile", Usage: "`FILE` that gets the process id [$PIDFILE]"},
		), append(timeoutFlags(), logFlags()...)...),
		Action: func(c *cli.Context) error { return a.runWork(c.Context, a.settings(c)) },
	}
}

// workPlan is what a work command was asked to do.
type workPlan struct {
	config     resque.WorkerConfig
	jobs       *jobsfile.File
	untilEmpty bool
	address    string
}

func (a *app) runWork(ctx context.Context, s settings) (err error) {
	if s.c.NArg() > 0 {
		return refuse(s.line(""), "work takes no arguments, but got %q: queues are named by --queues", s.c.Args().First())
	}
	log := a.logger(s)
	plan, err := a.planWork(s, log)
	if err != nil {
		return err
	}
	client, err := a.connect(ctx, s, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	transport := endpoint.NewTransport(cmp.Or(plan.config.Concurrency, defaultConcurrency))
	defer transport.CloseIdleConnections()
	worker, err := a.worker(client, plan, transport, log)
	if err != nil {
		return err
	}
	if err := s.writePIDFile(); err != nil {
		return err
	}
	queues, _ := resque.ParseQueueList(plan.config.Queues...) // was read once
	a.say("working %s on %s (stop: Ctrl-C)", queues.IDText(), shownURL(plan.address))
	stopped, done := a.untilStopped(ctx, stopping{
		drain: worker.Drain, graceful: s.env("GRACEFUL_TERM") != "", hurry: worker.Hurry,
		wait: plan.config.ShutdownTimeout, others: a.workerSignals(worker), say: a.say,
	})
	defer done()
	announcing := announcement{client: client, log: log, lockPrefix: s.env(lockPrefixVariable)}
	announcing.announce(stopped, queues, plan.jobs)
	if !plan.untilEmpty {
		return unlessStopped(stopped, worker.Run(stopped))
	}
	return workUntilEmpty(stopped, worker, emptiness{client: client, queues: queues, log: log, lockPrefix: s.env(lockPrefixVariable)})
}

// planWork reads and checks all that the command was given.
func (a *app) planWork(s settings, log *slog.Logger) (plan workPlan, err error) {
	plan.config.Logger = log
	if plan.config.Queues, err = s.queues(); err != nil {
		return plan, err
	}
	if plan.jobs, err = s.readJobs(); err != nil {
		return plan, err
	}
	if plan.config.Concurrency, err = s.count("concurrency", "COUNT"); err != nil {
		return plan, err
	}
	interval, set, err := s.duration("interval", "INTERVAL")
	if err != nil {
		return plan, err
	}
	plan.config.Interval = interval
	plan.untilEmpty = s.on("until-empty") || set && interval == 0
	if plan.untilEmpty {
		plan.config.Interval = emptyInterval
	}
	if plan.config.History, err = s.history(); err != nil {
		return plan, err
	}
	if err = s.timeouts(&plan.config); err != nil {
		return plan, err
	}
	if plan.config.Failures, err = s.failures(); err != nil {
		return plan, err
	}
	plan.address, err = s.redisURL()
	return plan, err
}

func (s settings) queues() ([]string, error) {
	text, source := s.text("queues", "QUEUES", "QUEUE")
	if source == "" {
		return nil, refuse(s.line(""), "no queues: name them by --queues (or QUEUES), such as high,low, or * for all")
	}
	if _, err := resque.ParseQueueList(text); err != nil {
		return nil, refuse(s.line(""), "%s: %v", source, withoutPrefix(err))
	}
	return []string{text}, nil
}

// readJobs reads the jobs file, finds its programs and fills in its variables.
func (s settings) readJobs() (*jobsfile.File, error) {
	path, _ := s.text("jobs")
	if path == "" {
		return nil, refuse(s.line(""), "no handlers, so every job would fail: say in a jobs file which program or address performs which class\n%s", jobsfile.Example)
	}
	file, err := jobsfile.Read(path)
	if err == nil {
		err = file.Resolve(s.lookupEnv)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, refuse("", "%v: write it, such as\n%s", err, jobsfile.Example)
	case err != nil:
		return nil, refuse("", "%v", err) // the line that failed wouldn't work now either
	}
	return file, nil
}

// defaultHistory is how many attempts the commands keep.
const defaultHistory = 10_000

// history is how many attempts to keep.
func (s settings) history() (int, error) {
	text, source := s.text("history")
	if source == "" {
		return defaultHistory, nil
	}
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 0 {
		return 0, refuse(s.line("--history 10000"), "%s: %q is no number of attempts; 0 keeps none", source, text)
	}
	return n, nil
}

// failures is where failed jobs are recorded.
func (s settings) failures() (resque.FailureBackend, error) {
	text, source := s.text("failures", "FAILURE_BACKEND")
	words := map[string]resque.FailureBackend{"list": failure.List{}, "per-queue": failure.ListPerQueue{}}
	if source != "--failures" {
		words = map[string]resque.FailureBackend{"redis": failure.List{}, "redis_multi_queue": failure.ListPerQueue{}, "": failure.List{}}
	}
	backend, ok := words[text]
	switch {
	case !ok && source == "--failures":
		return nil, refuse(s.line("--failures per-queue"), "--failures is %q: write list or per-queue", text)
	case !ok:
		return nil, refuse(s.line("--failures per-queue"), "%s is %q: write redis or redis_multi_queue", source, text)
	case s.on("no-suppress"):
		return backend, nil
	}
	return failure.SuppressRetries(backend), nil
}

// writePIDFile writes the process id where Ruby's PIDFILE wants it.
func (s settings) writePIDFile() error {
	path, source := s.text("pidfile", "PIDFILE")
	if source == "" {
		return nil
	}
	const readable = 0o644
	if err := os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())), readable); err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	return nil
}

// worker makes the worker with a handler for each class of the jobs file.
func (a *app) worker(client *resque.Client, plan workPlan, transport http.RoundTripper, log *slog.Logger) (*resque.Worker, error) {
	config := plan.config
	config.Retry, config.QueueRetry = logged(plan.jobs.Default, log), map[string]resque.RetryPolicy{}
	for queue, policy := range plan.jobs.Queues {
		config.QueueRetry[queue] = logged(policy, log)
	}
	worker, err := resque.NewWorker(client, config)
	if err != nil {
		return nil, err
	}
	for _, job := range plan.jobs.Jobs {
		options := []resque.HandleOption{resque.Queue(job.Queue), resque.Timeout(job.Timeout), job.AtDeadline}
		switch {
		case job.Retry != nil:
			policy := *job.Retry
			policy.Logger = log
			options = append(options, policy)
		case job.NoRetry:
			options = append(options, resque.NoRetry())
		}
		if err := worker.Handle(job.Class, a.handler(job, transport), options...); err != nil {
			return nil, err
		}
	}
	return worker, nil
}

// logged is a policy with a logger; none stays none.
func logged(policy *retry.Policy, log *slog.Logger) resque.RetryPolicy {
	if policy == nil {
		return nil
	}
	logging := *policy
	logging.Logger = log
	return logging
}

// handler performs the jobs of a class, with a program or by posting them.
func (a *app) handler(job jobsfile.Job, transport http.RoundTripper) resque.Handler {
	if job.HTTP == nil {
		return &program.Handler{Command: job.Exec, Output: a.stderr}
	}
	header := http.Header{}
	for _, h := range job.HTTP.Headers {
		header.Set(h.Name, h.Value)
	}
	return &endpoint.Handler{URL: job.HTTP.URL, Header: header, Transport: transport}
}

// defaultConcurrency is that of resque.WorkerConfig.
const defaultConcurrency = 10

// emptyInterval is short: --until-empty is for batches, and Redis may not be
// able to tell of changes.
const emptyInterval = 100 * time.Millisecond

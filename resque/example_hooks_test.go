package resque_test

import (
	"context"
	"errors"
	"fmt"

	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

var errTwice = errors.New("it is in the queue already")

// Client hooks see every job before and after it is enqueued; an error refuses
// it.
func ExampleClientHooks() {
	server := startRedis()
	defer server.Close()
	ctx := context.Background()

	seen := map[string]bool{}
	client, err := resque.Open(ctx, "redis://"+server.Addr(), resque.Options{Hooks: resque.ClientHooks{
		BeforeEnqueue: func(_ context.Context, job resque.NewJob) error {
			if seen[job.Class] {
				return errTwice
			}
			return nil
		},
		AfterEnqueue: func(_ context.Context, job resque.NewJob) {
			seen[job.Class] = true
			fmt.Println("enqueued", job.Class, job.Args)
		},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = client.Close() }()

	fmt.Println(client.Enqueue(ctx, "reports", "Report", "2026-01"))
	err = client.Enqueue(ctx, "reports", "Report", "2026-02")
	fmt.Println(err)
	fmt.Println(errors.Is(err, resque.ErrRefused), errors.Is(err, errTwice))
	// Output:
	// enqueued Report [2026-01]
	// <nil>
	// resque: BeforeEnqueue refused: it is in the queue already
	// true true
}

// Worker hooks run at the turns of a worker's life.
func ExampleWorkerHooks() {
	server := startRedis()
	defer server.Close()
	client := open(server)
	defer func() { _ = client.Close() }()
	ctx := context.Background()

	w, err := resque.NewWorker(client, resque.WorkerConfig{Queues: []string{"reports"}, Hooks: resque.WorkerHooks{
		Start: func(context.Context, *resque.Worker) error {
			fmt.Println("start: open what the jobs need")
			return nil
		},
		OnFailure: func(_ context.Context, job *resque.Job, err error) {
			fmt.Printf("failure: %s%s: %v\n", job.Class, job.Args, err)
		},
		QueueEmpty: func(_ context.Context, w *resque.Worker) {
			fmt.Println("queue empty")
			w.Drain() // Run ends here; without it the worker waits for more
		},
		Stop: func(context.Context, *resque.Worker) { fmt.Println("stop: close it again") },
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	report := func(context.Context, string) error { return errors.New("no data") }
	err = errors.Join(
		w.Handle("Report", resque.Func(report)),
		client.Enqueue(ctx, "reports", "Report", "2026-01"),
		w.Run(ctx),
	)
	fmt.Println(err)
	// Output:
	// start: open what the jobs need
	// failure: Report["2026-01"]: no data
	// queue empty
	// stop: close it again
	// <nil>
}

// unlessClosed ends the jobs of closed accounts quietly: neither performed nor
// failed.
func unlessClosed(next resque.Handler) resque.Handler {
	return resque.HandlerFunc(func(ctx context.Context, job *resque.Job) error {
		if closed(job) {
			return fmt.Errorf("the account is closed: %w", resque.ErrDontPerform)
		}
		return next.Perform(ctx, job)
	})
}

// closed stands for a look into the accounts.
func closed(job *resque.Job) bool { return string(job.Args) == `[7]` }

// Middleware says that a job is not to be performed, as a before_perform hook
// does in Ruby by Resque::Job::DontPerform.
func ExampleErrDontPerform() {
	server := startRedis()
	defer server.Close()
	client := open(server)
	defer func() { _ = client.Close() }()
	ctx := context.Background()

	w, err := resque.NewWorker(client, resque.WorkerConfig{
		Queues: []string{"bills"}, Concurrency: 1, Middleware: []resque.Middleware{unlessClosed},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	bill := func(_ context.Context, account int64) error {
		fmt.Println("bill for", account)
		return nil
	}
	err = errors.Join(
		w.Handle("Bill", resque.Func(bill), retry.Policy{Limit: 5}),
		client.Enqueue(ctx, "bills", "Bill", 7),
		client.Enqueue(ctx, "bills", "Bill", 8),
		w.Start(ctx),
	)
	for worked := true; worked && err == nil; {
		worked, err = w.Step(ctx)
	}
	fmt.Println(errors.Join(err, w.Stop(ctx)))
	processed, _ := server.Get("resque:stat:processed")
	fmt.Println(processed, "processed, a list of failures:", server.Exists("resque:failed"))
	// Output:
	// bill for 8
	// <nil>
	// 2 processed, a list of failures: false
}

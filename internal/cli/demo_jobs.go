package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

// demoQueue is the queue of all of the demo's jobs.
const demoQueue = "demo"

// handleDemoJobs registers the demo's jobs, as a program of yours would register
// its own.
func handleDemoJobs(w *resque.Worker) error {
	return errors.Join(
		// No policy: a failure would be final.
		w.Handle("WelcomeMail", resque.Func(welcomeMail), resque.Queue(demoQueue)),

		// Up to three retries, each two seconds after the failure.
		w.Handle("DeliverSMS", resque.Func(deliverSMS), resque.Queue(demoQueue),
			retry.Policy{Limit: 3, Delay: retry.Every(2 * time.Second)}),

		// A wait of its own for each retry.
		w.Handle("SyncStock", resque.Func(syncStock), resque.Queue(demoQueue),
			retry.Policy{Backoff: []time.Duration{time.Second, 3 * time.Second, 10 * time.Second}}),

		// Retries, but not after this error.
		w.Handle("ChargeCard", resque.Func(chargeCard), resque.Queue(demoQueue),
			retry.Policy{Limit: 5, Delay: retry.Every(time.Minute), Fatal: retry.Errors{retry.Named("CardDeclined")}}),

		// One retry, then it is given up.
		w.Handle("ResizeImage", resque.Func(resizeImage), resque.Queue(demoQueue),
			retry.Policy{Limit: 1, Delay: retry.Every(2 * time.Second)}),
	)
}

// demoJobs are enqueued once a round.
func demoJobs() []resque.NewJob {
	return []resque.NewJob{
		{Queue: demoQueue, Class: "WelcomeMail", Args: []any{"ada@example.org"}},
		{Queue: demoQueue, Class: "DeliverSMS", Args: []any{7, "+4912345", "Your code is 1815"}},
		{Queue: demoQueue, Class: "SyncStock", Args: []any{map[string]int{"apples": 12, "pears": 3}}},
		{Queue: demoQueue, Class: "ChargeCard", Args: []any{"visa-4242", 19.9}},
		{Queue: demoQueue, Class: "ResizeImage", Args: []any{"cat.png"}},
	}
}

// welcomeMail is an ordinary job: the arguments are those of Ruby's perform.
func welcomeMail(ctx context.Context, _ string) error { return busy(ctx) }

// deliverSMS is tried again after any error; the second try works.
func deliverSMS(ctx context.Context, job *resque.Job, _ int64, number, _ string) error {
	if err := busy(ctx); err != nil {
		return err
	}
	if job.Attempt == 0 {
		return networkError{"no way to " + number}
	}
	return nil
}

// syncStock works at the third try.
func syncStock(ctx context.Context, job *resque.Job, stock map[string]int) error {
	if err := busy(ctx); err != nil {
		return err
	}
	if job.Attempt < 2 { //nolint:mnd // the story of this job
		return fmt.Errorf("store %d goods: %w", len(stock), networkError{"the warehouse is busy"})
	}
	return nil
}

// chargeCard fails with an error after which trying again makes no sense.
func chargeCard(ctx context.Context, _ string, amount float64) error {
	if err := busy(ctx); err != nil {
		return err
	}
	return cardDeclined{amount}
}

// resizeImage has a bug.
func resizeImage(ctx context.Context, name string) error {
	if err := busy(ctx); err != nil {
		return err
	}
	panic("no decoder for " + name)
}

// busy stands for the work itself; it ends early when the run is cancelled.
func busy(ctx context.Context) error {
	timer := time.NewTimer(300 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// networkError has a name and an ancestor of its own in failure records, where
// Ruby's retry rules would look for them.
type networkError struct{ reason string }

func (e networkError) Error() string       { return e.reason }
func (networkError) ExceptionName() string { return "NetworkError" }
func (networkError) Ancestors() []string   { return []string{"IOError", "StandardError"} }

type cardDeclined struct{ amount float64 } //nolint:errname // Ruby's way of naming

func (e cardDeclined) Error() string       { return fmt.Sprintf("the bank refuses %.2f", e.amount) }
func (cardDeclined) ExceptionName() string { return "CardDeclined" }

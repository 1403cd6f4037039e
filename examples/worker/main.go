// Command worker is a whole worker: it performs the class DeliverSMS of the queue
// mt_messages until it is told to stop.
//
//	REDIS_URL=redis://localhost:6379 go run ./examples/worker
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"example.com/understudy/failure"
	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, cmp.Or(os.Getenv("REDIS_URL"), "redis://localhost:6379"), resque.Options{Logger: slog.Default()})
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

// run works until ctx ends.
func run(ctx context.Context, url string, options resque.Options) error {
	client, err := resque.Open(ctx, url, options)
	if err != nil {
		return err
	}
	return errors.Join(work(ctx, client), client.Close())
}

func work(ctx context.Context, client *resque.Client) error {
	w, err := resque.NewWorker(client, resque.WorkerConfig{
		Queues:   []string{"mt_messages"},
		Failures: failure.SuppressRetries(failure.List{}),
		Logger:   slog.Default(),
	})
	if err != nil {
		return err
	}
	err = w.Handle("DeliverSMS", resque.Func(deliverSMS),
		resque.Queue("mt_messages"),
		resque.Timeout(30*time.Second),
		retry.Policy{
			Limit: 10,
			Delay: retry.Every(2 * time.Minute),
			Fatal: retry.Errors{retry.As[recipientError]()},
		})
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

// recipientError is an error that no retry mends. Failure records, and Ruby's
// retry rules, know it by the name of a Ruby class.
type recipientError struct{ number string }

func (e recipientError) Error() string       { return fmt.Sprintf("%q is no number", e.number) }
func (recipientError) ExceptionName() string { return "BadRecipient" }

// deliverSMS is what DeliverSMS.perform(id, number, text) is in Ruby. One that
// takes longer ends early when its context does.
func deliverSMS(_ context.Context, id int64, number, text string) error {
	if number == "" || number[0] != '+' {
		return recipientError{number}
	}
	_, err := fmt.Printf("message %d to %s: %s\n", id, number, text)
	return err
}

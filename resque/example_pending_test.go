package resque_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/understudy/resque"
)

// What a job enqueues is there once it has succeeded, and never if it fails.
func ExampleJob_Enqueue() {
	server := startRedis()
	defer server.Close()
	ctx := context.Background()
	client, err := resque.Open(ctx, "redis://"+server.Addr(), resque.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = client.Close() }()
	w, err := resque.NewWorker(client, resque.WorkerConfig{Queues: []string{"orders"}, Concurrency: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	tries := 0
	order := resque.HandlerFunc(func(ctx context.Context, job *resque.Job) error {
		err := errors.Join(
			job.Enqueue(ctx, "mails", "Confirm", 7),
			job.EnqueueIn(ctx, 48*time.Hour, "mails", "AskForReview", 7),
		)
		if err != nil {
			return err
		}
		if tries++; tries == 1 {
			return errors.New("the stock is locked")
		}
		return nil
	})
	err = errors.Join(
		w.Handle("Order", order),
		client.Enqueue(ctx, "orders", "Order", 7),
		client.Enqueue(ctx, "orders", "Order", 7),
		w.Start(ctx),
	)
	for range 2 {
		_, stepErr := w.Step(ctx)
		mails, sizeErr := client.Size(ctx, "mails")
		err = errors.Join(err, stepErr, sizeErr)
		fmt.Println("mails to send:", mails)
	}
	if err = errors.Join(err, w.Stop(ctx)); err != nil {
		fmt.Println(err)
	}
	// Output:
	// mails to send: 0
	// mails to send: 1
}

// database stands for one with transactions: what a transaction changes is there
// as a whole, or not at all.
type database struct {
	charged []int
	outbox  []resque.NewJob
}

func (d *database) transaction(change func(*database) error) error {
	draft := database{charged: append([]int(nil), d.charged...), outbox: append([]resque.NewJob(nil), d.outbox...)}
	if err := change(&draft); err != nil {
		return err
	}
	*d = draft
	return nil
}

// charge changes a database and enqueues a job, both or none: the job is written
// into a table of the same database, in the same transaction. It may run more than
// once, so it looks first whether it has been done.
func charge(d *database, order int) error {
	return d.transaction(func(tx *database) error {
		if slices.Contains(tx.charged, order) {
			return nil
		}
		tx.charged = append(tx.charged, order)
		tx.outbox = append(tx.outbox, resque.NewJob{Queue: "mails", Class: "Receipt", Args: []any{order}})
		return nil
	})
}

// relay moves jobs from the table into their queues, over and over. Where it dies
// between the two steps, it enqueues some of them a second time, and never loses
// one.
func relay(ctx context.Context, d *database, client *resque.Client) error {
	jobs := d.outbox // SELECT … ORDER BY id LIMIT 500
	written, err := client.EnqueueMany(ctx, jobs...)
	return errors.Join(err, d.transaction(func(tx *database) error {
		tx.outbox = tx.outbox[written:] // DELETE … WHERE id <= the last one written
		return nil
	}))
}

// The outbox: jobs that belong to a change of another database.
func ExampleClient_EnqueueMany_outbox() {
	server := startRedis()
	defer server.Close()
	ctx := context.Background()
	client, err := resque.Open(ctx, "redis://"+server.Addr(), resque.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = client.Close() }()
	var d database
	err = errors.Join(charge(&d, 7), charge(&d, 7), charge(&d, 8), relay(ctx, &d, client))
	mails, sizeErr := client.Size(ctx, "mails")
	if err = errors.Join(err, sizeErr); err != nil {
		fmt.Println(err)
	}
	fmt.Println("charged", d.charged, "and", mails, "receipts to send,", len(d.outbox), "left in the outbox")
	// Output:
	// charged [7 8] and 2 receipts to send, 0 left in the outbox
}

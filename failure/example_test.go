package failure_test

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"

	"example.com/understudy/failure"
	"example.com/understudy/resque"
)

// A job that will be tried again in a minute is in no list of failures, and the
// error tracker doesn't hear of it either.
func ExampleSuppressRetries() {
	report := failure.Func(func(_ context.Context, f *resque.Failure) error {
		fmt.Println("reported:", f.Message)
		return nil
	})
	backend := failure.SuppressRetries(failure.Several(failure.List{}, report))

	job := &resque.Job{Class: "DeliverSMS", Queue: "mt_messages", Payload: []byte(`{"class":"DeliverSMS","args":[7]}`)}
	for _, pending := range []bool{true, false} {
		writes, err := backend.Writes(&resque.Failure{
			Job: job, Message: "no route", RetryKey: "resque-retry:DeliverSMS:902ba3", RetryPending: pending, RetryDelay: time.Minute,
		})
		if err != nil {
			fmt.Println(err)
		}
		for _, w := range writes {
			fmt.Println(w.Command, w.Key)
		}
	}
	// Output:
	// SETEX failure-resque-retry:DeliverSMS:902ba3
	// DEL failure-resque-retry:DeliverSMS:902ba3
	// RPUSH failed
}

// failures starts a Redis in which four jobs have failed.
func failures(ctx context.Context) (*miniredis.Miniredis, *resque.Client, *failure.Store) {
	server, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	client, err := resque.Open(ctx, "redis://"+server.Addr(), resque.Options{})
	if err != nil {
		panic(err)
	}
	for i, class := range []string{"DeliverSMS", "Mail::Welcome", "Mail::Bill", "Mail::Bill"} {
		record := fmt.Sprintf(`{"failed_at":"2026/01/02 03:04:0%d UTC","payload":{"class":"%s","args":[%d]},`+
			`"exception":"Net::ReadTimeout","error":"no answer","backtrace":[],"worker":"host:1:q","queue":"q"}`, i, class, i)
		_, _ = server.RPush("resque:failed", record)
	}
	return server, client, failure.NewStore(client, failure.StoreConfig{})
}

// The mails that have failed, the newest first.
func ExampleStore_Each() {
	ctx := context.Background()
	server, client, store := failures(ctx)
	defer server.Close()
	for r, err := range store.Each(ctx, failure.Filter{Class: "Mail::*"}, failure.NewestFirst) {
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Println(r.FailedAt.Format(time.TimeOnly), r.Class, string(r.Args), r.Exception, r.Error)
	}
	fmt.Println(client.Close())
	// Output:
	// 03:04:03 Mail::Bill [3] Net::ReadTimeout no answer
	// 03:04:02 Mail::Bill [2] Net::ReadTimeout no answer
	// 03:04:01 Mail::Welcome [1] Net::ReadTimeout no answer
	// <nil>
}

// One record, which a person has chosen by its ID.
func ExampleStore_Requeue() {
	ctx := context.Background()
	server, client, store := failures(ctx)
	defer server.Close()
	records, err := store.All(ctx, "failed", 0, 1)
	if err != nil {
		panic(err)
	}
	chosen, err := store.Find(ctx, records[0].ID)
	if err != nil {
		panic(err)
	}
	fmt.Println(store.Requeue(ctx, chosen))
	fmt.Println(store.Requeue(ctx, chosen)) // as it was seen before
	jobs, err := server.List("resque:queue:q")
	fmt.Println(jobs, err, client.Close())
	// Output:
	// <nil>
	// failure: the record isn't there any more as it was seen: ffeca86eb619
	// [{"class":"DeliverSMS","args":[0]}] <nil> <nil>
}

// requeueBills puts the bills that failed back into their queue.
func requeueBills(ctx context.Context, client *resque.Client) error {
	store := failure.NewStore(client, failure.StoreConfig{})
	bills := failure.Filter{Class: "Mail::Bill", Unretried: true}
	result, err := store.RequeueMatching(ctx, bills, func(sofar failure.Result) {
		fmt.Printf("%d of %d looked at, %d requeued\n", sofar.Seen, sofar.Total, sofar.Done)
	})
	if result.Skipped > 0 {
		fmt.Println(result.Skipped, "left alone, such as", result.Reason)
	}
	return err
}

// All failures of a class.
func ExampleStore_RequeueMatching() {
	ctx := context.Background()
	server, client, _ := failures(ctx)
	defer server.Close()
	fmt.Println(requeueBills(ctx, client))
	jobs, err := server.List("resque:queue:q")
	fmt.Println(jobs, err, client.Close())
	// Output:
	// 4 of 4 looked at, 2 requeued
	// <nil>
	// [{"class":"Mail::Bill","args":[2]} {"class":"Mail::Bill","args":[3]}] <nil> <nil>
}

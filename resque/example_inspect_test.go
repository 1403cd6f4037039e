package resque_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"example.com/understudy/resque"
)

// look shows what waits in the queues, and what is being worked on.
func look(ctx context.Context, client *resque.Client) error {
	queues, err := client.Queues(ctx)
	if err != nil {
		return err
	}
	for _, queue := range queues {
		size, err := client.Size(ctx, queue)
		if err != nil {
			return err
		}
		next, err := client.Peek(ctx, queue, 0, 3)
		if err != nil {
			return err
		}
		fmt.Println(queue, "holds", size)
		for _, job := range next {
			fmt.Printf("  %s %s\n", job.Class, job.Args)
		}
	}
	working, err := client.Working(ctx)
	if err != nil {
		return err
	}
	for _, w := range working {
		fmt.Printf("%s has had a %s of %s since %v\n", w.ID, w.Hand.Class, w.Hand.Queue, w.Hand.RunAt)
	}
	return nil
}

// What waits, and what is being worked on: the jobs of Ruby's workers and of Go's.
func ExampleClient_Working() {
	server := startRedis()
	defer server.Close()
	client := open(server)
	defer func() { _ = client.Close() }()
	ctx := context.Background()

	err := errors.Join(
		client.Enqueue(ctx, "mt_messages", "DeliverSMS", 7, "+4912345", "hello"),
		client.Enqueue(ctx, "reports", "Report", "2026-01"),
	)
	// A Ruby worker has taken a job.
	_, _ = server.SAdd("resque:workers", "web1:42:reports")
	_ = server.Set("resque:worker:web1:42:reports",
		`{"queue":"reports","run_at":"2026-01-02T03:04:05Z","payload":{"class":"Report","args":["2025-12"]}}`)

	fmt.Println(errors.Join(err, look(ctx, client)))
	// Output:
	// mt_messages holds 1
	//   DeliverSMS [7,"+4912345","hello"]
	// reports holds 1
	//   Report ["2026-01"]
	// web1:42:reports has had a Report of reports since 2026-01-02 03:04:05 +0000 UTC
	// <nil>
}

// Peek leaves the jobs where they are. A negative start counts from the end; what
// is no job says why.
func ExampleClient_Peek() {
	server := startRedis()
	defer server.Close()
	client := open(server)
	defer func() { _ = client.Close() }()
	ctx := context.Background()

	for _, month := range []string{"2026-01", "2026-02", "2026-03"} {
		if err := client.Enqueue(ctx, "reports", "Report", month); err != nil {
			fmt.Println(err)
		}
	}
	_, _ = server.RPush("resque:queue:reports", `["Report"]`)

	next, err := client.Peek(ctx, "reports", 0, 1)
	fmt.Printf("next: %s %v\n", next[0].Raw, err)
	last, err := client.Peek(ctx, "reports", -2, 2)
	for _, job := range last {
		fmt.Printf("last: %s %v\n", job.Raw, job.Err)
	}
	fmt.Println(err)
	// Output:
	// next: {"class":"Report","args":["2026-01"]} <nil>
	// last: {"class":"Report","args":["2026-03"]} <nil>
	// last: ["Report"] not a job: its JSON is no object
	// <nil>
}

// Dequeue takes the jobs with exactly these arguments out of a queue,
// DequeueClass all of a class (Ruby: Resque.dequeue with and without arguments).
func ExampleClient_Dequeue() {
	server := startRedis()
	defer server.Close()
	client := open(server)
	defer func() { _ = client.Close() }()
	ctx := context.Background()

	for _, month := range []string{"2026-01", "2026-02", "2026-01", "2026-03"} {
		if err := client.Enqueue(ctx, "reports", "Report", month); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(client.Dequeue(ctx, "reports", "Report", "2026-01"))
	fmt.Println(client.Dequeue(ctx, "reports", "Report")) // those without arguments
	fmt.Println(client.DequeueClass(ctx, "reports", "Report"))
	fmt.Println(client.Size(ctx, "reports"))
	// Output:
	// 2 <nil>
	// 0 <nil>
	// 2 <nil>
	// 0 <nil>
}

// Workers shows all that are registered. What is broken about one hides none of
// the others.
func ExampleClient_Workers() {
	server := startRedis()
	defer server.Close()
	client := open(server)
	defer func() { _ = client.Close() }()

	_, _ = server.SAdd("resque:workers", "web1:42:high,tenant:7:mail", "web2")
	_ = server.Set("resque:worker:web1:42:high,tenant:7:mail:started", "2026-01-02 03:04:05 +0000")
	_, _ = server.Incr("resque:stat:processed:web1:42:high,tenant:7:mail", 12)

	workers, err := client.Workers(context.Background())
	for _, w := range workers {
		if w.Err != nil {
			fmt.Println(w.Err)
			continue
		}
		fmt.Printf("%s on %s is %s and works %s\n", w.PID, w.Host, w.State(), strings.Join(w.Queues, " and "))
		fmt.Printf("%d jobs since %s\n", w.Processed, w.Started.Format("15:04"))
	}
	fmt.Println(err)
	// Output:
	// 42 on web1 is idle and works high and tenant:7:mail
	// 12 jobs since 03:04
	// resque: worker id "web2" is not of the form host:pid:queues
	// <nil>
}

// Info is a Resque in numbers. What has failed ever and what stands in the list of
// failures now are two of them.
func ExampleClient_Info() {
	server := startRedis()
	defer server.Close()
	client := open(server)
	defer func() { _ = client.Close() }()
	ctx := context.Background()

	err := client.Enqueue(ctx, "reports", "Report", "2026-01")
	_ = server.Set("resque:stat:processed", "100")
	_ = server.Set("resque:stat:failed", "40")
	_, _ = server.RPush("resque:failed", `{"failed_at":"2026/01/02 03:04:05 UTC"}`)

	info, err2 := client.Info(ctx)
	fmt.Println(errors.Join(err, err2))
	fmt.Println(info.Pending, "of", info.Queues, "queue waits")
	fmt.Println(info.Processed, "runs,", info.FailedTotal, "failed,", info.FailedRecords, "failure in the list")
	// Output:
	// <nil>
	// 1 of 1 queue waits
	// 100 runs, 40 failed, 1 failure in the list
}

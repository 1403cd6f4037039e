package resque_test

import (
	"context"
	"fmt"
	"time"

	"example.com/understudy/resque"
)

// A job that waits for its time is found again by what it was enqueued with.
func ExampleClient_EnqueueIn() {
	server := startRedis()
	defer server.Close()
	client := open(server)
	defer func() { _ = client.Close() }()
	ctx := context.Background()

	err := client.EnqueueIn(ctx, 24*time.Hour, "mt_messages", "Remind", 7)
	if err != nil {
		fmt.Println(err)
		return
	}
	times, _ := client.ScheduledAt(ctx, "mt_messages", "Remind", 7)
	fmt.Println(len(times), "waits, for about", time.Until(times[0]).Round(time.Hour))

	// Later, whether it waits or not.
	_, _ = client.DelayOrEnqueueIn(ctx, 48*time.Hour, "mt_messages", "Remind", 7)
	times, _ = client.ScheduledAt(ctx, "mt_messages", "Remind", 7)
	fmt.Println(len(times), "waits, for about", time.Until(times[0]).Round(time.Hour))

	// Not at all.
	removed, _ := client.RemoveDelayed(ctx, "mt_messages", "Remind", 7)
	waiting, _ := client.DelayedCount(ctx)
	fmt.Println(removed, "removed,", waiting, "waiting")
	// Output:
	// 1 waits, for about 24h0m0s
	// 1 waits, for about 48h0m0s
	// 1 removed, 0 waiting
}

// A function chooses among all jobs that wait; here those of one customer run now.
func ExampleClient_EnqueueDelayedFunc() {
	server := startRedis()
	defer server.Close()
	client := open(server)
	defer func() { _ = client.Close() }()
	ctx := context.Background()

	tomorrow := time.Now().Add(24 * time.Hour)
	for _, customer := range []string{"Ada", "Grace", "Ada"} {
		if err := client.EnqueueAt(ctx, tomorrow, "reports", "Report", customer); err != nil {
			fmt.Println(err)
		}
	}
	n, err := client.EnqueueDelayedFunc(ctx, func(job resque.DelayedJob) bool {
		return job.Class == "Report" && string(job.Args) == `["Ada"]`
	})
	fmt.Println(n, err)
	queued, _ := client.Size(ctx, "reports")
	waiting, _ := client.DelayedCount(ctx)
	fmt.Println(queued, "queued,", waiting, "waiting")
	// Output:
	// 2 <nil>
	// 2 queued, 1 waiting
}

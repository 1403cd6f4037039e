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

// Delayed jobs are looked at by time, or by anything else; the same selection
// removes or enqueues them.
func ExampleClient_Delayed() {
	server := startRedis()
	defer server.Close()
	client := open(server)
	defer func() { _ = client.Close() }()
	ctx := context.Background()

	for hours, class := range []string{"Report", "Bill", "Report"} {
		if err := client.EnqueueIn(ctx, time.Duration(hours+1)*time.Hour, "reports", class, hours); err != nil {
			fmt.Println(err)
		}
	}
	soon := resque.DelayedSelection{Until: time.Now().Add(150 * time.Minute)}
	for job, err := range client.Delayed(ctx, soon) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s%s\n", job.Class, job.Args)
	}
	result, err := client.RemoveDelayedSelection(ctx, soon)
	fmt.Println(result.Done, "of", result.Chosen, "removed", err)
	// Output:
	// Report[0]
	// Bill[1]
	// 2 of 2 removed <nil>
}

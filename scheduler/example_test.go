package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"

	"example.com/understudy/resque"
	"example.com/understudy/scheduler"
)

// schedule moves delayed jobs to their queues until ctx ends. Any number of
// schedulers may run beside each other, Ruby's as well: one is the master.
func schedule(ctx context.Context, url string) error {
	client, err := resque.Open(ctx, url, resque.Options{})
	if err != nil {
		return err
	}
	s, err := scheduler.New(client, scheduler.Config{})
	if err != nil {
		return err
	}
	return errors.Join(s.Run(ctx), client.Close())
}

// A job that has been due for a while is moved at once.
func ExampleScheduler_Run() {
	server, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	defer server.Close()
	_, _ = server.RPush("resque:delayed:1767225600", `{"class":"Report","args":["2026-01"],"queue":"reports"}`)
	_, _ = server.ZAdd("resque:delayed_queue_schedule", 1767225600, "1767225600")

	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- schedule(ctx, "redis://"+server.Addr()) }()

	client, err := resque.Open(ctx, "redis://"+server.Addr(), resque.Options{})
	if err != nil {
		panic(err)
	}
	job, err := resque.Strings(client.Do(ctx, "BLPOP", client.Keys().Of("queue:reports"), 4))
	fmt.Println(job, err)
	cancel()
	fmt.Println(errors.Join(<-ended, client.Close()))
	// Output:
	// [resque:queue:reports {"class":"Report","args":["2026-01"]}] <nil>
	// <nil>
}

// tomorrow is a clock that is a day ahead.
type tomorrow struct{}

func (tomorrow) Now() time.Time                             { return time.Now().Add(24 * time.Hour) }
func (tomorrow) Sleep(context.Context, time.Duration) error { return nil }

// Tick moves what is due now.
func ExampleScheduler_Tick() {
	server, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	defer server.Close()
	ctx := context.Background()
	client, err := resque.Open(ctx, "redis://"+server.Addr(), resque.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = client.Close() }()

	if err := client.EnqueueIn(ctx, time.Hour, "reports", "Report", "2026-01"); err != nil {
		fmt.Println(err)
	}
	for _, config := range []scheduler.Config{{Value: "today:1"}, {Value: "tomorrow:1", Clock: tomorrow{}}} {
		s, err := scheduler.New(client, config)
		if err != nil {
			fmt.Println(err)
			return
		}
		moved, err := s.Tick(ctx)
		fmt.Println(config.Value, "moved", moved, errors.Join(err, s.Stop(ctx)))
	}
	jobs, _ := server.List("resque:queue:reports")
	fmt.Println(jobs)
	// Output:
	// today:1 moved 0 <nil>
	// tomorrow:1 moved 1 <nil>
	// [{"class":"Report","args":["2026-01"]}]
}

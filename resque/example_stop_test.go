package resque_test

import (
	"context"
	"fmt"

	"github.com/alicebob/miniredis/v2"

	"example.com/understudy/resque"
)

// What a stop cuts off goes back to its queue, unless its class says otherwise.
func ExampleAtDeadline() {
	server, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	defer server.Close()
	ctx := context.Background()
	client, err := resque.Open(ctx, "redis://"+server.Addr(), resque.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = client.Close() }()
	worker, err := resque.NewWorker(client, resque.WorkerConfig{
		Queues:          []string{"mail"},
		ShutdownTimeout: -1, // cancel at once
	})
	if err != nil {
		panic(err)
	}

	begun := make(chan struct{})
	slow := resque.HandlerFunc(func(ctx context.Context, _ *resque.Job) error {
		begun <- struct{}{}
		<-ctx.Done() // cut off
		return context.Cause(ctx)
	})
	for class, choice := range map[string]resque.AtDeadline{
		"Newsletter": resque.GiveBack, // the default
		"Payment":    resque.Fail,     // somebody has to look at it
		"Preview":    resque.Drop,     // nobody waits for it any more
	} {
		if err := worker.Handle(class, slow, choice); err != nil {
			panic(err)
		}
		if err := client.Enqueue(ctx, "mail", class); err != nil {
			panic(err)
		}
	}

	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error)
	go func() { ended <- worker.Run(ctx) }()
	for range 3 {
		<-begun
	}
	stop()
	if err := <-ended; err != nil {
		panic(err)
	}
	queue, _ := server.List("resque:queue:mail")
	failed, _ := server.List("resque:failed")
	fmt.Println(queue, len(failed))
	// Output:
	// [{"class":"Newsletter","args":[]}] 1
}

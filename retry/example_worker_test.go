package retry_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"

	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

// talking is a clock that tells of the sleeps that it is asked for.
type talking struct{}

func (talking) Now() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

func (talking) Sleep(_ context.Context, d time.Duration) error {
	fmt.Println("the slot sleeps", d)
	return nil
}

// withWorker performs a job of the class with a worker, which fails with each of
// the errors in turn; after each run it shows something of Redis.
func withWorker(p retry.Policy, show func(*miniredis.Miniredis), failures ...error) {
	server, err := miniredis.Run()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	ctx := context.Background()
	client, err := resque.Open(ctx, "redis://"+server.Addr(), resque.Options{Clock: talking{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = client.Close() }()
	w, err := resque.NewWorker(client, resque.WorkerConfig{Queues: []string{"mt_messages"}, Concurrency: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	run := 0
	deliver := resque.Func(func(_ context.Context, _ int, _ string) error {
		run++
		return failures[run-1]
	})
	err = errors.Join(
		w.Handle("DeliverSMS", deliver, resque.Queue("mt_messages"), p),
		client.Enqueue(ctx, "mt_messages", "DeliverSMS", 7, "hello"),
		w.Start(ctx),
	)
	for range failures {
		if _, stepErr := w.Step(ctx); err != nil || stepErr != nil {
			break
		}
		show(server)
	}
	if err = errors.Join(err, w.Stop(ctx)); err != nil {
		fmt.Println(err)
	}
}

const counter = "resque:resque-retry:DeliverSMS:4cc98c7d43c0325d98d9ad860fdb38aff0aa3c08"

// The counter lives for an hour beyond the delay, from the start of each run on.
func ExamplePolicy_expireAfter() {
	p := retry.Policy{Backoff: []time.Duration{0, time.Minute}, ExpireAfter: time.Hour}
	withWorker(p, func(server *miniredis.Miniredis) {
		fmt.Println("the counter lives", server.TTL(counter))
	}, errors.New("boom"), errors.New("boom"))
	// Output:
	// the counter lives 1h0m0s
	// the counter lives 1h1m0s
}

// The retry is in its queue for other slots while this one rests.
func ExamplePolicy_sleepAfterRequeue() {
	withWorker(retry.Policy{SleepAfterRequeue: 5 * time.Second}, func(server *miniredis.Miniredis) {
		jobs, _ := server.List("resque:queue:mt_messages")
		fmt.Println("in the queue:", jobs)
	}, errors.New("boom"), errors.New("boom"))
	// Output:
	// the slot sleeps 5s
	// in the queue: [{"class":"DeliverSMS","args":[7,"hello"]}]
	// in the queue: []
}

// Runs that end with an ignored error don't count: the counter steps back.
func ExamplePolicy_ignore() {
	p := retry.Policy{Limit: 2, Ignore: retry.Errors{retry.Is(context.Canceled)}}
	withWorker(p, func(server *miniredis.Miniredis) {
		attempt, err := server.Get(counter)
		fmt.Printf("counter %q %v\n", attempt, err)
	}, errors.New("boom"), context.Canceled, context.Canceled, errors.New("boom"), errors.New("boom"))
	// Output:
	// counter "0" <nil>
	// counter "0" <nil>
	// counter "0" <nil>
	// counter "1" <nil>
	// counter "" ERR no such key
}

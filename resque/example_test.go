package resque_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/alicebob/miniredis/v2"

	"example.com/understudy/failure"
	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

// work performs the jobs of two queues until ctx ends.
func work(ctx context.Context, url string) error {
	client, err := resque.Open(ctx, url, resque.Options{})
	if err != nil {
		return err
	}
	w, err := resque.NewWorker(client, resque.WorkerConfig{
		Queues:      []string{"high", "mt_messages"},
		Concurrency: 25,
		Failures:    failure.SuppressRetries(failure.List{}),
	})
	if err != nil {
		return err
	}
	err = w.Handle("DeliverSMS", resque.Func(deliverSMS),
		resque.Queue("mt_messages"),
		resque.Timeout(30*time.Second),
		retry.Policy{Limit: 10, Delay: retry.Every(2 * time.Minute)})
	if err != nil {
		return err
	}
	return errors.Join(w.Run(ctx), client.Close())
}

// deliverSMS is what DeliverSMS.perform(id, number, message) is in Ruby.
func deliverSMS(ctx context.Context, id int64, number, message string) error {
	if number == "" {
		return retry.Cancel(fmt.Errorf("message %d has no number", id))
	}
	return send(ctx, number, message)
}

// send stands for whatever delivers a message.
func send(_ context.Context, number, message string) error {
	sent <- "to " + number + ": " + message
	return nil
}

var sent = make(chan string, 1)

// startRedis stands for the Redis that the Ruby workers use.
func startRedis() *miniredis.Miniredis {
	server, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	return server
}

// open is resque.Open without the errors.
func open(server *miniredis.Miniredis) *resque.Client {
	client, err := resque.Open(context.Background(), "redis://"+server.Addr(), resque.Options{})
	if err != nil {
		panic(err)
	}
	return client
}

// A worker performs a job that was enqueued in Ruby, until its context ends.
func Example() {
	server := startRedis()
	defer server.Close()
	// DeliverSMS was enqueued by Resque.enqueue(DeliverSMS, 7, "+4912345", "hello").
	_, _ = server.RPush("resque:queue:mt_messages", `{"class":"DeliverSMS","args":[7,"+4912345","hello"]}`)

	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- work(ctx, "redis://"+server.Addr()) }()
	fmt.Println(<-sent)
	cancel()
	if err := <-ended; err != nil {
		fmt.Println(err)
	}
	processed, _ := server.Get("resque:stat:processed")
	fmt.Println("processed:", processed)
	// Output:
	// to +4912345: hello
	// processed: 1
}

// Enqueue writes what Resque.enqueue writes in Ruby.
func ExampleClient_Enqueue() {
	server := startRedis()
	defer server.Close()
	client := open(server)
	defer func() { _ = client.Close() }()

	err := client.Enqueue(context.Background(), "mt_messages", "DeliverSMS", 7, "+4912345", "fish & chips")
	fmt.Println("error:", err)
	jobs, _ := server.List("resque:queue:mt_messages")
	fmt.Println(jobs[0])

	err = client.Enqueue(context.Background(), "mt_messages", "DeliverSMS", 7, "+4912345", "\xff")
	fmt.Println("error:", err)
	// Output:
	// error: <nil>
	// {"class":"DeliverSMS","args":[7,"+4912345","fish & chips"]}
	// error: resque: args[2] can't be encoded: invalid UTF-8 (0xFF) at byte 0
}

// Many jobs go in one round trip, and those with a time wait for it.
func ExampleClient_EnqueueMany() {
	server := startRedis()
	defer server.Close()
	client := open(server)
	defer func() { _ = client.Close() }()

	written, err := client.EnqueueMany(context.Background(),
		resque.NewJob{Queue: "mt_messages", Class: "DeliverSMS", Args: []any{7, "+4912345", "hello"}},
		resque.NewJob{Queue: "mt_messages", Class: "DeliverSMS", Args: []any{8, "+4967890", "hurry"}, Front: true},
		resque.NewJob{Queue: "reports", Class: "Report", At: time.Now().Add(time.Hour)},
	)
	fmt.Println(written, err)
	jobs, _ := server.List("resque:queue:mt_messages")
	times, _ := server.ZMembers("resque:delayed_queue_schedule")
	fmt.Println(len(jobs), "in the queue,", len(times), "waiting; the first one is", jobs[0])
	// Output:
	// 3 <nil>
	// 2 in the queue, 1 waiting; the first one is {"class":"DeliverSMS","args":[8,"+4967890","hurry"]}
}

// Positional arguments become parameters; those that are pointers, at the end,
// may be left out.
func ExampleFunc() {
	handler := resque.Func(func(_ context.Context, id int64, tags []string, note *string) error {
		fmt.Println(id, tags, note == nil)
		return nil
	})
	for _, args := range []string{`[7,["a","b"]]`, `[7,["a"],"soon"]`, `[7]`, `["7",[]]`} {
		if err := handler.Perform(context.Background(), &resque.Job{Args: []byte(args)}); err != nil {
			fmt.Println("ArgumentError:", err)
		}
	}
	// Output:
	// 7 [a b] true
	// 7 [a] false
	// ArgumentError: wrong number of arguments (given 1, expected 2..3)
	// ArgumentError: wrong type of argument 1 (given String, expected int64)
}

// Middleware wraps all handlers, as in net/http.
func ExampleMiddleware() {
	server := startRedis()
	defer server.Close()
	client := open(server)
	defer func() { _ = client.Close() }()

	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
	logged := func(next resque.Handler) resque.Handler {
		return resque.HandlerFunc(func(ctx context.Context, job *resque.Job) error {
			err := next.Perform(ctx, job)
			log.InfoContext(ctx, "performed", "class", job.Class, "args", string(job.Args), "error", err)
			return err
		})
	}
	w, err := resque.NewWorker(client, resque.WorkerConfig{Queues: []string{"*"}, Middleware: []resque.Middleware{logged}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fails := func(context.Context, *resque.Job) error { return io.ErrUnexpectedEOF }
	if err := w.Handle("Report", resque.HandlerFunc(fails)); err != nil {
		fmt.Println(err)
	}
	_ = w.Inline(context.Background(), "Report", "2026-01")
	// Output:
	// level=INFO msg=performed class=Report args="[\"2026-01\"]" error="unexpected EOF"
}

// A worker's list of queues: names in the order of their priority, patterns, and
// what to leave out.
func ExampleParseQueueList() {
	list, err := resque.ParseQueueList("critical,mail_*", "*", "!slow")
	fmt.Println(list.IDText(), err)
	fmt.Println(list.Expand([]string{"batch", "critical", "mail_in", "mail_out", "slow"}))
	// Output:
	// critical,mail_*,* <nil>
	// [critical mail_in mail_out batch]
}

// networkError has a class and ancestors in Ruby's terms.
type networkError struct{ host string }

func (e networkError) Error() string       { return "no route to " + e.host }
func (networkError) ExceptionName() string { return "NetworkError" }
func (networkError) Ancestors() []string   { return []string{"SystemCallError"} }

// What a failure record says about an error, and what retry rules compare with.
func ExampleDescribeError() {
	e := resque.DescribeError(fmt.Errorf("sending: %w", networkError{"sms.internal"}))
	fmt.Println(e.Name, e.Ancestors)
	fmt.Println(e.Message)
	// Output:
	// NetworkError [NetworkError SystemCallError StandardError]
	// sending: no route to sms.internal
}

// Start, Step and Stop are for tests and for those who hold the reins
// themselves.
func ExampleWorker_Step() {
	server := startRedis()
	defer server.Close()
	client := open(server)
	defer func() { _ = client.Close() }()
	ctx := context.Background()

	w, err := resque.NewWorker(client, resque.WorkerConfig{Queues: []string{"reports"}, Concurrency: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	report := func(_ context.Context, month string) error {
		fmt.Println("report of", month)
		return errors.New("no data")
	}
	err = errors.Join(
		w.Handle("Report", resque.Func(report), retry.Policy{}), // one retry, at once
		client.Enqueue(ctx, "reports", "Report", "2026-01"),
		w.Start(ctx),
	)
	for worked := true; worked && err == nil; {
		worked, err = w.Step(ctx)
	}
	fmt.Println(errors.Join(err, w.Stop(ctx)))
	failed, _ := server.List("resque:failed")
	fmt.Println(len(failed), "failures recorded")
	// Output:
	// report of 2026-01
	// report of 2026-01
	// <nil>
	// 2 failures recorded
}

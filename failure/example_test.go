package failure_test

import (
	"context"
	"fmt"
	"time"

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

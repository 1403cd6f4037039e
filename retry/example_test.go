package retry_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

// show runs a job of a class through the policy and prints what becomes of it.
func show(p retry.Policy, err error, attempts ...int64) {
	var class resque.Registration
	if problem := p.Apply(&class); problem != nil {
		fmt.Println(problem)
		return
	}
	for _, attempt := range attempts {
		job := &resque.Job{Class: "DeliverSMS", Args: []byte(`[7,"hello"]`), Queue: "mt_messages", Attempt: attempt}
		d := class.Retrier.Decide(resque.FailedRun{Job: job, Err: err, Attempt: attempt, Registration: &class})
		if d.Retry == nil {
			fmt.Printf("attempt %d: failed\n", attempt)
			continue
		}
		fmt.Printf("attempt %d: %s%s on %s after %v\n", attempt, d.Retry.Class, d.Retry.Args, d.Retry.Queue, d.Retry.Delay)
	}
}

// The zero value is resque-retry's default: one retry, at once.
func ExamplePolicy() {
	show(retry.Policy{}, errors.New("boom"), 0, 1)
	// Output:
	// attempt 0: DeliverSMS[7,"hello"] on mt_messages after 0s
	// attempt 1: failed
}

func ExamplePolicy_backoff() {
	show(retry.Policy{Backoff: retry.DefaultBackoff()}, errors.New("boom"), 0, 1, 5, 6)
	// Output:
	// attempt 0: DeliverSMS[7,"hello"] on mt_messages after 0s
	// attempt 1: DeliverSMS[7,"hello"] on mt_messages after 1m0s
	// attempt 5: DeliverSMS[7,"hello"] on mt_messages after 6h0m0s
	// attempt 6: failed
}

// Each error with delays of its own; the longest list is the limit.
func ExamplePolicy_on() {
	p := retry.Policy{On: retry.Errors{
		retry.Named("NetworkError").Wait(30 * time.Second),
		retry.Is(io.ErrUnexpectedEOF).Wait(2*time.Minute, 4*time.Minute),
		retry.As[*net.OpError]().Wait(time.Minute),
	}}
	show(p, fmt.Errorf("reading the answer: %w", io.ErrUnexpectedEOF), 0, 1, 2)
	show(p, &net.OpError{Op: "dial", Err: errors.New("refused")}, 1)
	show(p, errors.New("something else"), 0)
	// Output:
	// attempt 0: DeliverSMS[7,"hello"] on mt_messages after 2m0s
	// attempt 1: DeliverSMS[7,"hello"] on mt_messages after 4m0s
	// attempt 2: failed
	// attempt 1: DeliverSMS[7,"hello"] on mt_messages after 1m0s
	// attempt 0: failed
}

func ExamplePolicy_fatal() {
	p := retry.Policy{Limit: 5, Fatal: retry.Errors{retry.Is(io.EOF)}}
	show(p, io.EOF, 0)
	show(p, errors.New("boom"), 4)
	// Output:
	// attempt 0: failed
	// attempt 4: DeliverSMS[7,"hello"] on mt_messages after 0s
}

func ExamplePolicy_check() {
	show(retry.Policy{
		On:    retry.Errors{},
		Check: []retry.Check{func(_ *resque.Job, err error) bool { return err.Error() == "try again" }},
	}, errors.New("try again"), 0)
	// Output:
	// attempt 0: DeliverSMS[7,"hello"] on mt_messages after 0s
}

func ExamplePolicy_args() {
	show(retry.Policy{Args: func(job *resque.Job, err error) ([]any, error) {
		return append(retry.Arguments(job), err.Error()), nil
	}}, errors.New("no route"), 0)
	// Output:
	// attempt 0: DeliverSMS[7,"hello","no route"] on mt_messages after 0s
}

func ExamplePolicy_delegate() {
	show(retry.Policy{Delegate: &retry.Delegate{Class: "DeliverLetter", Queue: "post"}}, errors.New("no route"), 0)
	// Output:
	// attempt 0: DeliverLetter[7,"hello"] on post after 0s
}

// What contradicts itself is refused when the class is registered.
func ExamplePolicy_Apply() {
	show(retry.Policy{Backoff: retry.DefaultBackoff(), Delay: retry.Every(time.Minute)}, nil)
	// Output:
	// retry: Backoff and Delay both set delays: leave Delay out, or write it as the only delay of Backoff
}

func ExampleDelayFunc() {
	show(retry.Policy{Limit: 3, Delay: retry.DelayFunc(func(job *resque.Job, _ error) time.Duration {
		return time.Duration(job.Attempt+1) * time.Minute
	})}, errors.New("boom"), 0, 1, 2)
	// Output:
	// attempt 0: DeliverSMS[7,"hello"] on mt_messages after 1m0s
	// attempt 1: DeliverSMS[7,"hello"] on mt_messages after 2m0s
	// attempt 2: DeliverSMS[7,"hello"] on mt_messages after 3m0s
}

// A handler ends the retries itself by wrapping its error.
func ExampleCancel() {
	err := fmt.Errorf("sending: %w", retry.Cancel(errors.New("the number has been given up")))
	show(retry.Policy{Limit: retry.Forever}, err, 0)
	fmt.Println(resque.DescribeError(err).Name)
	// Output:
	// attempt 0: failed
	// Understudy::Cancelled
}

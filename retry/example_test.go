package retry_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"time"

	"example.com/understudy/compat/ruby"
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

// Limit counts the retries. Ruby's 0 is Never here, and its -1 Forever.
func ExamplePolicy_limit() {
	show(retry.Policy{Limit: 2}, errors.New("boom"), 0, 1, 2)
	show(retry.Policy{Limit: retry.Never}, errors.New("boom"), 0)
	show(retry.Policy{Limit: retry.Forever}, errors.New("boom"), 1_000_000)
	// Output:
	// attempt 0: DeliverSMS[7,"hello"] on mt_messages after 0s
	// attempt 1: DeliverSMS[7,"hello"] on mt_messages after 0s
	// attempt 2: failed
	// attempt 0: failed
	// attempt 1000000: DeliverSMS[7,"hello"] on mt_messages after 0s
}

func ExampleEvery() {
	show(retry.Policy{Limit: 10, Delay: retry.Every(2 * time.Minute)}, errors.New("boom"), 0, 9, 10)
	// Output:
	// attempt 0: DeliverSMS[7,"hello"] on mt_messages after 2m0s
	// attempt 9: DeliverSMS[7,"hello"] on mt_messages after 2m0s
	// attempt 10: failed
}

func ExamplePolicy_backoff() {
	show(retry.Policy{Backoff: retry.DefaultBackoff()}, errors.New("boom"), 0, 1, 5, 6)
	// Output:
	// attempt 0: DeliverSMS[7,"hello"] on mt_messages after 0s
	// attempt 1: DeliverSMS[7,"hello"] on mt_messages after 1m0s
	// attempt 5: DeliverSMS[7,"hello"] on mt_messages after 6h0m0s
	// attempt 6: failed
}

// A list of one's own. With a Limit above its length the last delay is that of
// all further retries.
func ExamplePolicy_backoffStrategy() {
	show(retry.Policy{Limit: 4, Backoff: []time.Duration{0, time.Minute, time.Hour}}, errors.New("boom"), 0, 1, 2, 3, 4)
	// Output:
	// attempt 0: DeliverSMS[7,"hello"] on mt_messages after 0s
	// attempt 1: DeliverSMS[7,"hello"] on mt_messages after 1m0s
	// attempt 2: DeliverSMS[7,"hello"] on mt_messages after 1h0m0s
	// attempt 3: DeliverSMS[7,"hello"] on mt_messages after 1h0m0s
	// attempt 4: failed
}

// The worker draws a number from [0, 1) for each run, and with it a factor
// between the two.
func ExampleJitter() {
	policy := retry.Policy{Backoff: []time.Duration{time.Minute}, Jitter: retry.Jitter{Min: 0.5, Max: 1.5}}
	retrier, err := policy.Retrier()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, drawn := range []float64{0, 0.25, 0.5, 0.99} {
		job := &resque.Job{Class: "DeliverSMS", Args: []byte(`[7]`)}
		d := retrier.Decide(resque.FailedRun{Job: job, Err: errors.New("boom"), Random: drawn})
		fmt.Println(drawn, d.Retry.Delay)
	}
	// Output:
	// 0 30s
	// 0.25 45s
	// 0.5 1m0s
	// 0.99 1m29s
}

// Only these errors are tried again, also when they are wrapped. Named means a
// Ruby class with its descendants.
func ExampleErrors() {
	p := retry.Policy{On: retry.Errors{retry.Named("NetworkError"), retry.Is(io.ErrUnexpectedEOF), retry.As[*net.OpError]()}}
	show(p, fmt.Errorf("reading: %w", io.ErrUnexpectedEOF), 0)
	show(p, &net.OpError{Op: "dial", Err: errors.New("refused")}, 0)
	show(p, errors.New("something else"), 0)
	// Output:
	// attempt 0: DeliverSMS[7,"hello"] on mt_messages after 0s
	// attempt 0: DeliverSMS[7,"hello"] on mt_messages after 0s
	// attempt 0: failed
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

// Other arguments for some errors, the same ones for the rest.
func ExamplePolicy_argsByError() {
	p := retry.Policy{Args: func(job *resque.Job, err error) ([]any, error) {
		args := retry.Arguments(job)
		if errors.Is(err, io.EOF) {
			args[1] = "hello, once more"
		}
		return args, nil
	}}
	show(p, io.EOF, 0)
	show(p, errors.New("boom"), 0)
	// Output:
	// attempt 0: DeliverSMS[7,"hello, once more"] on mt_messages after 0s
	// attempt 0: DeliverSMS[7,"hello"] on mt_messages after 0s
}

// Retries go to another queue.
func ExampleInQueue() {
	show(retry.Policy{Queue: retry.InQueue("low")}, errors.New("boom"), 0)
	// Output:
	// attempt 0: DeliverSMS[7,"hello"] on low after 0s
}

// A queue by argument; "" means the usual one.
func ExamplePolicy_queue() {
	show(retry.Policy{Queue: func(job *resque.Job, _ error) string {
		var id int
		if err := json.Unmarshal(job.Args, &[]any{&id}); err != nil || id > 100 {
			return ""
		}
		return "high"
	}}, errors.New("boom"), 0)
	// Output:
	// attempt 0: DeliverSMS[7,"hello"] on high after 0s
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

// A delay by error.
func ExampleDelayFunc_byError() {
	p := retry.Policy{Delay: retry.DelayFunc(func(_ *resque.Job, err error) time.Duration {
		if errors.Is(err, io.EOF) {
			return 10 * time.Second
		}
		return time.Second
	})}
	show(p, io.EOF, 0)
	show(p, errors.New("boom"), 0)
	// Output:
	// attempt 0: DeliverSMS[7,"hello"] on mt_messages after 10s
	// attempt 0: DeliverSMS[7,"hello"] on mt_messages after 1s
}

// A delay by argument: the first one holds the seconds.
func ExampleDelayFunc_byArgument() {
	show(retry.Policy{Delay: retry.DelayFunc(func(job *resque.Job, _ error) time.Duration {
		var seconds int
		_ = json.Unmarshal(job.Args, &[]any{&seconds}) // 0 where it is no number
		return time.Duration(seconds) * time.Second
	})}, errors.New("boom"), 0)
	// Output:
	// attempt 0: DeliverSMS[7,"hello"] on mt_messages after 7s
}

// showKey prints the key of the job's counter.
func showKey(p retry.Policy, args string) {
	retrier, err := p.Retrier()
	if err != nil {
		fmt.Println(err)
		return
	}
	job := &resque.Job{Class: "DeliverSMS", Args: []byte(args)}
	counter, err := retrier.Counter(job, 0)
	fmt.Println(counter.Key, err)
}

// What tells the counters of a class apart: all arguments, by default. White
// space is left out of the key, as in Ruby.
func ExamplePolicy_identifier() {
	const args = `[7,"+49 12345","hello"]`
	showKey(retry.Policy{}, args)
	showKey(retry.Policy{Identifier: func(job *resque.Job) (string, bool) {
		var id int
		var number string
		if json.Unmarshal(job.Args, &[]any{&id, &number}) != nil {
			return "", false
		}
		return fmt.Sprintf("%s:%d", number, id), true
	}}, args)
	// Output:
	// resque-retry:DeliverSMS:99771ef67c1c9e7dca35154143d4936ad490aa62 <nil>
	// resque-retry:DeliverSMS:+4912345:7 <nil>
}

// A key of one's own is taken as it stands.
func ExamplePolicy_key() {
	showKey(retry.Policy{Key: func(job *resque.Job) string { return "tries of " + job.Class }}, `[7]`)
	// Output:
	// tries of DeliverSMS <nil>
}

// The keys of jobs with objects among their arguments hold Ruby's inspect, which
// changed in 3.4.
func ExamplePolicy_inspect() {
	for _, form := range []ruby.InspectForm{ruby.Inspect31, ruby.Inspect34} {
		showKey(retry.Policy{Inspect: form}, `[{"a":1}]`)
	}
	// Output:
	// resque-retry:DeliverSMS:74e70f6487a1f3bc358cf155058e625ad786257c <nil>
	// resque-retry:DeliverSMS:342fb50929094725e6fa3d1f9d5c8dad72bf68e2 <nil>
}

// tell is a callback that prints what it hears.
func tell(what string) retry.Callback {
	return func(job *resque.Job, err error) error {
		fmt.Printf("%s: %s%s after attempt %d: %v\n", what, job.Class, job.Args, job.Attempt, err)
		return nil
	}
}

// Callbacks before a retry, called in their order.
func ExamplePolicy_tryAgain() {
	show(retry.Policy{TryAgain: []retry.Callback{tell("again"), tell("once more")}}, errors.New("boom"), 0, 1)
	// Output:
	// again: DeliverSMS[7,"hello"] after attempt 0: boom
	// once more: DeliverSMS[7,"hello"] after attempt 0: boom
	// attempt 0: DeliverSMS[7,"hello"] on mt_messages after 0s
	// attempt 1: failed
}

// Callbacks once there is no retry any more.
func ExamplePolicy_giveUp() {
	show(retry.Policy{GiveUp: []retry.Callback{tell("given up")}}, errors.New("boom"), 0, 1)
	// Output:
	// attempt 0: DeliverSMS[7,"hello"] on mt_messages after 0s
	// given up: DeliverSMS[7,"hello"] after attempt 1: boom
	// attempt 1: failed
}

// The logger is told of each decision, at debug level.
func ExamplePolicy_logger() {
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
	show(retry.Policy{Delay: retry.Every(time.Minute), Logger: log}, errors.New("boom"), 0)
	// Output:
	// level=DEBUG msg="the error is sufficient for a retry" class=DeliverSMS queue=mt_messages attempt=0 error=boom
	// level=DEBUG msg="trying again" class=DeliverSMS queue=mt_messages attempt=0 error=boom
	// level=DEBUG msg="the retry is on its way" class=DeliverSMS queue=mt_messages attempt=0 error=boom delay=1m0s to_queue=mt_messages as_class=DeliverSMS
	// attempt 0: DeliverSMS[7,"hello"] on mt_messages after 1m0s
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

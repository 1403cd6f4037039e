package retry_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

// The attempts of a job that fails each time, by the waits of the zero value.
func ExampleWaits() {
	retrier, err := retry.Waits{}.Retrier()
	if err != nil {
		fmt.Println(err)
		return
	}
	start := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	now := start
	for attempt := int64(0); ; attempt++ {
		fmt.Printf("attempt %d after %v\n", attempt+1, now.Sub(start))
		d := retrier.Decide(resque.FailedRun{Job: &resque.Job{Class: "Charge", Args: []byte("[]")}, Err: errors.New("boom"), Attempt: attempt, Now: now})
		if d.Retry == nil {
			fmt.Println("given up")
			return
		}
		now = now.Add(d.Retry.Delay)
	}
	// Output:
	// attempt 1 after 0s
	// attempt 2 after 2s
	// attempt 3 after 4s
	// attempt 4 after 9s
	// attempt 5 after 19s
	// attempt 6 after 49s
	// attempt 7 after 1m49s
	// attempt 8 after 6m49s
	// attempt 9 after 21m49s
	// attempt 10 after 51m49s
	// given up
}

// A strategy of one's own: a random wait that grows, a hundred attempts at most.
func ExampleStrategyFunc() {
	growing := retry.StrategyFunc(func(f retry.Failed) (time.Time, bool) {
		wait := time.Duration(1+rand.IntN(f.Attempts)) * time.Minute
		return f.Now.Add(wait), f.Attempts < 100
	})
	retrier, err := retry.Policy{Strategy: growing}.Retrier()
	if err != nil {
		fmt.Println(err)
		return
	}
	d := retrier.Decide(resque.FailedRun{Job: &resque.Job{Class: "Charge", Args: []byte("[]")}, Err: errors.New("boom"), Now: time.Now()})
	fmt.Println("again after", d.Retry.Delay)
	// Output:
	// again after 1m0s
}

package cron_test

import (
	"errors"
	"fmt"
	"time"

	"example.com/understudy/scheduler/cron"
)

func Example() {
	s, err := cron.Parse("30 6 * * mon-fri Europe/Stockholm")
	if err != nil {
		fmt.Println(err)
		return
	}
	at := time.Date(2026, time.March, 27, 12, 0, 0, 0, time.UTC)
	for range 3 {
		at = s.Next(at)
		fmt.Println(at.In(s.Location()))
	}
	// Output:
	// 2026-03-30 06:30:00 +0200 CEST
	// 2026-03-31 06:30:00 +0200 CEST
	// 2026-04-01 06:30:00 +0200 CEST
}

// A refusal says which part is wrong, and what to write.
func ExampleParse_refused() {
	for _, line := range []string{"60 * * * *", "5/* * * * *", "0 9 * * Monday", "0 9 * * * Europe/Pariss", "@dayly"} {
		_, err := cron.Parse(line)
		fmt.Println(err)
	}
	_, err := cron.Parse("0 0 30 feb *")
	fmt.Println(errors.Is(err, cron.ErrNever))
	// Output:
	// cron: minute 60: 0 to 59
	// cron: minute 5/*: a step is a number: write */5
	// cron: weekday Monday: write mon
	// cron: time zone Europe/Pariss: isn't known; write Europe/Paris
	// cron: line @dayly: write @daily
	// true
}

// A time that the clocks skip doesn't fire, one that comes twice fires twice.
func ExampleSchedule_Next() {
	for _, line := range []string{"30 2 * * * America/New_York", "30 1 * * * America/New_York"} {
		s, err := cron.Parse(line)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, change := range []time.Time{time.Date(2026, time.March, 7, 12, 0, 0, 0, time.UTC), time.Date(2026, time.October, 31, 12, 0, 0, 0, time.UTC)} {
			first := s.Next(change)
			second := s.Next(first)
			fmt.Println(first.In(s.Location()).Format(time.RFC822), "-", second.In(s.Location()).Format(time.RFC822))
		}
	}
	// Output:
	// 09 Mar 26 02:30 EDT - 10 Mar 26 02:30 EDT
	// 01 Nov 26 02:30 EST - 02 Nov 26 02:30 EST
	// 08 Mar 26 01:30 EST - 09 Mar 26 01:30 EDT
	// 01 Nov 26 01:30 EDT - 01 Nov 26 01:30 EST
}

// The zero time: it never fires.
func ExampleSchedule_Warnings() {
	s, err := cron.Parse("0 0 -31 feb *")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Next(time.Now()).IsZero())
	fmt.Println(s.Warnings()[0])
	// Output:
	// true
	// 0 0 -31 feb * never fires: there is no such time in 400 years
}

func ExampleParseEvery() {
	for _, text := range []string{"1h30m", "90", "1h30", "5M", "0"} {
		every, err := cron.ParseEvery(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(every.Length(), every.Warnings())
	}
	// Output:
	// 1h30m0s []
	// 1m30s []
	// 1h0m30s [1h30: 30 without a unit is 30 seconds; write 30m for minutes, 30s for seconds]
	// 3600h0m0s [5M: M is months of 30 days; write 5m for minutes]
	// cron: duration 0: isn't more than nothing; write seconds, such as 90, or units, such as 30s, 5m, 1h30m, 1d
}

func ExampleEverySeconds() {
	every, err := cron.EverySeconds(0.5)
	fmt.Println(every.Length(), err)
	// Output:
	// 500ms <nil>
}

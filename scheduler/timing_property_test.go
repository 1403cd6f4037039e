package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"example.com/understudy/scheduler"
)

// TestTimingProperties fires jobs drawn by chance in time and late.
func TestTimingProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		zone, err := time.LoadLocation(rapid.SampledFrom([]string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"}).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		loaded := time.Unix(1767323045+rapid.Int64Range(0, 400*86400).Draw(t, "loaded"), 0).In(zone)
		seconds := func(name string, most int) int { return rapid.IntRange(1, most).Draw(t, name) }
		job := scheduler.Recurring{Class: "A", Times: rapid.IntRange(-1, 20).Draw(t, "times")}
		every := time.Duration(seconds("every", 100_000)) * time.Second
		if rapid.Bool().Draw(t, "cron") {
			job.Cron = fmt.Sprintf("%d */%d * * *", rapid.IntRange(0, 59).Draw(t, "minute"), rapid.IntRange(1, 23).Draw(t, "hours"))
		} else {
			job.Every = fmt.Sprintf("%ds", int(every.Seconds()))
			job.KeepPast = rapid.Bool().Draw(t, "keep")
		}
		first := loaded
		switch rapid.IntRange(0, 2).Draw(t, "first") {
		case 1:
			first = loaded.Add(time.Duration(seconds("in", 100_000)) * time.Second)
			job.FirstIn = fmt.Sprintf("%ds", int(first.Sub(loaded).Seconds()))
		case 2:
			first = loaded.Add(time.Duration(seconds("at", 1_000_000)-500_000) * time.Second)
			job.FirstAt = first.Format(time.RFC3339)
		}
		var last time.Time
		if rapid.Bool().Draw(t, "limited") {
			last = loaded.Add(time.Duration(seconds("last", 1_000_000)) * time.Second)
			job.LastAt = last.Format("2006-01-02 15:04:05 -0700")
		}
		// What is kept in Redis means the same.
		config, err := job.Config()
		if err != nil {
			t.Fatal(err)
		}
		if job, err = scheduler.ParseRecurring(config); err != nil {
			t.Fatalf("%s: %v", config, err)
		}
		timing, err := job.Timing(loaded)
		if err != nil {
			t.Fatal(err)
		}
		now, fired := loaded, 0
		for before := loaded.Add(-1); fired < 30 && !timing.Planned().IsZero(); fired++ {
			planned := timing.Planned()
			switch {
			case !planned.After(before):
				t.Fatalf("%s: %v is planned after %v", config, planned, before)
			case !last.IsZero() && !planned.Before(last):
				t.Fatalf("%s: %v is planned, beyond the last time %v", config, planned, last)
			case !job.KeepPast && fired > 0 && !planned.After(now):
				t.Fatalf("%s: %v is planned, which was past at %v", config, planned, now)
			case job.Every != "" && (job.FirstAt != "" || job.FirstIn != "") && planned.Sub(first)%every != 0:
				t.Fatalf("%s: %v isn't counted from %v", config, planned, first)
			case job.Every != "" && fired == 0 && planned.Sub(loaded) > every && planned.After(first):
				t.Fatalf("%s: %v is the first time after %v", config, planned, loaded)
			case planned.Location() != zone:
				t.Fatalf("%s: %v is in another zone", config, planned)
			}
			now = planned.Add(time.Duration(rapid.IntRange(0, 300_000).Draw(t, "late")) * time.Second)
			before, timing = planned, timing.Fired(now)
		}
		switch {
		case job.Times < 0 && fired > 0, job.Times > 0 && fired > job.Times:
			t.Fatalf("%s: fires %d times", config, fired)
		case last.IsZero() && job.Times >= 0 && fired != 30 && fired != job.Times:
			t.Fatalf("%s: stops after %d times", config, fired)
		}
	})
}

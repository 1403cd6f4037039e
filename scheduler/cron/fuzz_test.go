package cron_test

import (
	"errors"
	"testing"
	"time"

	"example.com/understudy/scheduler/cron"
)

// Whatever the text, it is refused with a FieldError, or fires at times that rise
// and match.
func FuzzParse(f *testing.F) {
	for _, line := range []string{
		"*/5 * * * *", "0 0 29 2 mon&", "10 5,35 8-18/2 L,-3--1 jan,jul mon#2 Europe/Paris", "0 24-5/2 * * fri-mon/2",
		"0 0 * * 1%2+1,sun#-1 +05:30", "@daily America/Havana", "0 0 30 2 *", "60~ * * * ?", "* * -31 2,* 7 Pacific/Apia",
		"0 2 29 3 0& Australia/Lord_Howe", "/5 22-2/90 *,13 */12 */0 Antarctica/Troll",
	} {
		f.Add(line, int64(1767323045), uint32(3600))
	}
	nobodys := time.FixedZone("nobody's", 13)
	f.Fuzz(func(t *testing.T, line string, unix int64, more uint32) {
		s, err := cron.Parse(line)
		if err != nil {
			var refusal *cron.FieldError
			if s != nil || !errors.As(err, &refusal) || refusal.Field == "" || refusal.Want == "" {
				t.Fatalf("%q: %v", line, err)
			}
			return
		}
		after := time.Unix(unix, 0).In(nobodys)
		next := s.Next(after)
		if next.IsZero() {
			return
		}
		if !next.After(after) || !s.Matches(next) {
			t.Fatalf("%q after %v: %v", line, after, next)
		}
		later := after.Add(time.Duration(more) * time.Second)
		if n := s.Next(later); !n.IsZero() && n.Before(next) || later.Before(next) && !n.Equal(next) {
			t.Fatalf("%q: %v after %v, %v after %v", line, next, after, n, later)
		}
	})
}

func FuzzParseDuration(f *testing.F) {
	for _, text := range []string{"1h30m", "-1h 30m", "1.5d, and 2 weeks", "5M", "PT1H", "P1DT-2H.5S", "90", "1year2months", "3ss"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var refusal *cron.FieldError
		d, err := cron.ParseDuration(text)
		if err != nil && !errors.As(err, &refusal) || err == nil && d.String() != text {
			t.Fatalf("%q: %v, %v", text, d, err)
		}
		every, errEvery := cron.ParseEvery(text)
		if (errEvery == nil) != (err == nil && d.Length() > 0) || errEvery == nil && every.Length() != d.Length() {
			t.Fatalf("%q: %v, %v", text, every, errEvery)
		}
	})
}

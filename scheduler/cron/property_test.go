package cron_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"example.com/understudy/scheduler/cron"
)

// drawField makes a field of a line.
func drawField(t *rapid.T, name string, low, high int, extra ...string) string {
	value := rapid.IntRange(low, high)
	element := rapid.Custom(func(t *rapid.T) string {
		text := fmt.Sprint(value.Draw(t, "value"))
		switch rapid.IntRange(0, 5).Draw(t, "form") {
		case 0:
			text = "*"
		case 1:
			text += fmt.Sprintf("-%d", value.Draw(t, "high"))
		case 2:
			if len(extra) > 0 {
				return rapid.SampledFrom(extra).Draw(t, "extra")
			}
		}
		if rapid.Bool().Draw(t, "stepped") {
			text += fmt.Sprintf("/%d", rapid.IntRange(1, 40).Draw(t, "step"))
		}
		return text
	})
	return strings.Join(rapid.SliceOfN(element, 1, 3).Draw(t, name), ",")
}

// drawSchedule makes a line with seconds.
func drawSchedule(t *rapid.T) *cron.Schedule {
	zones := []string{"", "UTC", "Europe/Paris", "America/New_York", "Australia/Lord_Howe", "America/Havana", "America/Santiago", "Africa/Casablanca", "Antarctica/Troll", "Asia/Kathmandu", "+05:30"}
	month := rapid.OneOf(rapid.Just("*"), rapid.Custom(func(t *rapid.T) string { return drawField(t, "month", 1, 12) }))
	line := strings.Join([]string{
		drawField(t, "second", 0, 59),
		drawField(t, "minute", 0, 59),
		drawField(t, "hour", 0, 24),
		drawField(t, "day", 1, 28, "L", "-2", "-28", "-5--1"),
		month.Draw(t, "months"),
		drawField(t, "weekday", 0, 7, "mon#1", "tue#-1", "wed%2", "thu%3+1", "sun#5"),
		rapid.SampledFrom(zones).Draw(t, "zone"),
	}, " ")
	s, err := cron.Parse(line)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// drawTime makes a time, in a zone that is nobody's, so that nothing counts as
// coming twice.
func drawTime(t *rapid.T) time.Time {
	nobodys := time.FixedZone("nobody's", 13)
	changes := []time.Time{
		time.Date(2026, time.March, 29, 1, 0, 0, 0, time.UTC),    // Paris, Troll
		time.Date(2026, time.October, 25, 1, 0, 0, 0, time.UTC),  // and back
		time.Date(2026, time.March, 8, 5, 0, 0, 0, time.UTC),     // Havana, 2 h before New York
		time.Date(2026, time.November, 1, 5, 0, 0, 0, time.UTC),  // Havana, 1 h before New York
		time.Date(2026, time.October, 3, 15, 30, 0, 0, time.UTC), // Lord Howe
		time.Date(2026, time.April, 4, 15, 0, 0, 0, time.UTC),    // and back
		time.Date(2026, time.September, 6, 4, 0, 0, 0, time.UTC), // Santiago
		time.Date(2026, time.April, 5, 3, 0, 0, 0, time.UTC),     // and back
		time.Date(2026, time.February, 15, 2, 0, 0, 0, time.UTC), // Casablanca
		time.Date(2026, time.March, 22, 2, 0, 0, 0, time.UTC),    // and back
		time.Date(2040, time.December, 31, 2, 0, 0, 0, time.UTC), // a day that Go ends before it begins
	}
	change := rapid.SampledFrom(changes).Draw(t, "change")
	return change.Add(time.Duration(rapid.IntRange(-8*3600, 4*3600).Draw(t, "seconds")) * time.Second).In(nobodys)
}

// Between a time and the next there is no second that matches, and the next does.
func TestNextIsTheFirst(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, after := drawSchedule(t), drawTime(t)
		next := s.Next(after)
		if next.IsZero() {
			return
		}
		if !next.After(after) || next.Nanosecond() != 0 || !s.Matches(next) {
			t.Fatalf("%s after %v: %v doesn't match", s, after, next)
		}
		end := after.Add(12 * time.Hour)
		if next.Before(end) {
			end = next
		}
		for at := after.Add(time.Second); at.Before(end); at = at.Add(time.Second) {
			if s.Matches(at) {
				t.Fatalf("%s after %v: %v, though %v matches", s, after, next, at)
			}
		}
	})
}

// Times rise, and a later question has no earlier answer.
func TestNextRises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, after := drawSchedule(t), drawTime(t)
		later := after.Add(time.Duration(rapid.Int64Range(0, 1e15).Draw(t, "later")))
		next, afterLater := s.Next(after), s.Next(later)
		switch {
		case next.IsZero() != afterLater.IsZero():
			t.Fatalf("%s: %v after %v, %v after %v", s, next, after, afterLater, later)
		case !next.IsZero() && (!next.After(after) || afterLater.Before(next) || next.After(later) && !next.Equal(afterLater)):
			t.Fatalf("%s: %v after %v, %v after %v", s, next, after, afterLater, later)
		}
	})
}

// In its own zone the line behaves the same, but for what comes twice.
func TestNextInTheLinesZone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, after := drawSchedule(t), drawTime(t)
		if s.Location() == nil {
			return
		}
		elsewhere, home := s.Next(after), s.Next(after.In(s.Location()))
		if elsewhere.Equal(home) {
			return
		}
		const shown = "2006-01-02 15:04:05"
		if elsewhere.In(s.Location()).Format(shown) != after.In(s.Location()).Format(shown) || !home.Equal(s.Next(elsewhere)) {
			t.Fatalf("%s after %v: elsewhere %v, at home %v", s, after, elsewhere, home)
		}
	})
}

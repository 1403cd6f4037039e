package cron

import (
	"strings"
	"time"
)

// Matches says by the plainest of rules whether a second is one of the line's:
// what the clocks of its zone show then is in every field.
func (s *Schedule) Matches(t time.Time) bool {
	if s.zone != nil {
		t = t.In(s.zone)
	}
	has := func(set uint64, n int) bool { return set&(1<<n) != 0 }
	return has(s.seconds, t.Second()) && has(s.minutes, t.Minute()) && has(s.hours, t.Hour()) &&
		has(s.months, int(t.Month())) && s.days.matches(t)
}

func (d *days) matches(t time.Time) bool {
	length := time.Date(t.Year(), t.Month()+1, 0, 12, 0, 0, 0, time.UTC).Day()
	onDay := d.month&(1<<t.Day()) != 0 || d.fromEnd&(1<<(31-(length-t.Day()))) != 0
	onWeekday := d.week&(1<<int(t.Weekday())) != 0
	for _, n := range d.nth {
		if int(t.Weekday()) == n.weekday && (n.n == (t.Day()-1)/7+1 || n.n == -((length-t.Day())/7+1)) {
			onWeekday = true
		}
	}
	for _, w := range d.weeks {
		start := time.Date(2019, time.January, 1, 0, 0, 0, 0, time.UTC)
		today := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
		number := 1
		for ; today.Before(start); today = today.AddDate(0, 0, 7) {
			number--
		}
		number += int(today.Sub(start).Hours()) / 24 / 7
		if int(t.Weekday()) == w.weekday && (number+w.plus)%w.every == 0 {
			onWeekday = true
		}
	}
	switch {
	case d.anyDay:
		return d.anyWeekday || onWeekday
	case d.anyWeekday:
		return onDay
	case d.both:
		return onDay && onWeekday
	default:
		return onDay || onWeekday
	}
}

// ZoneNames lists the zones that are suggested.
func ZoneNames() []string { return strings.Fields(zoneNames) }

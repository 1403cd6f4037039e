package cron

import (
	"iter"
	"math/bits"
	"time"
)

// days says which days of a month count.
type days struct {
	// month has a bit for each day of the month, fromEnd for each from its end:
	// 31 is the last.
	month, fromEnd uint64
	anyDay         bool
	// week has a bit for each weekday, 0 is sunday.
	week       uint64
	nth        []nth
	weeks      []weeks
	anyWeekday bool
	// both: the two fields have to agree.
	both bool
}

// of has a bit for each day of the month that counts.
func (d *days) of(year int, m time.Month) uint64 {
	length := daysIn(year, m)
	all := upTo(length)
	switch {
	case d.anyDay && d.anyWeekday:
		return all
	case d.anyWeekday:
		return d.monthdays(length)
	case d.anyDay:
		return d.weekdays(year, m, length)
	case d.both:
		return d.monthdays(length) & d.weekdays(year, m, length)
	default:
		return d.monthdays(length) | d.weekdays(year, m, length)
	}
}

func (d *days) monthdays(length int) uint64 {
	const most = 31
	return (d.month | d.fromEnd>>(most-length)) & upTo(length)
}

func (d *days) weekdays(year int, m time.Month, length int) uint64 {
	first := time.Date(year, m, 1, 0, 0, 0, 0, time.UTC)
	// when is the day of the first of a weekday.
	when := func(weekday int) int { return 1 + (weekday-int(first.Weekday())+week)%week }
	var found uint64
	for w := range bitsOf(d.week) {
		const everyWeek = 1 | 1<<week | 1<<(2*week) | 1<<(3*week) | 1<<(4*week)
		found |= everyWeek << when(w)
	}
	for _, n := range d.nth {
		at := when(n.weekday) + (n.n-1)*week
		if n.n < 0 {
			last := when(n.weekday) + (length-when(n.weekday))/week*week
			at = last + (n.n+1)*week
		}
		if at > 0 {
			found |= 1 << at
		}
	}
	for _, w := range d.weeks {
		for at := when(w.weekday); at <= length; at += week {
			if (weekNumber(first, at)+w.plus)%w.every == 0 {
				found |= 1 << at
			}
		}
	}
	return found & upTo(length)
}

// weekNumber counts the weeks by which % goes: from tuesday, 1 January 2019 on is
// the first. It is counted by days, whatever the clocks do.
func weekNumber(first time.Time, day int) int {
	start := time.Date(2019, time.January, 1, 0, 0, 0, 0, time.UTC)
	n := dayNumber(first) - dayNumber(start) + day - 1
	if n < 0 {
		n -= week - 1 // round down
	}
	return n/week + 1
}

// dayNumber counts days; t is midnight in UTC.
func dayNumber(t time.Time) int { return int(t.Unix() / daySeconds) }

func daysIn(year int, m time.Month) int {
	return time.Date(year, m+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// upTo has the bits 1 to n.
func upTo(n int) uint64 { return 1<<(n+1) - 2 }

// bitsOf lists the bits that are set.
func bitsOf(set uint64) iter.Seq[int] {
	return func(yield func(int) bool) {
		for ; set != 0; set &= set - 1 {
			if !yield(bits.TrailingZeros64(set)) {
				return
			}
		}
	}
}

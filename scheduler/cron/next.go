package cron

import (
	"math/bits"
	"time"
)

const (
	minuteSeconds = 60
	hourSeconds   = 60 * minuteSeconds
	daySeconds    = 24 * hourSeconds

	// horizon is after how many years a search gives up: the calendar begins
	// anew.
	horizon = 400
)

// Next is the first time after the one given, in whole seconds and in the zone of
// the one given. The zero time: there is none, in 400 years. Ruby:
// Fugit::Cron#next_time.
//
// A line without a time zone is read in that of the time given: a scheduler that
// is to do what Ruby's does gives times of its process's own zone. A time that
// the clocks skip doesn't fire; one that comes twice fires twice, but for one
// case: right after it fired, in a zone where it comes again, it doesn't. So a
// job of every day fires once in the night in which clocks go back, where the
// process's zone is the line's.
func (s *Schedule) Next(after time.Time) time.Time {
	const lastYear = 9999
	if y := after.Year(); y < -lastYear || y > lastYear {
		return time.Time{}
	}
	zone := s.zone
	if zone == nil {
		zone = after.Location()
	}
	from := after.In(zone)
	found, ok := s.search(from)
	_, own := after.Zone()
	if _, offset := from.Zone(); own == offset {
		for ok && again(from, found) {
			from = found
			found, ok = s.search(from)
		}
	}
	if !ok {
		return time.Time{}
	}
	return found.In(after.Location())
}

// again says that the clocks show the same at both times, because they went back
// in between.
func again(a, b time.Time) bool {
	nameA, offsetA := a.Zone()
	nameB, offsetB := b.Zone()
	return a.Unix()+int64(offsetA) == b.Unix()+int64(offsetB) && (nameA != nameB || offsetA != offsetB)
}

// search finds the first time after the one given, in its zone. Between two
// changes of the clocks, times and what the clocks show go together, so there it
// looks for the numbers that the clocks show.
func (s *Schedule) search(after time.Time) (time.Time, bool) {
	t := time.Unix(after.Unix()+1, 0).In(after.Location())
	limit := t.AddDate(horizon, 0, 0)
	for t.Before(limit) {
		_, offset := t.Zone()
		shown := t.Unix() + int64(offset)
		wanted, ok := s.nextShown(shown)
		if !ok {
			return time.Time{}, false
		}
		found := time.Unix(wanted-int64(offset), 0).In(t.Location())
		change := nextChange(t)
		if change.IsZero() || found.Before(change) {
			return found, true
		}
		t = change
		// What the clocks show is never more than a day from UTC, so that a time
		// which is far away is still ahead a day before it; unless the clocks may
		// by then show again what was looked at already.
		if near := wanted - daySeconds; change.Unix()-daySeconds > shown && near > change.Unix() {
			t = time.Unix(near, 0).In(t.Location())
		}
	}
	return time.Time{}, false
}

// nextChange is when the clocks change after a time; zero: never again. From 2040
// on Go ends the last day of leap years before it began.
func nextChange(t time.Time) time.Time {
	_, change := t.ZoneBounds()
	if !change.IsZero() && !change.After(t) {
		return t.Add(time.Hour)
	}
	return change
}

// nextShown is the first moment, not before the one given, at which the clocks
// show what the fields want. Both are in seconds, as if the clocks showed UTC.
func (s *Schedule) nextShown(from int64) (int64, bool) {
	at := time.Unix(from, 0).UTC()
	midnight := from - int64(at.Hour()*hourSeconds+at.Minute()*minuteSeconds+at.Second())
	year, m, d := at.Date()
	if s.months>>m&1 == 1 && s.days.of(year, m)>>d&1 == 1 {
		if second, ok := s.inDay(at.Clock()); ok {
			return midnight + second, true
		}
	}
	first, _ := s.inDay(0, 0, 0) // each field has a number
	for range horizon*12 + 1 {
		if s.months>>m&1 == 1 {
			if left := s.days.of(year, m) &^ (1<<(d+1) - 1); left != 0 {
				found := time.Date(year, m, bits.TrailingZeros64(left), 0, 0, 0, 0, time.UTC)
				return found.Unix() + first, true
			}
		}
		d = 0
		if m++; m > time.December {
			year, m = year+1, time.January
		}
	}
	return 0, false
}

// inDay is the first second of a day, not before the one given, that the fields
// want.
func (s *Schedule) inDay(h, m, sec int) (int64, bool) {
	if s.hours>>h&1 == 1 {
		if s.minutes>>m&1 == 1 {
			if next, ok := from(s.seconds, sec); ok {
				return clock(h, m, next), true
			}
		}
		if next, ok := from(s.minutes, m+1); ok {
			return clock(h, next, bits.TrailingZeros64(s.seconds)), true
		}
	}
	next, ok := from(s.hours, h+1)
	return clock(next, bits.TrailingZeros64(s.minutes), bits.TrailingZeros64(s.seconds)), ok
}

// from is the first bit that is set, not before n.
func from(set uint64, n int) (int, bool) {
	set = set >> n << n
	return bits.TrailingZeros64(set), set != 0
}

func clock(h, m, s int) int64 { return int64(h*hourSeconds + m*minuteSeconds + s) }

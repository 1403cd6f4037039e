package cron

import (
	"fmt"
	"strings"
	"time"
)

// Schedule is a line of cron: the times at which a job fires. Ruby: Fugit::Cron.
type Schedule struct {
	line string
	// zone is nil where the line names none.
	zone *time.Location
	// Of each field a bit for each number in it.
	seconds, minutes, hours, months uint64
	days                            days
	notes                           []string
}

// Parse reads a line; blanks around it don't count. What it refuses is a
// [*FieldError]. Ruby: Fugit.parse_cron.
//
// Beside numbers, names, lists, ranges and steps it takes
//   - ranges that wrap around: hour 22-2, fri-mon,
//   - hour 24 for 0, weekday 7 for 0,
//   - days from the end of the month: L or -1 for the last, -5--1,
//   - the nth weekday of the month: mon#2, sun#-1 or sun#L for the last,
//   - every nth week: mon%2, and mon%2+1 for the weeks between,
//   - @hourly, @daily or @midnight, @noon, @weekly, @monthly, @yearly or
//     @annually, with a time zone if need be,
//   - a time zone by its name, or as an offset such as +05:30.
//
// A day counts when either its day of the month or its weekday does, unless one
// of the two is *; an & behind one of them wants both.
func Parse(line string) (*Schedule, error) {
	words, zone, err := split(line)
	if err != nil {
		return nil, err
	}
	s := &Schedule{line: line}
	if zone != "" {
		if s.zone, err = location(zone); err != nil {
			return nil, err
		}
	}
	if err := s.read(words); err != nil {
		return nil, err
	}
	if strings.HasPrefix(strings.TrimSpace(line), "@") && zone != "" {
		s.notes = append(s.notes, shown(line)+": versions of Ruby's fugit refuse a time zone there; write the fields, such as 0 0 * * * "+zone)
	}
	return s, nil
}

func (s *Schedule) read(words [fieldCount]string) error {
	var all [fieldCount]numbers
	for i, f := range fields() {
		var err error
		if all[i], err = f.read(words[i]); err != nil {
			return err
		}
		s.notes = append(s.notes, all[i].notes...)
	}
	s.seconds, s.minutes, s.hours = all[second].bits, all[minute].bits, all[hour].bits
	s.months = all[month].bits
	s.days = days{
		month: all[day].bits, fromEnd: all[day].fromEnd, anyDay: all[day].star,
		week: all[weekday].bits, nth: all[weekday].nth, weeks: all[weekday].weeks, anyWeekday: all[weekday].star,
		both: all[day].both || all[weekday].both,
	}
	return s.dropImpossible(words, all[month].star)
}

// dropImpossible leaves out the days that none of the months has, and the months
// that have none of the days; nothing left is refused. Ruby does so even where
// the weekday would do, and where a month is left out its weekdays don't count
// either.
func (s *Schedule) dropImpossible(words [fieldCount]string, anyMonth bool) error {
	if anyMonth || s.days.anyDay {
		return nil
	}
	var months, days uint64
	for m := range bitsOf(s.months) {
		possible := s.days.month & upTo(longest(m))
		days |= possible
		if possible != 0 || s.days.fromEnd != 0 {
			months |= 1 << m
		}
	}
	if months == 0 {
		return &FieldError{
			Field: "day", Text: words[day] + " of month " + words[month],
			Want: "no such day is in these months", Err: ErrNever,
		}
	}
	s.months, s.days.month = months, days
	return nil
}

// longest is how many days the month has at most.
func longest(month int) int {
	const leapYear = 2000
	return daysIn(leapYear, time.Month(month))
}

// String is the line as it was given to [Parse].
func (s *Schedule) String() string { return s.line }

// Location is the time zone that the line names. nil: it names none, and is read
// in the zone of the times it is asked about.
func (s *Schedule) Location() *time.Location { return s.zone }

// In is the same line in another time zone, whichever it names. nil: none.
func (s *Schedule) In(zone *time.Location) *Schedule {
	other := *s
	other.zone = zone
	return &other
}

// Warnings says where the line does something else than its author may think: it
// never fires, or Ruby's versions disagree about it.
func (s *Schedule) Warnings() []string {
	var found []string
	if s.Next(time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		found = append(found, fmt.Sprintf("%s never fires: there is no such time in %d years", shown(s.line), horizon))
	}
	return append(found, s.notes...)
}

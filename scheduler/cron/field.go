package cron

import (
	"strings"

	library "github.com/netresearch/go-cron"
)

// The places of the fields, which are those of the library, too.
const (
	second = iota
	minute
	hour
	day
	month
	weekday
	fieldCount
)

// field is how one of the six is read.
type field struct {
	place  int
	name   string
	digits int // of a number, at most
	want   string
	// lowest is the smallest number.
	lowest string
}

func fields() [fieldCount]field {
	return [fieldCount]field{
		{second, "second", 2, "0 to 59", "0"},
		{minute, "minute", 2, "0 to 59", "0"},
		{hour, "hour", 2, "0 to 23, or 24 for 0", "0"},
		{day, "day", 2, "1 to 31, -1 to -31 from the end of the month, or L for the last", "1"},
		{month, "month", 2, "1 to 12, or jan to dec", "1"},
		{weekday, "weekday", 1, "0 to 7, or sun to sat", "0"},
	}
}

// numbers is what a field says.
type numbers struct {
	// bits has one for each number, weekday 7 as 0.
	bits uint64
	// star: it restricts nothing. Only of the days it is told from all bits.
	star bool
	// fromEnd has a bit for each day from the end: 31 is the last, 30 the one
	// before.
	fromEnd uint64
	// nth and weeks are weekdays in certain weeks.
	nth   []nth
	weeks []weeks
	// both: the field ends with &.
	both  bool
	notes []string
}

func (n *numbers) add(m numbers) {
	n.bits |= m.bits
	n.star = n.star || m.star
	n.fromEnd |= m.fromEnd
	n.nth = append(n.nth, m.nth...)
	n.weeks = append(n.weeks, m.weeks...)
	n.notes = append(n.notes, m.notes...)
}

// read reads a whole field: elements with commas between.
func (f field) read(text string) (numbers, error) {
	var all numbers
	if f.place == day || f.place == weekday {
		text, all.both = strings.CutSuffix(text, "&")
	}
	for element := range strings.SplitSeq(text, ",") {
		n, err := f.element(element)
		if err != nil {
			return numbers{}, err
		}
		all.add(n)
	}
	if f.place == weekday { // a * beside others says nothing there
		all.star = all.bits == 0 && all.nth == nil && all.weeks == nil
	} else if all.star {
		all.bits, _ = f.ask("*")
	}
	return all, nil
}

// ask lets the library read a part of a field: a value, a range, a step.
func (f field) ask(text string) (uint64, error) {
	line := [fieldCount]string{"0", "0", "0", "1", "1", "0"}
	line[f.place] = strings.ToLower(text) // it takes the H of THU for its own H
	const six = library.Second | library.Minute | library.Hour | library.Dom | library.Month | library.Dow
	parser, err := library.TryNewParser(six)
	if err != nil {
		return 0, err
	}
	read, err := parser.Parse(strings.Join(line[:], " "))
	if err != nil {
		return 0, err
	}
	spec, ok := read.(*library.SpecSchedule)
	if !ok {
		return 0, f.refuse(text, f.want)
	}
	const star = 1 << 63 // the library's mark of a *
	bits := [fieldCount]uint64{spec.Second, spec.Minute, spec.Hour, spec.Dom, spec.Month, spec.Dow}
	return bits[f.place] &^ star, nil
}

func (f field) refuse(text, want string) error {
	return &FieldError{Field: f.name, Text: text, Want: want}
}

// value checks a single value: a number of as many digits as fugit takes, or a
// name.
func (f field) value(text string) error {
	digits := strings.Trim(text, "0123456789") == ""
	letters := strings.Trim(strings.ToLower(text), "abcdefghijklmnopqrstuvwxyz") == ""
	switch {
	case text == "":
		return f.refuse(text, "something is missing; "+f.want)
	case digits && len(text) <= f.digits, letters:
		if _, err := f.ask(text); err == nil {
			return nil
		}
	}
	return f.refuse(text, f.instead(text, letters))
}

// instead is what to write for a value that isn't one.
func (f field) instead(text string, letters bool) string {
	const short = 3 // letters of a name
	if letters && len(text) > short {
		if _, err := f.ask(text[:short]); err == nil {
			return "write " + strings.ToLower(text[:short])
		}
	}
	switch {
	case text == "?":
		return "write *"
	case strings.Contains(text, "~"):
		return "two schedulers would draw different numbers: write one"
	}
	return f.want
}

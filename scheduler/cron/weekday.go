package cron

import (
	"math/bits"
	"strconv"
	"strings"
)

func weekdayNames() []string { return []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"} }

// nth is the nth of a weekday in a month, from its end where n is negative.
type nth struct{ weekday, n int }

// weeks is a weekday in every so many weeks.
type weeks struct{ weekday, every, plus int }

const week = 7 // days

// weekdays reads a weekday, or a range of them that may go past saturday. The
// library would count such a range by 8 days, as 0 and 7 are both sunday.
func (f field) weekdays(e element) (numbers, error) {
	switch {
	case e.low == "*" && e.ranged:
		return numbers{}, f.refuse(e.text, f.want)
	case e.low == "*" && !e.stepped:
		return numbers{star: true}, nil
	case e.low == "*":
		e.low, e.high, e.ranged = "0", "6", true
	}
	if err := f.values(e); err != nil {
		return numbers{}, err
	}
	first, last := f.weekday(e.low), f.weekday(e.low)
	if e.ranged {
		last = f.weekday(e.high)
	}
	if first > last {
		last += week
	}
	var n numbers
	for d := first; d <= last; d += e.step {
		n.bits |= 1 << (d % week)
	}
	if e.stepped && !e.ranged {
		n.notes = append(n.notes, "weekday "+e.text+" is "+e.low+" alone: write a range, such as "+e.low+"-6/"+strconv.Itoa(e.step))
	}
	return n, nil
}

// weekday is the number of a weekday that was checked; 7 stays 7.
func (f field) weekday(text string) int {
	if text == "7" {
		return week
	}
	bit, err := f.ask(text)
	if err != nil {
		return 0
	}
	return bits.TrailingZeros64(bit)
}

// certainWeeks reads a weekday in certain weeks: mon#2, mon%2+1.
func (f field) certainWeeks(text string) (numbers, error) {
	i := strings.IndexAny(text, "#%")
	name, rest := text[:i], text[i+1:]
	if err := f.value(name); err != nil {
		return numbers{}, err
	}
	d := f.weekday(name) % week
	if text[i] == '%' {
		return f.everyWeeks(text, rest, d)
	}
	const most = 5
	if lower := strings.ToLower(rest); lower == "l" || lower == "last" {
		rest = "-1"
	}
	digits := strings.TrimPrefix(rest, "-")
	n, err := strconv.Atoi(digits)
	if err != nil || len(digits) != 1 || n < 1 || n > most {
		return numbers{}, f.refuse(text, "after # stands 1 to 5, -1 to -5 from the end of the month, or L for the last")
	}
	if digits != rest {
		n = -n
	}
	return numbers{nth: []nth{{d, n}}}, nil
}

func (f field) everyWeeks(text, rest string, d int) (numbers, error) {
	const most = 9999 // beyond it is far beyond what can be found
	number := func(digits string) (int, bool) {
		n, err := strconv.Atoi(digits)
		return n, err == nil && strings.Trim(digits, "0123456789") == "" && n <= most
	}
	count, plus, offset := strings.Cut(rest, "+")
	if !offset {
		plus = "0"
	}
	every, ok := number(count)
	shift, okShift := number(plus)
	if !ok || !okShift || every == 0 {
		return numbers{}, f.refuse(text, "after % stands every how many weeks, and after + a shift: write %2, or %2+1 for the weeks between")
	}
	return numbers{
		weeks: []weeks{{d, every, shift}},
		notes: []string{"weekday " + text + ": versions of Ruby's fugit count the weeks differently; look at the next times"},
	}, nil
}

package cron

import (
	"strconv"
	"strings"
)

// element is what stands between two commas: a value, a range or a *, and a step.
type element struct {
	text string
	// low is "*" for all.
	low, high string
	ranged    bool
	// step is 1 where none is written.
	step    int
	stepped bool
}

// element reads one.
func (f field) element(text string) (numbers, error) {
	if f.place == weekday && strings.ContainsAny(text, "#%") {
		return f.certainWeeks(text)
	}
	e, err := f.parse(text)
	if err != nil {
		return numbers{}, err
	}
	switch f.place {
	case hour:
		return f.hours(e)
	case day:
		return f.days(e)
	case weekday:
		return f.weekdays(e)
	default:
		return f.plain(e)
	}
}

func (f field) parse(text string) (element, error) {
	e := element{text: text, step: 1}
	body, step, stepped := strings.Cut(text, "/")
	if stepped {
		if err := f.parseStep(&e, body, step); err != nil {
			return e, err
		}
		if body == "" {
			body = "*"
		}
	}
	e.low = body
	if len(body) > 1 {
		if i := strings.IndexByte(body[1:], '-'); i >= 0 { // a first one is a sign
			e.low, e.high, e.ranged = body[:i+1], body[i+2:], true
		}
	}
	return e, nil
}

func (f field) parseStep(e *element, body, step string) error {
	n, err := strconv.Atoi(step)
	digits := strings.Trim(step, "0123456789") == "" && len(step) <= 2
	switch {
	case step == "*" && body != "*":
		return f.refuse(e.text, "a step is a number: write */"+body)
	case err != nil || !digits || n == 0 && f.place != weekday: // there Ruby reads 0 as 1
		return f.refuse(e.text, "a step is 1 to 99, such as */5")
	}
	e.step, e.stepped = max(n, 1), true
	return nil
}

// plain reads an element as cron does everywhere.
func (f field) plain(e element) (numbers, error) {
	if e.low == "*" && e.ranged {
		return numbers{}, f.refuse(e.text, f.want)
	}
	if e.low == "*" && e.step == 1 {
		return numbers{star: true}, nil
	}
	if err := f.values(e); err != nil {
		return numbers{}, err
	}
	text, first := e.low, e.low
	if e.low == "*" {
		first = f.lowest
	}
	if e.ranged {
		text += "-" + e.high
	}
	if e.step > 1 { // N/5 goes on to the end
		text += "/" + strconv.Itoa(e.step)
	}
	bits, err := f.ask(text)
	if err != nil { // its values are good, so its step leaves the range at once
		bits, err = f.ask(first)
	}
	n := numbers{bits: bits}
	if e.stepped && e.step == 1 && !e.ranged {
		alone := strings.TrimSuffix(e.text, "/1")
		n.notes = append(n.notes, f.name+" "+e.text+" is "+alone+" alone; later versions of Ruby's fugit go on to the end: write "+alone+" or a range")
	}
	return n, err
}

// values checks the values of an element, so that a refusal names the right one.
func (f field) values(e element) error {
	if e.low != "*" {
		if err := f.value(e.low); err != nil {
			return err
		}
	}
	if e.ranged {
		return f.value(e.high)
	}
	return nil
}

// hours reads an hour; 24 is 0. A range that begins there counts it as the first
// of its steps, and goes on with 0 as the second.
func (f field) hours(e element) (numbers, error) {
	const last, midnight = "23", "24"
	switch {
	case e.high == midnight && e.low == midnight:
		return numbers{bits: 1}, nil
	case e.high == midnight && e.low != "" && strings.Trim(e.low, "0") == "":
		e.high = last
	case e.high == midnight:
		e.high = "0"
	}
	if e.low != midnight {
		return f.plain(e)
	}
	switch {
	case !e.ranged && e.step > 1:
		e.high, e.ranged = last, true
	case !e.ranged:
		return numbers{bits: 1}, nil
	}
	if err := f.value(e.high); err != nil {
		return numbers{}, err
	}
	end, err := strconv.Atoi(e.high)
	if err != nil {
		return numbers{}, err
	}
	if e.step-1 > end {
		return numbers{bits: 1}, nil
	}
	e.low = strconv.Itoa(e.step - 1)
	n, err := f.plain(e)
	n.bits |= 1
	return n, err
}

// days reads a day of the month, which may count from the end.
func (f field) days(e element) (numbers, error) {
	low, lowEnd, err := f.fromEnd(e.low)
	if err != nil {
		return numbers{}, err
	}
	high, highEnd, err := f.fromEnd(e.high)
	if err != nil {
		return numbers{}, err
	}
	switch {
	case !lowEnd && !highEnd:
		return f.plain(e)
	case !lowEnd: // 15-L
		e.high = "31"
		return f.plain(e)
	case e.ranged && !highEnd, !e.ranged && e.step > 1:
		return numbers{}, f.refuse(e.text, "what begins at the end of the month ends there, too: write "+e.low+"--1")
	}
	e.low, e.high = low, high
	n, err := f.plain(e)
	n.bits, n.fromEnd = 0, n.bits
	return n, err
}

// fromEnd reads a day from the end: -1 is day 31 of the longest month, so that
// ranges and steps are those of other days.
func (f field) fromEnd(text string) (as string, ok bool, err error) {
	const length = 32
	if lower := strings.ToLower(text); lower == "l" || lower == "last" {
		text = "-1"
	}
	digits, ok := strings.CutPrefix(text, "-")
	if !ok {
		return text, false, nil
	}
	if f.value(digits) != nil {
		return "", false, f.refuse(text, f.want)
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		return "", false, f.refuse(text, f.want)
	}
	return strconv.Itoa(length - n), true, nil
}

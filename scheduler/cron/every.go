package cron

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// Duration is a length of time as the keys every and first_in of a schedule have
// it. Ruby: Fugit::Duration.
type Duration struct {
	text   string
	length time.Duration
	notes  []string
}

// Length is how long it is, to the nanosecond.
func (d Duration) Length() time.Duration { return d.length }

// String is the text as it was given.
func (d Duration) String() string { return d.text }

// Warnings says where the text means something else than its author may think:
// 1h30 is an hour and 30 seconds, 5M is five months.
func (d Duration) Warnings() []string { return d.notes }

const wantDuration = "write seconds, such as 90, or units, such as 30s, 5m, 1h30m, 1d"

// ParseEvery reads how often a job fires: a [ParseDuration] that is more than
// nothing, as in Ruby. What it refuses is a [*FieldError]. resque-scheduler:
// every.
func ParseEvery(text string) (Duration, error) {
	d, err := ParseDuration(text)
	if err == nil && d.length <= 0 {
		return Duration{}, refuseDuration(text, "isn't more than nothing; "+wantDuration)
	}
	return d, err
}

// EverySeconds is [ParseEvery] for a number of seconds, as YAML has one.
func EverySeconds(seconds float64) (Duration, error) {
	return ParseEvery(strconv.FormatFloat(seconds, 'f', -1, 64))
}

// ParseDuration reads a length of time: numbers with units (1h30m, "2 days and 4
// hours"), of which a sign before them makes those up to the next blank or comma
// negative; a last number without a unit is seconds; or a duration of ISO 8601
// (PT1H30M). Units are years of 365 days (y), months of 30 days (M), weeks (w),
// days (d), hours (h), minutes (m) and seconds (s), the words for them as well;
// numbers may have fractions. The empty text is 0. Ruby: Fugit::Duration.parse.
func ParseDuration(text string) (Duration, error) {
	const longest = 200 // bytes
	if len(text) > longest {
		return Duration{}, refuseDuration(text, "is too long")
	}
	trimmed := strings.Trim(text, " \t\n\v\f\r")
	total, notes, ok := plain(trimmed)
	if !ok {
		notes = nil
		total, ok = iso(strings.ToUpper(trimmed))
	}
	if !ok {
		return Duration{}, refuseDuration(text, wantDuration)
	}
	length, err := nanoseconds(text, total)
	if err != nil {
		return Duration{}, err
	}
	return Duration{text: text, length: length, notes: notes}, nil
}

func refuseDuration(text, want string) error {
	return &FieldError{Field: "duration", Text: text, Want: want}
}

// nanoseconds rounds seconds.
func nanoseconds(text string, seconds *big.Rat) (time.Duration, error) {
	scaled := new(big.Rat).Mul(seconds, big.NewRat(int64(time.Second), 1))
	if f, _ := scaled.Float64(); math.Abs(f) >= math.MaxInt64 {
		return 0, refuseDuration(text, "is more than 292 years; write less")
	}
	rounded, ok := new(big.Int).SetString(scaled.FloatString(0), 10)
	if !ok {
		return 0, refuseDuration(text, wantDuration)
	}
	return time.Duration(rounded.Int64()), nil
}

// unit is a unit of time, with the spellings of fugit, the longest first.
type unit struct {
	seconds int64
	// anyCase: small and capital letters are the same.
	anyCase   bool
	spellings []string
}

const (
	weekSeconds  = week * daySeconds
	monthSeconds = 30 * daySeconds
	yearSeconds  = 365 * daySeconds
)

func units() []unit {
	return []unit{
		{yearSeconds, true, []string{"years", "year", "y"}},
		{monthSeconds, false, []string{"M", "months", "month"}},
		{weekSeconds, true, []string{"weeks", "week", "w"}},
		{daySeconds, true, []string{"days", "day", "d"}},
		{hourSeconds, true, []string{"hours", "hour", "h"}},
		{minuteSeconds, false, []string{"minutes", "minute", "mins", "min", "m"}},
		{1, true, []string{"seconds", "second", "secs", "sec", "ss", "s"}},
	}
}

// plain reads numbers and units, and notes what may be misread. A sign counts for
// what follows it without a blank.
func plain(text string) (total *big.Rat, notes []string, ok bool) {
	total = new(big.Rat)
	negative := false
	for rest := text; rest != ""; {
		if rest != text {
			next := skipSeparators(rest)
			if next != rest && negative {
				notes = append(notes, noteSign(text, text[:len(text)-len(rest)], next)...)
				negative = false
			}
			rest = next
		}
		if rest != "" && (rest[0] == '-' || rest[0] == '+') {
			negative, rest = rest[0] == '-', rest[1:]
		}
		digits, after := leadingNumber(rest)
		u, unitText, after, known := leadingUnit(after)
		number, ok := new(big.Rat).SetString(digits)
		if !known || !ok {
			return nil, nil, false
		}
		if negative {
			number.Neg(number)
		}
		total.Add(total, number.Mul(number, big.NewRat(u.seconds, 1)))
		notes = append(notes, noteUnit(text, digits, unitText)...)
		rest = after
	}
	return total, notes, true
}

// noteUnit says what may be misread in a number and its unit.
func noteUnit(text, digits, unitText string) []string {
	switch alone := strings.TrimLeft(text, "+-") == digits; {
	case unitText == "" && !alone:
		return []string{fmt.Sprintf("%s: %s without a unit is %[2]s seconds; write %[2]sm for minutes, %[2]ss for seconds", shown(text), digits)}
	case unitText == "M":
		return []string{fmt.Sprintf("%s: M is months of 30 days; write %sm for minutes", shown(text), digits)}
	}
	return nil
}

// noteSign says that a sign ended at a blank or a comma, unless another follows.
func noteSign(text, before, next string) []string {
	if next == "" || next[0] == '-' || next[0] == '+' {
		return nil
	}
	return []string{fmt.Sprintf("%s: the sign counts up to the blank; write %s%s", shown(text), before, next)}
}

// leadingNumber cuts the number off that the text begins with: 5, 1.5, .5, 5.
func leadingNumber(text string) (digits, rest string) {
	whole := len(text) - len(strings.TrimLeft(text, "0123456789"))
	if fraction, ok := strings.CutPrefix(text[whole:], "."); ok {
		rest = strings.TrimLeft(fraction, "0123456789")
		return text[:len(text)-len(rest)], rest
	}
	return text[:whole], text[whole:]
}

// leadingUnit cuts the unit off; at the end of the text it is seconds.
func leadingUnit(text string) (u unit, spelling, rest string, ok bool) {
	if text == "" {
		return unit{seconds: 1}, "", "", true
	}
	text = strings.TrimLeft(text, " ")
	for _, u := range units() {
		for _, s := range u.spellings {
			if len(text) >= len(s) && (text[:len(s)] == s || u.anyCase && strings.ToLower(text[:len(s)]) == s) {
				return u, s, text[len(s):], true
			}
		}
	}
	return unit{}, "", text, false
}

// skipSeparators skips what may stand between two parts: blanks, commas, and.
func skipSeparators(text string) string {
	const and = "and"
	for {
		next := strings.TrimLeft(text, " \t,")
		if len(next) >= len(and) && strings.EqualFold(next[:len(and)], and) {
			next = next[len(and):]
		}
		if next == text {
			return text
		}
		text = next
	}
}

package cron

import (
	"math/big"
	"regexp"
	"strings"
)

// iso reads a duration of ISO 8601, in capital letters: the parts of the date,
// and after a T those of the time, in any order.
func iso(text string) (*big.Rat, bool) {
	const dateUnits, timeUnits = "YMWD", "HMS"
	date, clock, timed := strings.Cut(text, "T")
	date, ok := strings.CutPrefix(date, "P")
	if !ok || timed && clock == "" {
		return nil, false
	}
	total := new(big.Rat)
	seconds := map[byte]int64{'Y': yearSeconds, 'M': monthSeconds, 'W': weekSeconds, 'D': daySeconds}
	if !addISO(total, date, dateUnits, seconds) {
		return nil, false
	}
	seconds = map[byte]int64{'H': hourSeconds, 'M': minuteSeconds, 'S': 1}
	return total, addISO(total, clock, timeUnits, seconds)
}

// addISO adds the parts of a date or of a time; seconds alone may have a fraction.
func addISO(total *big.Rat, text, letters string, seconds map[byte]int64) bool {
	part := regexp.MustCompile(`^(-?(?:\d*\.\d+S|\d+[` + letters + `]))`)
	for text != "" {
		found := part.FindString(text)
		if found == "" {
			return false
		}
		last := len(found) - 1
		number, ok := new(big.Rat).SetString(found[:last])
		factor, known := seconds[found[last]]
		if !ok || !known {
			return false
		}
		total.Add(total, number.Mul(number, big.NewRat(factor, 1)))
		text = text[len(found):]
	}
	return true
}

package scheduler

import (
	"regexp"
	"strings"
	"time"

	"example.com/understudy/scheduler/cron"
)

// moment is what first and last name: a length of time from the loading on, or a
// time. The zero value: nothing is named.
type moment struct {
	set   bool
	after time.Duration // where at is nil
	at    func(loaded time.Time) time.Time
}

// resolve is the moment's time for a job that was loaded then; in the zone of
// loaded where the moment names none.
func (m moment) resolve(loaded time.Time) time.Time {
	if m.at != nil {
		return m.at(loaded)
	}
	return loaded.Add(m.after)
}

// lengthOf reads a length of time, or one of the words for at once. ok is false
// where the text is neither.
func lengthOf(text string) (m moment, ok bool) {
	switch strings.TrimPrefix(text, ":") {
	case "now", "immediately":
		return moment{set: true}, true
	}
	d, err := cron.ParseDuration(text)
	return moment{set: true, after: d.Length()}, err == nil
}

// timeOf reads a time: a day, a time of the day (of the day of the loading) or
// both, and a zone behind them. It takes the usual of what Ruby's Time.parse
// takes. ok is false where the text is no such time.
func timeOf(text string) (m moment, ok bool) {
	text, zone := cutZone(betweenDayAndClock.ReplaceAllString(strings.TrimSpace(text), "$1 $2"))
	in := func(loaded time.Time) *time.Location {
		if zone == nil {
			return loaded.Location()
		}
		return zone
	}
	for _, form := range timeForms() {
		if _, err := time.ParseInLocation(form, text, time.UTC); err == nil {
			return moment{set: true, at: func(loaded time.Time) time.Time {
				at, _ := time.ParseInLocation(form, text, in(loaded)) // it was parsed before
				return at
			}}, true
		}
	}
	for _, form := range clockForms() {
		if clock, err := time.Parse(form, text); err == nil {
			return moment{set: true, at: func(loaded time.Time) time.Time {
				day := loaded.In(in(loaded))
				return time.Date(day.Year(), day.Month(), day.Day(), clock.Hour(), clock.Minute(), clock.Second(), clock.Nanosecond(), day.Location())
			}}, true
		}
	}
	return moment{}, false
}

func clockForms() []string { return []string{"15:04", "15:04:05"} } // fractions of a second are read by themselves

func timeForms() []string {
	var forms []string
	for _, day := range []string{
		"2006-1-2", "2006/1/2", "2 Jan 2006", "2 January 2006", "Jan 2 2006", "Jan 2, 2006", "January 2 2006", "January 2, 2006", "Mon, 2 Jan 2006",
	} {
		forms = append(forms, day)
		for _, clock := range clockForms() {
			forms = append(forms, day+" "+clock)
		}
	}
	return forms
}

var (
	betweenDayAndClock = regexp.MustCompile(`(\d)T(\d)`)
	zoneAtTheEnd       = regexp.MustCompile(`^(.*\d) *(Z|[-+]\d\d:?(?:\d\d)?| [A-Z][A-Za-z0-9_+/-]+)$`)
)

// cutZone takes the zone off the end of a time; nil: it has none, or one that
// isn't known, which then stays.
func cutZone(text string) (rest string, zone *time.Location) {
	parts := zoneAtTheEnd.FindStringSubmatch(text)
	if parts == nil || !strings.Contains(parts[1], ":") { // 2030-01-02 ends with no offset
		return text, nil
	}
	name := strings.TrimSpace(parts[2])
	switch {
	case name == "Z":
		zone = time.UTC
	case name[0] == '+' || name[0] == '-':
		at, err := time.Parse("-0700", (strings.ReplaceAll(name, ":", "") + "00")[:len("-0700")])
		if err != nil {
			return text, nil
		}
		_, seconds := at.Zone()
		zone = time.FixedZone("", seconds)
	default:
		known, err := time.LoadLocation(name)
		if err != nil {
			return text, nil
		}
		zone = known
	}
	return strings.TrimSpace(parts[1]), zone
}

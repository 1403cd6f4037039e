package cron

import (
	_ "embed"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // for machines that have no zoneinfo

	"example.com/understudy/internal/spelling"
)

// zoneNames lists the zones of the tz database, for suggestions.
//
//go:embed zones.txt
var zoneNames string

// location is a time zone by its name, or by its offset.
func location(text string) (*time.Location, error) {
	if text[0] == '+' || text[0] == '-' {
		return offset(text)
	}
	name := text
	if as, ok := alias(text); ok {
		name = as
	}
	if 'A' <= name[0] && name[0] <= 'Z' && name != "Local" && path.Clean(name) == name {
		if zone, err := time.LoadLocation(name); err == nil {
			return zone, nil
		}
	}
	return nil, &FieldError{Field: "time zone", Text: text, Want: "isn't known; write " + nearZone(text)}
}

// alias is a name that fugit reads as another.
func alias(name string) (string, bool) {
	as, ok := map[string]string{
		"UTC-11":  "Etc/GMT+11",
		"UTC-02":  "Etc/GMT+2",
		"UTC+12":  "Etc/GMT-12",
		"CST5CDT": "CST6CDT",
	}[name]
	return as, ok
}

func offset(text string) (*time.Location, error) {
	refuse := func(want string) (*time.Location, error) {
		return nil, &FieldError{Field: "time zone", Text: text, Want: want}
	}
	const most = 11 // hours
	parts := regexp.MustCompile(`^[-+]([01]\d):?(00|15|30|45)$`).FindStringSubmatch(text)
	if parts == nil || parts[1] > strconv.Itoa(most) {
		return refuse("an offset is -11:45 to +11:45, in quarters of an hour; beyond it write a name, such as Pacific/Auckland")
	}
	length, err := time.ParseDuration(parts[1] + "h" + parts[2] + "m")
	switch {
	case err != nil:
		return refuse(err.Error())
	case text[0] == '-' && length > 0 && length < time.Hour:
		return refuse("Ruby takes it for +" + text[1:] + "; write a name")
	case text[0] == '-':
		length = -length
	}
	return time.FixedZone(text, int(length.Seconds())), nil
}

// nearZone is what to write for a name that isn't known: the zone of the same
// city, or the nearest name.
func nearZone(text string) string {
	names := strings.Fields(zoneNames)
	for _, name := range names {
		if strings.EqualFold(path.Base(name), path.Base(text)) {
			return name
		}
	}
	if near := spelling.Nearest(text, names); near != "" {
		return near
	}
	return "a name such as Europe/Berlin, or an offset such as +05:30"
}

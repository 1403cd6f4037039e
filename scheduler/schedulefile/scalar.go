package schedulefile

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"example.com/understudy/compat/ruby"
)

// scalar is a text of YAML as Ruby understands it: its JSON, what it is as the
// key of a mapping, and what its author may not have meant.
type scalar struct {
	json    json.RawMessage
	key     string
	warning string
	// kind is what it is where it is no text: number, true, …; "" for texts.
	kind string
}

func textual(text string) scalar {
	return scalar{json: ruby.AppendString(nil, text), key: text}
}

func constant(json, key string) scalar { return scalar{json: []byte(json), key: key, kind: json} }

// These are the forms of YAML 1.1, as Psych has them.
var (
	integerForm  = regexp.MustCompile(`^[-+]?(0b[01_,]+|0[0-7_,]+|0|[1-9](?:[0-9]|,[0-9]|_[0-9])*|0x[0-9a-fA-F_,]+)$`)
	floatForm    = regexp.MustCompile(`^[-+]?(?:[0-9][0-9_,]*)?\.[0-9]*(?:[eE][-+][0-9]+)?$`)
	sixtiesForm  = regexp.MustCompile(`^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9]){1,2}(\.[0-9_]*)?$`)
	dateForm     = regexp.MustCompile(`^(\d{4})-(1[012]|0\d|\d)-([12]\d|3[01]|0\d|\d)$`)
	timeForm     = regexp.MustCompile(`^(\d{4})-(\d\d?)-(\d\d?)(?:[Tt]|\s+)(\d\d?):(\d\d):(\d\d)(?:\.\d*)?\s*(?:(Z)|([-+])(\d\d?):?(\d\d)?)?$`)
	infinityForm = regexp.MustCompile(`(?i)^[-+]?\.inf$|^\.nan$`)
)

// plain reads a text without quotes. Times without a zone are of UTC in YAML, and
// are written as those of the zone. Ruby: Psych::ScalarScanner#tokenize.
func plain(text string, zone *time.Location) (scalar, error) {
	if strings.Contains(text, "\n") {
		return textual(text), nil
	}
	switch strings.ToLower(text) {
	case "", "~", "null":
		return constant("null", ""), nil
	case "yes", "true", "on":
		return constant("true", "true"), nil
	case "no", "false", "off":
		return constant("false", "false"), nil
	}
	switch {
	case infinityForm.MatchString(text):
		return scalar{}, fmt.Errorf("%s is no number that a job can have: put it in quotes, or write a number", text)
	case strings.HasPrefix(text, ":") && len(text) > 1:
		return textual(symbol(text)), nil
	case sixtiesForm.MatchString(text):
		return sixties(text), nil
	case integerForm.MatchString(text):
		return integer(text)
	case floatForm.MatchString(text) && strings.Trim(text, "-+.") != "":
		return float(text)
	}
	if day, ok := date(text); ok {
		return day, nil
	}
	if moment, ok := moment(text, zone); ok {
		return moment, nil
	}
	return textual(text), nil
}

// symbol is the name of a Ruby symbol, :name or :"any text".
func symbol(text string) string {
	name := text[1:]
	if q := name[:1]; len(name) > 1 && (q == `"` || q == "'") {
		if end := strings.LastIndex(name[1:], q); end >= 0 {
			return strings.TrimPrefix(name[1:1+end], ":")
		}
	}
	return name
}

func integer(text string) (scalar, error) {
	digits := strings.NewReplacer("_", "", ",", "").Replace(text)
	n, ok := new(big.Int).SetString(digits, 0)
	if !ok {
		return scalar{}, fmt.Errorf("%s is no number that Ruby reads: put it in quotes", text)
	}
	number := scalar{json: []byte(n.String()), key: n.String(), kind: "a number"}
	if bare := strings.TrimLeft(digits, "-+"); len(bare) > 1 && bare[0] == '0' {
		number.warning = fmt.Sprintf("%s is the number %s to YAML: write that, or put it in quotes", text, n)
	}
	return number, nil
}

func float(text string) (scalar, error) {
	f, err := strconv.ParseFloat(strings.NewReplacer("_", "", ",", "").Replace(text), 64)
	if err != nil || math.IsInf(f, 0) {
		return scalar{}, fmt.Errorf("%s is no number that Ruby can write: put it in quotes, or write another", text)
	}
	return number(f), nil
}

func number(f float64) scalar {
	text := ruby.AppendFloat(nil, f)
	return scalar{json: text, key: string(text), kind: "a number"}
}

// sixties is a number to the base of 60: 12:30 is 12 hours and a half, in
// seconds.
func sixties(text string) scalar {
	var sum float64
	power := 3600.0
	for part := range strings.SplitSeq(strings.ReplaceAll(text, "_", ""), ":") {
		n, _ := strconv.ParseFloat(strings.TrimSuffix(part, "."), 64) // its form was looked at
		sum += n * power
		power /= 60
	}
	value := number(sum)
	if !strings.Contains(text, ".") {
		value.json = []byte(strconv.FormatFloat(sum, 'f', -1, 64))
		value.key = string(value.json)
	}
	value.warning = fmt.Sprintf("%s is the number %s to YAML, as hours, minutes and seconds: put it in quotes where a text is meant", text, value.key)
	return value
}

// quoteTimes is said of dates and times, at which a Ruby from 3.1 on stops.
const quoteTimes = "%s is a time to YAML, which YAML.load_file refuses from Ruby 3.1 on: put it in quotes"

func date(text string) (scalar, bool) {
	if !dateForm.MatchString(text) {
		return scalar{}, false
	}
	day, err := time.Parse("2006-1-2", text)
	if err != nil {
		return scalar{}, false
	}
	value := textual(day.Format(time.DateOnly))
	value.kind, value.warning = "a date", fmt.Sprintf(quoteTimes, text)
	return value, true
}

func moment(text string, zone *time.Location) (scalar, bool) {
	parts := timeForm.FindStringSubmatch(text)
	if parts == nil {
		return scalar{}, false
	}
	n := func(i int) int {
		number, _ := strconv.Atoi(parts[i]) // "" is 0
		return number
	}
	const utc, sign, hours, minutes = 7, 8, 9, 10
	year, month, day, hour, minute, second := n(1), n(2), n(3), n(4), n(5), n(6)
	if month < 1 || month > 12 || day < 1 || day > 31 || hour > 24 || minute > 59 || second > 60 || hour == 24 && minute+second > 0 {
		return scalar{}, false
	}
	at := time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC)
	form := "2006-01-02 15:04:05 -0700"
	switch {
	case parts[utc] != "":
		form = "2006-01-02 15:04:05 UTC"
	case parts[sign] != "":
		offset := time.Duration(n(hours))*time.Hour + time.Duration(n(minutes))*time.Minute
		if parts[sign] == "-" {
			offset = -offset
		}
		at = at.Add(-offset).In(time.FixedZone("", int(offset.Seconds())))
	default:
		at = at.In(zone)
	}
	value := textual(at.Format(form))
	value.kind, value.warning = "a time", fmt.Sprintf(quoteTimes, text)
	return value, true
}

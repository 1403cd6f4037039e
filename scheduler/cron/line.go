package cron

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.com/understudy/internal/spelling"
)

const wantLine = "write five fields (minute, hour, day, month, weekday), or six with the second first; a time zone may follow"

// split takes a line apart into its fields, the second first, and the text of
// its time zone.
func split(line string) (words [fieldCount]string, zone string, err error) {
	found := strings.FieldsFunc(strings.TrimSpace(line), func(r rune) bool { return r == ' ' || r == '\t' })
	if len(found) > 0 && strings.HasPrefix(found[0], "@") {
		fields, err := nickname(found)
		if err != nil {
			return words, "", err
		}
		found = append(strings.Fields(fields), found[1:]...)
	}
	if n := len(found); n >= fieldCount && namesZone(found[n-1]) {
		found, zone = found[:n-1], found[n-1]
	}
	switch len(found) {
	case fieldCount - 1:
		words[second] = "0"
		copy(words[minute:], found)
	case fieldCount:
		copy(words[:], found)
	case 0:
		return words, "", &FieldError{Field: "line", Want: wantLine}
	default:
		return words, "", &FieldError{Field: "line", Text: line, Want: fmt.Sprintf("has %d fields; %s", len(found), wantLine)}
	}
	return words, zone, nil
}

// nickname is what a word such as @daily stands for; a time zone may follow it.
func nickname(words []string) (string, error) {
	word := words[0]
	if len(words) > 2 || len(words) == 2 && !namesZone(words[1]) {
		return "", &FieldError{Field: "line", Text: strings.Join(words, " "), Want: "after " + word + " stands nothing but a time zone"}
	}
	known := map[string]string{
		"@yearly":   "0 0 1 1 *",
		"@annually": "0 0 1 1 *",
		"@monthly":  "0 0 1 * *",
		"@weekly":   "0 0 * * 0",
		"@daily":    "0 0 * * *",
		"@midnight": "0 0 * * *",
		"@noon":     "0 12 * * *",
		"@hourly":   "0 * * * *",
	}
	if line, ok := known[word]; ok {
		return line, nil
	}
	names := slices.Sorted(maps.Keys(known))
	want := "write one of " + strings.Join(names, ", ")
	if near := spelling.Nearest(word, names); near != "" {
		want = "write " + near
	}
	return "", &FieldError{Field: "line", Text: word, Want: want}
}

// namesZone tells a time zone from a weekday: one begins with a letter or a sign,
// the other may begin with the letters of a day, as no zone does.
func namesZone(word string) bool {
	if word[0] == '+' || word[0] == '-' {
		return true
	}
	const dayName = 3 // letters
	return isLetter(word[0]) && (len(word) < dayName || !slices.Contains(weekdayNames(), strings.ToLower(word[:dayName])))
}

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

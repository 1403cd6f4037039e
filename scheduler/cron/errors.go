package cron

import (
	"errors"
	"fmt"
	"strconv"
)

// ErrNever is wrapped by the error for a line of days that no month has, such as
// 30 February. Lines that never fire for another reason are accepted, as in
// Ruby; see [Schedule.Warnings].
var ErrNever = errors.New("no month has such a day")

// FieldError says what in a line or a duration isn't understood, and what to
// write instead.
type FieldError struct {
	// Field is second, minute, hour, day, month, weekday, time zone, line, or
	// duration.
	Field string
	// Text is what stands there, the part that is wrong only.
	Text string
	// Want is what can stand there.
	Want string
	// Err is the kind of the error where it has one: ErrNever.
	Err error
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("cron: %s %s: %s", e.Field, shown(e.Text), e.Want)
}

func (e *FieldError) Unwrap() error { return e.Err }

// shown is a text as part of a line of a log: bounded, and with nothing in it
// that isn't printed.
func shown(text string) string {
	const longest = 60
	if len(text) > longest {
		text = text[:longest] + "..."
	}
	quoted := strconv.Quote(text)
	if plain := quoted[1 : len(quoted)-1]; plain == text && text != "" {
		return text
	}
	return quoted
}

package scheduler

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/understudy/scheduler/cron"
)

// shortest is how often rufus-scheduler looks, and so the shortest every.
const shortest = 300 * time.Millisecond

// rules are a Recurring's times, as read.
type rules struct {
	line        *cron.Schedule // nil: every, where that is longer than nothing
	every       cron.Duration
	first, last moment
}

// Validate says what is wrong with r: *FieldError, joined where there are
// several. Ruby dies at the first such entry of a schedule.
func (r Recurring) Validate() error {
	_, err := r.rules()
	_, encoding := r.encode()
	return errors.Join(err, encoding)
}

// Warnings says what may be meant otherwise. What Validate refuses isn't among
// it.
func (r Recurring) Warnings() []Remark {
	remarks := slices.Clone(r.remarks)
	add := func(field string, texts ...string) {
		for _, text := range texts {
			remarks = append(remarks, Remark{field, text})
		}
	}
	rules, _ := r.rules()
	switch {
	case r.Cron == "" && r.Every == "":
		add("", `has neither cron nor every, and never fires by itself: write one, such as cron: "30 6 * * *" or every: 1h`)
	case rules.line != nil:
		add("cron", rules.line.Warnings()...)
	default:
		add("every", rules.every.Warnings()...)
		if _, err := strconv.ParseFloat(strings.TrimSpace(r.Every), 64); err == nil {
			add("every", fmt.Sprintf("%s has no unit, which is seconds: write %ss", r.Every, strings.TrimSpace(r.Every)))
		}
	}
	if r.Cron != "" && r.Every != "" {
		add("every", "has no effect beside cron: remove one of them")
	}
	if r.Times < 0 {
		add("times", "allows no firing: write 1 or more, or remove it")
	}
	if r.KeepPast && r.Cron != "" {
		add("discard_past", "has no effect on cron: times that were missed don't fire")
	}
	return remarks
}

// rules reads the times of r; what can't be read is left out and told of.
func (r Recurring) rules() (rules, error) {
	var read rules
	var errs []error
	refuse := func(field, text string, cause error, want string) {
		reason := want
		if cause != nil {
			reason = strings.TrimPrefix(cause.Error(), "cron: ")
		}
		errs = append(errs, &FieldError{Field: field, Text: strconv.Quote(text) + ": " + reason, Err: cause})
	}
	switch {
	case r.Cron != "":
		line, err := cron.Parse(r.Cron)
		if err != nil {
			refuse("cron", r.Cron, err, "")
			break
		}
		read.line = line
	case r.Every != "":
		every, err := cron.ParseEvery(r.Every)
		switch {
		case err != nil:
			refuse("every", r.Every, err, "")
		case every.Length() < shortest:
			refuse("every", r.Every, nil, "more often than 0.3 s isn't possible: write 1s, or more")
		default:
			read.every = every
		}
	}
	for _, l := range []struct {
		name, at, in string
		least        time.Duration
		to           *moment
	}{{"first", r.FirstAt, r.FirstIn, 0, &read.first}, {"last", r.LastAt, r.LastIn, 1, &read.last}} {
		switch {
		case l.at != "":
			at, ok := timeOf(l.at)
			if *l.to = at; !ok {
				refuse(l.name+"_at", l.at, nil, `is no time that is known here: write a day and a time, such as "2030-01-31 06:30" or "2030-01-31T06:30:00+01:00"`)
			}
		case l.in != "":
			in, ok := lengthOf(l.in)
			if *l.to = in; !ok {
				refuse(l.name+"_in", l.in, nil, `is no length of time: write one with its unit, such as "5m" or "2 days"`)
			} else if in.after < l.least {
				refuse(l.name+"_in", l.in, nil, `is in the past: write a length of time from the loading on, such as "5m"`)
			}
		}
	}
	return read, errors.Join(errs...)
}

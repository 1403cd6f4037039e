package scheduler

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"example.com/understudy/compat/ruby"
	"example.com/understudy/internal/spelling"
)

// firsts and lasts are the names of the first and the last time, the one that
// wins first. To rufus-scheduler they are the same, whatever they hold.
func firsts() []string { return []string{"first", "first_time", "first_at", "first_in"} }

func lasts() []string { return []string{"last", "last_at", "last_in"} }

// timeOptions are those that have an effect here.
func timeOptions() []string {
	return slices.Concat(firsts(), lasts(), []string{"times", "discard_past"})
}

// idleOptions are about how long a job runs in rufus-scheduler, where enqueueing
// is the whole of the job, or about finding it there.
func idleOptions() []string {
	return []string{
		"overlap", "allow_overlap", "allow_overlapping", "timeout", "blocking", "mutex",
		"tag", "tags", "name", "n", "locals", "l", "job",
	}
}

// options reads what stands behind a time.
func (p *recurringReader) options(field string, object []byte) {
	members, err := ruby.Members(object)
	if err != nil {
		p.refuse(field, "has options that can't be read: %v", err)
		return
	}
	p.r.FirstAt, p.r.FirstIn = p.limit(members, firsts())
	p.r.LastAt, p.r.LastIn = p.limit(members, lasts())
	for _, m := range members {
		switch {
		case m.Key == "times":
			p.countOf(m)
		case m.Key == "discard_past":
			p.r.KeepPast = string(m.Value) == "false"
		case slices.Contains(timeOptions(), m.Key):
		case slices.Contains(idleOptions(), m.Key):
			p.remark(m.Key, "has no effect: it is about the moment of enqueueing, not about the job")
		default:
			if near := spelling.Nearest(m.Key, timeOptions()); near != "" {
				p.remark(m.Key, "means nothing: did you mean %s?", near)
			} else {
				p.remark(m.Key, "means nothing: the options are %s", strings.Join(timeOptions(), ", "))
			}
		}
	}
}

// limit reads the first of some options that is neither null nor false: at is a
// time, in a length of time.
func (p *recurringReader) limit(members []ruby.Member, names []string) (at, in string) {
	winner := ""
	for _, name := range names {
		i := slices.IndexFunc(members, func(m ruby.Member) bool { return m.Key == name && isTrue(m.Value) })
		if i < 0 {
			continue
		}
		if winner != "" {
			p.remark(name, "has no effect beside %s: remove one of them", winner)
			continue
		}
		winner = name
		switch value := members[i].Value; ruby.KindOf(value) { //nolint:exhaustive // the others are refused alike
		case ruby.Number:
			in = digits(value)
		case ruby.Text:
			text, err := ruby.String(value)
			if err != nil {
				p.refuse(name, "can't be read: %v", err)
			} else if _, ok := lengthOf(text); !ok {
				at = text
			} else if in = text; strings.TrimSpace(text) == "" {
				in = "0s" // as Ruby reads it
			}
		default:
			p.refuse(name, `is neither a time nor a length of time: write one, such as "5m" or "2030-01-31 06:30"`)
		}
	}
	return at, in
}

// countOf reads times, which are a whole number to rufus-scheduler.
func (p *recurringReader) countOf(m ruby.Member) {
	if ruby.KindOf(m.Value) == ruby.Null {
		return
	}
	n, err := strconv.ParseInt(string(m.Value), 10, 32)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // beyond the range is as good as its end
		p.refuse(m.Key, "is no whole number: write one without quotes, such as 3")
		return
	}
	if p.r.Times = int(n); n < 1 {
		p.r.Times = -1
	}
}

// rawArgs are arguments as they arrived.
func rawArgs(value []byte) json.RawMessage { return slices.Clone(json.RawMessage(value)) }

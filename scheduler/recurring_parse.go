package scheduler

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.com/understudy/compat/ruby"
	"example.com/understudy/internal/spelling"
)

// ParseRecurring reads a configuration's JSON, as it stands in
// persistent_schedules, by the rules of resque-scheduler 5.0.0 and
// rufus-scheduler 3.8.2. Its bytes are kept for Config.
//
// Errors are *FieldError, joined where there are several. Members that nobody
// knows are no error; see Warnings.
func ParseRecurring(raw []byte) (Recurring, error) {
	if err := ruby.Check(raw); err != nil {
		return Recurring{}, &FieldError{Text: "is no JSON", Err: err}
	}
	members, err := ruby.Members(raw)
	if err != nil {
		return Recurring{}, &FieldError{Text: `is no object: write one, such as {"cron":"30 6 * * *","class":"SendMail","queue":"mail"}`, Err: err}
	}
	p := recurringReader{}
	p.r.source = slices.Clone(raw)
	p.times(members)
	for _, m := range members {
		p.member(m)
	}
	p.env(members)
	p.errs = append(p.errs, p.r.Validate())
	if err := errors.Join(p.errs...); err != nil {
		return Recurring{}, err
	}
	if p.persisted {
		p.r.source = object(slices.DeleteFunc(members, func(m ruby.Member) bool { return m.Key == "persist" }))
	}
	p.r.read, err = p.r.encode()
	return p.r, err
}

type recurringReader struct {
	r         Recurring
	persisted bool // persist is there
	errs      []error
}

func (p *recurringReader) refuse(field, format string, args ...any) {
	p.errs = append(p.errs, &FieldError{Field: field, Text: fmt.Sprintf(format, args...)})
}

func (p *recurringReader) remark(field, format string, args ...any) {
	p.r.remarks = append(p.r.remarks, Remark{field, fmt.Sprintf(format, args...)})
}

// member reads a member that stands for itself.
func (p *recurringReader) member(m ruby.Member) {
	switch m.Key {
	case "class":
		p.r.Class = p.word(m)
	case "queue":
		p.r.Queue = p.word(m)
	case "custom_job_class":
		p.r.CustomJobClass = p.word(m)
	case "args":
		if isTrue(m.Value) {
			p.r.Args = rawArgs(m.Value)
		}
	case "description":
		text, _ := ruby.ToS(m.Value, ruby.Inspect31) // whatever it is, it means nothing to anybody but people
		p.r.Description = string(text)
	case "persist":
		p.r.Persist, p.persisted = isTrue(m.Value), true
		if ruby.KindOf(m.Value) == ruby.Text {
			p.remark(m.Key, "is a text, which is true whatever it says: write true or false without quotes")
		}
	case "cron", "every", "rails_env", "env", "parameters":
	default:
		p.unknown(m.Key)
	}
}

// unknown warns of a member that may be a misspelt one, or in the wrong place.
func (p *recurringReader) unknown(key string) {
	if slices.Contains(timeOptions(), key) {
		p.remark(key, `has no effect here: write it behind the time, such as every: ["1h", {%q: …}]`, key)
		return
	}
	if near := spelling.Nearest(key, ownMembers()); near != "" {
		p.remark(key, "means nothing: did you mean %s?", near)
	}
}

// env reads the environments. Ruby: config['rails_env'] || config['env'].
func (p *recurringReader) env(members []ruby.Member) {
	for _, key := range []string{"rails_env", "env"} {
		i := slices.IndexFunc(members, func(m ruby.Member) bool { return m.Key == key && isTrue(m.Value) })
		if i < 0 {
			continue
		}
		if p.r.limited {
			p.remark(key, "has no effect beside rails_env: remove it")
			return
		}
		if ruby.KindOf(members[i].Value) != ruby.Text {
			p.refuse(key, `is no text: write the environments with commas between them, such as "production, staging"`)
			return
		}
		p.r.Env, p.r.limited = p.word(members[i]), true
	}
}

// word reads a name. Ruby takes null and false for nothing, and numbers by their
// digits.
func (p *recurringReader) word(m ruby.Member) string {
	if kind := ruby.KindOf(m.Value); kind != ruby.Text && kind != ruby.Number {
		if isTrue(m.Value) {
			p.refuse(m.Key, "is no text: write a name in quotes")
		}
		return ""
	}
	text, err := ruby.ToS(m.Value, ruby.Inspect31)
	if err != nil {
		p.refuse(m.Key, "can't be read: %v", err)
	}
	return string(text)
}

// times reads cron, or every where there is no cron.
func (p *recurringReader) times(members []ruby.Member) {
	cron := slices.IndexFunc(members, func(m ruby.Member) bool { return m.Key == "cron" && isThere(m.Value) })
	every := slices.IndexFunc(members, func(m ruby.Member) bool { return m.Key == "every" && isThere(m.Value) })
	if cron >= 0 {
		p.r.Cron = p.time(members[cron], false)
		if every >= 0 {
			p.remark("every", "has no effect beside cron: remove one of them")
		}
		return
	}
	if every >= 0 {
		p.r.Every = p.time(members[every], true)
	}
}

// time reads a text, or a list of a text and options. Lists of any other length
// are their first element to Ruby.
func (p *recurringReader) time(m ruby.Member, number bool) string {
	value := m.Value
	if ruby.KindOf(value) == ruby.Array {
		list, err := ruby.Elements(value)
		if err != nil {
			p.refuse(m.Key, "can't be read: %v", err)
			return ""
		}
		const pair = 2
		value = list[0]
		switch {
		case len(list) == pair && ruby.KindOf(list[1]) == ruby.Object:
			p.options(m.Key, list[1])
		case len(list) > 1:
			p.remark(m.Key, `is a list of which only the first element counts: write [time, {option: value}] with all options in one object`)
		}
		if number && ruby.KindOf(value) == ruby.Number {
			return digits(value)
		}
	}
	if ruby.KindOf(value) != ruby.Text {
		p.refuse(m.Key, "is no text: write it in quotes, such as %s", map[bool]string{false: `"30 6 * * *"`, true: `"1h"`}[number])
		return ""
	}
	text, err := ruby.String(value)
	if err != nil || text == "" {
		p.refuse(m.Key, "is a list without a time: write one first, such as %s", map[bool]string{false: `["30 6 * * *", {"times": 3}]`, true: `["1h", {"first_in": "5m"}]`}[number])
	}
	return text
}

// isThere is what Ruby takes for a time: neither nil nor empty.
func isThere(value []byte) bool {
	if list, err := ruby.Elements(value); err == nil {
		return len(list) > 0
	}
	if members, err := ruby.Members(value); err == nil {
		return len(members) > 0
	}
	return ruby.KindOf(value) != ruby.Null && string(value) != `""`
}

// isTrue is what is true to Ruby: all but nil and false.
func isTrue(value []byte) bool {
	return ruby.KindOf(value) != ruby.Null && string(value) != "false"
}

// digits is a number as a length of time in seconds.
func digits(value []byte) string {
	text := string(value)
	if strings.ContainsAny(text, "eE") {
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return strconv.FormatFloat(f, 'f', -1, 64)
		}
	}
	return text
}

package scheduler

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"example.com/understudy/compat/ruby"
)

// Recurring is a job that is enqueued again and again, in the terms of
// resque-scheduler: one entry of its schedule. Ruby: a value of Resque.schedule.
//
// Zero values are absent. Cron or Every say when it fires; with neither it never
// does by itself. Validate says what is wrong with it, Warnings what may be meant
// otherwise, and Timing when it fires.
type Recurring struct {
	// Cron is a line of cron, as [cron.Parse] reads it. It wins over Every.
	Cron string
	// Every is how often it fires, a length of time as [cron.ParseEvery] reads it,
	// of 0.3 s at least: "1h", "2 days". The first time is that long after the job
	// was loaded.
	Every string

	// FirstIn is how long after the loading it fires for the first time: "5m",
	// "0s" or "now" for at once. rufus-scheduler: first, first_in.
	FirstIn string
	// FirstAt is a time of which the same is true; it wins over FirstIn. A time
	// without a zone is one of the scheduler's; one without a day, of the day of
	// the loading. One that is past at the loading is what Every counts from, so
	// that restarts don't move it, and nothing to Cron. rufus-scheduler: first_at.
	FirstAt string
	// LastIn and LastAt are how long after the loading, and when, it stops to
	// fire; LastAt wins. rufus-scheduler: last, last_in, last_at.
	LastIn, LastAt string
	// Times is how often it fires at most, as long as it is loaded. 0: any number;
	// negative: never. rufus-scheduler: times, where 0 is never.
	Times int
	// KeepPast lets Every fire once for each time that was missed while the
	// scheduler was held up, not once for all; in each pass one. rufus-scheduler:
	// discard_past: false.
	KeepPast bool

	// Class is the class of the job. "": the name of the entry.
	Class string
	// Queue is where it goes. "": the class's queue, by [Config.QueueOf].
	Queue string
	// Args are the arguments: a list, or a single one that is none. nil: none.
	Args any
	// CustomJobClass stands in the place of the class in the queue, as a Ruby
	// scheduler that hasn't loaded it does.
	CustomJobClass string

	// Env names the environments that it fires in, with commas or blanks between
	// them. "": all. resque-scheduler: rails_env, which wins, and env.
	Env string
	// Description is for people.
	Description string
	// Persist says that it is to be kept in Redis. It isn't part of Config.
	Persist bool

	source  []byte // what it was parsed from, without persist
	read    []byte // what encode made of it then
	limited bool   // the env member is there, be it empty
	remarks []Remark
}

// FieldError says what is wrong with one field of a Recurring, and what to write
// instead.
type FieldError struct {
	// Field is the member's name in a configuration: cron, first_in. "": the
	// whole is meant.
	Field string
	// Text says what is wrong and what to write.
	Text string
	// Err is what cron said of it. nil: it wasn't asked.
	Err error
}

func (e *FieldError) Error() string {
	if e.Field == "" {
		return "scheduler: the recurring job " + e.Text
	}
	return fmt.Sprintf("scheduler: the recurring job's %s %s", e.Field, e.Text)
}

func (e *FieldError) Unwrap() error { return e.Err }

// Remark is what may be meant otherwise with one field of a Recurring.
type Remark struct {
	// Field is as in a FieldError.
	Field string
	// Text says what happens, and what to write where that isn't meant.
	Text string
}

// Config is the JSON of r, as Ruby keeps it in persistent_schedules: without
// persist. The bytes of a parsed one are kept; where fields were changed
// afterwards, members that aren't known are. Ruby: Resque.encode(config).
//
// The error is that of Args that can't be written.
func (r Recurring) Config() ([]byte, error) {
	own, err := r.encode()
	if err != nil || r.source == nil {
		return own, err
	}
	if bytes.Equal(own, r.read) {
		return r.source, nil
	}
	members, err := ruby.Members(r.source)
	if err != nil {
		return nil, fmt.Errorf("scheduler: %w", err)
	}
	foreign := slices.DeleteFunc(members, func(m ruby.Member) bool { return slices.Contains(ownMembers(), m.Key) })
	mine, err := ruby.Members(own)
	if err != nil {
		return nil, fmt.Errorf("scheduler: %w", err)
	}
	return object(append(mine, foreign...)), nil
}

// ownMembers are the members that a Recurring has fields for.
func ownMembers() []string {
	return []string{"cron", "every", "class", "queue", "args", "custom_job_class", "rails_env", "env", "description", "persist"}
}

// encode writes the fields in Ruby's form.
func (r Recurring) encode() ([]byte, error) {
	var members []ruby.Member
	add := func(key string, value any) error {
		raw, err := ruby.Marshal(value)
		members = append(members, ruby.Member{Key: key, Value: raw})
		if err != nil {
			return &FieldError{Field: key, Text: "can't be written as JSON", Err: err}
		}
		return nil
	}
	addText := func(key, text string) error {
		if text == "" {
			return nil
		}
		return add(key, text)
	}
	options := r.options()
	timed := func(key, text string) error {
		if text == "" || len(options) == 0 {
			return addText(key, text)
		}
		return add(key, []any{text, json.RawMessage(object(options))})
	}
	err := firstError(timed("cron", r.Cron), timed("every", r.Every), addText("class", r.Class), addText("queue", r.Queue))
	if err == nil && r.Args != nil {
		err = add("args", r.Args)
	}
	err = firstError(err, addText("custom_job_class", r.CustomJobClass))
	if err == nil && (r.Env != "" || r.limited) {
		err = add("rails_env", r.Env)
	}
	if err = firstError(err, addText("description", r.Description)); err != nil {
		return nil, err
	}
	return object(members), nil
}

// options are those of the form with an array, as Ruby reads them: it knows no
// now in JSON, and takes 0 for it.
func (r Recurring) options() []ruby.Member {
	var members []ruby.Member
	add := func(key string, value any) {
		if raw, err := ruby.Marshal(value); err == nil && value != "" { // text that isn't UTF-8 is refused by Validate
			members = append(members, ruby.Member{Key: key, Value: raw})
		}
	}
	add("first_at", r.FirstAt)
	if first, ok := lengthOf(r.FirstIn); ok && r.FirstIn != "" && first.after == 0 {
		add("first_in", 0)
	} else {
		add("first_in", r.FirstIn)
	}
	add("last_at", r.LastAt)
	add("last_in", r.LastIn)
	if r.Times != 0 {
		add("times", max(r.Times, 0))
	}
	if r.KeepPast {
		add("discard_past", false)
	}
	return members
}

// Item is the job in the form of a delayed item, as Ruby's enqueue_from_config
// reads it from a configuration: class, args as a list, queue and
// custom_job_class where it has them. name is the entry's, for Class.
func (r Recurring) Item(name string) ([]byte, error) {
	if r.Class == "" {
		r.Class = name
	}
	args, err := r.arguments()
	if err != nil {
		return nil, err
	}
	return Recurring{Class: r.Class, Args: args, Queue: r.Queue, CustomJobClass: r.CustomJobClass}.encode()
}

// arguments are the arguments as a list: one that is no list is a single one,
// null and false are none.
func (r Recurring) arguments() (json.RawMessage, error) {
	raw, err := ruby.Marshal(r.Args)
	if err != nil {
		return nil, &FieldError{Field: "args", Text: "can't be written as JSON", Err: err}
	}
	switch kind := ruby.KindOf(raw); {
	case kind == ruby.Array:
		return raw, nil
	case kind == ruby.Null || string(raw) == "false":
		return json.RawMessage("[]"), nil
	}
	return slices.Concat(json.RawMessage("["), raw, json.RawMessage("]")), nil
}

// Within says whether it fires in an environment; "" is none. Ruby: env_matches?.
func (r Recurring) Within(env string) bool {
	if r.Env == "" && !r.limited {
		return true
	}
	return env != "" && slices.Contains(betweenEnvs.Split(r.Env, -1), env)
}

var betweenEnvs = regexp.MustCompile(`[\s,]+`)

// object writes an object of members in Ruby's form.
func object(members []ruby.Member) []byte {
	text := []byte("{")
	for i, m := range members {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(ruby.AppendString(text, m.Key), ':'), m.Value...)
	}
	return append(text, '}')
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"example.com/understudy/compat/ruby"
)

// apiFile is a recording of single calls: api*.json. The form of a step's
// parameters is that of its call, see apiCalls.
type apiFile struct {
	RecordedWith map[string]string   `json:"recorded with"`
	Classes      map[string]apiClass `json:"classes"`
	Groups       []group             `json:"groups"`
}

// apiClass is a job class of the recorder.
type apiClass struct {
	Queue  string `json:"queue"`
	Raises raises `json:"raises"`
}

// group is a sequence of calls that begins with an empty Redis.
type group struct {
	Name           string    `json:"name"`
	FailureBackend string    `json:"failure_backend"`
	Start          int64     `json:"start"`
	Steps          []apiStep `json:"steps"`
	// Scheduler is what its scheduler has beside a plain one.
	Scheduler *schedulerSettings `json:"scheduler,omitempty"`

	// locked says that whether there is a master lock is compared, and whose it is.
	locked bool
	// places are the steps with the whole states that they leave.
	places []place
}

// apiStep is one call.
type apiStep struct {
	Op     string            `json:"op"`
	Params []json.RawMessage `json:"params"`
	Now    int64             `json:"now"`
	Result json.RawMessage   `json:"result"`
	Redis  state             `json:"redis"`
	Gone   []string          `json:"gone,omitempty"`
	Lock   *masterLock       `json:"lock,omitempty"`

	call apiCall
}

// masterLock is the scheduler's.
type masterLock struct {
	Value string `json:"value"`
	TTL   int64  `json:"ttl"`
	// Key is where it stands, where that isn't the usual key.
	Key string `json:"key,omitempty"`
}

func (l *masterLock) check() error {
	switch {
	case l == nil:
		return nil
	case !lockForm.MatchString(l.Value):
		return fmt.Errorf("value %q is of no form that is known here", l.Value)
	case l.Key != "" && !lockKeyForm.MatchString(l.Key):
		return fmt.Errorf("key %q is of no form that is known here", l.Key)
	}
	return nil
}

var lockKeyForm = regexp.MustCompile(`^` + recordedPrefix + recordedPrefix + `(?:\w+:)?` + lockSuffix + `$`)

var lockForm = regexp.MustCompile(`^[^:]+:<pid>$`)

func openAPI(name string, data []byte) (*file, error) { return openCalls(name, data, false) }

// openSchedules reads calls about recurring jobs.
func openSchedules(name string, data []byte) (*file, error) { return openCalls(name, data, true) }

func openCalls(name string, data []byte, locked bool) (*file, error) {
	var content apiFile
	if err := decodeStrict(data, &content); err != nil {
		return nil, err
	}
	f := &file{name: name}
	for i := range content.Groups {
		g := &content.Groups[i]
		g.locked = locked
		if err := g.prepare(&content); err != nil {
			return nil, fmt.Errorf("group %q: %w", g.Name, err)
		}
		run := func(ctx context.Context, url, namespace string) (int, []Finding, error) {
			return replayGroup(ctx, url, namespace, &content, g)
		}
		f.cases = append(f.cases, &testCase{name: g.Name, run: run, row: g})
	}
	return f, nil
}

// prepare checks the steps and looks their calls up.
func (g *group) prepare(file *apiFile) error {
	if len(g.Steps) == 0 {
		return errors.New("has no steps")
	}
	if _, err := g.Scheduler.location(); err != nil {
		return fmt.Errorf("scheduler: %w", err)
	}
	var last place
	recurring := follower{file: file, group: g}
	for i := range g.Steps {
		s := &g.Steps[i]
		var err error
		if s.call, err = bind(file, s.Op, s.Params); err != nil {
			return fmt.Errorf("steps[%d]: %w", i, err)
		}
		if err := s.Lock.check(); err != nil {
			return fmt.Errorf("steps[%d]: lock: %w", i, err)
		}
		before := last.want
		if last, err = last.after(s); err != nil {
			return fmt.Errorf("steps[%d]: %w", i, err)
		}
		if last.lost, last.over, err = recurring.follow(s, before); err != nil {
			return fmt.Errorf("steps[%d]: %w", i, err)
		}
		g.places = append(g.places, last)
	}
	return nil
}

// after is the place after the next step.
func (p place) after(s *apiStep) (next place, err error) {
	next = place{call: s}
	if p.want == nil {
		p.want = state{}
	}
	if next.want, err = p.want.after(s.Redis, s.Gone); err != nil {
		return next, err
	}
	next.emptied = p.emptiedBy(next.want)
	next.ghosts = p.ghostsOf(s, next.want)
	return next, nil
}

// raised says that Ruby's call raised.
func (s *apiStep) raised() bool {
	var e struct {
		Error   *string `json:"error"`
		Message *string `json:"message"`
	}
	d := json.NewDecoder(bytes.NewReader(s.Result))
	d.DisallowUnknownFields()
	return d.Decode(&e) == nil && e.Error != nil && e.Message != nil
}

// raises is what a class raises when it is performed. The recordings say it in a
// sentence; one of another form is refused.
type raises struct {
	class, message string
	// first is the first argument for which it raises; nil: for any.
	first json.RawMessage
}

var raisesForm = regexp.MustCompile(`^([A-Z]\w*(?:::[A-Z]\w*)*) ("(?:[^"\\]|\\.)*")(?: when the first argument is (.+))?$`)

const (
	raisesNothing = "nothing"
	// argsInspect stands in a message for the arguments as Ruby shows them.
	argsInspect = "<args.inspect>"
)

func (*raises) shape([]byte) (reflect.Type, error) { return nil, nil }

func (r *raises) UnmarshalJSON(data []byte) error {
	var sentence string
	if err := json.Unmarshal(data, &sentence); err != nil {
		return err
	}
	if sentence == raisesNothing {
		return nil
	}
	parts := raisesForm.FindStringSubmatch(sentence)
	if parts == nil {
		return fmt.Errorf("raises: %q is of no form that is known here", sentence)
	}
	r.class = parts[1]
	if err := json.Unmarshal([]byte(parts[2]), &r.message); err != nil {
		return fmt.Errorf("raises: the message of %q: %w", sentence, err)
	}
	if strings.ContainsAny(strings.ReplaceAll(r.message, argsInspect, ""), "<>") {
		return fmt.Errorf("raises: %q says something unknown about the message", sentence)
	}
	if parts[3] == "" {
		return nil
	}
	r.first = json.RawMessage(parts[3])
	if err := ruby.Check(r.first); err != nil {
		return fmt.Errorf("raises: the first argument of %q: %w", sentence, err)
	}
	return nil
}

// perform is what the class does with these arguments.
func (r *raises) perform(args json.RawMessage, form ruby.InspectForm) error {
	if r.class == "" {
		return nil
	}
	if r.first != nil {
		elements, err := ruby.Elements(args)
		if err != nil || len(elements) == 0 || normal(string(elements[0])) != normal(string(r.first)) {
			return err
		}
	}
	shown, err := ruby.Inspect(args, form)
	if err != nil {
		return err
	}
	return &raisedError{
		class: r.class, message: strings.ReplaceAll(r.message, argsInspect, string(shown)),
		ancestors: []string{"StandardError", "Exception"},
	}
}

package retry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"example.com/understudy/compat/ruby"
)

// The types below read both JSON and YAML: what a YAML decoder hands them is
// turned into JSON first. The order of an object's keys is lost on that way;
// nothing here depends on it but the objects inside of Values.

// Seconds is a delay; a fraction is refused.
type Seconds int64

func (s Seconds) duration() time.Duration { return time.Duration(s) * time.Second }

// UnmarshalJSON reads a whole number.
func (s *Seconds) UnmarshalJSON(raw []byte) error {
	text := string(bytes.TrimSpace(raw))
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		f, floatErr := strconv.ParseFloat(text, 64)
		if floatErr != nil {
			return fmt.Errorf("retry: %s is no number of seconds", text)
		}
		if math.Trunc(f) != f {
			return fmt.Errorf("retry: %s has a fraction: delays are whole seconds", text)
		}
		n = int64(max(-float64(math.MaxInt64), min(f, float64(maxSeconds)+1)))
	}
	if n > maxSeconds || n < -maxSeconds {
		return fmt.Errorf("retry: %s is too many seconds", text)
	}
	*s = Seconds(n)
	return nil
}

// UnmarshalYAML reads a whole number.
func (s *Seconds) UnmarshalYAML(unmarshal func(any) error) error { return throughJSON(unmarshal, s) }

func durations(list []Seconds) []time.Duration {
	waits := make([]time.Duration, len(list))
	for i, s := range list {
		waits[i] = s.duration()
	}
	return waits
}

// Exceptions are the errors of retry_exceptions.
type Exceptions []ExceptionDelays

// ExceptionDelays is one of them.
type ExceptionDelays struct {
	// Name is its class.
	Name string
	// Delays is nil where it has none of its own.
	Delays []Seconds
}

// errorsOf is the list as a Policy holds it.
func errorsOf(e Exceptions) Errors {
	if e == nil {
		return nil
	}
	list := Errors{}
	for _, x := range e {
		m := Named(x.Name)
		if x.Delays != nil {
			m = m.Wait(durations(x.Delays)...)
		}
		list = append(list, m)
	}
	return list
}

// UnmarshalJSON reads a list of names, of [name, delay or delays], or an object.
func (e *Exceptions) UnmarshalJSON(raw []byte) error {
	*e = Exceptions{}
	kind := ruby.KindOf(raw)
	if kind == ruby.Null {
		*e = nil
		return nil
	}
	if kind == ruby.Array {
		return e.fromList(raw)
	}
	if kind == ruby.Object {
		return e.fromObject(raw)
	}
	return fmt.Errorf("retry: retry_exceptions is %s: write a list of names, or name: delay", raw)
}

// UnmarshalYAML reads the same.
func (e *Exceptions) UnmarshalYAML(unmarshal func(any) error) error {
	return throughJSON(unmarshal, e)
}

func (e *Exceptions) fromList(raw []byte) error {
	elements, err := ruby.Elements(raw)
	if err != nil {
		return err
	}
	for _, element := range elements {
		var x ExceptionDelays
		if ruby.KindOf(element) != ruby.Array {
			err = json.Unmarshal(element, &x.Name)
		} else {
			x, err = pairOf(element)
		}
		if err != nil {
			return err
		}
		*e = append(*e, x)
	}
	return nil
}

func pairOf(raw []byte) (x ExceptionDelays, err error) {
	const nameAndDelay = 2
	pair, err := ruby.Elements(raw)
	if err != nil {
		return x, err
	}
	if len(pair) != nameAndDelay {
		return x, fmt.Errorf("retry: %s is no [name, delay]", raw)
	}
	if err := json.Unmarshal(pair[0], &x.Name); err != nil {
		return x, err
	}
	x.Delays, err = delaysOf(pair[1])
	return x, err
}

func (e *Exceptions) fromObject(raw []byte) error {
	members, err := ruby.Members(raw)
	if err != nil {
		return err
	}
	for _, m := range members {
		delays, err := delaysOf(m.Value)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Key, err)
		}
		*e = append(*e, ExceptionDelays{Name: m.Key, Delays: delays})
	}
	return nil
}

// delaysOf reads one delay or a list of them.
func delaysOf(raw []byte) ([]Seconds, error) {
	delays := []Seconds{}
	if ruby.KindOf(raw) == ruby.Array {
		return delays, json.Unmarshal(raw, &delays)
	}
	var one Seconds
	err := json.Unmarshal(raw, &one)
	return append(delays, one), err
}

// Backoff is a list of delays, or the word default: DefaultBackoff, or the waits
// of the zero Waits.
type Backoff struct {
	Default bool
	Delays  []Seconds
}

// UnmarshalJSON reads a list, or the word default.
func (b *Backoff) UnmarshalJSON(raw []byte) error {
	if ruby.KindOf(raw) == ruby.Array {
		b.Delays = []Seconds{}
		return json.Unmarshal(raw, &b.Delays)
	}
	if string(bytes.TrimSpace(raw)) != `"default"` {
		return fmt.Errorf("retry: %s is no list of seconds, nor default", raw)
	}
	b.Default = true
	return nil
}

// UnmarshalYAML reads the same.
func (b *Backoff) UnmarshalYAML(unmarshal func(any) error) error { return throughJSON(unmarshal, b) }

// Values is a list of any values, as JSON in Ruby's form.
type Values struct{ raw []byte }

// JSON is the list.
func (v Values) JSON() json.RawMessage { return v.raw }

// UnmarshalJSON reads a list.
func (v *Values) UnmarshalJSON(raw []byte) (err error) {
	if ruby.KindOf(raw) != ruby.Array {
		return fmt.Errorf("retry: %s is no list of arguments", raw)
	}
	v.raw, err = ruby.Reencode(raw)
	return err
}

// UnmarshalYAML reads the same.
func (v *Values) UnmarshalYAML(unmarshal func(any) error) error { return throughJSON(unmarshal, v) }

// throughJSON reads a YAML value by way of JSON.
func throughJSON(unmarshal func(any) error, into json.Unmarshaler) error {
	var value any
	if err := unmarshal(&value); err != nil {
		return err
	}
	raw, err := ruby.Marshal(value)
	if err != nil {
		return err
	}
	return into.UnmarshalJSON(raw)
}

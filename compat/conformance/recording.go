package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// The forms below are the recordings', field by field; what a field means is
// said in the README beside them. A field without omitempty has to be there.

type scenarioFile struct {
	RecordedWith map[string]string `json:"recorded with"`
	// Exceptions says of each error class the scenarios raise what it descends
	// from, itself first.
	Exceptions map[string][]string `json:"exceptions"`
	Scenarios  []scenario          `json:"scenarios"`
}

type scenario struct {
	Name            string     `json:"name"`
	FailureBackend  string     `json:"failure_backend"`
	Queues          []string   `json:"queues"`
	Jobs            []job      `json:"jobs"`
	Start           int64      `json:"start,omitempty"`
	Redis           state      `json:"redis,omitempty"`
	Steps           []step     `json:"steps,omitempty"`
	DefinitionError *rubyError `json:"definition_error,omitempty"`
}

func (s *scenario) check() error {
	if s.DefinitionError == nil && (s.Start == 0 || s.Redis == nil || s.Steps == nil) {
		return errors.New("has neither start, redis and steps nor definition_error")
	}
	return nil
}

type rubyError struct {
	Class   string `json:"class"`
	Message string `json:"message"`
}

// step is one step of any kind, with the fields of all; which of them its kind
// has, shape says.
type step struct {
	Do string `json:"do"`
	record

	Class   string            `json:"class"`
	Args    []json.RawMessage `json:"args"`
	Queue   string            `json:"queue"`
	Payload string            `json:"payload"`
	Outcome outcome           `json:"outcome"`
	Advance int64             `json:"advance"`
	Seconds int64             `json:"seconds"`
}

// record is what a step did.
type record struct {
	Now    int64      `json:"now"`
	Trace  []event    `json:"trace"`
	During *string    `json:"during,omitempty"`
	Redis  state      `json:"redis"`
	Gone   []string   `json:"gone,omitempty"`
	Error  *rubyError `json:"error,omitempty"`
}

// The kinds of steps.
const (
	doEnqueue   = "enqueue"
	doPushRaw   = "push_raw"
	doWork      = "work"
	doTick      = "tick"
	doAdvance   = "advance"
	doDirtyExit = "dirty_exit"
)

func (*step) shape(data []byte) (reflect.Type, error) {
	var head struct {
		Do string `json:"do"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	switch head.Do {
	case doEnqueue:
		return reflect.TypeFor[struct {
			Do string `json:"do"`
			record
			Class string            `json:"class"`
			Args  []json.RawMessage `json:"args"`
		}](), nil
	case doPushRaw:
		return reflect.TypeFor[struct {
			Do string `json:"do"`
			record
			Queue   string `json:"queue"`
			Payload string `json:"payload"`
		}](), nil
	case doWork:
		return reflect.TypeFor[struct {
			Do string `json:"do"`
			record
			Outcome outcome `json:"outcome"`
		}](), nil
	case doTick:
		return reflect.TypeFor[struct {
			Do string `json:"do"`
			record
			Advance int64 `json:"advance,omitempty"`
		}](), nil
	case doAdvance:
		return reflect.TypeFor[struct {
			Do string `json:"do"`
			record
			Seconds int64 `json:"seconds"`
		}](), nil
	case doDirtyExit:
		return reflect.TypeFor[struct {
			Do string `json:"do"`
			record
		}](), nil
	default:
		return nil, fmt.Errorf("unknown step %q", head.Do)
	}
}

// outcome is how a run ends: "ok", or an error.
type outcome struct {
	Raise   string `json:"raise"`
	Message string `json:"message"`
}

const outcomeOK = `"ok"`

func (*outcome) shape(data []byte) (reflect.Type, error) {
	if string(data) == outcomeOK {
		return nil, nil
	}
	return reflect.TypeFor[struct {
		Raise   string `json:"raise"`
		Message string `json:"message"`
	}](), nil
}

func (o *outcome) UnmarshalJSON(data []byte) error {
	if string(data) == outcomeOK {
		*o = outcome{}
		return nil
	}
	type plain outcome
	return json.Unmarshal(data, (*plain)(o))
}

// event is one entry of a trace, as the text it is: what happened, then its
// details.
type event string

// The kinds of events, and how many details each has.
const (
	eventPerform       = "perform"        // attempt or null, args
	eventCriteriaCheck = "criteria_check" // number
	eventTryAgain      = "try_again"      // number, error class, args
	eventGiveUp        = "give_up"        // number, error class, args
	eventSleep         = "sleep"          // seconds
)

func (*event) shape(data []byte) (reflect.Type, error) {
	var parts []json.RawMessage
	if err := json.Unmarshal(data, &parts); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	details := map[string]int{
		eventPerform: 2, eventCriteriaCheck: 1, eventTryAgain: 3, eventGiveUp: 3, eventSleep: 1,
	}
	var what string
	if len(parts) > 0 {
		if err := json.Unmarshal(parts[0], &what); err != nil {
			return nil, fmt.Errorf("decode: %w", err)
		}
	}
	n, ok := details[what]
	if !ok {
		return nil, fmt.Errorf("unknown event %q in a trace", what)
	}
	if len(parts)-1 != n {
		return nil, fmt.Errorf("event %q with %d details instead of %d", what, len(parts)-1, n)
	}
	return nil, nil
}

func (e *event) UnmarshalJSON(data []byte) error {
	*e = event(data)
	return nil
}

type keysFile struct {
	RecordedWith map[string]string `json:"recorded with"`
	// Inspect is the Ruby whose form of Hash#inspect the rows have: 3.3 (and
	// older) or 3.4.
	Inspect string   `json:"inspect"`
	Rows    []keyRow `json:"rows"`
}

type keyRow struct {
	ArgsJSON      string  `json:"args_json"`
	Joined        string  `json:"joined"`
	Identifier    *string `json:"identifier"`
	Key           string  `json:"key"`
	NamespacedKey string  `json:"namespaced_key"`
}

type textFile struct {
	RecordedWith map[string]string `json:"recorded with"`
	Rows         []textRow         `json:"rows"`
	Malformed    []malformedRow    `json:"malformed"`
}

type textRow struct {
	Raw         string `json:"raw"`
	Encoded     string `json:"encoded"`
	ArgsEncoded string `json:"args_encoded"`
}

// malformedRow has Error where Ruby raised, and Decoded where it didn't.
type malformedRow struct {
	RawHex  string          `json:"raw_hex"`
	Error   string          `json:"error,omitempty"`
	Decoded json.RawMessage `json:"decoded,omitempty"`
}

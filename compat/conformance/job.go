package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// job is a job class of a scenario. Its options stay the text they are: package
// retry reads them. shape only makes sure that nothing in them is new.
type job struct {
	Class    string
	Queue    string
	Plugin   string
	TryAgain int
	GiveUp   int
	Delegate *job
	// Text is the whole description.
	Text json.RawMessage
}

// The plugins of a job class.
const (
	pluginNone    = "none"
	pluginRetry   = "retry"
	pluginBackoff = "exponential_backoff"
)

// options has every option of the gem that the recordings know.
type options struct {
	Class    string `json:"class"`
	Queue    string `json:"queue,omitempty"`
	Plugin   plugin `json:"plugin,omitempty"`
	TryAgain int    `json:"try_again_callbacks,omitempty"`
	GiveUp   int    `json:"give_up_callbacks,omitempty"`
	Delegate *job   `json:"retry_job_delegate,omitempty"`

	RetryLimit      int64           `json:"retry_limit,omitempty"`
	RetryDelay      json.Number     `json:"retry_delay,omitempty"`
	RetryDelayByErr map[string]int  `json:"retry_delay_by_exception,omitempty"`
	RetryDelayArg   int             `json:"retry_delay_from_arg,omitempty"`
	Sleep           json.Number     `json:"sleep_after_requeue,omitempty"`
	Backoff         []json.Number   `json:"backoff_strategy,omitempty"`
	MultiplierMin   json.Number     `json:"retry_delay_multiplicand_min,omitempty"`
	MultiplierMax   json.Number     `json:"retry_delay_multiplicand_max,omitempty"`
	Expire          json.Number     `json:"expire_retry_key_after,omitempty"`
	On              []listedError   `json:"retry_exceptions,omitempty"`
	Fatal           []string        `json:"fatal_exceptions,omitempty"`
	Ignore          []string        `json:"ignore_exceptions,omitempty"`
	Checks          []criteriaCheck `json:"criteria_checks,omitempty"`
	RetryQueue      string          `json:"retry_queue,omitempty"`
	RetryArgs       *retryArgs      `json:"retry_args,omitempty"`
	Identifier      *identifier     `json:"retry_identifier,omitempty"`
	Key             string          `json:"redis_retry_key,omitempty"`
}

func (*job) shape([]byte) (reflect.Type, error) { return reflect.TypeFor[options](), nil }

func (j *job) UnmarshalJSON(data []byte) error {
	var o struct {
		Class    string `json:"class"`
		Queue    string `json:"queue"`
		Plugin   string `json:"plugin"`
		TryAgain int    `json:"try_again_callbacks"`
		GiveUp   int    `json:"give_up_callbacks"`
		Delegate *job   `json:"retry_job_delegate"`
	}
	if err := json.Unmarshal(data, &o); err != nil {
		return err
	}
	if o.Plugin == "" {
		o.Plugin = pluginNone
	}
	*j = job{
		Class: o.Class, Queue: o.Queue, Plugin: o.Plugin, TryAgain: o.TryAgain, GiveUp: o.GiveUp, Delegate: o.Delegate,
		Text: append(json.RawMessage(nil), data...),
	}
	return nil
}

type plugin string

func (*plugin) shape(data []byte) (reflect.Type, error) {
	switch string(data) {
	case `"` + pluginNone + `"`, `"` + pluginRetry + `"`, `"` + pluginBackoff + `"`:
		return nil, nil
	default:
		return nil, fmt.Errorf("unknown plugin %s", data)
	}
}

// listedError is an error class, or an error class and its delay or delays.
type listedError struct{}

func (*listedError) shape(data []byte) (reflect.Type, error) {
	var name string
	if json.Unmarshal(data, &name) == nil {
		return nil, nil
	}
	var pair []json.RawMessage
	if json.Unmarshal(data, &pair) == nil && len(pair) == 2 && json.Unmarshal(pair[0], &name) == nil {
		var delay json.Number
		var delays []json.Number
		if json.Unmarshal(pair[1], &delay) == nil || json.Unmarshal(pair[1], &delays) == nil {
			return nil, nil
		}
	}
	return nil, fmt.Errorf("%s is neither an error class nor one with its delays", data)
}

type criteriaCheck struct {
	MessageIncludes string `json:"message_includes"`
	Returns         bool   `json:"returns"`
}

type retryArgs struct{}

func (*retryArgs) shape(data []byte) (reflect.Type, error) {
	return oneOf(data, map[string]reflect.Type{
		"replace": reflect.TypeFor[struct {
			Replace []json.RawMessage `json:"replace"`
		}](),
		"increment": reflect.TypeFor[struct {
			Increment int `json:"increment"`
		}](),
		"append_exception": reflect.TypeFor[struct {
			AppendException bool `json:"append_exception"`
		}](),
	})
}

type identifier struct{}

func (*identifier) shape(data []byte) (reflect.Type, error) {
	return oneOf(data, map[string]reflect.Type{
		"fixed": reflect.TypeFor[struct {
			Fixed *string `json:"fixed"`
		}](),
		"fields": reflect.TypeFor[struct {
			Fields []int  `json:"fields"`
			Join   string `json:"join"`
		}](),
	})
}

// oneOf picks the form of an object by the field that only this form has.
func oneOf(data []byte, forms map[string]reflect.Type) (reflect.Type, error) {
	fields, err := objectFields(data)
	if err != nil {
		return nil, err
	}
	for _, f := range fields {
		if form, ok := forms[f.name]; ok {
			return form, nil
		}
	}
	return nil, errors.New("unknown form: " + string(data))
}

package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// state is what a namespace of Redis holds, under the names its keys have in
// Ruby's default namespace.
type state map[string]entry

// entry is one key.
type entry struct {
	Type string
	// Value is a string, a []string (a list as it is, a set in order), a
	// []member or a map[string]string, by Type.
	Value any
	// TTL is in seconds; nil: the key stays.
	TTL *int64
}

// member is one of a sorted set.
type member struct {
	Text  string
	Score int64
}

// The types of keys.
const (
	typeString = "string"
	typeList   = "list"
	typeSet    = "set"
	typeZset   = "zset"
	typeHash   = "hash"
	typeNone   = "none" // what Redis answers for a key that isn't there
)

// valueOf answers an empty value of the Go type that a Redis type has here.
func valueOf(redisType string) (any, error) {
	switch redisType {
	case typeString:
		return new(string), nil
	case typeList, typeSet:
		return new([]string), nil
	case typeZset:
		return new([]member), nil
	case typeHash:
		return new(map[string]string), nil
	default:
		return nil, fmt.Errorf("unknown type %q of a key", redisType)
	}
}

func (*entry) shape(data []byte) (reflect.Type, error) {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	if _, err := valueOf(head.Type); err != nil {
		return nil, err
	}
	return reflect.TypeFor[struct {
		Type  string          `json:"type"`
		Value json.RawMessage `json:"value"`
		TTL   *int64          `json:"ttl,omitempty"`
	}](), nil
}

func (e *entry) UnmarshalJSON(data []byte) error {
	var raw struct {
		Type  string          `json:"type"`
		Value json.RawMessage `json:"value"`
		TTL   *int64          `json:"ttl"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	value, err := valueOf(raw.Type)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw.Value, value); err != nil {
		return fmt.Errorf("value of a %s: %w", raw.Type, err)
	}
	*e = entry{Type: raw.Type, Value: reflect.ValueOf(value).Elem().Interface(), TTL: raw.TTL}
	return nil
}

func (m *member) UnmarshalJSON(data []byte) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	if len(parts) != 2 {
		return errors.New("a member of a sorted set is a pair")
	}
	return errors.Join(json.Unmarshal(parts[0], &m.Text), json.Unmarshal(parts[1], &m.Score))
}

// after is the whole state that a step leaves: its changes over the state
// before it.
func (s state) after(changed state, gone []string) (state, error) {
	next := maps.Clone(s)
	maps.Copy(next, changed)
	for _, key := range gone {
		if _, ok := s[key]; !ok {
			return nil, fmt.Errorf("key %q is gone without having been there", key)
		}
		if _, ok := changed[key]; ok {
			return nil, fmt.Errorf("key %q is both changed and gone", key)
		}
		delete(next, key)
	}
	return next, nil
}

// The keys that are not compared, heartbeats in scenarios only.
const (
	recordedPrefix = "resque:"
	ownPrefix      = recordedPrefix + "understudy:"
	heartbeatsKey  = recordedPrefix + "workers:heartbeat"
	lockSuffix     = "resque_scheduler_master_lock"
)

func ignored(key string) bool {
	return strings.HasPrefix(key, ownPrefix) || strings.HasSuffix(key, lockSuffix)
}

// compared drops the keys that scenarios leave out.
func (s state) compared() state {
	next := state{}
	for key, e := range s {
		if !ignored(key) && key != heartbeatsKey {
			next[key] = e
		}
	}
	return next
}

// backtrace matches that of a failure record, however its lines are written.
var backtrace = regexp.MustCompile(`"backtrace":(?:null|\[(?:"(?:[^"\\]|\\.)*",?)*\])`)

// scrub empties the backtraces in a text, as the recorder did.
func scrub(text string) string { return backtrace.ReplaceAllString(text, `"backtrace":[]`) }

// scrubbed is the entry with its backtraces emptied.
func scrubbed(e entry) entry {
	switch v := e.Value.(type) {
	case string:
		e.Value = scrub(v)
	case []string:
		texts := make([]string, len(v))
		for i, text := range v {
			texts[i] = scrub(text)
		}
		if e.Type == typeSet {
			slices.Sort(texts)
		}
		e.Value = texts
	}
	return e
}

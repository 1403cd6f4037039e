package conformance

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
)

const (
	scheduleKey    = recordedPrefix + "delayed_queue_schedule"
	delayedListKey = recordedPrefix + "delayed:"
)

// emptiedBy are the times that are in the schedule of the next state, and whose
// last job went in this step or before it.
func (p place) emptiedBy(next state) []string {
	var emptied []string
	for _, m := range next.schedule() {
		_, there := next[delayedListKey+m.Text]
		_, before := p.want[delayedListKey+m.Text]
		if !there && (before || slices.Contains(p.emptied, m.Text)) {
			emptied = append(emptied, m.Text)
		}
	}
	return emptied
}

func (s state) schedule() []member {
	members, _ := s[scheduleKey].Value.([]member)
	return members
}

// withoutEmptied says that a difference is no more than the emptied times.
func withoutEmptied(p place, d difference) bool {
	left := slices.DeleteFunc(slices.Clone(p.want.schedule()), func(m member) bool { return slices.Contains(p.emptied, m.Text) })
	switch d.Field {
	case scheduleKey:
		got, there := d.Got.(entry)
		return there && reflect.DeepEqual(got.Value, left) || d.Got == nil && len(left) == 0
	case fieldResult:
		want, ok := p.call.ofTimes(left)
		return ok && reflect.DeepEqual(d.Got, want)
	default:
		return false
	}
}

// ofTimes is what a call about these times answers; ok is false for other calls.
func (s *apiStep) ofTimes(times []member) (answer any, ok bool) {
	switch s.Op {
	case "delayed_queue_schedule_size":
		return json.Number(strconv.Itoa(len(times))), true
	case opTimes:
		list, ok := s.partOf(times)
		return list.answer(), ok
	case "next_delayed_timestamp":
		var before int64
		if json.Unmarshal(s.Params[0], &before) != nil {
			return nil, false
		}
		if len(times) == 0 || times[0].Score > before {
			return nil, true
		}
		return json.Number(times[0].Text), true
	default:
		return nil, false
	}
}

const opTimes = "delayed_queue_peek"

func (s *apiStep) partOf(times []member) (part, bool) {
	var list part
	for _, t := range times {
		list.elements = append(list.elements, json.Number(t.Text))
	}
	return list, list.bounds(s.Params)
}

const failedQueuesKey = recordedPrefix + "failed_queues"

// ghostsOf are the lists of failures that are named after a step though nothing
// ever stood in them.
func (p place) ghostsOf(s *apiStep, next state) []string {
	ghosts := slices.DeleteFunc(slices.Clone(p.ghosts), func(list string) bool {
		_, there := next[recordedPrefix+list]
		return there
	})
	if s.Op == "failure.requeue_queue" || s.Op == "failure.remove_queue" {
		if list := textOf(s.Params[0], "") + "_failed"; next.names(list) && !p.want.names(list) {
			ghosts = append(ghosts, list)
		}
	}
	return ghosts
}

// names says that a list of failures is named.
func (s state) names(list string) bool {
	all, _ := s[failedQueuesKey].Value.([]string)
	return slices.Contains(all, list)
}

// withoutGhosts says that a difference is no more than those names.
func withoutGhosts(p place, d difference) bool {
	all, _ := p.want[failedQueuesKey].Value.([]string)
	left := slices.DeleteFunc(slices.Clone(all), func(list string) bool { return slices.Contains(p.ghosts, list) })
	switch {
	case d.Field == failedQueuesKey:
		got, there := d.Got.(entry)
		return there && reflect.DeepEqual(got.Value, left) || d.Got == nil && len(left) == 0
	case d.Field == fieldResult && p.call.Op == "failure.queues":
		want, err := each(left)
		return err == nil && reflect.DeepEqual(d.Got, want)
	default:
		return false
	}
}

// part is a part of a list that a call asks for.
type part struct {
	elements     []any
	start, count int64
	single       bool // a lone element isn't in an array
	indexed      bool // Ruby asks Redis for a lone element by its index
}

// part is what a call asks for; ok is false for other calls.
func (p place) part() (list part, ok bool) {
	if p.call == nil {
		return part{}, false
	}
	params := p.call.Params
	var key string
	switch p.call.Op {
	case opTimes:
		if len(p.emptied) > 0 {
			return part{}, false // see withoutEmptied
		}
		return p.call.partOf(p.want.schedule())
	case "peek":
		key, params, list.single = "queue:"+textOf(params[0], ""), params[1:], true
	case "delayed_timestamp_peek":
		key, params = "delayed:"+string(params[0]), params[1:]
	case "failure.all":
		key, list.single = textOf(params[2], "failed"), true
	default:
		return part{}, false
	}
	list.indexed = true
	texts, _ := p.want[recordedPrefix+key].Value.([]string)
	for _, text := range texts {
		element, err := decoded([]byte(text))
		if err != nil {
			return part{}, false
		}
		list.elements = append(list.elements, element)
	}
	return list, list.bounds(params)
}

func textOf(raw json.RawMessage, otherwise string) string {
	text := otherwise
	if json.Unmarshal(raw, &text) != nil {
		return otherwise
	}
	return text
}

func (l *part) bounds(params []json.RawMessage) bool {
	return json.Unmarshal(params[0], &l.start) == nil && json.Unmarshal(params[1], &l.count) == nil
}

// bounds are the first index and the one behind the last.
type bounds struct{ from, to int64 }

func (l *part) clamp(from, to int64) bounds {
	n := int64(len(l.elements))
	b := bounds{min(max(0, from), n), min(max(0, to), n)}
	if b.from >= b.to {
		return bounds{}
	}
	return b
}

// ruby is the part that LRANGE or LINDEX answers for Ruby's indexes.
func (l *part) ruby() bounds {
	n := int64(len(l.elements))
	index := func(i int64) int64 {
		if i < 0 {
			return n + i
		}
		return i
	}
	if l.count == 1 && l.indexed {
		return l.clamp(index(l.start), index(l.start)+1)
	}
	return l.clamp(index(l.start), index(l.start+l.count-1)+1)
}

// ours is the part that Go answers.
func (l *part) ours() bounds {
	from := l.start
	if from < 0 {
		from += int64(len(l.elements))
	}
	return l.clamp(from, from+l.count)
}

// answer is that part as a result.
func (l *part) answer() any {
	b := l.ours()
	if !l.single || l.count != 1 {
		return append([]any{}, l.elements[b.from:b.to]...)
	}
	if b.from == b.to {
		return nil
	}
	return l.elements[b.from]
}

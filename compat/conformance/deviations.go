package conformance

import (
	"reflect"
	"slices"
	"strings"
)

// place is where something is compared: a row, a step of a scenario, or a call of
// a group.
type place struct {
	row  any
	step *step
	// call is a step of a group, want the whole state that it left. There emptied
	// are the times of the schedule for which nothing waits any more, ghosts the
	// lists of failures that are only named, lost the classes of the recurring jobs
	// that fired without a queue, and over the recurring jobs that are shown with a
	// next time and won't fire then.
	call            *apiStep
	want            state
	emptied, ghosts []string
	lost, over      []string
}

// deviation is a difference from Ruby that is meant.
type deviation struct {
	// what says what differs.
	what string
	// reason says why it is better so.
	reason string
	// applies says where it has to show: a place to which it applies and that is
	// as in Ruby is a finding like any other difference.
	applies func(p place) bool
	// explains says whether a difference there is this one, and nothing more.
	explains func(p place, d difference) bool
}

// deviations is the whole list. What a recording calls an error of a definition,
// or of a call, is compared by whether there is one, not by its class and text:
// those are Ruby's own there, and Go's here.
func deviations() []deviation {
	return []deviation{
		{
			what: "JSON that Ruby decodes, but that is no object with a text as its class, is no job",
			reason: "in Ruby null vanishes from its queue, [] and a text stay in the worker's hand and break resque-web's pages, " +
				"and a class that is no text fails on its way; here all of them go to the failed jobs, from where they can be brought back",
			applies: func(p place) bool {
				row, ok := p.row.(malformedRow)
				return ok && row.Decoded != nil && string(row.Decoded) != notUTF8 && !decodedJob(row.Decoded)
			},
			explains: func(_ place, d difference) bool { return d.Field == fieldJob },
		},
		{
			what: "who buries a dead worker doesn't sleep after its job's requeue (sleep_after_requeue)",
			reason: "the sleep keeps a slot from its next job, and a dead worker has none; " +
				"in Ruby a starting worker sleeps once for each dead one before it does anything",
			applies: func(p place) bool {
				return p.step != nil && p.step.Do == doDirtyExit && len(sleeps(traceOf(p.step))) > 0
			},
			explains: func(p place, d difference) bool {
				got, ok := d.Got.([]string)
				return ok && d.Field == fieldTrace && slices.Equal(got, slices.DeleteFunc(traceOf(p.step), isSleep))
			},
		},
		{
			what: "a time leaves the schedule of the delayed jobs together with its last job",
			reason: "Ruby's removals leave it there until the scheduler's next pass; here they are one step, " +
				"and what lists and counts times doesn't show those for which nothing waits",
			applies:  func(p place) bool { return len(p.emptied) > 0 },
			explains: withoutEmptied,
		},
		{
			what: "requeueing or removing the failures of a queue that has none doesn't name a list for it",
			reason: "in Ruby, with lists by queue, each name that was asked for once, a misspelt one too, " +
				"stays in failed_queues, and so among resque-web's tabs",
			applies:  func(p place) bool { return len(p.ghosts) > 0 },
			explains: withoutGhosts,
		},
		{
			what: "a part of a list is empty for a count of 0 or less, and reaches to the list's end where it begins before that and is longer",
			reason: "Ruby gives start+count-1 to Redis as an index, where a negative one counts from the end: " +
				"a count of 0 shows everything, and the last two of three are none when five were asked for",
			applies: func(p place) bool {
				list, ok := p.part()
				return ok && list.ruby() != list.ours()
			},
			explains: func(p place, d difference) bool {
				list, _ := p.part()
				return d.Field == fieldResult && reflect.DeepEqual(d.Got, list.answer())
			},
		},
		{
			what: "a recurring job without a queue, of a class that has none, goes to the failed jobs",
			reason: "Ruby raises, loses the job, and notes that it was enqueued; " +
				"from the failed jobs it can be requeued",
			applies:  func(p place) bool { return len(p.lost) > 0 },
			explains: withLost,
		},
		{
			what: "a recurring job that has fired for the last time has no next time",
			reason: "Ruby looks at the number of times, and at the last one, when the next time has come; " +
				"until then it shows it",
			applies:  func(p place) bool { return len(p.over) > 0 },
			explains: withoutOver,
		},
	}
}

// traceOf is the recorded trace in Ruby's form.
func traceOf(s *step) []string {
	trace := make([]string, len(s.Trace))
	for i, e := range s.Trace {
		trace[i] = normal(string(e))
	}
	return trace
}

func isSleep(event string) bool { return strings.HasPrefix(event, `["`+eventSleep+`",`) }

func sleeps(trace []string) []string {
	return slices.DeleteFunc(trace, func(event string) bool { return !isSleep(event) })
}

// settle takes out what is meant to differ, and adds what no longer does.
func settle(p place, found []difference) []difference {
	for _, d := range deviations() {
		if !d.applies(p) {
			continue
		}
		before := len(found)
		found = slices.DeleteFunc(found, func(f difference) bool { return d.explains(p, f) })
		if len(found) == before {
			found = append(found, difference{Field: "deviation", Detail: "doesn't show: " + d.what + "; take it out of deviations.go if it is as in Ruby now"})
		}
	}
	return found
}

// Deviations says what each entry of the table of deviations is about, and how
// many places of the recordings show it.
func (s *Suite) Deviations() map[string]int {
	shown := map[string]int{}
	for _, d := range deviations() {
		shown[d.what] = 0
		for _, f := range s.files {
			for _, c := range f.cases {
				for _, p := range c.places() {
					if d.applies(p) {
						shown[d.what]++
					}
				}
			}
		}
	}
	return shown
}

// places are all places of a case.
func (c *testCase) places() []place {
	if g, ok := c.row.(*group); ok {
		return g.places
	}
	s, ok := c.row.(*scenario)
	if !ok {
		return []place{{row: c.row}}
	}
	places := make([]place, len(s.Steps))
	for i := range s.Steps {
		places[i].step = &s.Steps[i]
	}
	return places
}

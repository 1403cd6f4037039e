package conformance

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"example.com/understudy/scheduler"
	"example.com/understudy/scheduler/cron"
)

// follower knows, from the recording alone, which recurring jobs Ruby's scheduler
// has loaded, and how often each of them has fired since.
type follower struct {
	file  *apiFile
	group *group

	memory map[string]scheduler.Recurring
	loaded map[string]*loadedJob // nil: it isn't the master
	lost   []string
}

// loadedJob is a recurring job as Ruby's scheduler has it.
type loadedJob struct {
	scheduler.Recurring

	since time.Time
	fired int
}

// follow takes a step in, before which Redis was so. lost are the classes of jobs
// that fired without a queue until now, over the jobs that have a next time and
// won't fire then.
func (f *follower) follow(s *apiStep, before state) (lost, over []string, err error) {
	switch s.Op {
	case "set_schedule":
		var c config
		err = json.Unmarshal(s.Params[1], &c)
		f.remember(textOf(s.Params[0], ""), c)
	case "schedule=":
		var all map[string]config
		err = json.Unmarshal(s.Params[0], &all)
		f.memory = nil
		for name, c := range all {
			f.remember(name, c)
		}
	case "remove_schedule":
		delete(f.memory, textOf(s.Params[0], ""))
	case "stop":
		f.loaded = nil
	case "pass":
		over, err = f.pass(s, before)
	}
	return f.lost, over, err
}

func (f *follower) remember(name string, c config) {
	if f.memory == nil {
		f.memory = map[string]scheduler.Recurring{}
	}
	if !c.Persist {
		f.memory[name] = c.Recurring
	}
}

// pass is a turn of Ruby's loop.
func (f *follower) pass(s *apiStep, before state) (over []string, err error) {
	var done struct {
		Master bool             `json:"master"`
		Fired  []string         `json:"fired"`
		Next   map[string]int64 `json:"next"`
	}
	if err := json.Unmarshal(s.Result, &done); err != nil {
		return nil, err
	}
	if !done.Master {
		f.loaded = nil
		return nil, nil
	}
	zone, err := f.group.Scheduler.location()
	if err != nil {
		return nil, err
	}
	now := time.Unix(s.Now, 0).In(zone)
	all, err := f.configs(before)
	if err != nil {
		return nil, err
	}
	if f.loaded == nil {
		f.loaded = map[string]*loadedJob{}
		for name, job := range all {
			f.loaded[name] = &loadedJob{Recurring: job, since: now}
		}
	}
	for _, name := range done.Fired {
		job := f.loaded[name]
		if job == nil {
			return nil, fmt.Errorf("%q fired without having been loaded", name)
		}
		job.fired++
		if class := cmp.Or(job.Class, name); job.Queue == "" && f.file.Classes[class].Queue == "" {
			f.lost = append(slices.Clip(f.lost), class)
		}
	}
	if f.group.Scheduler != nil && f.group.Scheduler.Dynamic {
		changed, _ := before[recordedPrefix+"schedules_changed"].Value.([]string)
		for _, name := range changed {
			delete(f.loaded, name)
			if job, ok := all[name]; ok {
				f.loaded[name] = &loadedJob{Recurring: job, since: now}
			}
		}
	}
	for name, next := range done.Next {
		if f.loaded[name].over(time.UnixMilli(next)) {
			over = append(over, name)
		}
	}
	return over, nil
}

// configs are all recurring jobs.
func (f *follower) configs(s state) (map[string]scheduler.Recurring, error) {
	all := maps.Clone(f.memory)
	if all == nil {
		all = map[string]scheduler.Recurring{}
	}
	persistent, _ := s[recordedPrefix+"persistent_schedules"].Value.(map[string]string)
	for name, text := range persistent {
		job, err := scheduler.ParseRecurring([]byte(text))
		if err != nil {
			return nil, err
		}
		all[name] = job
	}
	return all, nil
}

// over says that a job won't fire at a time.
func (j *loadedJob) over(next time.Time) bool {
	switch {
	case j == nil:
		return false
	case j.Times != 0 && j.fired >= j.Times:
		return true
	case j.LastAt != "":
		last, err := time.ParseInLocation(time.DateTime, j.LastAt, j.since.Location())
		return err == nil && !next.Before(last)
	case j.LastIn != "":
		length, err := cron.ParseDuration(j.LastIn)
		return err == nil && !next.Before(j.since.Add(length.Length()))
	default:
		return false
	}
}

// withoutOver says that a difference is no more than their next times.
func withoutOver(p place, d difference) bool {
	want, err := decoded(p.call.Result)
	if err != nil || d.Field != fieldResult {
		return false
	}
	object, _ := want.(map[string]any)
	next, _ := object["next"].(map[string]any)
	for _, name := range p.over {
		delete(next, name)
	}
	return reflect.DeepEqual(d.Got, want)
}

// withLost says that a difference is no more than the records of those jobs.
func withLost(p place, d difference) bool {
	got, _ := d.Got.(entry)
	records, _ := got.Value.([]string)
	if d.Field != recordedPrefix+"failed" || len(records) != len(p.lost) {
		return false
	}
	for i, text := range records {
		var record struct {
			Exception string `json:"exception"`
			Payload   struct {
				Class string `json:"class"`
			} `json:"payload"`
		}
		if json.Unmarshal([]byte(text), &record) != nil || record.Payload.Class != p.lost[i] || record.Exception != "Resque::NoQueueError" {
			return false
		}
	}
	return true
}

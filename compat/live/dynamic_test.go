package live_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/scheduler"
)

// What Ruby sets, changes and removes reaches a Go scheduler that runs, which
// Redis wakes.
func TestRubyChangesGosSchedule(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := newBench(t, s)
	p := startPeer(t, s)
	master, _ := b.scheduleWith(scheduler.Config{
		Interval: 50 * time.Second, Schedules: scheduler.NewSchedules(b.client), Dynamic: true, Env: "test",
	})
	b.mastered()
	planned := func(want ...string) {
		t.Helper()
		b.eventually("planned as Ruby set it", func() bool {
			return slices.Equal(slices.Sorted(maps.Keys(master.Planned())), want)
		})
	}
	p.do(`Resque.set_schedule('often', { every: ['1h', { first_in: '0.5s' }], class: 'Once', queue: 'jobs', args: ['é', { 'a' => 1.0 }], persist: true })`)
	b.arrives("jobs", `{"class":"Once","args":["é",{"a":1.0}]}`)
	planned("often")

	p.do(`Resque.schedule = {
		'Once' => { 'cron' => '* * * * * *', 'queue' => 'second', 'persist' => true },
		'elsewhere' => { 'every' => '1s', 'class' => 'Once', 'queue' => 'jobs', 'rails_env' => 'production', 'persist' => true },
		'in memory' => { 'every' => '1s', 'class' => 'Once', 'queue' => 'jobs' } }`)
	b.arrives("second", `{"class":"Once","args":[]}`)
	b.arrives("second", `{"class":"Once","args":[]}`)
	planned("Once", "often")
	p.do(`Resque.set_schedule('Once', { cron: '0 0 1 1 *', class: 'Once', queue: 'second', persist: true })`)
	year := time.Date(time.Now().Year()+1, 1, 1, 0, 0, 0, 0, time.Local)
	b.eventually("planned for the new line", func() bool { return master.Planned()["Once"].Equal(year) })

	p.do(`Resque.remove_schedule('often')`)
	planned("Once")
	p.do(`Resque.remove_schedule('Once')`)
	planned()
	b.expect("queue:jobs")
	if got := s.Dump()["understudy:fired"]; got != nil {
		t.Errorf("left of what was removed: %v", got)
	}
}

// The same the other way round: what Go sets, changes and removes reaches Ruby's
// scheduler.
func TestGoChangesRubysSchedule(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := newBench(t, s)
	p := startPeer(t, s, "scheduler.rb")
	b.loads(func() { p.do(`schedule_beside('dynamic' => true, 'env' => 'test')`) })
	schedules := scheduler.NewSchedules(b.client)
	set := func(name string, job scheduler.Recurring) {
		t.Helper()
		job.Persist = true
		if err := schedules.Set(t.Context(), name, job); err != nil {
			t.Fatal(err)
		}
	}
	planned := func(want ...any) {
		t.Helper()
		b.eventually("planned as Go set it", func() bool {
			names, _ := p.do(`(Resque::Scheduler.scheduled_jobs || {}).keys.sort`).([]any)
			return slices.Equal(names, want)
		})
	}
	set("often", scheduler.Recurring{Every: "1h", FirstIn: "0.5s", Class: "Once", Queue: "jobs", Args: []any{"é", map[string]any{"a": 1.0}}})
	b.arrives("jobs", `{"class":"Once","args":["é",{"a":1.0}]}`)
	planned("often")

	all := map[string]scheduler.Recurring{
		"Once":      {Cron: "* * * * * *", Queue: "second", Persist: true},
		"elsewhere": {Every: "1s", Class: "Once", Queue: "jobs", Env: "production", Persist: true},
		"in memory": {Every: "1s", Class: "Once", Queue: "jobs"},
	}
	if err := schedules.SetAll(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	b.arrives("second", `{"class":"Once","args":[]}`)
	b.arrives("second", `{"class":"Once","args":[]}`)
	planned("Once", "often")
	set("Once", scheduler.Recurring{Cron: "0 0 1 1 *", Class: "Once", Queue: "second"})
	b.eventually("planned for the new line", func() bool {
		return p.do(`Resque::Scheduler.scheduled_jobs['Once']&.original`) == "0 0 1 1 *"
	})

	config := map[string]any{"every": []any{"1h", map[string]any{"first_in": "0.5s"}}, "class": "Once", "queue": "jobs", "args": []any{"é", map[string]any{"a": 1.0}}}
	if diff := cmp.Diff(config, p.do(`Resque.reload_schedule!['often']`)); diff != "" {
		t.Errorf("Ruby reads:\n%s", diff)
	}
	for _, name := range []string{"often", "Once"} {
		if err := schedules.Remove(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	planned()
	b.expect("queue:jobs")
}

package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
	"example.com/understudy/scheduler"
)

// recurring reads a configuration.
func recurring(t *testing.T, config string) scheduler.Recurring {
	t.Helper()
	job, err := scheduler.ParseRecurring([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	return job
}

func set(t *testing.T, s *scheduler.Schedules, name, config string) {
	t.Helper()
	if err := s.Set(t.Context(), name, recurring(t, config)); err != nil {
		t.Fatal(err)
	}
}

// shown are the configurations of a schedule by name; of one that is none, its
// error.
func shown(t *testing.T, s *scheduler.Schedules) map[string]string {
	t.Helper()
	jobs, err := s.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for i, job := range jobs {
		if i > 0 && jobs[i-1].Name >= job.Name {
			t.Errorf("%q stands behind %q", job.Name, jobs[i-1].Name)
		}
		kind := "memory "
		if job.Persist {
			kind = "redis "
		}
		if job.Err != nil {
			kind = "broken "
		}
		all[job.Name] = kind + string(job.Raw)
	}
	return all
}

// What Ruby answers and writes is in the recordings; here is what they don't
// show.
func TestSchedules(t *testing.T) {
	t.Parallel()
	const hourly, daily = `{"every":"1h","class":"A"}`, `{"cron":"@daily","class":"B"}`
	persisted := func(config string) string { return `{"persist":true,` + config[1:] }
	tests := []struct {
		name  string
		do    func(t *testing.T, s, other *scheduler.Schedules)
		shown map[string]string
		redis map[string]any
	}{
		{
			"a process doesn't see what another one keeps in memory",
			func(t *testing.T, s, other *scheduler.Schedules) {
				t.Helper()
				set(t, s, "a", hourly)
				set(t, other, "b", hourly)
				set(t, other, "c", persisted(daily))
			},
			map[string]string{"a": "memory " + hourly, "c": "redis " + daily},
			map[string]any{"persistent_schedules": redistest.Hash{"c": daily}, "schedules_changed": redistest.Set{"a", "b", "c"}},
		},
		{
			"what is in Redis goes before what is in memory, and gives way to it again",
			func(t *testing.T, s, other *scheduler.Schedules) {
				t.Helper()
				set(t, s, "a", hourly)
				set(t, other, "a", persisted(daily))
				set(t, other, "b", persisted(daily))
				set(t, s, "b", hourly)
				if err := other.Remove(t.Context(), "a"); err != nil {
					t.Error(err)
				}
			},
			map[string]string{"a": "memory " + hourly, "b": "redis " + daily},
			map[string]any{"persistent_schedules": redistest.Hash{"b": daily}, "schedules_changed": redistest.Set{"a", "b"}},
		},
		{
			"all at once: the memory is new, what is in Redis stays",
			func(t *testing.T, s, _ *scheduler.Schedules) {
				t.Helper()
				set(t, s, "a", hourly)
				set(t, s, "b", persisted(hourly))
				all := map[string]scheduler.Recurring{
					"Report": {Every: "1h"}, "c": {Cron: "@daily", Class: "B"}, "d": {Every: "2h", Persist: true},
				}
				if err := s.SetAll(t.Context(), all); err != nil {
					t.Error(err)
				}
			},
			map[string]string{
				"Report": `memory {"every":"1h","class":"Report"}`, "b": "redis " + hourly, "c": "memory " + daily, "d": `redis {"every":"2h","class":"d"}`,
			},
			map[string]any{
				"persistent_schedules": redistest.Hash{"b": hourly, "d": `{"every":"2h","class":"d"}`},
				"schedules_changed":    redistest.Set{"Report", "a", "b", "c", "d"},
			},
		},
		{
			"one that can't be read is refused, and nothing written",
			func(t *testing.T, s, _ *scheduler.Schedules) {
				t.Helper()
				set(t, s, "a", hourly)
				for _, err := range []error{
					s.Set(t.Context(), "a", scheduler.Recurring{Cron: "nope"}),
					s.Set(t.Context(), "a", scheduler.Recurring{Every: "nope", Persist: true}),
					s.SetAll(t.Context(), map[string]scheduler.Recurring{"b": {Every: "1h"}, "c": {Cron: "61 * * * *"}}),
				} {
					if _, ok := errors.AsType[*scheduler.FieldError](err); !ok {
						t.Errorf("error %v", err)
					}
				}
			},
			map[string]string{"a": "memory " + hourly},
			map[string]any{"schedules_changed": redistest.Set{"a"}},
		},
		{
			"names of any bytes",
			func(t *testing.T, s, _ *scheduler.Schedules) {
				t.Helper()
				set(t, s, "", hourly)
				set(t, s, "\xff \x00\n", persisted(hourly))
				if job, ok, err := s.Get(t.Context(), "\xff \x00\n"); !ok || err != nil || job.Every != "1h" || !job.Persist {
					t.Errorf("%+v, %v, %v", job, ok, err)
				}
			},
			map[string]string{"": "memory " + hourly, "\xff \x00\n": "redis " + hourly},
			map[string]any{"persistent_schedules": redistest.Hash{"\xff \x00\n": hourly}, "schedules_changed": redistest.Set{"", "\xff \x00\n"}},
		},
		{
			"got, changed and set again, it stays where it is",
			func(t *testing.T, s, other *scheduler.Schedules) {
				t.Helper()
				set(t, other, "a", `{"persist":true,"every":"1h","owner":"me","class":"A"}`)
				job, ok, err := s.Get(t.Context(), "a")
				if !ok || err != nil {
					t.Fatal(ok, err)
				}
				job.Queue = "low"
				if err := s.Set(t.Context(), job.Name, job.Recurring); err != nil {
					t.Error(err)
				}
				if _, ok, err := s.Get(t.Context(), "b"); ok || err != nil {
					t.Error(ok, err)
				}
			},
			map[string]string{"a": `redis {"every":"1h","class":"A","queue":"low","owner":"me"}`},
			map[string]any{
				"persistent_schedules": redistest.Hash{"a": `{"every":"1h","class":"A","queue":"low","owner":"me"}`}, "schedules_changed": redistest.Set{"a"},
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, server *redistest.Server) {
				client := open(t, server.URL(), server.Namespace())
				s := scheduler.NewSchedules(client)
				test.do(t, s, scheduler.NewSchedules(client))
				if diff := cmp.Diff(test.shown, shown(t, s)); diff != "" {
					t.Errorf("schedule (-want +got):\n%s", diff)
				}
				checkDump(t, server, test.redis)
			})
		})
	}
}

// Whatever others wrote, one broken entry hides none of the others.
func TestSchedulesOfOthers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		configs := redistest.Hash{
			"cut": `{"every"`, "list": `[1]`, "null": `null`, "cron": `{"cron":"nope"}`, "good": ` {"every": "1h",  "class":"A"}`, "empty": `{}`,
		}
		server.Seed(map[string]any{"persistent_schedules": configs})
		s := scheduler.NewSchedules(open(t, server.URL(), server.Namespace()))
		want := map[string]string{
			"cut": `broken {"every"`, "list": `broken [1]`, "null": `broken null`, "cron": `broken {"cron":"nope"}`, "good": `redis  {"every": "1h",  "class":"A"}`,
			"empty": `redis {}`,
		}
		if diff := cmp.Diff(want, shown(t, s)); diff != "" {
			t.Errorf("schedule (-want +got):\n%s", diff)
		}
		for name := range configs {
			job, ok, err := s.Get(t.Context(), name)
			if !ok || err != nil || string(job.Raw) != configs[name] || (job.Err != nil) != (name != "good" && name != "empty") {
				t.Errorf("%s: %+v, %v, %v", name, job, ok, err)
			}
			if err := s.Enqueue(t.Context(), job); (err != nil) != true {
				t.Errorf("enqueue %s: %v", name, err)
			}
		}
		checkDump(t, server, map[string]any{"persistent_schedules": configs})
	})
}

// Keys of another type are left alone, and the caller hears of them.
func TestSchedulesOfAnotherType(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"persistent_schedules", "schedules_changed"} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, server *redistest.Server) {
				server.Seed(map[string]any{key: "text"})
				s := scheduler.NewSchedules(open(t, server.URL(), server.Namespace()))
				job := scheduler.Recurring{Every: "1h", Class: "A", Persist: true}
				for _, err := range []error{s.Set(t.Context(), "a", job), s.Remove(t.Context(), "a")} {
					if resque.ErrorCode(err) != "WRONGTYPE" {
						t.Errorf("error %v", err)
					}
				}
				checkDump(t, server, map[string]any{key: "text"})
			})
		})
	}
}

func TestEnqueueRecurring(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		client := open(t, server.URL(), server.Namespace())
		s := scheduler.NewSchedules(client)
		s.QueueOf = func(class string) string { return map[string]string{"Report": "reports"}[class] }
		for _, test := range []struct {
			job  scheduler.Scheduled
			fail bool
		}{
			{job: scheduler.Scheduled{Name: "x", Recurring: scheduler.Recurring{Class: "A", Queue: "q", Args: "one"}}},
			{job: scheduler.Scheduled{Name: "Report"}},
			{job: scheduler.Scheduled{Name: "Other"}, fail: true},
			{job: scheduler.Scheduled{Name: "Report", Err: errors.New("broken")}, fail: true},
			{job: scheduler.Scheduled{Recurring: scheduler.Recurring{Queue: "q"}}, fail: true}, // neither class nor name
		} {
			if err := s.Enqueue(t.Context(), test.job); (err != nil) != test.fail {
				t.Errorf("%+v: %v", test.job, err)
			}
		}
		checkDump(t, server, map[string]any{
			"queues": redistest.Set{"q", "reports"}, "queue:q": redistest.List{`{"class":"A","args":["one"]}`}, "queue:reports": redistest.List{`{"class":"Report","args":[]}`},
		})
	})
}

func TestLastEnqueuedAt(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		s := scheduler.NewSchedules(open(t, server.URL(), server.Namespace()))
		at := time.Unix(now, 5e8).In(time.FixedZone("", -3*3600-1800))
		if err := s.SetLastEnqueuedAt(t.Context(), "a", at); err != nil {
			t.Error(err)
		}
		server.Do("HSET", server.Key("delayed:last_enqueued_at"), "b", "soon")
		if got, ok, err := s.LastEnqueuedAt(t.Context(), "a"); got.Unix() != now || !ok || err != nil {
			t.Error(got, ok, err)
		}
		if got, ok, err := s.LastEnqueuedAt(t.Context(), "b"); ok || err == nil {
			t.Error(got, ok, err)
		}
		if got, ok, err := s.LastEnqueuedAt(t.Context(), "c"); ok || err != nil {
			t.Error(got, ok, err)
		}
		checkDump(t, server, map[string]any{"delayed:last_enqueued_at": redistest.Hash{"a": "2026-01-01 23:34:05 -0330", "b": "soon"}})
	})
}

// Any number of goroutines use a schedule, beside a scheduler.
func TestSchedulesTogether(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	client := open(t, server.URL(), server.Namespace())
	s := scheduler.NewSchedules(client)
	c := newClock()
	master := newScheduler(t, client, scheduler.Config{Schedules: s, Dynamic: true, Clock: c})
	const each = 20
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			ctx := context.Background()
			for i := range each {
				name := fmt.Sprintf("job %d", (n+i)%7)
				if err := s.Set(ctx, name, scheduler.Recurring{Every: "1s", Class: "A", Queue: "q", Persist: i%2 == 0}); err != nil {
					t.Error(err)
				}
				if _, err := s.All(ctx); err != nil {
					t.Error(err)
				}
				if i%5 == 0 {
					if err := s.Remove(ctx, name); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	for range each {
		tick(t, master, 0)
		c.advance(1)
	}
	all.Wait()
	tick(t, master, 0)
	names, planned := shown(t, s), master.Planned()
	for name := range names {
		if planned[name].IsZero() {
			t.Errorf("%s isn't planned", name)
		}
	}
	if len(names) == 0 || len(names) != len(planned) {
		t.Errorf("planned %v for %v", planned, names)
	}
}

package scheduler_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/scheduler"
)

// kept writes configurations where all processes see them, as Ruby does.
func kept(s *redistest.Server, configs map[string]string) {
	for name, config := range configs {
		s.Do("HSET", s.Key("persistent_schedules"), name, config)
		s.Do("SADD", s.Key("schedules_changed"), name)
	}
}

// master is a scheduler with recurring jobs, and its clock.
func master(t *testing.T, server *redistest.Server, c scheduler.Config) (*scheduler.Scheduler, *clock) {
	t.Helper()
	return masterAt(t, server.URL(), server, c)
}

func masterAt(t *testing.T, url string, server *redistest.Server, c scheduler.Config) (*scheduler.Scheduler, *clock) {
	t.Helper()
	ticks, ok := c.Clock.(*clock)
	if !ok {
		ticks = newClock()
		c.Clock = ticks
	}
	client := open(t, url, server.Namespace())
	if c.Schedules == nil {
		c.Schedules = scheduler.NewSchedules(client)
	}
	if c.Location == nil {
		c.Location = time.UTC
	}
	return newScheduler(t, client, c), ticks
}

// queue is what stands in a queue.
func queue(s *redistest.Server, name string) redistest.List {
	list, _ := s.Get("queue:" + name).(redistest.List)
	return list
}

func checkQueue(t *testing.T, s *redistest.Server, name string, want int) {
	t.Helper()
	if got := queue(s, name); len(got) != want {
		t.Errorf("queue %s: %d jobs, want %d: %v", name, len(got), want, got)
	}
}

func checkPlanned(t *testing.T, s *scheduler.Scheduler, want map[string]int64) {
	t.Helper()
	got := map[string]int64{}
	for name, at := range s.Planned() {
		got[name] = at.Unix() - now
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("planned, in seconds from the start (-want +got):\n%s", diff)
	}
}

// Beside what the recordings show: where jobs go that Ruby loses, and what is
// written beside them.
func TestFire(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		configs := map[string]string{
			"good":   `{"every":"1m","class":"A","queue":"q","args":{"n":1.50}}`,
			"known":  `{"every":"1m","class":"Known"}`,
			"lost":   `{"every":"1m","class":"Lost","args":[1]}`,
			"broken": `{"every":"1m","class":"B","queue":"broken"}`,
			"Named":  `{"every":"1m","queue":"named"}`,
		}
		kept(server, configs)
		server.Seed(map[string]any{"queue:broken": "text"})
		lines := &log{}
		s, c := master(t, server, scheduler.Config{
			QueueOf:  func(class string) string { return map[string]string{"Known": "known"}[class] },
			Location: time.FixedZone("", 3600), Logger: lines.logger(),
		})
		tick(t, s, 0)
		checkPlanned(t, s, map[string]int64{"good": 60, "known": 60, "lost": 60, "broken": 60, "Named": 60})
		c.advance(61)
		tick(t, s, 0)
		const note = "2026-01-02 04:05:06 +0100"
		record := func(class, args, why, queue string) string {
			return fmt.Sprintf(`{"failed_at":"2026/01/02 03:05:06 UTC","payload":{"class":%q,"args":%s},"exception":"Resque::NoQueueError","error":%q,"backtrace":[],"worker":"go.example:4242:scheduler","queue":%q}`, class, args, why, queue)
		}
		fired := strconv.Itoa((now + 60) * 1000)
		checkDump(t, server, map[string]any{
			"queue:q": redistest.List{`{"class":"A","args":[{"n":1.50}]}`}, "queue:known": redistest.List{`{"class":"Known","args":[]}`},
			"queue:named": redistest.List{`{"class":"Named","args":[]}`}, "queue:broken": "text", "queues": redistest.Set{"known", "named", "q"},
			"failed": redistest.List{
				record("B", "[]", server.Key("queue:broken")+" is not a list", "broken"),
				record("Lost", "[1]", "the job names no queue, and its class Lost has none here", "delayed"),
			},
			"delayed:last_enqueued_at": redistest.Hash{"good": note, "known": note, "lost": note, "broken": note, "Named": note},
			"understudy:fired":         redistest.Hash{"good": fired, "known": fired, "lost": fired, "broken": fired, "Named": fired},
			"persistent_schedules":     redistest.Hash(configs), "schedules_changed": redistest.Set{"Named", "broken", "good", "known", "lost"},
		})
		want := []string{
			"a recurring job can't be queued and goes to the failed jobs", "a recurring job can't be queued and goes to the failed jobs", "enqueued recurring jobs",
		}
		if diff := cmp.Diff(want, lines.messages()); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
		checkPlanned(t, s, map[string]int64{"good": 120, "known": 120, "lost": 120, "broken": 120, "Named": 120})
	})
}

// Jobs that can't be read, or name another environment, stop none of the others,
// and each is told of once, however often the schedule is read.
func TestFireBesideBrokenOnes(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		kept(server, map[string]string{
			"cut": `{"every"`, "null": `null`, "cron": `{"cron":"nope","class":"A","queue":"q"}`, "never": `{"class":"A","queue":"q"}`,
			"class": `{"every":"1m","class":["A"],"queue":"q"}`, "": `{"every":"1m","queue":"q"}`,
			"other": `{"every":"1m","class":"A","queue":"q","env":"test"}`, "good": `{"every":"1m","class":"A","queue":"q","rails_env":"test, production"}`,
		})
		lines := &log{}
		s, c := master(t, server, scheduler.Config{Env: "production", Logger: lines.logger(), Dynamic: true})
		for range 3 {
			tick(t, s, 0)
			s.Reload()
			server.Do("DEL", server.Key(lockOf(server)))
			tick(t, s, 0)
			c.advance(60)
			tick(t, s, 0)
		}
		checkQueue(t, server, "q", 3)
		told := map[string]int{}
		for _, message := range lines.messages() {
			told[message]++
		}
		if diff := cmp.Diff(map[string]int{"a recurring job can't be read and never fires": 6, "enqueued recurring jobs": 3}, told); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}

// Keys of the wrong type are told of once. What stands in memory fires all the
// same, and only our own note of firings can't be done without.
func TestFireBesideKeysOfAnotherType(t *testing.T) {
	t.Parallel()
	tests := []struct {
		key   string
		jobs  int
		fails bool
		told  []string
	}{
		{"persistent_schedules", 1, false, []string{"a key of the schedule is of the wrong type and counts as empty", "enqueued recurring jobs"}},
		{"schedules_changed", 1, false, []string{"a key of the schedule is of the wrong type and counts as empty", "enqueued recurring jobs"}},
		{"delayed:last_enqueued_at", 1, false, []string{"enqueued recurring jobs"}},
		{"failed", 1, false, []string{"enqueued recurring jobs"}},
		{"queues", 0, true, nil},
		{"understudy:fired", 0, true, []string{"a key of the schedule is of the wrong type and counts as empty"}},
	}
	for _, test := range tests {
		t.Run(test.key, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, server *redistest.Server) {
				client := open(t, server.URL(), server.Namespace())
				own := scheduler.NewSchedules(client)
				set(t, own, "a", `{"every":"1m","class":"A","queue":"q"}`)
				server.Do("DEL", server.Key(test.key))
				server.Seed(map[string]any{test.key: "text"})
				lines := &log{}
				s, c := master(t, server, scheduler.Config{Schedules: own, Dynamic: true, Logger: lines.logger()})
				tick(t, s, 0)
				tick(t, s, 0)
				c.advance(60)
				if _, err := s.Tick(t.Context()); (err != nil) != test.fails {
					t.Errorf("error %v", err)
				}
				checkQueue(t, server, "q", test.jobs)
				if got := server.Get(test.key); got != "text" {
					t.Errorf("%s is %v", test.key, got)
				}
				if diff := cmp.Diff(test.told, lines.messages()); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
				// Once it is mended, the time fires.
				server.Do("DEL", server.Key(test.key))
				tick(t, s, 0)
				checkQueue(t, server, "q", 1)
			})
		})
	}
}

// A time that passed while Redis was away fires once when it is back, several of
// one job as one; unless a Ruby scheduler fired it meanwhile.
func TestFireAfterAnOutage(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		note string // Ruby's, from the time without us
		jobs int
	}{
		{"nobody", "", 1},
		{"before", "2026-01-02 03:05:04 +0000", 1},
		{"at the time", "2026-01-02 03:05:05 +0000", 0},
		{"elsewhere", "2026-01-02 05:05:05 +0200", 0},
		{"later", "2026-01-01 23:40:00 -0330", 0},
		{"in UTC", "2026-01-02 03:10:00 UTC", 0},
		{"by a clock a year ahead", "2027-01-02 03:10:00 UTC", 1},
		{"unreadable", "soon", 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, server *redistest.Server) {
				proxy := redistest.NewProxy(t, server.URL())
				kept(server, map[string]string{"a": `{"every":"1m","class":"A","queue":"q"}`})
				s, c := masterAt(t, proxy.URL(), server, scheduler.Config{})
				tick(t, s, 0)
				proxy.SetRule(func(redistest.Request) redistest.Verdict { return redistest.DropRequest })
				for range 10 {
					c.advance(61)
					if _, err := s.Tick(t.Context()); err == nil {
						t.Error("no error")
					}
				}
				server.Do("DEL", server.Key(lockOf(server))) // it ran out
				if test.note != "" {
					server.Do("HSET", server.Key("delayed:last_enqueued_at"), "a", test.note)
				}
				proxy.SetRule(nil)
				tick(t, s, 0)
				tick(t, s, 0)
				checkQueue(t, server, "q", test.jobs)
				checkPlanned(t, s, map[string]int64{"a": 660})
			})
		})
	}
}

// What happens to a job in memory and in Redis at run time.
func TestDynamic(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		client := open(t, server.URL(), server.Namespace())
		own, other := scheduler.NewSchedules(client), scheduler.NewSchedules(client)
		s, c := master(t, server, scheduler.Config{Schedules: own, Dynamic: true})
		const everyMinute = `{"every":"1m","class":"A","queue":"q"}`
		set(t, own, "a", everyMinute)
		tick(t, s, 0)
		checkPlanned(t, s, map[string]int64{"a": 60})

		c.advance(10)
		set(t, own, "b", everyMinute)
		set(t, other, "c", `{"persist":true,"every":"1m","class":"A","queue":"q"}`)
		set(t, other, "d", everyMinute) // in a memory that isn't this process's
		tick(t, s, 0)
		checkPlanned(t, s, map[string]int64{"a": 60, "b": 70, "c": 70})

		c.advance(10)
		set(t, own, "a", everyMinute) // the same, but set: as in Ruby it begins anew
		tick(t, s, 0)
		checkPlanned(t, s, map[string]int64{"a": 80, "b": 70, "c": 70})

		c.advance(60)
		tick(t, s, 0)
		checkQueue(t, server, "q", 3)
		if err := other.Remove(t.Context(), "c"); err != nil {
			t.Error(err)
		}
		if err := own.SetAll(t.Context(), nil); err != nil { // says nothing in Redis
			t.Error(err)
		}
		tick(t, s, 0)
		checkPlanned(t, s, map[string]int64{})
		tick(t, s, 0)
		checkDump(t, server, map[string]any{
			"queue:q": queue(server, "q"), "queues": redistest.Set{"q"}, "delayed:last_enqueued_at": server.Get("delayed:last_enqueued_at"),
			// Those that went without a word in Redis stay a day.
			"understudy:fired": redistest.Hash{"a": strconv.Itoa((now + 80) * 1000), "b": strconv.Itoa((now + 70) * 1000)},
		})
		c.advance(25 * 3600)
		s.Reload()
		tick(t, s, 0)
		if got := server.Get("understudy:fired"); got != nil {
			t.Errorf("fired: %v", got)
		}
	})
}

// Without Dynamic a change counts after Reload, which begins all counts anew.
func TestReload(t *testing.T) {
	t.Parallel()
	for _, dynamic := range []bool{false, true} {
		t.Run(strconv.FormatBool(dynamic), func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, server *redistest.Server) {
				kept(server, map[string]string{"a": `{"every":"1m","class":"A","queue":"q"}`})
				s, c := master(t, server, scheduler.Config{Dynamic: dynamic})
				tick(t, s, 0)
				c.advance(10)
				server.Do("HSET", server.Key("persistent_schedules"), "b", `{"cron":"@daily","class":"A","queue":"q"}`)
				tick(t, s, 0)
				checkPlanned(t, s, map[string]int64{"a": 60})
				s.Reload()
				tick(t, s, 0)
				checkPlanned(t, s, map[string]int64{"a": 70, "b": 75355})
				tick(t, s, 0)
				checkPlanned(t, s, map[string]int64{"a": 70, "b": 75355})
				if got := server.Get("schedules_changed"); (got == nil) != dynamic {
					t.Errorf("schedules_changed: %v", got)
				}
			})
		})
	}
}

// What has become due when Reload is called fires by the plan that there was, also
// where that takes several tries.
func TestReloadLosesNothingThatIsDue(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		kept(server, map[string]string{"a": `{"cron":"* * * * *","class":"A","queue":"q"}`, "b": `{"every":"1m","class":"A","queue":"q"}`})
		proxy := redistest.NewProxy(t, server.URL())
		s, c := masterAt(t, proxy.URL(), server, scheduler.Config{})
		tick(t, s, 0)
		c.advance(60)
		server.Do("HDEL", server.Key("persistent_schedules"), "b")
		s.Reload()
		proxy.SetRule(redistest.On(0, redistest.DropRequest, "EVALSHA", scheduler.FireSHA()))
		if _, err := s.Tick(t.Context()); err == nil {
			t.Fatal("the fault never came")
		}
		proxy.SetRule(nil)
		tick(t, s, 0)
		checkQueue(t, server, "q", 2)
		checkPlanned(t, s, map[string]int64{"a": 115})
		tick(t, s, 0)
		checkQueue(t, server, "q", 2)
	})
}

// Where the answer about changes gets lost, everything is read.
func TestAChangeIsNeverMissed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		proxy := redistest.NewProxy(t, server.URL())
		s, c := masterAt(t, proxy.URL(), server, scheduler.Config{Dynamic: true})
		config := `{"every":"1m","class":"A","queue":"q"}`
		kept(server, map[string]string{"a": config})
		tick(t, s, 0)
		c.advance(10)
		kept(server, map[string]string{"b": config})
		proxy.SetRule(redistest.On(0, redistest.CutReply, "EVALSHA", scheduler.LoadSHA()))
		if _, err := s.Tick(t.Context()); err == nil {
			t.Error("no error")
		}
		if got := server.Get("schedules_changed"); got != nil {
			t.Errorf("schedules_changed: %v", got)
		}
		c.advance(1)
		tick(t, s, 0)
		checkPlanned(t, s, map[string]int64{"a": 60, "b": 71})
	})
}

// Many jobs that are due together take few calls, in the order of their times.
func TestFireMany(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		const jobs = 2500
		configs := redistest.Hash{}
		for i := range jobs {
			configs[fmt.Sprintf("job %04d", i)] = fmt.Sprintf(`{"every":"%ds","class":"A","queue":"q%d","args":[%d]}`, 60+i%60, i%7, i)
		}
		server.Seed(map[string]any{"persistent_schedules": configs})
		proxy := redistest.NewProxy(t, server.URL())
		s, c := masterAt(t, proxy.URL(), server, scheduler.Config{})
		tick(t, s, 0)
		c.advance(119)
		before := len(proxy.Seen())
		tick(t, s, 0)
		calls := len(proxy.Seen()) - before
		if calls > 7 { // keep, five volleys, and the text of a script
			t.Errorf("%d calls", calls)
		}
		fired := 0
		for i := range 7 {
			last := 0
			for _, job := range queue(server, fmt.Sprintf("q%d", i)) {
				fired++
				var n int
				_, err := fmt.Sscanf(job, `{"class":"A","args":[%d]}`, &n)
				if err != nil || n%60 < last {
					t.Errorf("q%d: %s behind a job of %d s (%v)", i, job, last, err)
				}
				last = n % 60
			}
		}
		if fired != jobs {
			t.Errorf("fired %d", fired)
		}
	})
}

// A large schedule is fired in pieces that Redis carries out quickly.
func TestFireLargeOnes(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		big := strings.Repeat("x", 1<<20)
		configs := map[string]string{}
		for i := range 4 {
			configs[strconv.Itoa(i)] = fmt.Sprintf(`{"every":"1m","class":"A","queue":"q","args":[%d,%q]}`, i, big)
		}
		kept(server, configs)
		s, c := master(t, server, scheduler.Config{})
		tick(t, s, 0)
		c.advance(60)
		tick(t, s, 0)
		checkQueue(t, server, "q", len(configs))
	})
}

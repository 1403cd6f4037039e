package live_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/scheduler"
)

// tabSchedules are recurring jobs, with what resque-web shows of them and does
// with them.
func tabSchedules() map[string]string {
	return map[string]string{
		"often":      `{"every":["1h",{"first_in":"5m","times":3}],"class":"Once","queue":"jobs","args":["é <&>",{"a":1.0}],"description":"now & then"}`,
		"daily":      `{"cron":"30 6 * * * Europe/Berlin","class":"Once","args":{"n":[1,null]}}`,
		"<b>é\n\"'&": `{"cron":"@hourly","class":"Once","queue":"second","args":"one"}`,
		"asks":       `{"every":"2h","class":"Once","queue":"jobs","args":{"kept":1},"parameters":{"city":{"description":"which <one>","default":"Köln"},"day":null}}`,
		"custom":     `{"cron":"* * * * *","class":"Once","custom_job_class":"Unloaded","queue":"jobs","args":[7]}`,
		"elsewhere":  `{"every":"1d","class":"Once","queue":"jobs","rails_env":"staging"}`,
		"by hand":    `{"class":"Once","queue":"jobs","args":5}`,
	}
}

func mustJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// twins are two namespaces, one written by Go, the other by Ruby, each with a
// Ruby that shows it.
type twins struct {
	t            *testing.T
	golang, ruby *bench
	web          []*peer
}

// same compares what both hold.
func (tw twins) same(when string) {
	tw.t.Helper()
	if diff := cmp.Diff(tw.ruby.server.Dump(), tw.golang.server.Dump()); diff != "" {
		tw.t.Errorf("%s: Redis (-Ruby +Go):\n%s", when, diff)
	}
}

// request asks both resque-webs and compares their answers.
func (tw twins) request(status int, shows, method, path string, params map[string]string) {
	tw.t.Helper()
	answers := make([]any, len(tw.web))
	for i, web := range tw.web {
		answers[i] = web.do("VISITOR.request(%s, %s, JSON.parse(%s))", method, path, mustJSON(tw.t, params))
	}
	if diff := cmp.Diff(answers[1], answers[0]); diff != "" {
		tw.t.Errorf("%s %s (-Ruby +Go):\n%s", method, path, diff)
	}
	answer, _ := answers[0].([]any)
	if page := fmt.Sprint(answer[2]); answer[0] != status || !strings.Contains(page, shows) {
		tw.t.Errorf("%s %s answers %v, and doesn't show %q:\n%s", method, path, answer[0], shows, page)
	}
	tw.same(method + " " + path)
}

// The scheduler's tabs of resque-web show what Go wrote as what Ruby wrote, and
// what they do with it is the same, and known to Go.
func TestSchedulerTabs(t *testing.T) {
	t.Parallel()
	s := start(t)
	other := s.Sibling(t)
	tw := twins{t: t, golang: newBench(t, s), ruby: newBench(t, other)}
	for _, server := range []*redistest.Server{s, other} {
		web := startPeer(t, server, "jobs.rb", "web.rb")
		web.do("VISITOR = Visitor.new\nResque::Scheduler.dynamic = true\nResque::Scheduler.env = 'test'\nnil")
		tw.web = append(tw.web, web)
	}
	schedules, at := tw.fill()
	tw.same("at first")

	second := fmt.Sprint(at.Unix())
	const ok, found = 200, 302
	post := func(path string, params map[string]string) {
		t.Helper()
		tw.request(found, "", "POST", path, params)
	}
	tw.request(ok, "2026-11-30 06:30:00", "GET", "/schedule", nil)
	tw.request(ok, "&lt;b&gt;é", "GET", "/schedule", nil)
	tw.request(ok, second, "GET", "/delayed", nil)
	tw.request(ok, "&lt;&amp;&gt;", "GET", "/delayed/"+second, nil)
	tw.request(ok, at.Format("15:04:05"), "GET", "/delayed/jobs/Once?args=%5B9%5D", nil)
	for _, text := range []string{"once", "ONC", "", "nothing"} {
		tw.request(ok, "Search Results", "POST", "/delayed/search", map[string]string{"search": text})
	}

	for _, name := range slices.Sorted(maps.Keys(tabSchedules())) {
		if name == "asks" {
			continue
		}
		post("/schedule/requeue", map[string]string{"job_name": name})
	}
	tw.request(ok, "which <one>", "POST", "/schedule/requeue", map[string]string{"job_name": "asks"})
	post("/schedule/requeue_with_params", map[string]string{"job_name": "asks", "city": "Zürich <&>", "day": ""})
	// In the order of the names; what Go itself enqueues is the same.
	want := []string{
		`{"class":"Once","args":[5]}`, `{"class":"Unloaded","args":[7]}`, `{"class":"Once","args":[{"n":[1,null]}]}`, `{"class":"Once","args":[]}`,
		`{"class":"Once","args":["é <&>",{"a":1.0}]}`, `{"class":"Once","args":[{"kept":1,"city":"Zürich <&>","day":""}]}`,
	}
	tw.golang.expect("queue:jobs", want...)
	tw.golang.expect("queue:second", `{"class":"Once","args":["one"]}`)
	s.Do("DEL", s.Key("queue:jobs"), s.Key("queue:second"))
	other.Do("DEL", other.Key("queue:jobs"), other.Key("queue:second"))
	all, err := schedules.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	schedules.QueueOf = func(string) string { return "jobs" }
	for _, job := range all {
		if job.Name == "asks" {
			continue
		}
		if err := schedules.Enqueue(t.Context(), job); err != nil {
			t.Error(err)
		}
	}
	tw.golang.expect("queue:jobs", want[:5]...)
	s.Do("DEL", s.Key("queue:jobs"), s.Key("queue:second"))
	tw.changes(schedules, second)
}

// fill writes the same into both namespaces, each in its language.
func (tw twins) fill() (schedules *scheduler.Schedules, at time.Time) {
	t, ruby := tw.t, tw.web[1]
	t.Helper()
	schedules = scheduler.NewSchedules(tw.golang.client)
	noted := time.Date(2026, 11, 30, 6, 30, 0, 0, time.Local)
	for _, name := range slices.Sorted(maps.Keys(tabSchedules())) {
		config := `{"persist":true,` + tabSchedules()[name][1:]
		job, err := scheduler.ParseRecurring([]byte(config))
		if err == nil {
			err = schedules.Set(t.Context(), name, job)
		}
		if err != nil {
			t.Fatal(err)
		}
		ruby.do("Resque.set_schedule(%s, JSON.parse(%s))", name, config)
	}
	if err := schedules.SetLastEnqueuedAt(t.Context(), "daily", noted); err != nil {
		t.Fatal(err)
	}
	ruby.do("Resque.last_enqueued_at('daily', Time.at(%s).to_s)", noted.Unix())

	at = time.Now().Add(time.Hour).Truncate(time.Second)
	client := tw.golang.client
	for _, args := range [][]any{{1, "é <&>"}, {2}} {
		if err := client.EnqueueAt(t.Context(), at, "jobs", "Once", args...); err != nil {
			t.Fatal(err)
		}
		ruby.do("Resque.enqueue_at(Time.at(%s), Once, *JSON.parse(%s))", at.Unix(), mustJSON(t, args))
	}
	for n := range 22 { // more than one page
		if err := client.EnqueueAt(t.Context(), at.Add(time.Duration(n)*time.Minute), "jobs", "Once", 9); err != nil {
			t.Fatal(err)
		}
		ruby.do("Resque.enqueue_at(Time.at(%s), Once, 9)", at.Unix()+60*int64(n))
	}
	return schedules, at
}

// changes removes jobs, with a scheduler of Go's that hears of it.
func (tw twins) changes(schedules *scheduler.Schedules, second string) {
	t := tw.t
	t.Helper()
	const ok, found = 200, 302
	tw.request(found, "", "DELETE", "/schedule", map[string]string{"job_name": "<b>é\n\"'&"})
	tw.request(ok, "", "POST", "/delayed/queue_now", map[string]string{"timestamp": second})
	tw.golang.expect("queue:jobs", `{"class":"Once","args":[1,"é <&>"]}`)
	tw.request(ok, "Unable to remove item", "POST", "/delayed/queue_now", map[string]string{"timestamp": "1"})
	tw.request(found, "", "POST", "/delayed/cancel_now", map[string]string{"timestamp": second, "klass": "Once", "args": "[2]"})
	client := tw.golang.client
	if n, err := client.DelayedCount(t.Context()); err != nil || n != 22 {
		t.Errorf("%d delayed jobs: %v", n, err)
	}
	tw.request(found, "", "POST", "/delayed/clear", nil)
	if n, err := client.DelayedCount(t.Context()); err != nil || n != 0 {
		t.Errorf("%d delayed jobs: %v", n, err)
	}

	master, _ := tw.golang.scheduleWith(scheduler.Config{Interval: 50 * time.Second, Schedules: schedules, Dynamic: true, Env: "test"})
	tw.golang.mastered()
	planned := func(want ...string) {
		t.Helper()
		tw.golang.eventually("planned without it", func() bool { return slices.Equal(slices.Sorted(maps.Keys(master.Planned())), want) })
	}
	planned("asks", "custom", "daily", "often")
	tw.web[0].do("VISITOR.request('DELETE', '/schedule', { 'job_name' => 'daily' })")
	planned("asks", "custom", "often")
	if _, ok, err := schedules.Get(t.Context(), "daily"); ok || err != nil {
		t.Errorf("the job is still there (%v)", err)
	}
}

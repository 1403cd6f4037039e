package scheduler_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/scheduler"
)

// loaded is when Ruby loaded what the tables below show.
func loaded(t *testing.T) time.Time {
	t.Helper()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return time.Date(2026, 12, 1, 8, 4, 7, 0, berlin)
}

// TestTimesAsInRuby holds what resque-scheduler 5.0.0 with rufus-scheduler 3.8.2
// answered to load_schedule_job: the time to the first firing.
func TestTimesAsInRuby(t *testing.T) {
	t.Parallel()
	day := loaded(t)
	midnight := time.Date(2026, 12, 2, 0, 0, 0, 0, day.Location()).Sub(day)
	at := func(text string) time.Duration {
		when, err := time.ParseInLocation("2006-01-02 15:04 -0700", text, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		return when.Sub(day)
	}
	const never = -time.Second
	tests := []struct {
		raw  string
		next time.Duration
	}{
		{`{"every":"1h"}`, time.Hour},
		{`{"every":"1h","cron":"0 0 * * *"}`, midnight},
		{`{"every":"1h","cron":""}`, time.Hour},
		{`{"every":"1h","cron":null}`, time.Hour},
		{`{"every":"","cron":""}`, never},
		{`{"every":[],"cron":null}`, never},
		{`{"every":{}}`, never},
		{`{"every":false,"cron":"0 0 * * *"}`, midnight},
		{`{"every":["1h"]}`, time.Hour},
		{`{"every":["1h","2h"]}`, time.Hour},
		{`{"every":["1h",{"first_in":"5m"},{"last_in":"9h"}]}`, time.Hour},
		{`{"every":["1h",{"first_in":"5m"},3]}`, time.Hour},
		{`{"every":[3600]}`, time.Hour},
		{`{"every":[3.6e3]}`, time.Hour},
		{`{"every":[3600,{"first_in":"5m"}]}`, 5 * time.Minute},
		{`{"every":["3600"]}`, time.Hour},
		{`{"every":"3600"}`, time.Hour},
		{`{"every":["1h",{}]}`, time.Hour},
		{`{"every":["1h",null]}`, time.Hour},
		{`{"every":"0.3s"}`, 300 * time.Millisecond},
		{`{"every":"1h30"}`, time.Hour + 30*time.Second},
		{`{"every":"PT1H"}`, time.Hour},
		{`{"every":"1M"}`, 30 * 24 * time.Hour},
		{`{"every":"1 hour"}`, time.Hour},
		{`{"every":"1h "}`, time.Hour},
		{`{"cron":["0 0 * * *"]}`, midnight},
		{`{"cron":["0 0 * * *",{"first_in":"2d"}]}`, 48 * time.Hour},
		{`{"cron":["0 0 * * *",{"times":2}]}`, midnight},
		{`{"cron":["* * * * *",{"first_at":"2030-01-01"}]}`, at("2030-01-01 00:00 +0100")},
		{`{"every":["1h",{"first":0}]}`, 3 * time.Millisecond},
		{`{"every":["1h",{"first":0.0}]}`, 3 * time.Millisecond},
		{`{"every":["1h",{"first":"0"}]}`, 3 * time.Millisecond},
		{`{"every":["1h",{"first":"0s"}]}`, 3 * time.Millisecond},
		{`{"every":["1h",{"first_in":""}]}`, 3 * time.Millisecond},
		{`{"every":["1h",{"first":5}]}`, 5 * time.Second},
		{`{"every":["1h",{"first_in":5.5}]}`, 5500 * time.Millisecond},
		{`{"every":["1h",{"first_in":"5"}]}`, 5 * time.Second},
		{`{"every":["1h",{"first_in":null}]}`, time.Hour},
		{`{"every":["1h",{"first_in":false}]}`, time.Hour},
		{`{"every":["1h",{"first_at":"5m"}]}`, 5 * time.Minute},
		{`{"every":["1h",{"first_in":"2030-01-01 10:00"}]}`, at("2030-01-01 10:00 +0100")},
		{`{"every":["1h",{"first_at":"2030-01-01T10:00:00Z"}]}`, at("2030-01-01 10:00 +0000")},
		{`{"every":["1h",{"first_at":"2030-01-01T10:00:00+02:00"}]}`, at("2030-01-01 10:00 +0200")},
		{`{"every":["1h",{"first_at":"2030-01-01 10:00:00 +0530"}]}`, at("2030-01-01 10:00 +0530")},
		{`{"every":["1h",{"first_at":"2030-01-01 10:00 +05"}]}`, at("2030-01-01 10:00 +0500")},
		{`{"every":["1h",{"first_at":"2030-01-01 10:00 America/New_York"}]}`, at("2030-01-01 10:00 -0500")},
		{`{"every":["1h",{"first_at":"2030-01-01 10:00 EST"}]}`, at("2030-01-01 10:00 -0500")},
		{`{"every":["1h",{"first_at":"2030-01-01 10:00:00 UTC"}]}`, at("2030-01-01 10:00 +0000")},
		{`{"every":["1h",{"first_at":"2030/1/2 3:04"}]}`, at("2030-01-02 03:04 +0100")},
		{`{"every":["1h",{"first_at":" Jan 2, 2030 "}]}`, at("2030-01-02 00:00 +0100")},
		{`{"every":["1h",{"first_at":"2 January 2030 15:00"}]}`, at("2030-01-02 15:00 +0100")},
		{`{"every":["1h",{"first_at":"Wed, 02 Jan 2030 03:04:05 +0000"}]}`, at("2030-01-02 03:04 +0000") + 5*time.Second},
		{`{"every":["1h",{"first_at":"2030-07-02 03:04"}]}`, at("2030-07-02 03:04 +0200")},
		{`{"every":["1h",{"first_at":"2030-03-31 02:30"}]}`, at("2030-03-31 03:30 +0200")},
		{`{"every":["1h",{"first_at":"10:00"}]}`, at("2026-12-01 10:00 +0100")},
		{`{"every":["1h",{"first_at":"10:00 UTC"}]}`, at("2026-12-01 10:00 +0000")},
		{`{"every":["1h",{"first_at":1893456000}]}`, 1893456000 * time.Second},
		{`{"every":["1h",{"first_at":"1893456000"}]}`, 1893456000 * time.Second},
		{`{"every":["1h",{"first_time":"5m"}]}`, 5 * time.Minute},
		{`{"every":["1h",{"first":"5m","first_at":"6m","first_in":"7m"}]}`, 5 * time.Minute},
		{`{"every":["1h",{"first_time":"4m","first_at":"6m","first_in":"7m"}]}`, 4 * time.Minute},
		{`{"every":["1h",{"first_in":"7m","first_at":"6m"}]}`, 6 * time.Minute},
		{`{"every":["1h",{"first":false,"first_in":"7m"}]}`, 7 * time.Minute},
		{`{"every":["1h",{"times":0}]}`, never},
		{`{"every":["1h",{"times":-1}]}`, never},
		{`{"every":["1h",{"times":null}]}`, time.Hour},
		{`{"every":["1h",{"last":"5m"}]}`, never},
		{`{"every":["1h",{"last_in":"1h"}]}`, never},
		{`{"every":["1h",{"last":"61m","last_at":"6m","last_in":"7m"}]}`, time.Hour},
		{`{"every":["1h",{"overlap":false,"timeout":"5m","tag":"x","tags":["a"],"blocking":true,"discard_past":false,"name":"q","mutex":"m","zzz":1,"":2}]}`, time.Hour},
		{`{"class":"A"}`, never},
		// In Ruby the words for at once are symbols, which no JSON has.
		{`{"every":["1h",{"first":"now"}]}`, 3 * time.Millisecond},
		{`{"every":["1h",{"first_in":":immediately"}]}`, 3 * time.Millisecond},
		{`{"cron":["0 0 * * *",{"first":"now"}]}`, 3 * time.Millisecond},
		// A first time that is past makes Ruby die.
		{`{"every":["1h",{"first_at":"2020-01-01 10:30"}]}`, 25*time.Minute + 53*time.Second},
		{`{"every":["1h",{"first_at":"08:04:07"}]}`, 3 * time.Millisecond},
		{`{"every":["1h",{"first_at":"2020-01-01 10:30","discard_past":false}]}`, 25*time.Minute + 53*time.Second},
		{`{"cron":["0 0 * * *",{"first_at":"2020-01-01 10:30"}]}`, midnight},
	}
	for _, tt := range tests {
		t.Run(tt.raw, func(t *testing.T) {
			t.Parallel()
			job, err := scheduler.ParseRecurring([]byte(tt.raw))
			if err != nil {
				t.Fatal(err)
			}
			timing, err := job.Timing(day)
			if err != nil {
				t.Fatal(err)
			}
			got := never
			if planned := timing.Planned(); !planned.IsZero() {
				got = planned.Sub(day)
			}
			if got != tt.next {
				t.Errorf("it fires after %v, in Ruby after %v", got, tt.next)
			}
			if config, err := job.Config(); err != nil || string(config) != tt.raw {
				t.Errorf("its configuration is %s, %v", config, err)
			}
		})
	}
}

// TestRefusedAsInRuby has what makes Ruby's scheduler die, each with the field
// that is named.
func TestRefusedAsInRuby(t *testing.T) {
	t.Parallel()
	tests := []struct{ raw, field, says string }{
		{`{"every":{"a":1}}`, "every", `write it in quotes, such as "1h"`},
		{`{"every":3600}`, "every", "in quotes"},
		{`{"every":true}`, "every", "in quotes"},
		{`{"every":false}`, "every", "in quotes"},
		{`{"cron":5,"every":"1h"}`, "cron", `such as "30 6 * * *"`},
		{`{"every":[null]}`, "every", "in quotes"},
		{`{"every":[{"first_in":"5m"}]}`, "every", "in quotes"},
		{`{"every":[{"first_in":"5m"},"1h"]}`, "every", "in quotes"},
		{`{"every":[["1h"]]}`, "every", "in quotes"}, // Ruby fires it, and can't stop it
		{`{"every":["",{"first_in":"5m"}]}`, "every", "a list without a time"},
		{`{"cron":[5]}`, "cron", "in quotes"},
		{`{"every":" "}`, "every", "duration"},
		{`{"every":"0.2s"}`, "every", "0.3 s"},
		{`{"every":"-1h"}`, "every", "-1h"},
		{`{"every":"0s"}`, "every", "0s"},
		{`{"every":"abc"}`, "every", "abc"},
		{`{"every":"0 0 * * *"}`, "every", "0 0 * * *"},
		{`{"cron":"1h"}`, "cron", "1h"},
		{`{"cron":"0 0 30 2 *"}`, "cron", "no such day"},
		{`{"every":["1h",{"first_in":true}]}`, "first_in", "neither a time nor a length"},
		{`{"every":["1h",{"first_in":[]}]}`, "first_in", "neither a time nor a length"},
		{`{"every":["1h",{"first_in":{}}]}`, "first_in", "neither a time nor a length"},
		{`{"every":["1h",{"first_in":"-5m"}]}`, "first_in", "in the past"},
		{`{"every":["1h",{"first_in":-5}]}`, "first_in", "in the past"},
		{`{"every":["1h",{"first_at":"tomorrow"}]}`, "first_at", "day and a time"},
		{`{"every":["1h",{"first_at":"2030-02-30"}]}`, "first_at", "day and a time"},
		{`{"every":["1h",{"first_at":"2030-01-01 10:00 Nowhere"}]}`, "first_at", "day and a time"},
		{`{"every":["1h",{"last_in":"-6m"}]}`, "last_in", "in the past"},
		{`{"every":["1h",{"last":0}]}`, "last_in", "in the past"},
		{`{"every":["1h",{"last":"soon"}]}`, "last_at", "day and a time"},
		{`{"every":["1h",{"times":3.0}]}`, "times", "no whole number"},
		{`{"every":["1h",{"times":"3"}]}`, "times", "no whole number"},
		{`{"every":["1h",{"times":false}]}`, "times", "no whole number"},
		{`{"every":"1h","env":["test"]}`, "env", `"production, staging"`},
		{`{"every":"1h","rails_env":5}`, "rails_env", `"production, staging"`},
		{`{"every":"1h","class":["A"]}`, "class", "a name in quotes"},
		{`{"every":"1h","queue":{}}`, "queue", "a name in quotes"},
		{`{"every":"1h","queue":true}`, "queue", "a name in quotes"},
		{`[1]`, "", "is no object"},
		{`null`, "", "is no object"},
		{`"x"`, "", "is no object"}, // Ruby skips it
		{`{"every":`, "", "no JSON"},
	}
	for _, tt := range tests {
		t.Run(tt.raw, func(t *testing.T) {
			t.Parallel()
			_, err := scheduler.ParseRecurring([]byte(tt.raw))
			wrong, ok := errors.AsType[*scheduler.FieldError](err)
			if !ok {
				t.Fatalf("the error is %v", err)
			}
			if wrong.Field != tt.field || !strings.Contains(wrong.Text, tt.says) {
				t.Errorf("%q of field %q, want %q of %q", wrong.Text, wrong.Field, tt.says, tt.field)
			}
		})
	}
	_, err := scheduler.ParseRecurring([]byte(`{"cron":"61 * * * *","env":[],"queue":[]}`))
	if got := strings.Count(err.Error(), "\n") + 1; got != 3 {
		t.Errorf("%d errors are told of: %v", got, err)
	}
}

func TestWarningsOfRecurring(t *testing.T) {
	t.Parallel()
	tests := []struct {
		raw  string
		want []string // field: the beginning of the text
	}{
		{`{"every":"1h"}`, nil},
		{`{"cron":"0 0 * * *","class":"A","queue":"q","args":[1],"description":"x","parameters":{},"custom_job_class":"B","rails_env":"a","persist":true}`, nil},
		{`{"class":"A"}`, []string{": has neither"}},
		{`{"cron":"0 0 * * *","every":"1h"}`, []string{"every: has no effect beside cron"}},
		{`{"every":"30"}`, []string{"every: 30 has no unit, which is seconds: write 30s"}},
		{`{"every":"1h30"}`, []string{"every: 1h30"}},
		{`{"cron":"0 0 * 2 mon#5&"}`, nil},
		{`{"every":["1h",{"times":0}]}`, []string{"times: allows no firing"}},
		{`{"every":["1h",{"overlap":true,"timeout":1}]}`, []string{"overlap: has no effect", "timeout: has no effect"}},
		{`{"every":["1h",{"fist_in":"5m","zzz":1}]}`, []string{"fist_in: means nothing: did you mean first_in?", "zzz: means nothing: the options are first,"}},
		{`{"every":["1h",{"first":"1m","first_at":"2m"}]}`, []string{"first_at: has no effect beside first"}},
		{`{"every":["1h",{"first_in":"1m"},3]}`, []string{"every: is a list of which only the first element counts"}},
		{`{"every":"1h","first_in":"5m"}`, []string{"first_in: has no effect here"}},
		{`{"every":"1h","qeue":"q","whatever":1}`, []string{"qeue: means nothing: did you mean queue?"}},
		{`{"every":"1h","rails_env":"a","env":"b"}`, []string{"env: has no effect beside rails_env"}},
		{`{"every":"1h","persist":"false"}`, []string{"persist: is a text, which is true"}},
		{`{"cron":["0 0 * * *",{"discard_past":false}]}`, []string{"discard_past: has no effect on cron"}},
	}
	for _, tt := range tests {
		t.Run(tt.raw, func(t *testing.T) {
			t.Parallel()
			job, err := scheduler.ParseRecurring([]byte(tt.raw))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, w := range job.Warnings() {
				got = append(got, w.Field+": "+w.Text)
			}
			if !slices.EqualFunc(got, tt.want, strings.HasPrefix) {
				t.Errorf("warns\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

// TestItems has what Ruby's enqueue_from_config makes of a configuration.
func TestItems(t *testing.T) {
	t.Parallel()
	tests := []struct{ raw, want string }{
		{`{"class":"A","queue":"q","args":[1,{"b":1.10}]}`, `{"class":"A","queue":"q","args":[1,{"b":1.10}]}`},
		{`{"class":"A","queue":"q","args":"weekly"}`, `{"class":"A","queue":"q","args":["weekly"]}`},
		{`{"class":"A","queue":"q","args":{"a":1}}`, `{"class":"A","queue":"q","args":[{"a":1}]}`},
		{`{"class":"A","queue":"q","args":null}`, `{"class":"A","queue":"q","args":[]}`},
		{`{"class":"A","queue":"q","args":false}`, `{"class":"A","queue":"q","args":[]}`},
		{`{"class":"A","queue":"q","args":true}`, `{"class":"A","queue":"q","args":[true]}`},
		{`{"class":"A","queue":"q","args":""}`, `{"class":"A","queue":"q","args":[""]}`},
		{`{"class":"A","queue":"q"}`, `{"class":"A","queue":"q","args":[]}`},
		{`{"class":5,"queue":6}`, `{"class":"5","queue":"6","args":[]}`},
		{`{"class":"A","queue":false,"custom_job_class":"B","every":"1h"}`, `{"class":"A","args":[],"custom_job_class":"B"}`},
		// Ruby enqueues the class Object.
		{`{"args":0}`, `{"class":"name","args":[0]}`},
		{`{"class":null}`, `{"class":"name","args":[]}`},
	}
	for _, tt := range tests {
		t.Run(tt.raw, func(t *testing.T) {
			t.Parallel()
			job, err := scheduler.ParseRecurring([]byte(tt.raw))
			if err != nil {
				t.Fatal(err)
			}
			item, err := job.Item("name")
			if err != nil {
				t.Fatal(err)
			}
			if string(item) != tt.want {
				t.Errorf("the item is %s, want %s", item, tt.want)
			}
		})
	}
}

func TestConfigOfRecurring(t *testing.T) {
	t.Parallel()
	parsed := func(raw string, change func(*scheduler.Recurring)) scheduler.Recurring {
		job, err := scheduler.ParseRecurring([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		if change != nil {
			change(&job)
		}
		return job
	}
	tests := []struct {
		name string
		job  scheduler.Recurring
		want string
	}{
		{"from Go", scheduler.Recurring{Every: "1h", Class: "A", Queue: "q", Args: []any{1, "x"}, Env: "a, b", Description: "d", Persist: true}, `{"every":"1h","class":"A","queue":"q","args":[1,"x"],"rails_env":"a, b","description":"d"}`},
		{"with options", scheduler.Recurring{Cron: "0 0 * * *", FirstIn: "5m", LastAt: "2030-01-01", Times: 3}, `{"cron":["0 0 * * *",{"first_in":"5m","last_at":"2030-01-01","times":3}]}`},
		{"as Ruby can read it", scheduler.Recurring{Every: "1h", FirstIn: "now", Times: -5, KeepPast: true}, `{"every":["1h",{"first_in":0,"times":0,"discard_past":false}]}`},
		{"one argument", scheduler.Recurring{Every: "1h", Args: map[string]any{"a": 1.0}}, `{"every":"1h","args":{"a":1.0}}`},
		{"its bytes", parsed(`{ "every" : "1h", "args":[1.10], "mine":1.0}`, nil), `{ "every" : "1h", "args":[1.10], "mine":1.0}`},
		{"without persist", parsed(`{"every": "1h", "persist": true, "args": [1.10], "mine": 1.0}`, nil), `{"every":"1h","args":[1.10],"mine":1.0}`},
		{"changed", parsed(`{ "every" : "1h", "args":[1.10], "mine":1.0,"persist":1}`, func(r *scheduler.Recurring) { r.Queue = "q" }), `{"every":"1h","queue":"q","args":[1.10],"mine":1.0}`},
		{"an environment of none", parsed(`{"every":"1h","env":"","mine":1}`, func(r *scheduler.Recurring) { r.Class = "A" }), `{"every":"1h","class":"A","rails_env":"","mine":1}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := tt.job.Config()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Error(diff)
			}
			if _, err := scheduler.ParseRecurring(got); err != nil {
				t.Errorf("what it writes isn't read: %v", err)
			}
		})
	}
	for _, r := range []scheduler.Recurring{{Every: "1h", Args: func() {}}, {Every: "1h", Class: "\xff"}, {Every: "1h", Args: "\xff"}} {
		if _, err := r.Config(); err == nil || r.Validate() == nil {
			t.Errorf("%v is written", r)
		}
	}
}

func TestWithin(t *testing.T) {
	t.Parallel()
	tests := []struct {
		raw, env string
		want     bool
	}{
		{`{}`, "", true},
		{`{}`, "test", true},
		{`{"rails_env":"a","env":"test"}`, "test", false},
		{`{"rails_env":null,"env":"test"}`, "test", true},
		{`{"rails_env":false,"env":"test"}`, "test", true},
		{`{"rails_env":"","env":"test"}`, "test", false},
		{`{"env":""}`, "", false},
		{`{"env":"test"}`, "", false},
		{`{"env":"prod, test"}`, "test", true},
		{`{"env":"prod\ttest"}`, "test", true},
		{`{"env":" test"}`, "test", true},
		{`{"env":"prod;test"}`, "test", false},
		{`{"env":"Test"}`, "test", false},
	}
	for _, tt := range tests {
		job, err := scheduler.ParseRecurring([]byte(tt.raw))
		if got := job.Within(tt.env); err != nil || got != tt.want {
			t.Errorf("%s in %q: %v, %v", tt.raw, tt.env, got, err)
		}
	}
}

// planned lists the next times of a job as seconds from its loading.
func planned(t *testing.T, raw string, n int, late func(i int) time.Duration) []string {
	t.Helper()
	job, err := scheduler.ParseRecurring([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	at := loaded(t)
	timing, err := job.Timing(at)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for i := range n {
		if timing.Planned().IsZero() {
			break
		}
		list = append(list, strconv.FormatFloat(timing.Planned().Sub(at).Seconds(), 'f', -1, 64))
		timing = timing.Fired(timing.Planned().Add(late(i)))
	}
	return list
}

func TestFollowingTimes(t *testing.T) {
	t.Parallel()
	inTime := func(int) time.Duration { return 0 }
	late := func(by time.Duration) func(int) time.Duration {
		return func(i int) time.Duration {
			if i == 0 {
				return by
			}
			return 0
		}
	}
	tests := []struct {
		name, raw string
		late      func(int) time.Duration
		want      string
	}{
		{"every", `{"every":"10s"}`, inTime, "10 20 30 40"},
		{"first", `{"every":["10s",{"first_in":"3s"}]}`, inTime, "3 13 23 33"},
		{"counted from the planned time", `{"every":"10s"}`, late(7 * time.Second), "10 20 30 40"},
		{"late ones are one", `{"every":"10s"}`, late(25 * time.Second), "10 40 50 60"},
		{"due at that moment", `{"every":"10s"}`, late(20 * time.Second), "10 40 50 60"},
		{"or each of its own", `{"every":["10s",{"discard_past":false}]}`, late(25 * time.Second), "10 20 30 40"},
		{"times", `{"every":["10s",{"times":2}]}`, inTime, "10 20"},
		{"more times than there are", `{"every":["10s",{"times":99999999999999999999}]}`, inTime, "10 20 30 40"},
		{"times of cron", `{"cron":["* * * * *",{"times":2}]}`, inTime, "53 113"},
		{"last", `{"every":["10s",{"last_in":"30s"}]}`, inTime, "10 20"},
		{"last of cron", `{"cron":["* * * * *",{"last_in":"114s"}]}`, inTime, "53 113"},
		{"first of cron", `{"cron":["* * * * *",{"first_in":"60s"}]}`, inTime, "60 113 173 233"},
		{"cron stays in its zone after a first time of another", `{"cron":["0 9 * * *",{"first_at":"2026-12-01 08:30 +0000"}]}`, inTime, "5153 89753 176153 262553"},
		{"late cron", `{"cron":"* * * * *"}`, late(150 * time.Second), "53 233 293 353"},
		{"an every of years", `{"every":"50y"}`, late(1), "1576800000 3153600000 4730400000 6307200000"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := strings.Join(planned(t, tt.raw, 4, tt.late), " "); got != tt.want {
				t.Errorf("fires at %s, want %s", got, tt.want)
			}
		})
	}
	for _, raw := range []string{`{"every":"10s"}`, `{"cron":"*/10 * * * * *"}`} {
		job, err := scheduler.ParseRecurring([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		timing, err := job.Timing(loaded(t))
		if err != nil {
			t.Fatal(err)
		}
		first := timing.Planned()
		if next := timing.Fired(first.Add(-time.Hour)).Planned(); next.Sub(first) != 10*time.Second {
			t.Errorf("%s fires %v after a firing by a clock that is behind", raw, next.Sub(first))
		}
		if next := timing.Fired(first.UTC()).Planned(); next.Location() != first.Location() {
			t.Errorf("%s goes on in the zone %v", raw, next.Location())
		}
	}
	now, err := scheduler.Recurring{Every: "1h"}.Timing(time.Now())
	if text := now.Planned().String(); err != nil || strings.Contains(text, "m=") {
		t.Errorf("%s would stand still while the machine sleeps, %v", text, err)
	}
	last, err := scheduler.Recurring{Every: "1h", LastIn: "61m"}.Timing(loaded(t))
	if err != nil || last.At(loaded(t).Add(60*time.Minute)).Planned().IsZero() || !last.At(loaded(t).Add(61*time.Minute)).Planned().IsZero() {
		t.Errorf("what is late fires after the last time, or not before it: %v", err)
	}
	var none scheduler.Timing
	if !none.Planned().IsZero() || !none.Fired(loaded(t)).Planned().IsZero() {
		t.Error("the zero timing fires")
	}
}

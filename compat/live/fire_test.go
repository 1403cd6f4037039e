package live_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
	"example.com/understudy/scheduler"
)

// firing is a form of recurring job, without its time and queue, and the element
// that both schedulers make of it; "": it doesn't fire.
type firing struct{ form, element string }

func firings() map[string]firing {
	return map[string]firing{
		"a list":             {`"class":"Once","args":[1,"é <&> 😀",1.0,2.5e+20,null,{"b":[1,null],"a":true}]`, `{"class":"Once","args":[1,"é <&> 😀",1.0,2.5e+20,null,{"b":[1,null],"a":true}]}`},
		"an object":          {`"class":"Once","args":{"a":1,"b":{"c":[]}}`, `{"class":"Once","args":[{"a":1,"b":{"c":[]}}]}`},
		"a text":             {`"class":"Once","args":"one"`, `{"class":"Once","args":["one"]}`},
		"a number":           {`"class":"Once","args":0`, `{"class":"Once","args":[0]}`},
		"null":               {`"class":"Once","args":null`, `{"class":"Once","args":[]}`},
		"false":              {`"class":"Once","args":false`, `{"class":"Once","args":[]}`},
		"nothing":            {`"class":"Once"`, `{"class":"Once","args":[]}`},
		"a list of lists":    {`"class":"Once","args":[[1],[]]`, `{"class":"Once","args":[[1],[]]}`},
		"a custom job class": {`"class":"Once","custom_job_class":"Unloaded","args":[1]`, `{"class":"Unloaded","args":[1]}`},
		"the usual class":    {`"class":"Once","custom_job_class":"Resque::Job","args":[1]`, `{"class":"Once","args":[1]}`},
		"an unknown class":   {`"class":"Some::Where","args":[1]`, `{"class":"Some::Where","args":[1]}`},
		"this environment":   {`"class":"Once","rails_env":"staging, test"`, `{"class":"Once","args":[]}`},
		"another one":        {`"class":"Once","rails_env":"staging"`, ""},
		"é\n<&>\"#{1}":       {`"class":"Once","args":["of any name"]`, `{"class":"Once","args":["of any name"]}`},
	}
}

// Ruby and Go are the master in turn. What is due is fired by whoever is it, once,
// and comes to the same bytes: also where the next master is there right behind
// it, and where Go's clock is behind, so that the time is still to come for it.
func TestFiredInTurn(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := newBench(t, s)
	const rounds = 2
	setter := startPeer(t, s, "jobs.rb")
	for n := range rounds {
		ruby := startPeer(t, s, "jobs.rb", "scheduler.rb")
		b.goFires(2 * n)
		b.loads(func() { ruby.tell("schedule('dynamic' => true, 'env' => 'test')") })
		at := b.setLines(2*n+1, func(name, config string) { setter.do("Resque.set_schedule(%s, JSON.parse(%s))", name, config) })
		b.fired(2*n+1, at)
		ruby.signal(syscall.SIGTERM)
		ruby.ended()
	}
	b.goFires(2 * rounds)
	for name, f := range firings() {
		var want any
		if f.element != "" {
			want = redistest.List(slices.Repeat([]string{f.element}, 2*rounds+1))
		}
		if diff := cmp.Diff(want, s.Get("queue:"+name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got := s.Get("failed"); got != nil {
		t.Errorf("failed: %v", got)
	}
}

// goFires has Go fire, after it has passed by what Ruby fired before.
func (b *bench) goFires(turn int) {
	b.t.Helper()
	schedules, clock := scheduler.NewSchedules(b.client), &jumpingClock{}
	clock.behind.Store(int64(time.Minute))
	master, stop := b.scheduleWith(scheduler.Config{
		Interval: 100 * time.Millisecond, Schedules: schedules, Dynamic: true, Env: "test", Clock: clock,
	})
	b.mastered()
	soon := func() (n int) {
		for _, at := range master.Planned() {
			if time.Until(at) < time.Hour {
				n++
			}
		}
		return n
	}
	if turn > 0 {
		b.eventually("about to fire what Ruby fired", func() bool { return soon() == len(firings())-1 })
	}
	clock.behind.Store(0)
	b.eventually("without anything to fire", func() bool { return soon() == 0 })
	at := b.setLines(turn, func(name, config string) {
		job, err := scheduler.ParseRecurring([]byte(config))
		if err == nil {
			err = schedules.Set(b.t.Context(), name, job)
		}
		if err != nil {
			b.t.Fatal(err)
		}
	})
	b.fired(turn, at)
	stop()
}

// jumpingClock is behind the system's until it isn't any more.
type jumpingClock struct{ behind atomic.Int64 }

func (c *jumpingClock) Now() time.Time { return time.Now().Add(-time.Duration(c.behind.Load())) }

func (c *jumpingClock) Sleep(ctx context.Context, d time.Duration) error {
	return resque.SystemClock().Sleep(ctx, d)
}

// setLines sets all forms for one moment, which comes once a year.
func (b *bench) setLines(turn int, set func(name, config string)) time.Time {
	b.t.Helper()
	for name, f := range firings() {
		if n := b.firings(name); n != turn && f.element != "" {
			b.t.Fatalf("before turn %d: %s was fired %d times", turn, name, n)
		}
	}
	at := time.Now().Add(5 * time.Second).Truncate(time.Second)
	line := at.Format("5 4 15 2 1 *")
	for name, f := range firings() {
		set(name, fmt.Sprintf(`{"cron":%q,"queue":%s,"description":"turn %d","persist":true,%s}`, line, mustJSON(b.t, name), turn, f.form))
	}
	return at
}

// fired waits until each form has been fired in this turn as well.
func (b *bench) fired(turn int, at time.Time) {
	b.t.Helper()
	for name, f := range firings() {
		if f.element != "" {
			b.eventually(fmt.Sprintf("fired at %v: %s", at, name), func() bool { return b.firings(name) > turn })
		}
	}
}

// firings is how often a form has been fired.
func (b *bench) firings(name string) int {
	n, _ := b.server.Do("LLEN", b.server.Key("queue:"+name)).(int64)
	return int(n)
}

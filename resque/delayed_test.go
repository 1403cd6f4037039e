package resque_test

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
)

// C14 resque-scheduler 4.5.0: a job that is due now, or in the running second,
// doesn't wait for a scheduler. The fraction of a time is cut.
func TestDelayed(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	const job, item = `{"class":"X","args":[1]}`, `{"class":"X","args":[1],"queue":"q"}`
	at := func(second int64) map[string]any {
		text := strconv.FormatInt(second, 10)
		return map[string]any{
			"delayed:" + text:        redistest.List{item},
			"timestamps:" + item:     redistest.Set{"delayed:" + text},
			"delayed_queue_schedule": redistest.ZSet{text: float64(second)},
		}
	}
	atOnce := map[string]any{"queues": redistest.Set{"q"}, "queue:q": redistest.List{job}}
	for _, test := range []struct {
		name string
		now  time.Time
		in   time.Duration
		want map[string]any
	}{
		{"now", now, 0, atOnce},
		{"an hour ago", now, -time.Hour, atOnce},
		{"long ago", now, -1_000_000 * time.Hour, atOnce},
		{"within the second", now, 400 * time.Millisecond, atOnce},
		{"the next second, half a second away", now.Add(600 * time.Millisecond), 500 * time.Millisecond, at(now.Unix() + 1)},
		{"a minute", now, time.Minute, at(now.Unix() + 60)},
		{"2.9 s", now, 2900 * time.Millisecond, at(now.Unix() + 2)},
		{"9 years", now, 9 * 365 * 24 * time.Hour, at(now.Unix() + 9*365*86400)},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				c := dialTest(t, s, s.URL(), func(o *resque.Options) { o.Clock = &fixedClock{now: test.now} })
				if err := c.EnqueueIn(t.Context(), test.in, "q", "X", 1); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.want, s.Dump()); diff != "" {
					t.Error("in:", diff)
				}
				for _, name := range s.Names() {
					s.Do("DEL", s.Key(name))
				}
				zone := time.FixedZone("east", 5*3600)
				if err := c.EnqueueAt(t.Context(), test.now.Add(test.in).In(zone), "q", "X", 1); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.want, s.Dump()); diff != "" {
					t.Error("at:", diff)
				}
			})
		})
	}
}

// C5 resque/resque-scheduler#194: a time that is given as a delay.
func TestDelaysHaveABound(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, test := range []struct {
		bound time.Duration
		in    time.Duration
		ok    bool
	}{
		{0, 1_700_000_000 * time.Second, false},
		{0, 10*365*24*time.Hour + time.Second, false},
		{0, 10 * 365 * 24 * time.Hour, true},
		{time.Hour, time.Hour, true},
		{time.Hour, time.Hour + time.Second, false},
		{-1, 1_700_000_000 * time.Second, true},
	} {
		c := dialTest(t, s, s.URL(), func(o *resque.Options) { o.Clock, o.MaxDelay = &fixedClock{now: now}, test.bound })
		if err := c.EnqueueAt(t.Context(), time.Unix(math.MaxInt64, 0), "q", "X"); test.bound >= 0 && err == nil {
			t.Errorf("%+v: a time beyond all bounds is accepted", test)
		}
		err := c.EnqueueIn(t.Context(), test.in, "q", "X")
		if ok := err == nil; ok != test.ok || !ok && !strings.Contains(err.Error(), "Options.MaxDelay") {
			t.Errorf("%+v: %v", test, err)
		}
	}
}

// counting gives another text each time it is asked.
type counting struct{ n int }

func (c *counting) MarshalJSON() ([]byte, error) {
	c.n++
	return []byte(strconv.Itoa(c.n)), nil
}

// A11 resque/resque-scheduler#599: a job that was encoded twice came out
// differently, and its timestamps:* key stayed for ever.
func TestArgumentsAreEncodedOnce(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	c := dialTest(t, s, s.URL(), nil)
	argument := &counting{}
	if err := c.EnqueueIn(t.Context(), time.Hour, "q", "X", argument); err != nil {
		t.Fatal(err)
	}
	const item = `{"class":"X","args":[1],"queue":"q"}`
	if argument.n != 1 || s.Get("timestamps:"+item) == nil {
		t.Error(argument.n, s.Names())
	}
	for _, name := range s.Names() {
		if strings.HasPrefix(name, "delayed:") {
			if diff := cmp.Diff(redistest.List{item}, s.Get(name)); diff != "" {
				t.Error(diff)
			}
		}
	}
}

// C2 actionhero/node-resque#24: a connection that is lost anywhere leaves a delayed
// job whole, or absent, and absent only with an error.
func TestALostConnectionNeverLeavesHalfADelayedJob(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		p := redistest.NewProxy(t, s.URL())
		faults := 0
		for _, verdict := range []redistest.Verdict{redistest.DropRequest, redistest.CutReply, redistest.DropReply, redistest.Duplicate, redistest.Postpone} {
			for cut := 0; ; cut++ {
				for _, name := range s.Names() {
					s.Do("DEL", s.Key(name))
				}
				if s.Mini() != nil {
					s.Do("SCRIPT", "FLUSH") // so that the script's text is a step of its own
				}
				c := dialTest(t, s, p.URL(), nil)
				seen := 0
				p.SetRule(func(redistest.Request) redistest.Verdict {
					seen++
					if seen-1 == cut {
						return verdict
					}
					return redistest.Pass
				})
				err := c.EnqueueIn(t.Context(), time.Hour, "q", "X", 1)
				p.SetRule(nil)
				wholeDelayedJobs(t, s, err)
				p.ReleaseLate()
				wholeDelayedJobs(t, s, err)
				if seen <= cut {
					break
				}
				faults++
			}
		}
		if faults < 5 {
			t.Errorf("only %d faults", faults)
		}
	})
}

func wholeDelayedJobs(t *testing.T, s *redistest.Server, err error) {
	t.Helper()
	keys := s.Dump()
	schedule, _ := keys["delayed_queue_schedule"].(redistest.ZSet)
	lists := 0
	for name, value := range keys {
		second, ok := strings.CutPrefix(name, "delayed:")
		if !ok {
			continue
		}
		lists++
		items, _ := value.(redistest.List)
		members, _ := keys["timestamps:"+items[0]].(redistest.Set)
		if _, ok := schedule[second]; !ok || len(members) != 1 || members[0] != name {
			t.Errorf("half a job: %v", keys)
		}
	}
	if len(schedule) != lists || lists == 0 && err == nil {
		t.Errorf("after %v: %v", err, keys)
	}
}

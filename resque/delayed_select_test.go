package resque_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
)

// A selection is bounded by time, by its function and by a number, whoever reads,
// counts, removes or enqueues it.
func TestDelayedSelection(t *testing.T) {
	t.Parallel()
	a, b, c := waitingItem("A", "[1]"), waitingItem("B", "[2]"), waitingItem("C", "[3]")
	before := map[int64][]string{1100: {a, b}, 1200: {c, a}, 1300: {b}}
	at := func(second int64) time.Time { return time.Unix(second, 999) }
	onlyA := func(j resque.DelayedJob) bool { return j.Class == "A" }
	for name, test := range map[string]struct {
		selection resque.DelayedSelection
		want      string // second and class of each
	}{
		"all":               {resque.DelayedSelection{}, "1100A 1100B 1200C 1200A 1300B"},
		"from":              {resque.DelayedSelection{From: at(1200)}, "1200C 1200A 1300B"},
		"until":             {resque.DelayedSelection{Until: at(1200)}, "1100A 1100B"},
		"between":           {resque.DelayedSelection{From: at(1101), Until: at(1300)}, "1200C 1200A"},
		"some":              {resque.DelayedSelection{Match: onlyA}, "1100A 1200A"},
		"some, between":     {resque.DelayedSelection{Match: onlyA, From: at(1101)}, "1200A"},
		"limit":             {resque.DelayedSelection{Limit: 3}, "1100A 1100B 1200C"},
		"limit within page": {resque.DelayedSelection{Limit: 1}, "1100A"},
		"limit of some":     {resque.DelayedSelection{Limit: 1, Match: onlyA, From: at(1101)}, "1200A"},
		"limit beyond":      {resque.DelayedSelection{Limit: 9}, "1100A 1100B 1200C 1200A 1300B"},
		"none":              {resque.DelayedSelection{From: at(1301)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				client := dialTest(t, s, s.URL(), atThousand)
				s.Seed(delayed(before))
				var got []string
				for job, err := range client.Delayed(t.Context(), test.selection) {
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, fmt.Sprint(job.At.Unix(), job.Class))
				}
				want := strings.Fields(test.want)
				if strings.Join(got, " ") != test.want {
					t.Errorf("got %q, want %q", got, test.want)
				}
				if n, err := client.CountDelayed(t.Context(), test.selection); n != int64(len(want)) || err != nil {
					t.Errorf("counted %d, %v", n, err)
				}
				var told resque.DelayedResult
				selection := test.selection
				selection.Progress = func(r resque.DelayedResult) { told = r }
				result, err := client.RemoveDelayedSelection(t.Context(), selection)
				if result.Done != int64(len(want)) || result.Chosen != result.Done || result != told || err != nil {
					t.Errorf("removed %+v, told %+v, %v", result, told, err)
				}
				if n, err := client.DelayedCount(t.Context()); n != int64(5-len(want)) || err != nil {
					t.Errorf("%d wait, %v", n, err)
				}
			})
		})
	}
}

// Who has seen enough leaves; nothing more is read.
func TestDelayedIsLeft(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		c := dialTest(t, s, s.URL(), atThousand)
		numbered(t, c, 1100, 3000)
		proxy := redistest.NewProxy(t, s.URL())
		through := dialTest(t, s, proxy.URL(), nil)
		met := 0
		for job, err := range through.Delayed(t.Context(), resque.DelayedSelection{}) {
			if met++; number(t, job.Entry) == 1 || err != nil {
				break
			}
		}
		pages := 0
		for _, r := range proxy.Seen() {
			if r.Is("EVALSHA") {
				pages++
			}
		}
		if met != 2 || pages != 1 {
			t.Errorf("met %d, read %d pages", met, pages)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for job, err := range c.Delayed(ctx, resque.DelayedSelection{}) {
			if err == nil || job.Raw != nil {
				t.Errorf("met %+v, %v", job, err)
			}
		}
	})
}

// Pages are bounded by bytes: large jobs come in many.
func TestPagesOfLargeJobs(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		const jobs, size = 14, 700_000 // of which three make a page
		proxy := redistest.NewProxy(t, s.URL())
		c := dialTest(t, s, proxy.URL(), atThousand)
		large := strings.Repeat("x", size)
		for i := range jobs {
			second := time.Unix(int64(1100+i%2), 0)
			if err := c.EnqueueAt(t.Context(), second, "q", "A", large, i); err != nil {
				t.Fatal(err)
			}
			if err := c.Enqueue(t.Context(), "q", "A", large, i); err != nil {
				t.Fatal(err)
			}
		}
		pagesOf := func(call func() (int64, error)) int {
			seen := len(proxy.Seen())
			if n, err := call(); n != jobs || err != nil {
				t.Errorf("%d, %v", n, err)
			}
			pages := 0
			for _, r := range proxy.Seen()[seen:] {
				if r.Is("EVALSHA") && r.Args[len(r.Args)-1] == "2097152" {
					pages++
				}
			}
			return pages
		}
		if n := pagesOf(func() (int64, error) { return c.DequeueClass(t.Context(), "q", "A") }); n < jobs/3 {
			t.Errorf("a queue in %d pages", n)
		}
		if n := pagesOf(func() (int64, error) {
			return c.EnqueueDelayedFunc(t.Context(), func(resque.DelayedJob) bool { return true })
		}); n < jobs/3 {
			t.Errorf("delayed jobs in %d pages", n)
		}
		if diff := cmp.Diff([]string{"queue:q", "queues"}, s.Names()); diff != "" {
			t.Error(diff)
		}
	})
}

// What keeps one job from being changed keeps no other: notes that are none, a
// queue that is no list.
func TestDelayedSelectionOfBrokenKeys(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		a, b := waitingItem("A", "[1]"), waitingItem("B", "[2]")
		odd := `{"class":"C","args":[],"queue":"odd"}`
		seed := func() {
			s.Seed(delayed(map[int64][]string{1100: {a, odd, b}, 1200: {odd, a}}))
			s.Do("DEL", s.Key("timestamps:"+a))
			s.Seed(map[string]any{"timestamps:" + a: "a text", "queue:odd": "a text"})
		}
		c := dialTest(t, s, s.URL(), atThousand)
		seed()
		result, err := c.EnqueueDelayedSelection(t.Context(), resque.DelayedSelection{})
		if result != (resque.DelayedResult{Seen: 5, Chosen: 5, Done: 3}) || resque.ErrorCode(err) != "WRONGTYPE" ||
			!strings.Contains(err.Error(), "of 1100 stays: ") || !strings.Contains(err.Error(), s.Key("queue:odd")) {
			t.Errorf("%+v, %v", result, err)
		}
		want := delayed(map[int64][]string{1100: {odd}, 1200: {odd}})
		want["queues"], want["queue:q"] = redistest.Set{"q"}, redistest.List{`{"class":"A","args":[1]}`, `{"class":"B","args":[2]}`, `{"class":"A","args":[1]}`}
		want["timestamps:"+a], want["queue:odd"] = "a text", "a text"
		if diff := cmp.Diff(want, s.Dump()); diff != "" {
			t.Error(diff)
		}
		s.Do("DEL", s.Key("queue:q"), s.Key("queues"))
		for _, name := range s.Names() {
			s.Do("DEL", s.Key(name))
		}
		seed()
		if err := c.ResetDelayed(t.Context()); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(map[string]any{"timestamps:" + a: "a text", "queue:odd": "a text"}, s.Dump()); diff != "" {
			t.Error(diff)
		}
	})
}

// A job is enqueued as its item says, in Ruby's terms, as it would be when its
// time has come.
func TestEnqueueDelayedSelectionItems(t *testing.T) {
	t.Parallel()
	for item, want := range map[string][2]string{
		`{"class":"A","args":[1],"queue":"q","custom_job_class":"B"}`:           {"q", `{"class":"B","args":[1]}`},
		`{"class":"A","args":[1],"queue":"q","custom_job_class":"Resque::Job"}`: {"q", `{"class":"A","args":[1]}`},
		`{"class":"A","args":[1],"queue":"q","custom_job_class":null}`:          {"q", `{"class":"A","args":[1]}`},
		`{"class":"A","args":[1],"queue":7}`:                                    {"7", `{"class":"A","args":[1]}`},
		`{"class":"A","args":false,"queue":"q"}`:                                {"q", `{"class":"A","args":[]}`},
		`{"class":"A","args":[1],"queue":false}`:                                {},
		`{"class":"","args":[1],"queue":"q"}`:                                   {},
	} {
		t.Run(item, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				s.Seed(delayed(map[int64][]string{1100: {item}}))
				var hooked []string
				c := dialTest(t, s, s.URL(), func(o *resque.Options) {
					o.Hooks.AfterEnqueue = func(_ context.Context, job resque.NewJob) { hooked = append(hooked, job.Class) }
				})
				result, err := c.EnqueueDelayedSelection(t.Context(), resque.DelayedSelection{})
				if want[0] == "" {
					if result.Done != 0 || err == nil || !strings.Contains(err.Error(), "names no class or no queue") {
						t.Errorf("%+v, %v", result, err)
					}
					return
				}
				if result.Done != 1 || err != nil || len(hooked) != 1 || !strings.Contains(want[1], `"`+hooked[0]+`"`) {
					t.Errorf("%+v, %v, hooks saw %q", result, err, hooked)
				}
				if diff := cmp.Diff(map[string]any{"queues": redistest.Set{want[0]}, "queue:" + want[0]: redistest.List{want[1]}}, s.Dump()); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// The schedule may hold anything: members that are no seconds, scores that aren't
// their members', infinite ones, more of one score than a page has.
func TestDelayedWithAnOddSchedule(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		job := waitingItem("A", "[1]")
		s.Seed(delayed(map[int64][]string{-7: {job}, 1100: {job}, 1200: {job}, 1300: {job}}))
		schedule := s.Key("delayed_queue_schedule")
		s.Do("ZADD", schedule, "-inf", "-inf", "inf", "inf", "12.5", "12.5", "1100", "1100.5", 5, "", 5, "soon\xff",
			"1e300", "1200", 6, "0x10", 6, "99999999999999999999", "inf", "9223372036854775807")
		for _, score := range []string{"5", "1100.25", "inf"} {
			tied := []any{schedule}
			for i := range 1500 {
				tied = append(tied, score, fmt.Sprintf("%s of %d", score, i))
			}
			s.Do("ZADD", tied...)
		}
		s.Do("ZADD", schedule, "1100.25", "1250", "inf", "1300")
		s.Seed(map[string]any{"delayed:1250": redistest.List{job}, "delayed:12.5": redistest.List{job}, "delayed:inf": redistest.List{job}, "delayed:soon\xff": redistest.List{job}, "delayed:9223372036854775807": redistest.List{job}})
		c := dialTest(t, s, s.URL(), atThousand)
		want := []int64{-7, 5, 12, 1100, 1250, 1200, 1300, 9223372036854775807, 1 << 62}
		times, err := c.DelayedTimes(t.Context(), 0, 100)
		if diff := cmp.Diff(want, seconds(times)); diff != "" || err != nil {
			t.Error(diff, err)
		}
		n1, err1 := c.DelayedCount(t.Context())
		n2, err2 := c.DelayedTimesCount(t.Context())
		n3, err3 := c.CountDelayed(t.Context(), resque.DelayedSelection{From: time.Unix(1101, 0)})
		if n1 != 9 || n2 != 9 || n3 != 5 || err1 != nil || err2 != nil || err3 != nil {
			t.Error(n1, n2, n3, err1, err2, err3)
		}
		if at, ok, err := c.NextDelayedTime(t.Context(), time.Unix(1000, 0)); !ok || at.Unix() != -7 || err != nil {
			t.Error(at, ok, err)
		}
		result, err := c.RemoveDelayedSelection(t.Context(), resque.DelayedSelection{})
		if result.Done != 9 || err != nil {
			t.Errorf("%+v, %v", result, err)
		}
		if n := s.Do("ZCARD", schedule); n != int64(4500+5) {
			t.Errorf("%v members are left", n)
		}
		if err := c.ResetDelayed(t.Context()); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{}, s.Names()); diff != "" {
			t.Error(diff)
		}
	})
}

// Many copies of one job go in several steps, and are counted once each, also
// those that move to the end of their own second.
func TestDelayedChangeOfManyCopies(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		argument string
		copies   int
	}{
		"many":  {"", 2300},
		"large": {strings.Repeat("x", 300_000), 7},
	} {
		for call, change := range map[string]func(ctx context.Context, c *resque.Client) (int64, error){
			"remove": func(ctx context.Context, c *resque.Client) (int64, error) {
				return c.RemoveDelayed(ctx, "q", "A", test.argument)
			},
			"now": func(ctx context.Context, c *resque.Client) (int64, error) {
				return c.EnqueueDelayed(ctx, "q", "A", test.argument)
			},
			"off": func(ctx context.Context, c *resque.Client) (int64, error) {
				return c.DelayOrEnqueueAt(ctx, time.Unix(1400, 0), "q", "A", test.argument)
			},
			"off to its own second": func(ctx context.Context, c *resque.Client) (int64, error) {
				return c.DelayOrEnqueueAt(ctx, time.Unix(1200, 0), "q", "A", test.argument)
			},
		} {
			t.Run(name+" "+call, func(t *testing.T) {
				t.Parallel()
				redistest.Each(t, func(t *testing.T, s *redistest.Server) {
					a, b := waitingItem("A", `["`+test.argument+`"]`), waitingItem("B", "[1]")
					many := append([]string{b}, slices.Repeat([]string{a}, test.copies)...)
					s.Seed(delayed(map[int64][]string{1100: {a, b}, 1200: append(many, b), 1300: {a}}))
					proxy := redistest.NewProxy(t, s.URL())
					c := dialTest(t, s, proxy.URL(), atThousand)
					n, err := change(t.Context(), c)
					if n != int64(test.copies+2) || err != nil {
						t.Errorf("%d, %v", n, err)
					}
					all := slices.Repeat([]string{a}, test.copies+2)
					want := map[string]map[string]any{
						"remove": delayed(map[int64][]string{1100: {b}, 1200: {b, b}}),
						"now": state(map[int64][]string{1100: {b}, 1200: {b, b}},
							map[string][]string{"q": slices.Repeat([]string{`{"class":"A","args":["` + test.argument + `"]}`}, test.copies+2)}),
						"off":                   delayed(map[int64][]string{1100: {b}, 1200: {b, b}, 1400: all}),
						"off to its own second": delayed(map[int64][]string{1100: {b}, 1200: append([]string{b, b}, all...)}),
					}[call]
					if diff := cmp.Diff(want, s.Dump()); diff != "" {
						t.Errorf("%.2000s", diff)
					}
					steps := 0
					for _, r := range proxy.Seen() {
						if r.Is("EVALSHA") {
							steps++
						}
					}
					if steps < 3 {
						t.Errorf("it took %d steps", steps)
					}
				})
			})
		}
	}
}

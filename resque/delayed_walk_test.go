package resque_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
)

// numbered delays jobs with the arguments [0], [1], … for one second.
func numbered(t *testing.T, c *resque.Client, second int64, count int) {
	t.Helper()
	jobs := make([]resque.NewJob, count)
	for i := range jobs {
		jobs[i] = resque.NewJob{Queue: "q", Class: "A", Args: []any{i}, At: time.Unix(second, 0)}
	}
	if _, err := c.EnqueueMany(t.Context(), jobs...); err != nil {
		t.Fatal(err)
	}
}

// number is the argument of such a job.
func number(t *testing.T, e resque.Entry) int {
	t.Helper()
	n, err := strconv.Atoi(string(e.Args[1 : len(e.Args)-1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func atThousand(o *resque.Options) { o.Clock = &fixedClock{now: time.Unix(1000, 0)} }

// A second with many jobs is read page by page, and each job is asked about once,
// in order.
func TestDelayedFuncReadsPages(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		const long = 2100
		proxy := redistest.NewProxy(t, s.URL())
		c := dialTest(t, s, proxy.URL(), atThousand)
		numbered(t, c, 1100, 7)
		numbered(t, c, 1200, long)
		numbered(t, c, 1300, 7)
		seen := len(proxy.Seen())
		var asked []string
		n, err := c.RemoveDelayedFunc(t.Context(), func(j resque.DelayedJob) bool {
			asked = append(asked, fmt.Sprint(j.At.Unix(), number(t, j.Entry)))
			return number(t, j.Entry)%3 != 0
		})
		if n != 4+1400+4 || err != nil {
			t.Errorf("removed %d, %v", n, err)
		}
		var want []string
		for second, count := range []int{7, long, 7} {
			for i := range count {
				want = append(want, fmt.Sprint(1100+100*second, i))
			}
		}
		if diff := cmp.Diff(want, asked); diff != "" {
			t.Error("asked:", diff)
		}
		pages := 0
		for _, r := range proxy.Seen()[seen:] {
			if r.Is("EVALSHA") && len(r.Args) == 7 && strings.HasPrefix(r.Args[3], s.Key("delayed:")) {
				pages++
				first, err1 := strconv.Atoi(r.Args[4])
				count, err2 := strconv.Atoi(r.Args[5])
				if r.Args[2] != "1" || err1 != nil || err2 != nil || first < 0 || count < 1 || count > 5000 || r.Args[3] == s.Key("delayed:1200") && count > 1100 {
					t.Errorf("it read %v", r.Args[2:])
				}
			}
		}
		if pages < 5 {
			t.Errorf("it read %d pages", pages)
		}
		for i, want := 0, 0; want < long; i, want = i+1, want+3 {
			if entries, err := c.DelayedAt(t.Context(), time.Unix(1200, 0), int64(i), 1); err != nil || len(entries) != 1 || number(t, entries[0]) != want {
				t.Fatalf("at %d: %+v, %v, want %d", i, entries, err, want)
			}
		}
	})
}

// Among jobs with the same text it is the one that was asked about that goes: the
// others keep their order, and their notes.
func TestDelayedFuncAmongTwins(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		var before, after []string
		for i := range 1700 {
			item := waitingItem("A", fmt.Sprintf("[%d]", i%850)) // its twin is 850 places away, and stays
			before = append(before, item)
			if i%3 != 0 {
				after = append(after, item)
			}
		}
		s.Seed(delayed(map[int64][]string{1100: before[:800], 1200: before}))
		c := dialTest(t, s, s.URL(), atThousand)
		asked := -1
		n, err := c.RemoveDelayedFunc(t.Context(), func(j resque.DelayedJob) bool {
			if j.At.Unix() == 1100 {
				return false
			}
			if asked++; asked == 1000 { // of those removed so far some have twins that wait
				for _, i := range []int{0, 3, 600} {
					if times, err := c.ScheduledAt(t.Context(), "q", "A", i); len(times) != 2 || err != nil {
						t.Errorf("%d waits for %v, %v", i, times, err)
					}
				}
			}
			return asked%3 == 0
		})
		if n != 567 || err != nil {
			t.Errorf("removed %d, %v", n, err)
		}
		if diff := cmp.Diff(delayed(map[int64][]string{1100: before[:800], 1200: after}), s.Dump()); diff != "" {
			t.Error(diff)
		}
	})
}

// Others take jobs out of the pages that are done: those behind them are asked
// about all the same, and what is chosen goes, nothing else.
func TestDelayedFuncWhileOthersTake(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		take func(s *redistest.Server)
		want int64
	}{
		{"many from the front", func(s *redistest.Server) { s.Do("LTRIM", s.Key("delayed:1200"), 700, -1) }, 2},
		{"one in the middle", func(s *redistest.Server) { s.Do("LREM", s.Key("delayed:1200"), 0, waitingItem("A", "[123]")) }, 2},
		{"almost all", func(s *redistest.Server) { s.Do("LTRIM", s.Key("delayed:1200"), 2090, -1) }, 1},
		{"all", func(s *redistest.Server) { s.Do("DEL", s.Key("delayed:1200")) }, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				c := dialTest(t, s, s.URL(), atThousand)
				numbered(t, c, 1200, 2100)
				asked := map[int]bool{}
				n, err := c.EnqueueDelayedFunc(t.Context(), func(j resque.DelayedJob) bool {
					i := number(t, j.Entry)
					asked[i] = true
					if i == 900 && len(asked) == 901 {
						test.take(s)
					}
					return i == 2050 || i == 2095
				})
				jobs, err2 := c.Peek(t.Context(), "q", 0, 10)
				if n != int64(len(jobs)) || n != test.want || err != nil || err2 != nil {
					t.Errorf("enqueued %d, %d are there, %v, %v", n, len(jobs), err, err2)
				}
				left, err := c.DelayedAt(t.Context(), time.Unix(1200, 0), 0, 2100)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range left {
					if i := number(t, e); !asked[i] || i == 2050 || i == 2095 {
						t.Errorf("%d waits; asked about: %v", i, asked[i])
					}
				}
			})
		})
	}
}

// A second that others change all the time is given up to, not for ever.
func TestDelayedFuncEnds(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		c := dialTest(t, s, s.URL(), atThousand)
		numbered(t, c, 1200, 1100)
		asked := 0
		n, err := c.RemoveDelayedFunc(t.Context(), func(resque.DelayedJob) bool {
			if asked++; asked%100 == 0 {
				s.Do("LPOP", s.Key("delayed:1200"))
				s.Do("RPUSH", s.Key("delayed:1200"), waitingItem("A", fmt.Sprintf("[%d]", 5000+asked)))
			}
			return false
		})
		if n != 0 || err != nil || asked < 1100 || asked > 20*1100 {
			t.Errorf("removed %d, %v, asked %d times", n, err, asked)
		}
	})
}

// A panic of the function passes through. What was decided in pages before is
// done, of this one nothing, and no job is half there.
func TestDelayedFuncPanics(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		c := dialTest(t, s, s.URL(), atThousand)
		numbered(t, c, 1200, 1100)
		func() {
			defer func() {
				if got := recover(); got != "oops" {
					t.Errorf("recovered %v", got)
				}
			}()
			_, _ = c.EnqueueDelayedFunc(t.Context(), func(j resque.DelayedJob) bool {
				if number(t, j.Entry) == 1050 {
					panic("oops")
				}
				return true
			})
		}()
		waiting, err1 := c.DelayedAtCount(t.Context(), time.Unix(1200, 0))
		queued, err2 := c.Size(t.Context(), "q")
		if waiting != 100 || queued != 1000 || err1 != nil || err2 != nil {
			t.Errorf("%d wait, %d are queued, %v, %v", waiting, queued, err1, err2)
		}
		// The client's connections are free, and the notes are those of the jobs.
		for i, want := range map[int]bool{999: false, 1000: true, 1099: true} {
			if is, err := c.IsDelayed(t.Context(), "q", "A", i); is != want || err != nil {
				t.Errorf("%d waits: %v, %v", i, is, err)
			}
		}
	})
}

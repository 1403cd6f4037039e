package resque_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
)

// delayed are the keys of jobs that wait: items by second.
func delayed(items map[int64][]string) map[string]any {
	keys := map[string]any{}
	schedule := redistest.ZSet{}
	for second, list := range items {
		text := strconv.FormatInt(second, 10)
		schedule[text] = float64(second)
		if len(list) > 0 {
			keys["delayed:"+text] = redistest.List(list)
		}
		for _, item := range list {
			stamps, _ := keys["timestamps:"+item].(redistest.Set)
			if !slices.Contains(stamps, "delayed:"+text) {
				stamps = append(stamps, "delayed:"+text)
			}
			keys["timestamps:"+item] = sortedSet(stamps)
		}
	}
	if len(schedule) > 0 {
		keys["delayed_queue_schedule"] = schedule
	}
	return keys
}

func sortedSet(set redistest.Set) redistest.Set {
	slices.Sort(set)
	return set
}

func waitingItem(class, args string) string {
	return fmt.Sprintf(`{"class":%q,"args":%s,"queue":"q"}`, class, args)
}

// seconds are times as numbers.
func seconds(times []time.Time) []int64 {
	all := []int64{}
	for _, at := range times {
		all = append(all, at.Unix())
	}
	return all
}

// A time without jobs isn't there.
func TestDelayedRead(t *testing.T) {
	t.Parallel()
	a, b := waitingItem("A", "[1]"), waitingItem("B", `["ß"]`)
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		c := dialTest(t, s, s.URL(), nil)
		s.Seed(delayed(map[int64][]string{100: {a, b, a}, 200: {}, 300: {a}, 400: {"no job"}, 500: {`{"class":"C"}`}}))
		// Members that are no seconds, and a time whose list is none.
		s.Do("ZADD", s.Key("delayed_queue_schedule"), 50, "soon", 150.5, "150.5", 600, "600")
		s.Seed(map[string]any{"delayed:600": "a text", "delayed:last_enqueued_at": redistest.Hash{"x": "y"}})
		ctx := t.Context()

		for _, test := range []struct {
			start, count int64
			want         []int64
		}{
			{0, 100, []int64{100, 300, 400, 500}},
			{1, 2, []int64{300, 400}},
			{4, 1, []int64{}},
			{0, 0, []int64{}},
			{-3, 1, []int64{300}},
			{-2, 5, []int64{400, 500}},
			{-6, 3, []int64{100}},
			{-9, 1, []int64{}},
		} {
			if times, err := c.DelayedTimes(ctx, test.start, test.count); err != nil || !cmp.Equal(seconds(times), test.want) {
				t.Errorf("times from %d, %d of them: %v, %v", test.start, test.count, times, err)
			}
		}
		if n, err := c.DelayedTimesCount(ctx); n != 4 || err != nil {
			t.Errorf("%d times, %v", n, err)
		}
		if n, err := c.DelayedCount(ctx); n != 6 || err != nil {
			t.Errorf("%d jobs, %v", n, err)
		}
		if n, err := c.DelayedAtCount(ctx, time.Unix(100, 999_999_999)); n != 3 || err != nil {
			t.Errorf("%d jobs at 100, %v", n, err)
		}
		for before, want := range map[int64]int64{99: 0, 100: 100, 1000: 100} {
			at, ok, err := c.NextDelayedTime(ctx, time.Unix(before, 0))
			if ok != (want > 0) || ok && at.Unix() != want || !ok && !at.IsZero() || err != nil {
				t.Errorf("the next before %d: %v, %v, %v", before, at, ok, err)
			}
		}

		entries, err := c.DelayedAt(ctx, time.Unix(100, 0), 1, 10)
		want := []shown{{class: "B", args: `["ß"]`, raw: b}, {class: "A", args: "[1]", raw: a}}
		if diff := cmp.Diff(want, show(entries...), cmp.AllowUnexported(shown{})); diff != "" || err != nil || entries[0].Queue != "q" {
			t.Error(diff, err)
		}
		for second, queue := range map[int64]string{400: "", 500: ""} {
			if entries, err := c.DelayedAt(ctx, time.Unix(second, 0), 0, 1); len(entries) != 1 || entries[0].Queue != queue || err != nil {
				t.Errorf("at %d: %+v, %v", second, entries, err)
			}
		}
		if _, err := c.DelayedAt(ctx, time.Unix(600, 0), 0, 1); resque.ErrorCode(err) != "WRONGTYPE" {
			t.Errorf("of what is no list: %v", err)
		}

		if times, err := c.ScheduledAt(ctx, "q", "A", 1); err != nil || !cmp.Equal(seconds(times), []int64{100, 300}) {
			t.Errorf("A waits for %v, %v", times, err)
		}
		for queue, want := range map[string]bool{"q": true, "other": false} {
			if is, err := c.IsDelayed(ctx, queue, "B", "ß"); is != want || err != nil {
				t.Errorf("B on %s: %v, %v", queue, is, err)
			}
		}
	})
}

// C10 resque/resque-scheduler#822: counting the jobs of many times takes few
// round trips. This Redis answers about the lists of a page only when it has been
// asked about all of them.
func TestDelayedCountOfMany(t *testing.T) {
	t.Parallel()
	const times, page = 20_000, 1000
	pages, asked := 0, 0
	url := redistest.NewFake(t, func(args []string) string {
		switch args[0] {
		case "PING":
			return "+PONG\r\n"
		case "ZRANGEBYSCORE":
			var rows strings.Builder
			first := pages * page
			count := min(page, times-first)
			fmt.Fprintf(&rows, "*%d\r\n", 2*count)
			for i := first; i < first+count; i++ {
				fmt.Fprintf(&rows, "$5\r\n%d\r\n$5\r\n%d\r\n", 10_000+i, 10_000+i)
			}
			pages++
			return rows.String()
		case "LLEN":
			if asked++; asked%page == 0 {
				return strings.Repeat(":3\r\n", page)
			}
			return ""
		}
		return "-ERR unknown command\r\n"
	})
	c, err := resque.Open(t.Context(), url, resque.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := c.DelayedCount(t.Context()); n != 3*times || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if pages != times/page+1 || asked != times {
		t.Errorf("asked for %d pages and %d lists", pages, asked)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// Times beyond the first page are found, and a Redis that doesn't tell how many
// jobs a time has is an error.
func TestDelayedTimesOfMany(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		items := map[int64][]string{}
		for i := range int64(2500) {
			items[1000+i] = []string{"x"}
		}
		s.Seed(delayed(items))
		c := dialTest(t, s, s.URL(), nil)
		if times, err := c.DelayedTimes(t.Context(), 2400, 1000); len(times) != 100 || err != nil || times[0].Unix() != 3400 {
			t.Errorf("the last ones: %v, %v", times, err)
		}
	})
	url := redistest.NewFake(t, func(args []string) string {
		switch args[0] {
		case "PING":
			return "+PONG\r\n"
		case "ZRANGEBYSCORE":
			return "*2\r\n$1\r\n7\r\n$1\r\n7\r\n"
		}
		return "-NOPERM no\r\n"
	})
	c, err := resque.Open(t.Context(), url, resque.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := c.DelayedCount(t.Context()); n != 0 || resque.ErrorCode(err) != "NOPERM" {
		t.Errorf("%d, %v", n, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

package scheduler_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/scheduler"
)

// C9 resque/resque-scheduler#540, #640, #767: hundreds of jobs of a second, moved
// one by one, took minutes. Here whatever waits goes in one pass, in steps each of
// which is bounded by items, by times and by bytes, so that none keeps Redis from
// others for long (BenchmarkLongestCall measures for how long).
func TestStepsAreBounded(t *testing.T) {
	t.Parallel()
	const big = 100_000 // bytes of the largest item
	tests := []struct {
		name  string
		jobs  int
		item  func(i int) (second int, item string)
		calls int // at most
	}{
		{"50000 jobs of a second", 50_000, func(i int) (int, string) { return now, small(i) }, 3*50_000/scheduler.DefaultBatch + 10},
		{"as many seconds as jobs", 3000, func(i int) (int, string) { return now - i, small(i) }, 3*3000/scheduler.TimesPerCall + 10},
		{"large and small ones", 150, func(i int) (int, string) {
			size := []int{0, big, 5000}[i%3]
			return now - i/40, fmt.Sprintf(`{"class":"A","args":[%d,%q],"queue":"q"}`, i, strings.Repeat("x", size))
		}, 150},
		{"as many queues as jobs", 1500, func(i int) (int, string) {
			return now, fmt.Sprintf(`{"class":"A","args":[],"queue":"q%d"}`, i)
		}, 20},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, server *redistest.Server) {
				lists := map[int][]any{}
				for i := range test.jobs {
					second, item := test.item(i)
					lists[second] = append(lists[second], item)
				}
				for second, items := range lists {
					server.Do("RPUSH", append([]any{server.Key("delayed:" + strconv.Itoa(second))}, items...)...)
					server.Do("ZADD", server.Key("delayed_queue_schedule"), second, second)
				}
				proxy := redistest.NewProxy(t, server.URL())
				tick(t, newScheduler(t, open(t, proxy.URL(), server.Namespace()), scheduler.Config{}), test.jobs)
				if calls := len(proxy.Seen()); calls > test.calls {
					t.Errorf("%d calls", calls)
				}
				for _, request := range proxy.Seen() {
					checkBounds(t, request.Args, big)
				}
				if left := server.Do("EXISTS", server.Key("delayed_queue_schedule")); left != int64(0) {
					t.Error("the schedule is not empty")
				}
			})
		})
	}
}

func small(i int) string { return fmt.Sprintf(`{"class":"A","args":[%d],"queue":"q"}`, i) }

// checkBounds looks at a command that a pass sent. An item is in it twice: as a key
// and as what is pushed.
func checkBounds(t *testing.T, args []string, big int) {
	t.Helper()
	bytes := 0
	for _, arg := range args {
		bytes += len(arg)
	}
	const names = 100 // bytes of a key, generously
	if most := 2*(scheduler.BatchBytes+big) + (2*scheduler.DefaultBatch+scheduler.TimesPerCall)*names; bytes > most {
		t.Errorf("%d bytes in one call, want %d at most", bytes, most)
	}
	switch {
	case args[0] == "ZRANGEBYSCORE":
		if args[6] != strconv.Itoa(scheduler.TimesPerCall) {
			t.Errorf("reads %v", args[4:])
		}
	case args[0] == "EVALSHA" && args[1] == scheduler.MoveSHA():
		keys, _ := strconv.Atoi(args[2])
		times, _ := strconv.Atoi(args[3+keys+2])
		queues, _ := strconv.Atoi(args[3+keys+3])
		if items := keys - 4 - times - queues; items > scheduler.DefaultBatch || times > scheduler.TimesPerCall || items == 0 {
			t.Errorf("moves %d items of %d times in one call", items, times)
		}
	}
}

// Times that can't be moved are passed over once in a pass, however many they are
// and whatever their scores.
func TestManyBadTimesFirst(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		const each, jobs = 2 * scheduler.TimesPerCall, 300 // whole pages of bad ones, a good one behind
		schedule := server.Key("delayed_queue_schedule")
		for i := range each {
			for member, score := range map[string]any{
				"tied " + strconv.Itoa(i): 5, "first " + strconv.Itoa(i): "-inf", strconv.Itoa(1000 + i): 1000 + i, "part " + strconv.Itoa(i): 2000 + float64(i)/7,
			} {
				server.Do("SET", server.Key("delayed:"+member), "text")
				server.Do("ZADD", schedule, score, member)
			}
		}
		for i := range jobs {
			push(server, strconv.Itoa(i*900-1), small(i)) // among the bad ones, too
		}
		proxy := redistest.NewProxy(t, server.URL())
		lines := &log{}
		s := newScheduler(t, open(t, proxy.URL(), server.Namespace()), scheduler.Config{Logger: lines.logger()})
		tick(t, s, jobs)
		looks := 0
		for _, request := range proxy.Seen() {
			if request.Is("ZRANGEBYSCORE") {
				looks++
				checkBounds(t, request.Args, 0)
				if skipped, err := strconv.Atoi(request.Args[5]); err != nil || skipped > each {
					t.Errorf("skips %s times from %s on, where %d are tied", request.Args[5], request.Args[2], each)
				}
			}
		}
		if most := 2 + 2*(4*each+jobs)/scheduler.TimesPerCall; looks > most {
			t.Errorf("looked %d times, want %d at most", looks, most)
		}
		checkQueue(t, server, "q", jobs)
		tick(t, s, 0)
		if n := server.Do("ZCARD", schedule); n != int64(4*each) {
			t.Errorf("%v bad times are left", n)
		}
		if n := len(lines.messages()); n != 4*each {
			t.Errorf("%d lines in the log", n)
		}
	})
}

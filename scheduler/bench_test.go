package scheduler_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
	"example.com/understudy/scheduler"
)

// shape is what waits when a pass begins.
type shape struct {
	name string
	fill func(f *filler)
}

func shapes() []shape {
	return []shape{
		inOneSecond(100_000),
		inOneSecond(1_000_000),
		inSeconds(20_000),
		{"20000 queues", func(f *filler) {
			for i := range 20_000 {
				f.job(now, "q"+strconv.Itoa(i), i)
			}
		}},
		{"2000 jobs of up to 100 kB", func(f *filler) {
			for i := range 2000 {
				f.job(now-i/50, "q", i, strings.Repeat("x", i%10*11_111))
			}
		}},
		{"20000 times behind as many that are no list", func(f *filler) {
			for i := range 20_000 {
				f.call("SET", "delayed:"+strconv.Itoa(i), "text")
				f.call("ZADD", "delayed_queue_schedule", i, i)
				f.job(now-i, "q", i)
			}
		}},
		{"20000 times without jobs", func(f *filler) {
			for i := range 20_000 {
				f.call("ZADD", "delayed_queue_schedule", i, i)
			}
		}},
	}
}

func inOneSecond(jobs int) shape {
	return shape{fmt.Sprintf("%d jobs of one second", jobs), func(f *filler) {
		for i := range jobs {
			f.job(now, "q", i)
		}
	}}
}

func inSeconds(seconds int) shape {
	return shape{fmt.Sprintf("%d seconds", seconds), func(f *filler) {
		for i := range seconds {
			f.job(now-i, "q", i)
		}
	}}
}

// BenchmarkLongestCall tells for how long at most a pass keeps Redis from others,
// by Redis's own account.
func BenchmarkLongestCall(b *testing.B) {
	for _, shape := range shapes() {
		b.Run(shape.name, func(b *testing.B) {
			f := newFiller(b)
			f.server.Do("CONFIG", "SET", "slowlog-max-len", 1_000_000)
			slowlog := func(slowerThan time.Duration) {
				f.server.Do("CONFIG", "SET", "slowlog-log-slower-than", slowerThan.Microseconds())
			}
			var took, longest time.Duration
			for b.Loop() {
				slowlog(time.Hour)
				f.fill(shape)
				f.server.Do("SLOWLOG", "RESET")
				slowlog(0)
				took += f.ours(f.client)
				slowlog(time.Hour)
				longest = max(longest, f.longest())
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(longest.Microseconds())/1000, "ms-longest-call")
			b.ReportMetric(took.Seconds()/float64(b.N), "s/pass")
		})
	}
}

// BenchmarkMove moves jobs as a scheduler does, and by resque-scheduler's own
// commands and round trips, sent from Go.
func BenchmarkMove(b *testing.B) {
	for _, latency := range []time.Duration{0, time.Millisecond} {
		seconds := 20_000
		if latency > 0 {
			seconds = 1000 // Ruby's round trips take 10 ms each
		}
		for _, shape := range []shape{inOneSecond(100_000), inSeconds(seconds)} {
			b.Run(fmt.Sprintf("%s, Redis %v away", shape.name, latency), func(b *testing.B) {
				f := newFiller(b)
				client := f.client
				if latency > 0 {
					client = f.open(away(b, f.server.Addr(), latency))
				}
				var ours, rubys time.Duration
				jobs := 0
				for b.Loop() {
					f.fill(shape)
					ours += f.ours(client)
					f.fill(shape)
					rubys += f.rubys(client)
					jobs += f.jobs
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(jobs)/ours.Seconds(), "jobs/s")
				b.ReportMetric(float64(jobs)/rubys.Seconds(), "jobs/s-by-Ruby's-calls")
				b.ReportMetric(rubys.Seconds()/ours.Seconds(), "times-as-fast")
			})
		}
	}
}

// filler fills a Redis of its own with what is to be moved.
type filler struct {
	*testing.B

	server *redistest.Server
	client *resque.Client
	calls  []resque.Call
	jobs   int
}

func newFiller(b *testing.B) *filler {
	b.Helper()
	f := &filler{B: b, server: redistest.NewOwn(b)}
	f.client = f.open(f.server.URL())
	return f
}

func (f *filler) open(url string) *resque.Client {
	f.Helper()
	client, err := resque.Open(f.Context(), url, resque.Options{Namespace: f.server.Namespace()})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = client.Close() })
	return client
}

// fill makes Redis hold a shape, and nothing else.
func (f *filler) fill(s shape) {
	f.Helper()
	f.server.Do("FLUSHALL")
	f.jobs = 0
	s.fill(f)
	f.flush()
}

// job adds a job as a producer does.
func (f *filler) job(second int, queue string, args ...any) {
	f.Helper()
	encoded, err := json.Marshal(args)
	if err != nil {
		f.Fatal(err)
	}
	item := fmt.Sprintf(`{"class":"A","args":%s,"queue":%q}`, encoded, queue)
	list := "delayed:" + strconv.Itoa(second)
	f.call("RPUSH", list, item)
	f.call("SADD", "timestamps:"+item, list)
	f.call("ZADD", "delayed_queue_schedule", second, second)
	f.jobs++
}

func (f *filler) call(command, key string, args ...any) {
	f.Helper()
	f.calls = append(f.calls, resque.Call{Command: command, Keys: []string{f.server.Key(key)}, Args: args})
	if len(f.calls) == 1000 {
		f.flush()
	}
}

func (f *filler) flush() {
	f.Helper()
	f.send(f.client, f.calls...)
	f.calls = f.calls[:0]
}

// send sends the calls in one round trip.
func (f *filler) send(client *resque.Client, calls ...resque.Call) []any {
	f.Helper()
	replies, err := client.Pipeline(f.Context(), calls...)
	if err != nil {
		f.Fatal(err)
	}
	for _, reply := range replies {
		if refused, ok := reply.(error); ok {
			f.Fatal(refused)
		}
	}
	return replies
}

// ours is how long a pass takes.
func (f *filler) ours(client *resque.Client) time.Duration {
	f.Helper()
	s, err := scheduler.New(client, scheduler.Config{Value: self, Clock: newClock()})
	if err != nil {
		f.Fatal(err)
	}
	begin := time.Now()
	moved, err := s.Tick(f.Context())
	took := time.Since(begin)
	if moved != f.jobs || err != nil {
		f.Fatalf("moved %d of %d, %v", moved, f.jobs, err)
	}
	return took
}

// longest is the longest call in the slow log.
func (f *filler) longest() (longest time.Duration) {
	f.Helper()
	entries, _ := f.server.Do("SLOWLOG", "GET", 1_000_000).([]any)
	for _, entry := range entries {
		if row, ok := entry.([]any); ok {
			micros, _ := row[2].(int64)
			longest = max(longest, time.Duration(micros)*time.Microsecond)
		}
	}
	return longest
}

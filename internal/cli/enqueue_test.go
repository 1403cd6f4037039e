package cli_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"example.com/understudy/internal/cli"
	"example.com/understudy/internal/redistest"
)

func TestEnqueue(t *testing.T) {
	t.Parallel()
	jobs := jobsFile(t, map[string]string{"A": "exit 0"})
	tests := []struct {
		name string
		args []string
		want string // the queue's element
	}{
		{"no arguments", words("A --queue q"), `{"class":"A","args":[]}`},
		{"JSON and text", words(`A 7 -5 1.5 true null "7" {"a":[1]} [] hello +49 --queue q`, "", "a b", " 8 ", "{no", "NaN"), `{"class":"A","args":[7,-5,1.5,true,null,"7",{"a":[1]},[],"hello","+49","","a b",8,"{no","NaN"]}`},
		{"what only Go or only Ruby reads", words("A --queue q", `/* */ 5`, `"\ud83d"`), `{"class":"A","args":["/* */ 5","\"\\ud83d\""]}`},
		{"a huge number", words("A 123456789012345678901234567890 --queue q"), `{"class":"A","args":[123456789012345678901234567890]}`},
		{"text with markup", words("A --queue q", "<é&>"), `{"class":"A","args":["<é&>"]}`},
		{"an array", words("A --queue q --args", `[1, {"a":"b"}, "c"]`), `{"class":"A","args":[1,{"a":"b"},"c"]}`},
		{"no array", words("A --queue q --args []"), `{"class":"A","args":[]}`},
		{"after --", words("A --queue q -- --front -x --"), `{"class":"A","args":["--front","-x","--"]}`},
		{"options between", words("--queue q A 1 --front 2"), `{"class":"A","args":[1,2]}`},
		{"the file's queue", words("A --jobs", jobs), `{"class":"A","args":[]}`},
		{"a moment gone by", words("A --queue q --at 2020-01-02T03:04:05Z"), `{"class":"A","args":[]}`},
		{"no wait", words("A --queue q --in 0"), `{"class":"A","args":[]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := redistest.New(t)
			got := run(t, command{args: append([]string{"enqueue", "--redis", s.URL(), "--namespace", s.Namespace()}, tt.args...)})
			queue := "q"
			if strings.Contains(tt.name, "file") {
				queue = "own"
			}
			if got.number != 0 || got.stdout != "A is in queue "+queue+"\n" {
				t.Errorf("ends with %d: %s%s", got.number, got.stdout, got.stderr)
			}
			if job := s.Do("LINDEX", s.Key("queue:"+queue), 0); job != tt.want {
				t.Errorf("wrote %v\nwant  %s", job, tt.want)
			}
		})
	}
}

func TestEnqueueInFront(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	for _, line := range []string{"enqueue A --queue q", "enqueue B --queue q --front"} {
		if got := run(t, command{args: on(s, words(line)...)}); got.number != 0 {
			t.Fatal(got.stderr)
		}
	}
	if job := s.Do("LINDEX", s.Key("queue:q"), 0); job != `{"class":"B","args":[]}` {
		t.Errorf("in front is %v", job)
	}
}

func TestEnqueueLater(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"--in 1h30m", "--at 1924991999"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			s := redistest.New(t)
			got := run(t, command{args: on(s, words("enqueue A 1 --queue q "+when)...)})
			if got.number != 0 || !strings.HasPrefix(got.stdout, "A goes to queue q at ") {
				t.Fatalf("ends with %d: %s%s", got.number, got.stdout, got.stderr)
			}
			times, _ := s.Do("ZRANGE", s.Key("delayed_queue_schedule"), 0, -1).([]any)
			if len(times) != 1 {
				t.Fatalf("the schedule holds %v", times)
			}
			second, _ := times[0].(string)
			if job := s.Do("LINDEX", s.Key("delayed:"+second), 0); job != `{"class":"A","args":[1],"queue":"q"}` {
				t.Errorf("delayed is %v", job)
			}
			at, err := strconv.ParseInt(second, 10, 64)
			left := time.Until(time.Unix(at, 0))
			if err != nil || when == "--at 1924991999" && at != 1924991999 || at != 1924991999 && (left > 90*time.Minute || left < 89*time.Minute) {
				t.Errorf("due at %v (%v)", second, err)
			}
		})
	}
}

func TestEnqueueRefusesWhatCannotBeEncoded(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	got := run(t, command{args: on(s, "enqueue", "A", "\xff", "--queue", "q")})
	if got.number != 2 || !strings.Contains(got.stderr, "this job can't be enqueued: can't be encoded: invalid UTF-8") {
		t.Errorf("ends with %d: %s", got.number, got.stderr)
	}
	if n := s.Do("EXISTS", s.Key("queue:q"), s.Key("queues")); n != int64(0) {
		t.Error("something was written")
	}
}

func TestRedisIsFoundByTheEnvironment(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	nowhere := "redis://127.0.0.1:1"
	tests := []struct {
		name string
		env  map[string]string
		args []string
		ok   bool
	}{
		{"REDIS_URL", map[string]string{"REDIS_URL": s.URL()}, nil, true},
		{"the provider's variable", map[string]string{"REDIS_PROVIDER": "MINE", "MINE": s.URL(), "REDIS_URL": nowhere}, nil, true},
		{"the option first", map[string]string{"REDIS_PROVIDER": "MINE", "MINE": nowhere, "REDIS_URL": nowhere}, []string{"--redis", s.URL()}, true},
		{"the option before a provider that names nothing", map[string]string{"REDIS_PROVIDER": "MINE"}, []string{"--redis", s.URL()}, true},
		{"an empty provider", map[string]string{"REDIS_PROVIDER": "", "REDIS_URL": s.URL()}, nil, true},
		{"the provider before REDIS_URL", map[string]string{"REDIS_PROVIDER": "MINE", "MINE": nowhere, "REDIS_URL": s.URL()}, nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := run(t, command{args: append(words("enqueue A --queue q --namespace "+s.Namespace()), tt.args...), env: tt.env})
			if (got.number == 0) != tt.ok {
				t.Errorf("ends with %d: %s", got.number, got.stderr)
			}
		})
	}
}

func TestNamespaces(t *testing.T) {
	t.Parallel()
	for namespace, key := range map[string]string{"a:b": "a:b:queue:q", "a:": "a:queue:q", "": "queue:q", ":": "queue:q", "resque": "resque:queue:q"} {
		t.Run(namespace, func(t *testing.T) {
			t.Parallel()
			server := miniredis.RunT(t) // of its own: any namespace has room in it
			got := run(t, command{args: words("enqueue A --queue q --redis redis://"+server.Addr()+" --namespace", namespace)})
			if got.number != 0 || !server.Exists(key) {
				t.Errorf("ends with %d: %s; keys %v", got.number, got.stderr, server.Keys())
			}
		})
	}
}

func TestReadMoment(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		want time.Time // zero: refused
	}{
		{"2026-01-02T03:04:05Z", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
		{"2026-01-02T03:04:05.5+02:00", time.Date(2026, 1, 2, 1, 4, 5, 5e8, time.UTC)},
		{"2026-01-02 03:04:05 +0100", time.Date(2026, 1, 2, 2, 4, 5, 0, time.UTC)},
		{"2026-01-02 03:04:05 UTC", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
		{"2026-01-02 03:04:05 XYZ", time.Time{}}, // not known for sure: Go would take it for UTC
		{"2026-01-02 03:04:05", time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)},
		{"2026-01-02 03:04", time.Date(2026, 1, 2, 3, 4, 0, 0, time.Local)},
		{"2026-01-02T03:04", time.Date(2026, 1, 2, 3, 4, 0, 0, time.Local)},
		{"1767323045", time.Unix(1767323045, 0)},
		{"0", time.Time{}},
		{"-5", time.Time{}},
		{"tomorrow", time.Time{}},
		{"2026-13-02 03:04", time.Time{}},
		{"", time.Time{}},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			t.Parallel()
			got, ok := cli.ReadMoment(tt.text)
			if ok == tt.want.IsZero() || ok && !got.Equal(tt.want) {
				t.Errorf("got %v, %v; want %v", got, ok, tt.want)
			}
		})
	}
}

package resque_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/compat/ruby"
	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

// What broke for others: payloads. CONTRIBUTING.md lists the reports.

// once works a queue with these elements until it is empty, each class failing
// as its function says.
func once(b *bench, elements []string, handlers map[string]resque.HandlerFunc, options ...resque.HandleOption) {
	b.t.Helper()
	b.server.Seed(map[string]any{"queue:q": redistest.List(elements), "queues": redistest.Set{"q"}})
	w := b.worker(nil, nil)
	for class, h := range handlers {
		if err := w.Handle(class, h, options...); err != nil {
			b.t.Fatal(err)
		}
	}
	b.start(w)
	for {
		worked, err := w.Step(b.t.Context())
		if err != nil {
			b.t.Fatal(err)
		}
		if !worked {
			return
		}
	}
}

// failedPayloads are the payloads of the records in the list failed.
func (b *bench) failedPayloads() (payloads []string) {
	b.t.Helper()
	records, _ := b.server.Get("failed").(redistest.List)
	for _, record := range records {
		if !utf8.ValidString(record) {
			b.t.Errorf("the record is no valid UTF-8: %q", record)
		}
		var r struct {
			Payload json.RawMessage `json:"payload"`
		}
		if err := json.Unmarshal([]byte(record), &r); err != nil {
			b.t.Fatalf("the record %s: %v", record, err)
		}
		payloads = append(payloads, string(r.Payload))
	}
	return payloads
}

// A5 resque/resque#1560: bytes that are no UTF-8 broke the page of failures.
func TestReportBinaryArguments(t *testing.T) {
	t.Parallel()
	const element = "{\"class\":\"X\",\"args\":[\"\xff\"]}"
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b := newBench(t, s)
		var got []string
		var counters []any
		once(b, []string{element}, map[string]resque.HandlerFunc{"X": func(_ context.Context, job *resque.Job) error {
			got = append(got, string(job.Payload))
			counters = append(counters, s.Get("resque-retry:X:85e53271e14006f0265921d02d4d736cdc580b0b"))
			return errors.New("bad byte \xff")
		}}, retry.Policy{})
		if diff := cmp.Diff([]string{element, element}, got); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]any{"0", "1"}, counters); diff != "" {
			t.Error(diff)
		}
		if payloads := b.failedPayloads(); len(payloads) != 2 {
			t.Errorf("failed: %q", payloads)
		}
	})
}

// A6 chrisboulton/php-resque#21, sidekiq/sidekiq#3599: arguments that are no
// array were lost or mangled, and stopped the worker.
func TestReportArgumentsThatAreNoArray(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		`{"id":5}`: `[{"id":5}]`, `"text"`: `["text"]`, `7.50`: `[7.50]`, `true`: `[true]`, `null`: `[]`,
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				b := newBench(t, s)
				element := `{"class":"X","args":` + args + `}`
				var got, goods []string
				once(b, []string{element, `{"class":"Good","args":[1]}`}, map[string]resque.HandlerFunc{
					"X": func(_ context.Context, job *resque.Job) error {
						got = append(got, string(job.Args))
						return errors.New("boom")
					},
					"Good": func(_ context.Context, job *resque.Job) error { goods = append(goods, string(job.Args)); return nil },
				}, retry.Policy{})
				if diff := cmp.Diff([]string{want, want}, got); diff != "" {
					t.Error("the handler got", diff)
				}
				if diff := cmp.Diff([]string{"[1]"}, goods); diff != "" {
					t.Error("the job behind it", diff)
				}
				if diff := cmp.Diff([]string{element, `{"class":"X","args":` + want + `}`}, b.failedPayloads()); diff != "" {
					t.Error("failed", diff)
				}
			})
		})
	}
}

// A7 resque/resque-loner#46, #48: no arguments came in several forms, which were
// taken for different jobs.
func TestReportNoArguments(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b := newBench(t, s)
		var counts []int
		handler := resque.Func(func(_ context.Context, args ...any) error {
			counts = append(counts, len(args))
			return retry.Cancel(errors.New("boom"))
		})
		var keys []string
		once(b, []string{`{"class":"NoArgs","args":null}`, `{"class":"NoArgs"}`, `{"class":"NoArgs","args":[]}`},
			map[string]resque.HandlerFunc{"NoArgs": func(ctx context.Context, job *resque.Job) error {
				for name := range b.keys() {
					if strings.HasPrefix(name, "resque-retry:") {
						keys = append(keys, name)
					}
				}
				return handler.Perform(ctx, job)
			}}, retry.Policy{})
		if diff := cmp.Diff([]int{0, 0, 0}, counts); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"resque-retry:NoArgs", "resque-retry:NoArgs", "resque-retry:NoArgs"}, keys); diff != "" {
			t.Error(diff)
		}
	})
}

// A9 resque/resque#739: an emoji lost its high bits.
func TestReportEmoji(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b := newBench(t, s)
		keys := map[string]bool{}
		var got []string
		handler := resque.Func(func(_ context.Context, text string) error {
			got = append(got, text)
			return retry.Cancel(errors.New("boom"))
		})
		once(b, []string{`{"class":"X","args":["\ud83d\ude00"]}`, `{"class":"X","args":["😀"]}`}, map[string]resque.HandlerFunc{
			"X": func(ctx context.Context, job *resque.Job) error {
				for name := range b.keys() {
					if strings.HasPrefix(name, "resque-retry:") {
						keys[name] = true
					}
				}
				return handler.Perform(ctx, job)
			},
		}, retry.Policy{})
		if diff := cmp.Diff([]string{"\U0001F600", "\U0001F600"}, got); diff != "" {
			t.Error(diff)
		}
		if len(keys) != 1 {
			t.Errorf("counters %v", keys)
		}
	})
}

// A10 resque/php-resque#28: enqueueing text that is no UTF-8 told of success, and
// nothing was there.
func TestReportEnqueueNeverPretends(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		c := dialTest(t, s, s.URL(), nil)
		ctx := t.Context()
		_, many := c.EnqueueMany(ctx, resque.NewJob{Queue: "q", Class: "X"}, resque.NewJob{Queue: "q", Class: "X", Args: []any{"\xff"}})
		for name, err := range map[string]error{
			"Enqueue": c.Enqueue(ctx, "q", "X", "\xff"), "EnqueueFront": c.EnqueueFront(ctx, "q", "X", "\xff"),
			"EnqueueIn": c.EnqueueIn(ctx, time.Hour, "q", "X", "\xff"), "EnqueueMany": many,
			"in an object": c.Enqueue(ctx, "q", "X", map[string]any{"\xff": 1}), "in the class": c.Enqueue(ctx, "q", "X\xff"),
		} {
			if err == nil {
				t.Errorf("%s tells of success", name)
			}
		}
		if diff := cmp.Diff(map[string]any{}, s.Dump()); diff != "" {
			t.Error(diff)
		}
	})
}

// A12 resque/resque#153, resque/resque-scheduler#26: a record lost the job's
// arguments, or held what the handler had made of them.
func TestReportArgumentsInRecords(t *testing.T) {
	t.Parallel()
	const element = `{"class":"X","args":[{"my_arg":1,"z":[1,{"k":null}]}, 1.10]}`
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b := newBench(t, s)
		once(b, []string{element}, map[string]resque.HandlerFunc{"X": func(_ context.Context, job *resque.Job) error {
			for i := range job.Args {
				job.Args[i] = 'x'
			}
			for i := range job.Payload {
				job.Payload[i] = 'y'
			}
			job.Class, job.Queue = "Other", "other"
			return errors.New("boom")
		}})
		if diff := cmp.Diff([]string{element}, b.failedPayloads()); diff != "" {
			t.Error(diff)
		}
	})
}

// A13 actionhero/node-resque#107, resque-loner#26: equal objects had other keys
// each time.
func TestReportOrderOfObjects(t *testing.T) {
	t.Parallel()
	const element = `{"class":"X","args":[{"b":1,"a":2}]}`
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b := newBench(t, s)
		s.Seed(map[string]any{"queue:q": redistest.List{element}})
		w := b.worker(nil, nil)
		if err := w.Handle("X", resque.HandlerFunc(bad), retry.Policy{Limit: 50}); err != nil {
			t.Fatal(err)
		}
		b.start(w)
		for attempt := range 20 {
			b.step(w)
			if diff := cmp.Diff(redistest.List{element}, s.Get("queue:q")); diff != "" {
				t.Fatal(diff)
			}
			if got := s.Get("resque-retry:X:c535639864b63c370c3905b8284d6d325e6c0a36"); got != fmt.Sprint(attempt) {
				t.Fatalf("the counter is %v after %d runs", got, attempt+1)
			}
		}
	})
}

// B23 lantins/resque-retry#130, #131; actionhero/node-resque#122: the Retry tab
// fell over delayed jobs. It calls args.to_json on what it decodes.
func TestReportDelayedJobsDecode(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b := newBench(t, s)
		once(b, []string{
			`{"class":"X","args":[1]}`, `{"class":"X"}`, `{"class":"X","args":{"id":5}}`, `{"class":"X","args":"x"}`,
			"{\"class\":\"X\",\"args\":[\"\xff\"]}", `{"class":"X","args":[1e400]}`, `{"class":"X","args":["\udc00"]}`,
			`{"args":[2,/**/3],"class":"X","more":1}`,
		}, map[string]resque.HandlerFunc{"X": bad}, retry.Policy{Delay: retry.Every(time.Minute)})
		items, _ := s.Get(fmt.Sprintf("delayed:%d", b.clock.Now().Unix()+60)).(redistest.List)
		if len(items) != 8 {
			t.Fatalf("delayed: %q", items)
		}
		for _, item := range items {
			members, err := ruby.Members([]byte(item))
			kinds := map[string]ruby.Kind{}
			for _, m := range members {
				kinds[m.Key] = ruby.KindOf(m.Value)
			}
			want := map[string]ruby.Kind{"class": ruby.Text, "args": ruby.Array, "queue": ruby.Text}
			if diff := cmp.Diff(want, kinds); diff != "" || err != nil || !utf8.ValidString(item) {
				t.Errorf("%s: %v\n%s", item, err, diff)
			}
		}
	})
}

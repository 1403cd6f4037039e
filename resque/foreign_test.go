package resque_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

// Jobs whose text Ruby reads but can't write again: their handler gets them as
// they are, and where Ruby may meet them they stand as Understudy::Malformed.
func TestWhatRubyCantWrite(t *testing.T) {
	t.Parallel()
	plain := strings.Repeat("[", 97) + strings.Repeat("]", 97)
	deep := strings.Repeat("[", 99) + strings.Repeat("]", 99)
	for name, c := range map[string]struct {
		element string
		foreign bool
	}{
		"plain":              {`{"class":"Later","args":["é",1.10,1e5,"\u00e9"]}`, false},
		"blanks in front":    {" \n" + `{"class":"Later","args":[1]}`, false},
		"nested as Ruby can": {`{"class":"Later","args":` + plain + `}`, false},
		"no UTF-8":           {"{\"class\":\"Later\",\"args\":[\"\xff\"]}", true},
		"half a surrogate":   {`{"class":"Later","args":["\udc00"]}`, true},
		"infinite":           {`{"class":"Later","args":[1e400]}`, true},
		"infinite digits":    {`{"class":"Later","args":[` + strings.Repeat("9", 400) + `.5]}`, true},
		"too deep in a hand": {`{"class":"Later","args":` + deep + `}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				b := newBench(t, s)
				var hand any
				var got []string
				w := b.worker(nil, nil)
				if err := w.Handle("Later", resque.HandlerFunc(func(_ context.Context, job *resque.Job) error {
					hand = s.Get("worker:" + testID)
					got = append(got, string(job.Args))
					return errors.New("boom")
				}), retry.Policy{Delay: retry.Every(time.Minute)}, resque.Queue("q")); err != nil {
					t.Fatal(err)
				}
				s.Seed(map[string]any{"queue:q": redistest.List{c.element}})
				b.start(w)
				b.step(w)
				text, _ := hand.(string)
				_, payload, _ := strings.Cut(text, `"payload":`)
				if wrapped := strings.HasPrefix(payload, `{"class":"Understudy::Malformed","args":["`); wrapped != c.foreign {
					t.Errorf("the hand is %q", text)
				}
				if !c.foreign && payload != c.element+"}" {
					t.Errorf("the hand holds %q", payload)
				}
				items, _ := s.Get(fmt.Sprintf("delayed:%d", b.clock.Now().Unix()+60)).(redistest.List)
				if len(items) != 1 || strings.HasPrefix(items[0], `{"class":"Understudy::Malformed","args":["`) != c.foreign {
					t.Fatalf("delayed: %q", items)
				}
				// As the scheduler does it: the item without its queue.
				s.Do("RPUSH", s.Key("queue:q"), strings.TrimSuffix(items[0], `,"queue":"q"}`)+"}")
				b.step(w)
				if len(got) != 2 || got[0] != got[1] {
					t.Errorf("the handler got %q", got)
				}
				if records, _ := s.Get("failed").(redistest.List); len(records) != 2 || strings.Contains(records[0], `"payload":{"class":"Understudy::Malformed"`) != c.foreign {
					t.Errorf("failed: %q", records)
				}
			})
		})
	}
}

// A malformed element comes back whole from a hand, whoever reads it.
func TestMalformedInHand(t *testing.T) {
	t.Parallel()
	for _, element := range []string{"", "n", "nu", "nul", "null", "\xff\xfe\x00", `{"class":"Good","args":[NaN]}`, `{"class":"Good","args":[1`} {
		t.Run(fmt.Sprintf("%q", element), func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				p := redistest.NewProxy(t, s.URL())
				b := newBenchAt(t, s, p.URL())
				w := b.worker(nil, map[string]resque.Handler{"Good": resque.HandlerFunc(good)})
				s.Seed(map[string]any{"queue:q": redistest.List{element}})
				b.start(w)
				names := resque.ScriptNames()
				cut := false
				p.SetRule(func(r redistest.Request) redistest.Verdict {
					if !cut && len(r.Args) > 1 && names[r.Args[1]] == "record" {
						cut = true
						return redistest.DropRequest
					}
					return redistest.Pass
				})
				if _, err := w.Step(t.Context()); err == nil {
					t.Fatal("the record got through")
				}
				hand, _ := s.Get("worker:" + testID).(string)
				_, payload, _ := strings.Cut(strings.TrimSuffix(hand, "}"), `"payload":`)
				if got := decodeMalformed(t, `{"payload":`+payload+`}`); got != element {
					t.Errorf("the hand holds %q", got)
				}
			})
		})
	}
}

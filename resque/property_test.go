package resque_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.com/understudy/compat/ruby"
	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
)

// values draws arguments of all kinds.
func values() *rapid.Generator[[]any] {
	leaf := rapid.OneOf(
		rapid.Just[any](nil), rapid.Map(rapid.Bool(), func(v bool) any { return v }), rapid.Map(rapid.String(), func(v string) any { return v }),
		rapid.Map(rapid.Int64(), func(v int64) any { return v }), rapid.Map(rapid.Float64Range(-1e300, 1e300), func(v float64) any { return v }),
		rapid.SampledFrom([]any{json.RawMessage(`1.10`), json.RawMessage(`{"b":1, "a":[]}`), []byte("bytes"), struct {
			ID   int    `json:"id"`
			Note string `json:"note,omitempty"`
		}{ID: 7}}),
	)
	list := rapid.Map(rapid.SliceOfN(leaf, 0, 3), func(v []any) any { return v })
	object := rapid.Map(rapid.MapOfN(rapid.String(), rapid.OneOf(leaf, list), 0, 3), func(v map[string]any) any { return v })
	return rapid.SliceOfN(rapid.OneOf(leaf, list, object), 0, 4)
}

// What Enqueue writes, at once or for later, reads back as the same class and
// arguments, in the form that Ruby would write.
func TestEnqueuedJobsReadBack(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	now := time.Date(2026, 1, 2, 3, 4, 5, 700_000_000, time.UTC)
	c := dialTest(t, s, s.URL(), func(o *resque.Options) { o.Clock = &fixedClock{now: now} })
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) {
		queue, class := rapid.StringN(1, 20, -1).Draw(t, "queue"), rapid.StringN(1, 20, -1).Draw(t, "class")
		args := values().Draw(t, "args")
		at := now.Add(time.Duration(rapid.Int64Range(-5_000_000_000, 5_000_000_000).Draw(t, "wait")))
		if err := c.EnqueueAt(ctx, at, queue, class, args...); err != nil {
			t.Fatal(err)
		}
		waits := at.Unix() > now.Unix() // cut to the second, as Ruby compares them
		key := "queue:" + queue
		if waits {
			key = "delayed:" + strconv.FormatInt(at.Unix(), 10)
		}
		elements, _ := s.Get(key).(redistest.List)
		if len(elements) != 1 || (s.Get("delayed_queue_schedule") != nil) != waits {
			t.Fatalf("at %v there is %v", at, s.Dump())
		}
		for _, name := range s.Names() {
			s.Do("DEL", s.Key(name))
		}
		checkReadBack(t, []byte(elements[0]), class, args)
	})
}

func checkReadBack(t *rapid.T, element []byte, class string, args []any) {
	gotClass, got, err := resque.ParsePayload(element)
	if err != nil || gotClass != class {
		t.Fatalf("%s: class %q, %v", element, gotClass, err)
	}
	standard, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	var read, want any
	if err := json.Unmarshal(got, &read); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(standard, &want); err != nil {
		t.Fatal(err)
	}
	if want == nil {
		want = []any{}
	}
	if diff := cmp.Diff(want, read); diff != "" {
		t.Fatalf("%s\n%s", element, diff)
	}
	if !resque.Writable(element) {
		t.Fatalf("Ruby can't write %s", element)
	}
}

// A delayed job waits for the second of its time, in any zone and before 1970.
func TestDelayedTimesAreCut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		second, nano := rapid.Int64Range(-1<<33, 1<<33).Draw(t, "second"), rapid.Int64Range(0, 999_999_999).Draw(t, "nano")
		zone := time.FixedZone("", rapid.IntRange(-14*3600, 14*3600).Draw(t, "zone"))
		text := strconv.FormatInt(second, 10)
		want := []resque.Write{
			{Command: "RPUSH", Key: "delayed:" + text, Args: []string{"item"}},
			{Command: "SADD", Key: "timestamps:item", Args: []string{"delayed:" + text}},
			{Command: "ZADD", Key: "delayed_queue_schedule", Args: []string{text, text}},
		}
		if diff := cmp.Diff(want, resque.DelayedWrites(time.Unix(second, nano).In(zone), []byte("item"))); diff != "" {
			t.Fatal(diff)
		}
	})
}

// A list names no queue twice, none that is left out, none that isn't there
// where it asks for those that are, and keeps the order of its items.
func TestQueueListsExpandInOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[ab]{1,2}(_[xy])?`)
		item := rapid.OneOf(name, rapid.SampledFrom([]string{"*", "a*", "*_x", "[ab]", "?", "??", "b*_y", "[!a]*"}))
		items := rapid.SliceOfN(item, 1, 5).Draw(t, "items")
		skips := rapid.SliceOfN(item, 0, 2).Draw(t, "left out")
		all := rapid.SliceOfDistinct(name, rapid.ID[string]).Draw(t, "queues")
		texts := slices.Clone(items)
		for _, skip := range skips {
			texts = slices.Insert(texts, rapid.IntRange(0, len(texts)).Draw(t, "place"), "!"+skip)
		}
		list, err := resque.ParseQueueList(texts...)
		if err != nil {
			t.Fatal(err)
		}
		got := list.Expand(all)
		first := func(queue string) int {
			return slices.IndexFunc(items, func(item string) bool { return ruby.Fnmatch(item, queue) })
		}
		for i, queue := range got {
			switch {
			case slices.Contains(got[:i], queue):
				t.Fatalf("%s stands twice in %v", queue, got)
			case slices.ContainsFunc(skips, func(skip string) bool { return ruby.Fnmatch(skip, queue) }):
				t.Fatalf("%s is to be left out of %v", queue, got)
			case list.Dynamic() && !slices.Contains(all, queue), first(queue) < 0:
				t.Fatalf("%s is in %v", queue, got)
			case i > 0 && (first(got[i-1]) > first(queue) || first(got[i-1]) == first(queue) && got[i-1] > queue):
				t.Fatalf("%s comes before %s in %v", got[i-1], queue, got)
			}
		}
		for _, queue := range all {
			skipped := slices.ContainsFunc(skips, func(skip string) bool { return ruby.Fnmatch(skip, queue) })
			if first(queue) >= 0 && !skipped && !slices.Contains(got, queue) {
				t.Fatalf("%s is missing in %v", queue, got)
			}
		}
	})
}

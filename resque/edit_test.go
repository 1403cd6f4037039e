package resque_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
)

func TestEdit(t *testing.T) {
	t.Parallel()
	const item = `{"class":"X","args":[],"queue":"q"}`
	push := resque.PushWrites("q", []byte("job"))
	for _, test := range []struct {
		name   string
		before map[string]any
		edits  []resque.Edit
		found  []int64
		after  map[string]any
	}{
		{
			"one of twins goes",
			map[string]any{"failed": redistest.List{"a", "b", "a"}},
			[]resque.Edit{{Key: "failed", Raw: []byte("a"), Near: 2}},
			[]int64{1},
			map[string]any{"failed": redistest.List{"a", "b"}},
		},
		{
			"both twins, one by one",
			map[string]any{"failed": redistest.List{"a", "b", "a"}},
			[]resque.Edit{{Key: "failed", Raw: []byte("a")}, {Key: "failed", Raw: []byte("a")}, {Key: "failed", Raw: []byte("a")}},
			[]int64{1, 1, 0},
			map[string]any{"failed": redistest.List{"b"}},
		},
		{
			"all twins at once, and another",
			map[string]any{"failed": redistest.List{"a", "b", "a", "c"}},
			[]resque.Edit{{Key: "failed", Raw: []byte("a"), All: true}, {Key: "failed", Raw: []byte("c"), Near: 7}},
			[]int64{2, 1},
			map[string]any{"failed": redistest.List{"b"}},
		},
		{
			"replaced in its place, with what follows",
			map[string]any{"failed": redistest.List{"a", "b", "c"}},
			[]resque.Edit{{Key: "failed", Raw: []byte("b"), Near: 1, Replace: []byte("B"), Then: push}},
			[]int64{1},
			map[string]any{"failed": redistest.List{"a", "B", "c"}, "queue:q": redistest.List{"job"}, "queues": redistest.Set{"q"}},
		},
		{
			"replaced by nothing, which is a text",
			map[string]any{"failed": redistest.List{"a"}},
			[]resque.Edit{{Key: "failed", Raw: []byte("a"), Replace: []byte{}}},
			[]int64{1},
			map[string]any{"failed": redistest.List{""}},
		},
		{
			"an empty text goes",
			map[string]any{"failed": redistest.List{"", "a"}},
			[]resque.Edit{{Key: "failed", Raw: nil}},
			[]int64{1},
			map[string]any{"failed": redistest.List{"a"}},
		},
		{
			"what follows comes for each that was found",
			map[string]any{"queue:p": redistest.List{"a", "a"}},
			[]resque.Edit{{Key: "queue:p", Raw: []byte("a"), All: true, Then: push}},
			[]int64{2},
			map[string]any{"queue:q": redistest.List{"job", "job"}, "queues": redistest.Set{"q"}},
		},
		{
			"gone: nothing follows",
			map[string]any{"failed": redistest.List{"b"}},
			[]resque.Edit{{Key: "failed", Raw: []byte("a"), Replace: []byte("A"), Then: push}},
			[]int64{0},
			map[string]any{"failed": redistest.List{"b"}},
		},
		{
			"no list at all",
			map[string]any{},
			[]resque.Edit{{Key: "failed", Raw: []byte("a"), Then: push}},
			[]int64{0},
			map[string]any{},
		},
		{
			"hints that are all one off",
			map[string]any{"failed": redistest.List{"a", "b", "c", "d"}},
			[]resque.Edit{{Key: "failed", Raw: []byte("b"), Near: 2}, {Key: "failed", Raw: []byte("d"), Near: 4}, {Key: "failed", Raw: []byte("a"), Near: 1}},
			[]int64{1, 1, 1},
			map[string]any{"failed": redistest.List{"c"}},
		},
		{
			"the nearest of twins",
			map[string]any{"failed": redistest.List{"a", "1", "2", "3", "a", "5", "6", "7", "8", "a"}},
			[]resque.Edit{{Key: "failed", Raw: []byte("a"), Near: 6, Replace: []byte("A")}, {Key: "failed", Raw: []byte("7"), Near: 9}},
			[]int64{1, 1},
			map[string]any{"failed": redistest.List{"a", "1", "2", "3", "A", "5", "6", "8", "a"}},
		},
		{
			"of twins the last one before, else the first one behind",
			map[string]any{"failed": redistest.List{"a", "b", "a", "3", "b", "a", "b", "a"}},
			[]resque.Edit{{Key: "failed", Raw: []byte("a"), Near: 3, Replace: []byte("A")}, {Key: "failed", Raw: []byte("b"), Near: 0, Replace: []byte("B")}},
			[]int64{1, 1},
			map[string]any{"failed": redistest.List{"a", "B", "A", "3", "b", "a", "b", "a"}},
		},
		{
			"the first one behind",
			map[string]any{"failed": redistest.List{"x", "b", "y", "b"}},
			[]resque.Edit{{Key: "failed", Raw: []byte("b"), Replace: []byte("B")}},
			[]int64{1},
			map[string]any{"failed": redistest.List{"x", "B", "y", "b"}},
		},
		{
			"more twins than there are",
			map[string]any{"failed": redistest.List{"x", "a", "x", "a"}},
			[]resque.Edit{{Key: "failed", Raw: []byte("a"), Near: 9}, {Key: "failed", Raw: []byte("a"), Near: 0}, {Key: "failed", Raw: []byte("a"), Near: 1}, {Key: "failed", Raw: []byte("gone"), Near: 2}},
			[]int64{1, 0, 1, 0},
			map[string]any{"failed": redistest.List{"x", "x"}},
		},
		{
			"the last delayed job goes with its time",
			map[string]any{
				"delayed:9": redistest.List{item}, "timestamps:" + item: redistest.Set{"delayed:9"},
				"delayed_queue_schedule": redistest.ZSet{"9": 9, "8": 8},
			},
			[]resque.Edit{{Key: "delayed:9", Raw: []byte(item), Then: push}},
			[]int64{1},
			map[string]any{
				"delayed_queue_schedule": redistest.ZSet{"8": 8}, "queue:q": redistest.List{"job"}, "queues": redistest.Set{"q"},
			},
		},
		{
			"a delayed twin keeps time and note",
			map[string]any{
				"delayed:9": redistest.List{item, item}, "timestamps:" + item: redistest.Set{"delayed:8", "delayed:9"},
				"delayed_queue_schedule": redistest.ZSet{"9": 9},
			},
			[]resque.Edit{{Key: "delayed:9", Raw: []byte(item)}},
			[]int64{1},
			map[string]any{
				"delayed:9": redistest.List{item}, "timestamps:" + item: redistest.Set{"delayed:8", "delayed:9"},
				"delayed_queue_schedule": redistest.ZSet{"9": 9},
			},
		},
		{
			"another delayed job keeps the time",
			map[string]any{
				"delayed:9": redistest.List{item, "x"}, "timestamps:" + item: redistest.Set{"delayed:8", "delayed:9"},
				"delayed_queue_schedule": redistest.ZSet{"9": 9},
			},
			[]resque.Edit{{Key: "delayed:9", Raw: []byte(item), All: true}},
			[]int64{1},
			map[string]any{
				"delayed:9": redistest.List{"x"}, "timestamps:" + item: redistest.Set{"delayed:8"},
				"delayed_queue_schedule": redistest.ZSet{"9": 9},
			},
		},
		{
			"what is left of a delayed job that is gone",
			map[string]any{
				"timestamps:" + item: redistest.Set{"delayed:9"}, "delayed_queue_schedule": redistest.ZSet{"9": 9},
			},
			[]resque.Edit{{Key: "delayed:9", Raw: []byte(item), All: true}},
			[]int64{0},
			map[string]any{},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				c := dialTest(t, s, s.URL(), nil)
				s.Seed(test.before)
				found, err := c.Edit(t.Context(), test.edits...)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.found, found); diff != "" {
					t.Error("found:", diff)
				}
				if diff := cmp.Diff(test.after, s.Dump()); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// A key of the wrong type anywhere: nothing is written at all.
func TestEditWrongType(t *testing.T) {
	t.Parallel()
	good := resque.Edit{Key: "failed", Raw: []byte("a"), Then: resque.PushWrites("q", []byte("job"))}
	for _, test := range []struct {
		key  string
		edit resque.Edit
	}{
		{"odd", resque.Edit{Key: "odd", Raw: []byte("a")}},
		{"queue:odd", resque.Edit{Key: "failed", Raw: []byte("a"), Then: resque.PushWrites("odd", nil)}},
		{"delayed_queue_schedule", resque.Edit{Key: "delayed:9", Raw: []byte("b")}},
	} {
		t.Run(test.key, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				c := dialTest(t, s, s.URL(), nil)
				s.Seed(map[string]any{"failed": redistest.List{"a", "a"}, "delayed:9": redistest.List{"a"}, test.key: "a text"})
				before := s.Dump()
				_, err := c.Edit(t.Context(), good, test.edit)
				if resque.ErrorCode(err) != "WRONGTYPE" || !strings.Contains(fmt.Sprint(err), s.Key(test.key)) {
					t.Errorf("got %v, want WRONGTYPE of %s", err, test.key)
				}
				if diff := cmp.Diff(before, s.Dump()); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// Where memory is short nothing is pushed and nothing is lost, but removing works.
func TestEditWithoutMemory(t *testing.T) {
	t.Parallel()
	s := redistest.NewOwn(t)
	c := dialTest(t, s, s.URL(), nil)
	s.Seed(map[string]any{"failed": redistest.List{"a", "b", "a", "c"}})
	s.Do("CONFIG", "SET", "maxmemory", 1)
	if _, err := c.Edit(t.Context(), resque.Edit{Key: "failed", Raw: []byte("a"), Then: resque.PushWrites("q", []byte("job"))}); resque.ErrorCode(err) != "OOM" {
		t.Errorf("pushing: %v", err)
	}
	if diff := cmp.Diff(redistest.List{"a", "b", "a", "c"}, s.Dump()["failed"]); diff != "" {
		t.Error(diff)
	}
	found, err := c.Edit(t.Context(), resque.Edit{Key: "failed", Raw: []byte("a"), All: true}, resque.Edit{Key: "failed", Raw: []byte("b")})
	if err != nil || !cmp.Equal(found, []int64{2, 1}) {
		t.Errorf("removing: %v, %v", found, err)
	}
	if diff := cmp.Diff(map[string]any{"failed": redistest.List{"c"}}, s.Dump()); diff != "" {
		t.Error(diff)
	}
}

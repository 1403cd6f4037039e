package resque_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"example.com/understudy/resque"
)

func TestQueueListExpands(t *testing.T) {
	t.Parallel()
	all := []string{"low", "b_high", "a_low", "high", "a_high", ".hidden", "Zoo", "mail/out", "{a,b}"}
	tests := []struct {
		list, all string // all: instead of the queues above
		want      string
		dynamic   bool
		id        string
	}{
		{list: "high,low", want: "high low", id: "high,low"},
		{list: " high , low ", want: "high low", id: "high,low"},
		{list: "low,,high,", want: "low high", id: "low,high"},
		{list: "absent,high,absent", want: "absent high", id: "absent,high,absent"},
		{list: "a=b", want: "a=b", id: "a=b"},
		{list: "tenant:42:mail", want: "tenant:42:mail", id: "tenant:42:mail"},

		{list: "*", want: "Zoo a_high a_low b_high high low mail/out {a,b}", dynamic: true, id: "*"},
		{list: "*_high,*_low", want: "a_high b_high a_low", dynamic: true, id: "*_high,*_low"},
		{list: "low,*", want: "low Zoo a_high a_low b_high high mail/out {a,b}", dynamic: true, id: "low,*"},
		{list: "low,absent,?igh", want: "low high", dynamic: true, id: "low,absent,?igh"},
		{list: "[ab]_low,[!a]_*", want: "a_low b_high", dynamic: true, id: "[ab]_low,[!a]_*"},
		{list: "[^a]_*", want: "b_high", dynamic: true, id: "[^a]_*"},
		{list: "mail*", want: "mail/out", dynamic: true, id: "mail*"},
		{list: ".*", want: ".hidden", dynamic: true, id: ".*"},
		{list: "{a", want: "", dynamic: true, id: "{a"},

		{list: "*,!low", want: "Zoo a_high a_low b_high high mail/out {a,b}", dynamic: true, id: "*"},
		{list: "!priority,*", want: "Zoo a_high a_low b_high high low mail/out {a,b}", dynamic: true, id: "*"},
		{list: "!*_low,*_low,high", want: "high", dynamic: true, id: "*_low,high"},
		{list: "high,absent,!low", want: "high", dynamic: true, id: "high,absent"},
		{list: "!Zoo,!*_*", want: "high low mail/out {a,b}", dynamic: true, id: "*"},
		{list: "*", all: "none", want: "", dynamic: true, id: "*"},

		{list: "high=2,low=1", want: "high low", id: "high,low"},
		{list: "*_high=2, low", want: "a_high b_high low", dynamic: true, id: "*_high,low"},
		{list: "a=1=2", want: "a=1", id: "a=1"},
	}
	for _, tt := range tests {
		t.Run(tt.list, func(t *testing.T) {
			t.Parallel()
			list, err := resque.ParseQueueList(tt.list)
			if err != nil {
				t.Fatal(err)
			}
			known := all
			if tt.all != "" {
				known = nil
			}
			if tt.dynamic != list.Dynamic() {
				t.Errorf("Dynamic() = %v", list.Dynamic())
			}
			if got := strings.Join(list.Expand(known), " "); got != tt.want {
				t.Errorf("expands to %q, want %q", got, tt.want)
			}
			if got := list.IDText(); got != tt.id {
				t.Errorf("id text %q, want %q", got, tt.id)
			}
		})
	}
}

func TestQueueListTakesSeveralTexts(t *testing.T) {
	t.Parallel()
	list, err := resque.ParseQueueList("high", "low, !slow")
	if err != nil {
		t.Fatal(err)
	}
	if got := list.Expand([]string{"low", "slow", "high"}); !slices.Equal(got, []string{"high", "low"}) {
		t.Errorf("expands to %v", got)
	}
}

func TestQueueListLeavesItsInputAlone(t *testing.T) {
	t.Parallel()
	list, err := resque.ParseQueueList("*,!b")
	if err != nil {
		t.Fatal(err)
	}
	all := []string{"c", "b", "a"}
	list.Expand(all)
	if !slices.Equal(all, []string{"c", "b", "a"}) {
		t.Errorf("the names became %v", all)
	}
}

func TestQueueListRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ list, says string }{
		{"", `"high,low"`},
		{",,", `"*" for all`},
		{" , ", `"high,low"`},
		{"high,!", `"*,!slow"`},
		{"high=0", "from 1 to"},
		{"high=1000001", "from 1 to"},
		{"high=99999999999999999999", "write !high"},
		{"=2", "such as high=2"},
	}
	for _, tt := range tests {
		t.Run(tt.list, func(t *testing.T) {
			t.Parallel()
			_, err := resque.ParseQueueList(tt.list)
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want it to say %s", err, tt.says)
			}
		})
	}
	if _, err := resque.ParseQueueList(); err == nil {
		t.Error("no list at all is accepted")
	}
}

func TestQueueListOrderFollowsWeights(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2)).Float64
	const rounds = 30_000
	tests := []struct {
		list   string
		all    []string
		shares map[string]float64 // how often each order comes out
	}{
		{"high=2,low=1", nil, map[string]float64{"high low": 2.0 / 3, "low high": 1.0 / 3}},
		{"a=5,b=3,c", nil, map[string]float64{
			"a b c": 5.0 / 9 * 3 / 4, "a c b": 5.0 / 9 / 4, "b a c": 3.0 / 9 * 5 / 6,
			"b c a": 3.0 / 9 / 6, "c a b": 1.0 / 9 * 5 / 8, "c b a": 1.0 / 9 * 3 / 8,
		}},
		{"x_*=3,y=1", []string{"y", "x_2", "x_1"}, map[string]float64{"x_1 x_2 y": 0.75, "y x_1 x_2": 0.25}},
		{"a,b", nil, map[string]float64{"a b": 1, "b a": 0}},
		{"a=1,b=1", nil, map[string]float64{"a b": 0.5, "b a": 0.5}},
	}
	for _, tt := range tests {
		list, err := resque.ParseQueueList(tt.list)
		if err != nil {
			t.Fatal(err)
		}
		before := list.Expand(tt.all)
		orders := map[string]int{}
		for range rounds {
			orders[strings.Join(list.Order(tt.all, random), " ")]++
		}
		for order, want := range tt.shares {
			if got := float64(orders[order]) / rounds; got < want-0.015 || got > want+0.015 {
				t.Errorf("%s: %s comes out in %.3f of the draws, want %.3f", tt.list, order, got, want)
			}
			delete(orders, order)
		}
		if len(orders) > 0 {
			t.Errorf("%s: drawn too: %v", tt.list, orders)
		}
		if !slices.Equal(list.Expand(tt.all), before) {
			t.Errorf("%s: drawing changed the list", tt.list)
		}
	}
}

func TestQueueListOrderDrawsEachQueueOnce(t *testing.T) {
	t.Parallel()
	list, err := resque.ParseQueueList("a=5,b=3,c=1")
	if err != nil {
		t.Fatal(err)
	}
	for _, number := range []float64{0, 0.3, 0.6, 0.999999999} {
		order := list.Order(nil, func() float64 { return number })
		slices.Sort(order)
		if !slices.Equal(order, []string{"a", "b", "c"}) {
			t.Errorf("with %v always drawn: %v", number, order)
		}
	}
}

func BenchmarkQueueListExpand(b *testing.B) {
	list, err := resque.ParseQueueList("*_high,*,!slow_*")
	if err != nil {
		b.Fatal(err)
	}
	all := make([]string, 0, 100)
	for i := range 100 {
		all = append(all, "tenant_"+strings.Repeat("x", i%7)+string(rune('a'+i%26)))
	}
	b.ReportAllocs()
	for b.Loop() {
		list.Expand(all)
	}
}

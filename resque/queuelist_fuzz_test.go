package resque_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/understudy/compat/ruby"
	"example.com/understudy/resque"
)

// FuzzQueueList expands any list over any queues, and holds the result against
// the rules written down as they are said.
func FuzzQueueList(f *testing.F) {
	for _, list := range []string{"*", "high,low", "*_high,*_low,!slow_*", "!a,!b*", "a=1=2,b=", "=2", "!", " a , a ,,", "[a-", "\xff*,?", "a=0", "!*"} {
		f.Add(list, "high,low,a,b,a_high,b_low,slow_high,\xff,.hidden", 0.5)
	}
	f.Fuzz(func(t *testing.T, text, names string, drawn float64) {
		list, err := resque.ParseQueueList(text)
		if err != nil {
			if !strings.Contains(err.Error(), "Queues") {
				t.Fatalf("a refusal that names no option: %v", err)
			}
			return
		}
		all := strings.Split(names, ",")
		got, want := list.Expand(all), expandSlowly(text, all)
		if !slices.Equal(got, want) {
			t.Fatalf("%q over %q: got %q, want %q", text, all, got, want)
		}
		if list.IDText() == "" || strings.HasPrefix(list.IDText(), ",") {
			t.Fatalf("%q has the id %q", text, list.IDText())
		}
		if !(drawn >= 0 && drawn < 1) {
			return
		}
		order := list.Order(all, func() float64 { return drawn })
		if !list.Weighted() && !slices.Equal(order, got) {
			t.Fatalf("%q without weights in the order %q", text, order)
		}
		slices.Sort(order)
		slices.Sort(got)
		if !slices.Equal(order, got) {
			t.Fatalf("%q: drawn %q, expanded %q", text, order, got)
		}
	})
}

// expandSlowly reads an accepted list: what to leave out, then each item in its
// order with the queues that it stands for, by their bytes, each once.
func expandSlowly(text string, all []string) (queues []string) {
	var items, skips []string
	dynamic := false
	for part := range strings.SplitSeq(text, ",") {
		switch part = strings.TrimSpace(part); {
		case part == "":
		case part[0] == '!':
			skips, dynamic = append(skips, part[1:]), true
		default:
			if at := strings.LastIndex(part, "="); at >= 0 {
				if _, err := strconv.ParseUint(part[at+1:], 10, 64); err == nil {
					part = strings.TrimSpace(part[:at])
				}
			}
			items = append(items, part)
			dynamic = dynamic || ruby.IsPattern(part)
		}
	}
	if len(items) == 0 {
		items = []string{"*"}
	}
	for _, item := range items {
		if !dynamic {
			queues = append(queues, item)
			continue
		}
		for _, name := range slices.Sorted(slices.Values(all)) {
			left := slices.ContainsFunc(skips, func(skip string) bool { return ruby.Fnmatch(skip, name) })
			if ruby.Fnmatch(item, name) && !left {
				queues = append(queues, name)
			}
		}
	}
	var once []string
	for _, name := range queues {
		if !slices.Contains(once, name) {
			once = append(once, name)
		}
	}
	return once
}

package conformance

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
)

// difference is one thing that isn't as Ruby left it.
type difference struct {
	// Field is what differs: a key, or "trace", "during", "error", "now".
	Field string
	// Detail shows the two sides: - is Ruby, + is ours.
	Detail string
}

// ttlSlack is what a recorded time to live may be off, for rounding.
const ttlSlack = 2

// compareStates answers, in the order of the keys, how got differs from want.
// elapsed is the real time since the scenario began: a time to live ticks with
// the server's clock, whatever ours says.
func compareStates(want, got state, elapsed time.Duration) []difference {
	var differences []difference
	keys := slices.Sorted(maps.Keys(union(want, got)))
	for _, key := range keys {
		w, wanted := want[key]
		g, there := got[key]
		switch {
		case !there:
			differences = append(differences, difference{key, "is missing; Ruby has\n" + cmp.Diff(describe(w), "")})
		case !wanted:
			differences = append(differences, difference{key, "should not be there\n" + cmp.Diff("", describe(g))})
		default:
			if diff := cmp.Diff(plain(w), plain(g)); diff != "" {
				differences = append(differences, difference{key, "(-Ruby +ours)\n" + diff})
			}
			if !sameTTL(w.TTL, g.TTL, elapsed) {
				differences = append(differences, difference{key, fmt.Sprintf("time to live: Ruby %s, ours %s", seconds(w.TTL), seconds(g.TTL))})
			}
		}
	}
	return differences
}

func union(a, b state) state {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// plain is the entry without its time to live.
func plain(e entry) entry {
	e = scrubbed(e)
	e.TTL = nil
	return e
}

func describe(e entry) string {
	return fmt.Sprintf("%s %q, time to live %s", e.Type, e.Value, seconds(e.TTL))
}

func sameTTL(want, got *int64, elapsed time.Duration) bool {
	if want == nil || got == nil {
		return want == got
	}
	ticked := int64(elapsed / time.Second)
	return *got <= *want+ttlSlack && *got >= *want-ttlSlack-ticked
}

func seconds(ttl *int64) string {
	if ttl == nil {
		return "none"
	}
	return fmt.Sprintf("%d s", *ttl)
}

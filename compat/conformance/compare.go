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
	// Field is what differs: a key, or one of the fields below.
	Field string
	// Detail shows the two sides: - is Ruby, + is ours.
	Detail string
	// Got is what there is of ours where the table of deviations looks at it.
	Got any
}

// The fields of a step that aren't keys.
const (
	fieldNow        = "now"
	fieldTrace      = "trace"
	fieldDuring     = "during"
	fieldError      = "error"
	fieldDefinition = "definition_error"
	fieldResult     = "result"
	fieldLock       = "lock"
)

// ttlSlack is what a recorded time to live may be off, for rounding.
const ttlSlack = 1

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
		case !there && expired(w.TTL, elapsed):
		case !there:
			differences = append(differences, difference{Field: key, Detail: "is missing; Ruby has " + describe(w)})
		case !wanted:
			differences = append(differences, difference{Field: key, Detail: "should not be there: " + describe(g), Got: plain(g)})
		default:
			if diff := cmp.Diff(plain(w), plain(g)); diff != "" {
				differences = append(differences, difference{Field: key, Detail: "(-Ruby +ours)\n" + diff, Got: plain(g)})
			}
			if !sameTTL(w.TTL, g.TTL, elapsed) {
				differences = append(differences, difference{Field: key, Detail: fmt.Sprintf("time to live: Ruby %s, ours %s", seconds(w.TTL), seconds(g.TTL))})
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
	format := "%s %q, time to live %s"
	if e.Type == typeZset {
		format = "%s %v, time to live %s"
	}
	return fmt.Sprintf(format, e.Type, e.Value, seconds(e.TTL))
}

func sameTTL(want, got *int64, elapsed time.Duration) bool {
	if want == nil || got == nil {
		return want == got
	}
	ticked := int64((elapsed + time.Second - 1) / time.Second)
	return *got <= *want+ttlSlack && *got >= *want-ttlSlack-ticked
}

// expired says that a key may have gone by itself: the server's clock doesn't
// stand still.
func expired(ttl *int64, elapsed time.Duration) bool {
	return ttl != nil && elapsed >= time.Duration(*ttl-ttlSlack)*time.Second
}

func seconds(ttl *int64) string {
	if ttl == nil {
		return "none"
	}
	return fmt.Sprintf("%d s", *ttl)
}

package failure

import (
	"context"
	"slices"
)

// How much of a list is looked at to find the place anew: at first, and how many
// times more each time that this doesn't do.
const (
	windowBefore = 16
	windowBehind = 4
	windowGrowth = 4
	windowBytes  = 256 << 10 // for each element
)

// locate finds the place anew: behind what is still there of the passed
// elements, in the order of the walk. It reads more and more of the list until
// that is plain.
func (w *walk) locate(ctx context.Context) error {
	w.located = true
	for before := int64(windowBefore); ; before *= windowGrowth {
		behind := int64(0) // with the oldest first, nothing there was passed
		if w.step < 0 {
			behind = before * windowBehind / windowBefore
		}
		p, err := w.store.read(ctx, w.list,
			span{first: max(w.at+behind-1, 0), step: -1, count: before + behind, bytes: int(before) * windowBytes}, span{step: 1})
		if err != nil {
			return err
		}
		window := w.store.records(w.list, p, -1)
		found, plain := w.settle(window, p.length, int(before)*windowGrowth)
		if plain {
			w.at, w.passed, w.aligned = found.at, found.passed, found.aligned
			return nil
		}
	}
}

// settle says where the place is by a window of the list, given from its upper
// end to the lower; recent is how many of the last passed it is compared with.
// It isn't plain while the place may be outside of the window, or depends on
// elements whose text was passed several times.
func (w *walk) settle(window []Record, length int64, recent int) (found walk, plain bool) {
	at, from := int64(0), 0 // the place if nothing in the window was passed
	whole := len(window) == 0 || window[len(window)-1].Index == 0
	if w.step > 0 {
		slices.Reverse(window)
		if len(window) > 0 {
			// What stands at an index now stood there before, or behind it.
			from = min(int(window[0].Index), len(w.passed))
		}
	} else {
		at, from = min(w.at, length), max(0, len(w.passed)-recent)
		whole = whole && from == 0 && int64(len(window)) == length
	}
	known := w.passed[from:]
	s := w.survivors(known, window)
	found = walk{step: w.step, at: at, passed: w.passed[:from:from]}
	if s.any {
		for w.step < 0 && window[s.last].Index > at {
			s.last++ // what isn't to come
		}
		found.at = window[s.last].Index + max(w.step, 0)
		found.passed = append(found.passed, known[:s.lead]...)
		for _, r := range window[s.first : s.last+1] {
			found.passed = append(found.passed, w.mark(r.Raw))
			found.aligned++
		}
	}
	return found, whole || s.pinned && (w.step > 0 || s.ended)
}

// survivors are those of the passed elements that are in a window of the list.
type survivors struct {
	any         bool
	first, last int // in the window
	lead        int // which of the passed the first one is
	// pinned says that the first one is the only one with its text, so that what
	// is outside of the window can't be any of those behind it.
	pinned bool
	ended  bool // the window goes on behind the last one
}

// survivors matches a window with what was passed, both in the order of the
// walk. Of the passed some may be gone. The first element that is none of them
// ends it, for it is still to come; but behind the place, with the newest first,
// it was appended. So each element that isn't met for being taken for a passed
// one has the same text as a passed one that is gone.
func (w *walk) survivors(passed []mark, window []Record) (s survivors) {
	places := map[uint64][]int{}
	for i, m := range passed {
		places[m.core] = append(places[m.core], i)
	}
	next := 0
	for i := range window {
		r := &window[i]
		if r.Blank {
			continue // it may be any, which is being removed
		}
		now := w.mark(r.Raw)
		at := slices.IndexFunc(places[now.core], func(at int) bool {
			// Whoever changes a record where it is notes a requeue.
			return at >= next && (passed[at].raw == now.raw || r.RetriedAtText != "")
		})
		switch {
		case at >= 0:
			place := places[now.core][at]
			pin := !s.pinned && len(places[now.core]) == 1 && (w.step > 0 || r.Index >= w.at)
			if !s.any || pin {
				s.any, s.pinned, s.first, s.lead = true, pin, i, place
			}
			s.last, next = i, place+1
		case w.step > 0 || r.Index < w.at:
			s.ended = true
			return s
		}
	}
	return s
}

package failure

import (
	"context"
	"hash/maphash"

	"example.com/understudy/compat/ruby"
	"example.com/understudy/resque"
)

// Order is the order in which records are walked through.
type Order bool

// The orders. Records are appended to a list as they fail.
const (
	OldestFirst Order = false
	NewestFirst Order = true
)

// walk goes through a list page by page while others change it: they append to
// it, remove elements anywhere and replace them where they are. No element that
// stays is passed over, and none is met twice.
//
// What was passed stands before the place where the walk goes on, for the oldest
// first, or behind it, for the newest. Who removes something in front moves that
// place towards the head. So with each page the walk has a look at what it
// passed last; where that is no longer next to the place, it looks for the place
// anew (locate.go).
type walk struct {
	store *Store
	list  string
	step  int64 // 1: oldest first, -1: newest first
	// at is the place: elements from at on are still to come, for the newest
	// first those before it.
	at int64
	// end is where the oldest first ends: what was appended since the begin is
	// no part of the walk.
	end    int64
	begun  bool
	passed []mark // in the order of the walk; some may be gone
	// aligned is how many of the last passed stand side by side up to the place,
	// unless others have changed the list since.
	aligned int
	located bool // the place had to be looked for
	heard   []resque.Edit
	seed    maphash.Seed
}

// mark is what the walk keeps of an element.
type mark struct {
	raw  uint64 // begin of the digest of its text
	core uint64 // digest of what a requeue leaves as it is
	// blank: it may be any element, which is being removed.
	blank bool
}

func (s *Store) walk(list string, order Order) *walk {
	w := &walk{store: s, list: list, step: 1, seed: maphash.MakeSeed()}
	if order == NewestFirst {
		w.step = -1
	}
	return w
}

// next answers the next records, for each of which pass or removed is to be
// called, in their order; none at the end.
func (w *walk) next(ctx context.Context) ([]Record, error) {
	for !w.done() {
		texts, anchors := w.spans()
		p, err := w.store.read(ctx, w.list, texts, anchors)
		if err != nil {
			return nil, err
		}
		switch {
		case !w.begun:
			w.begun, w.end = true, p.length
			if w.step < 0 {
				w.at = p.length
			}
		case !w.inPlace(p):
			if err := w.locate(ctx); err != nil {
				return nil, err
			}
			continue
		case w.step < 0:
			w.at = min(w.at, p.length)
		}
		return w.store.records(w.list, p, w.step), nil
	}
	return nil, nil
}

func (w *walk) done() bool {
	return w.begun && (w.step > 0 && w.at >= w.end || w.step < 0 && w.at == 0)
}

// spans are what the next page reads: the texts from the place on, and digests
// of what was passed last, from the place backwards.
func (w *walk) spans() (texts, anchors span) {
	texts = span{first: w.at, step: w.step, count: int64(w.store.batch.records), bytes: w.store.batch.bytes}
	anchors = span{first: w.at - 1, step: -w.step, count: w.anchors(), bytes: anchorBytes}
	switch {
	case w.step < 0:
		texts.first, anchors.first = w.at-1, w.at
	case w.begun:
		texts.count = min(texts.count, w.end-w.at)
	}
	return texts, anchors
}

const (
	minAnchors  = 8
	maxAnchors  = 1000
	anchorBytes = 16 << 20
)

// anchors is how many of the passed elements have to stand where they were for
// the place to be right. The last one would do, were there no elements with the
// same text: so it is as many as lead to one whose text was passed once, and a
// few more.
func (w *walk) anchors() int64 {
	recent := w.passed[max(0, len(w.passed)-maxAnchors):]
	times := make(map[uint64]int, len(recent))
	for _, m := range recent {
		times[m.raw]++
	}
	most := min(w.aligned, len(recent))
	for n := 1; n <= most-minAnchors; n++ {
		if m := recent[len(recent)-n]; times[m.raw] == 1 && !m.blank {
			return int64(n) + minAnchors
		}
	}
	return int64(most)
}

// inPlace says whether the digests, read from the place backwards, are those of
// what was passed. They may be fewer than asked for, as many as their bytes
// allow, but not for want of elements.
func (w *walk) inPlace(p piece) bool {
	want := w.anchors()
	if w.step < 0 && p.length-w.at < want || want > 0 && len(p.digests) == 0 {
		return false
	}
	for i, text := range p.digests {
		if w.passed[len(w.passed)-1-i].raw != short(text) {
			return false
		}
	}
	return true
}

// place is the index of the next element.
func (w *walk) place() int64 { return w.at + min(w.step, 0) }

// pass takes an element that stays in the list, with the text that it has now,
// for passed.
func (w *walk) pass(raw []byte) {
	w.passed = append(w.passed, w.mark(raw))
	w.aligned++
	w.at += w.step
}

// removed takes an element that was removed for passed.
func (w *walk) removed() {
	if w.step > 0 {
		w.end--
	} else {
		w.at--
	}
}

func (w *walk) mark(raw []byte) mark {
	return mark{raw: short(digest(raw)), core: w.core(raw), blank: isBlank(raw)}
}

// short is the begin of a digest.
func short(digest string) uint64 {
	n := uint64(0)
	for i := range min(16, len(digest)) {
		c := uint64(digest[i])
		n = n<<4 | (c&0xF + c>>6*9)
	}
	return n
}

// core names what a requeue leaves as it is, by this package or by Ruby, which
// writes the whole record anew.
func (w *walk) core(raw []byte) uint64 {
	var h maphash.Hash
	h.SetSeed(w.seed)
	members, err := ruby.Members(raw)
	if err != nil {
		_, _ = h.Write(raw)
	}
	for _, m := range members {
		if m.Key == keyRetriedAt {
			continue
		}
		value, err := ruby.Reencode(m.Value)
		if err != nil {
			value = m.Value
		}
		_, _ = h.WriteString(m.Key)
		_ = h.WriteByte(0)
		_, _ = h.Write(value)
	}
	return h.Sum64()
}

package resque

import (
	"context"
	"fmt"
	"hash/maphash"
	"time"
)

// twins knows how often each text stands in a long list of delayed jobs. A job's
// note has to stay while it has a twin; were each step to look through the whole
// list for them, removing a hundred thousand jobs would take a hundred looks at a
// hundred thousand each.
//
// Who delays a job notes it as well. So what is pushed behind a step is noted
// whatever the step has dropped, and only twins that were pushed between the count
// and a step may lose their note: they are noted anew at the end.
type twins struct {
	client *Client
	time   delayedTime
	seed   maphash.Seed
	counts map[uint64]int32 // by the texts' hashes; nil: not counted yet
	sole   map[uint64]bool  // removed as the only ones
}

func newTwins(c *Client, t delayedTime) *twins {
	return &twins{client: c, time: t, seed: maphash.MakeSeed(), sole: map[uint64]bool{}}
}

// fewEdits is how many edits look for twins by themselves.
const fewEdits = 16

// mark marks the edits of those that have no twin. nil counts none, and marks
// none.
func (w *twins) mark(ctx context.Context, edits []Edit) error {
	if w == nil || len(edits) <= fewEdits && w.counts == nil {
		return nil
	}
	if w.counts == nil {
		w.counts = map[uint64]int32{}
		if err := w.each(ctx, func(item []byte) { w.counts[w.hash(item)]++ }); err != nil {
			return err
		}
	}
	for i := range edits {
		edits[i].sole = w.counts[w.hash(edits[i].Raw)] == 1
	}
	return nil
}

func (w *twins) hash(item []byte) uint64 { return maphash.Bytes(w.seed, item) }

// removed hears that an edit has found its element.
func (w *twins) removed(e Edit) {
	if w == nil || w.counts == nil {
		return
	}
	h := w.hash(e.Raw)
	w.counts[h]--
	if e.sole {
		w.sole[h] = true
	}
}

// each reads the list.
func (w *twins) each(ctx context.Context, visit func(item []byte)) error {
	for at := int64(0); ; {
		p, err := w.client.page(ctx, at, pageSize, w.time.key)
		if err != nil {
			return err
		}
		for _, item := range p.elements {
			visit(item)
		}
		if p.ended || !p.list {
			return nil
		}
		at += int64(len(p.elements))
	}
}

// noteLua notes delayed jobs that are there.
//
//	KEYS 1 delayed:<second>, then timestamps:<item> of each item
//	ARGV 1 the note, then each item
//
// It answers 1. Items that aren't in the list aren't noted.
const noteLua = `
for i = 2, #KEYS do
  if redis.call('LPOS', KEYS[1], ARGV[i], 'RANK', -1) then redis.pcall('SADD', KEYS[i], ARGV[1]) end
end
return 1
`

// endRoom is how long the notes may take after a call was cancelled.
const endRoom = 10 * time.Second

// end notes anew what was removed as the only one and stands there all the same.
func (w *twins) end(ctx context.Context) error {
	if len(w.sole) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endRoom)
	defer cancel()
	var found [][]byte
	err := w.each(ctx, func(item []byte) {
		if w.sole[w.hash(item)] {
			found = append(found, item)
		}
	})
	for err == nil && len(found) > 0 {
		keys, args := []string{w.client.keys.Of(w.time.key)}, []any{w.time.key}
		for size := 0; len(found) > 0 && len(keys) <= fewEdits && size < maxStepBytes; found = found[1:] {
			keys, args, size = append(keys, w.client.keys.Of(timestampsKey(found[0]))), append(args, found[0]), size+len(found[0])
		}
		_, err = w.client.Run(ctx, w.client.noteScript, keys, args...)
	}
	if err != nil {
		return fmt.Errorf("resque: noting the delayed jobs of %d: %w", w.time.at.Unix(), err)
	}
	return nil
}

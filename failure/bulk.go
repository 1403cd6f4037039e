package failure

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"example.com/understudy/resque"
)

// Result says what a call about many records has done, also beside an error.
type Result struct {
	// Total is how many records there were in the lists at the begin.
	Total int64
	// Seen is how many of them were looked at.
	Seen int64
	// Done is how many were requeued or removed.
	Done int64
	// Gone is how many fitted, and weren't there any more as they had been seen
	// when their turn came: somebody else removed or requeued them.
	Gone int64
	// Skipped is how many fitted and were left alone: blank and broken ones.
	Skipped int64
	// Reason is why the first of them was skipped; nil: none was.
	Reason error
}

// RequeueMatching requeues the records that fit, as Requeue does it, some
// hundred in one step. It goes through the list failed with the oldest first,
// through the lists by queue with the newest first, as Ruby does; those that
// were requeued before are requeued again, unless the filter says Unretried.
// What fails while it runs is no part of it, as long as nobody else removes older
// records meanwhile.
//
// progress hears after each step what was done so far, on the caller's
// goroutine; nil: nobody does. When ctx ends, or after another error, the Result
// says what was done for sure; the step that failed may have been carried out as
// well, if its reply was lost.
func (s *Store) RequeueMatching(ctx context.Context, f Filter, progress func(Result)) (Result, error) {
	return s.bulk(ctx, f, requeue, progress)
}

// RequeueAndRemoveMatching is RequeueMatching, but the records go.
func (s *Store) RequeueAndRemoveMatching(ctx context.Context, f Filter, progress func(Result)) (Result, error) {
	return s.bulk(ctx, f, requeueAndRemove, progress)
}

// RemoveMatching removes the records that fit (with the filter Retried, Ruby:
// Resque::Failure.clear_retried). Unreadable ones are skipped, unless the filter
// says Broken; Clear takes all. See RequeueMatching about the rest.
func (s *Store) RemoveMatching(ctx context.Context, f Filter, progress func(Result)) (Result, error) {
	return s.bulk(ctx, f, removerOf(f), progress)
}

// removerOf leaves alone what can't be read, unless that is asked for.
func removerOf(f Filter) action {
	if f.Broken {
		return remove
	}
	return removeReadable
}

// RequeueAll requeues all records of the store (Ruby:
// Resque::Failure.requeue_all), those that were requeued before again. See
// RequeueMatching.
func (s *Store) RequeueAll(ctx context.Context, progress func(Result)) (Result, error) {
	return s.bulk(ctx, Filter{}, requeue, progress)
}

// RequeueQueue requeues the records of a queue (Ruby:
// Resque::Failure.requeue_queue): with lists by queue all of its list, else
// those of the list failed that name it. See RequeueMatching.
func (s *Store) RequeueQueue(ctx context.Context, queue string, progress func(Result)) (Result, error) {
	if s.perQueue {
		return s.bulk(ctx, Filter{List: queue + suffixFailed}, requeue, progress)
	}
	return s.sweep(ctx, []string{keyFailed}, ofQueue(queue), requeue, progress)
}

// RemoveQueue removes the records of a queue (Ruby:
// Resque::Failure.remove_queue): with lists by queue its whole list, whose name
// stays in failed_queues, else those of the list failed that name it. See
// RequeueMatching.
func (s *Store) RemoveQueue(ctx context.Context, queue string, progress func(Result)) (Result, error) {
	if !s.perQueue {
		return s.sweep(ctx, []string{keyFailed}, ofQueue(queue), removeReadable, progress)
	}
	n, err := s.Clear(ctx, queue+suffixFailed)
	r := Result{Total: n, Seen: n, Done: n}
	if progress != nil && err == nil {
		progress(r)
	}
	return r, err
}

// ofQueue takes the queue's name as it is, where a Filter may see a pattern.
func ofQueue(queue string) func(*Record) bool {
	return func(r *Record) bool { return r.Queue == queue && !errors.Is(r.Err, ErrUnreadable) }
}

func (s *Store) bulk(ctx context.Context, f Filter, act action, progress func(Result)) (Result, error) {
	lists, err := s.lists(ctx, f.List)
	if err != nil {
		return Result{}, err
	}
	return s.sweep(ctx, lists, f.Match, act, progress)
}

// sweep acts on the records of lists that fit.
func (s *Store) sweep(ctx context.Context, lists []string, fits func(*Record) bool, act action, progress func(Result)) (Result, error) {
	b := sweep{store: s, fits: fits, act: act, progress: progress, own: map[uint64]bool{}}
	for _, list := range lists {
		n, err := s.Count(ctx, list)
		if err != nil {
			return b.result, err
		}
		b.result.Total += n
	}
	for _, list := range lists {
		if err := b.through(ctx, list); err != nil {
			return b.result, fmt.Errorf("failure: after %d of %d records of %s: %w", b.result.Seen, b.result.Total, strings.Join(lists, ", "), err)
		}
	}
	return b.result, nil
}

// sweep is one call about many records.
type sweep struct {
	store    *Store
	fits     func(*Record) bool
	act      action
	progress func(Result)
	result   Result
	// own are the texts of the requeued records. One that is met again, where
	// the walk had to step back, isn't requeued once more.
	own map[uint64]bool
}

// through goes through one list, a page a step.
func (b *sweep) through(ctx context.Context, list string) error {
	order := NewestFirst
	if list == keyFailed {
		order = OldestFirst
	}
	w := b.store.walk(list, order)
	for {
		page, err := w.next(ctx)
		if err != nil || len(page) == 0 {
			return err
		}
		if err := b.take(ctx, w, page); err != nil {
			return err
		}
		if b.progress != nil {
			b.progress(b.result)
		}
	}
}

// take acts on one page.
func (b *sweep) take(ctx context.Context, w *walk, page []Record) error {
	edits := make([]resque.Edit, 0, len(page))
	edited := make([]int, len(page)) // which edit is the record's, counted from 1
	now := b.store.clock.Now()
	for i := range page {
		if !b.fits(&page[i]) || w.located && b.own[short(digest(page[i].Raw))] {
			continue
		}
		edit, err := b.act(&page[i], now)
		if err != nil {
			b.skip(&page[i], err)
			continue
		}
		edits = append(edits, edit)
		edited[i] = len(edits)
	}
	found, err := b.edit(ctx, edits)
	if err != nil {
		return err
	}
	for i := range page {
		b.result.Seen++
		if edited[i] == 0 {
			w.pass(page[i].Raw)
			continue
		}
		b.settle(w, &page[i], edits[edited[i]-1], found[edited[i]-1])
	}
	return nil
}

// settle notes what became of one record.
func (b *sweep) settle(w *walk, r *Record, edit resque.Edit, o outcome) {
	switch {
	case o.err != nil:
		b.skip(r, o.err)
		w.pass(r.Raw)
	case o.found == 0:
		b.result.Gone++
		w.pass(r.Raw)
	case edit.Replace != nil:
		b.result.Done++
		b.own[short(digest(edit.Replace))] = true
		w.pass(edit.Replace)
	default:
		b.result.Done++
		w.removed()
	}
}

func (b *sweep) skip(r *Record, err error) {
	b.result.Skipped++
	if b.result.Reason == nil {
		b.result.Reason = fmt.Errorf("failure: record %s: %w", r.ID, err)
	}
}

// outcome is what became of an edit: err is why it can't be carried out while
// others can.
type outcome struct {
	found int64
	err   error
}

// edit carries out edits in one step; where a queue's key is no list, one by
// one, for the other records' sake.
func (b *sweep) edit(ctx context.Context, edits []resque.Edit) ([]outcome, error) {
	outcomes := make([]outcome, len(edits))
	found, err := b.store.client.Edit(ctx, edits...)
	if err == nil {
		for i, n := range found {
			outcomes[i].found = n
		}
		return outcomes, nil
	}
	if resque.ErrorCode(err) != "WRONGTYPE" {
		return nil, err
	}
	for i, edit := range edits {
		found, err := b.store.client.Edit(ctx, edit)
		switch {
		case err == nil:
			outcomes[i].found = found[0]
		case resque.ErrorCode(err) == "WRONGTYPE":
			outcomes[i].err = err
		default:
			return nil, err
		}
	}
	return outcomes, nil
}

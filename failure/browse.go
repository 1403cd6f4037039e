package failure

import (
	"context"
	"iter"
)

// Each goes through the records that fit, in the order of their failing or
// against it, list by list (Ruby: Resque::Failure.each). It reads a page at a
// time, of some hundred records and some megabytes at most, while others add,
// remove and requeue records: one that stays in its list is met, and only once
// (unless others remove nearly all that was met, and add more, within one page).
// What fails meanwhile is met only where others remove older ones. An error is the
// last that it yields; the record beside it is empty. The loop's body may requeue
// and remove records, best by the same store: of several with the same text it
// then doesn't pass over any.
func (s *Store) Each(ctx context.Context, f Filter, order Order) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		lists, err := s.lists(ctx, f.List)
		for i := 0; i < len(lists) && err == nil; i++ {
			var more bool
			if more, err = s.eachOf(ctx, lists[i], order, f, yield); !more {
				return
			}
		}
		if err != nil {
			yield(Record{}, err)
		}
	}
}

func (s *Store) eachOf(ctx context.Context, list string, order Order, f Filter, yield func(Record, error) bool) (more bool, err error) {
	w := s.walk(list, order)
	s.listen(w)
	defer s.ignore(w)
	for {
		page, err := w.next(ctx)
		if err != nil || len(page) == 0 {
			return true, err
		}
		for _, r := range page {
			r.Index = w.place()
			w.pass(r.Raw)
			if f.Match(&r) && !yield(r, nil) {
				return false, nil
			}
			w.catchUp()
		}
	}
}

// CountMatching counts the records that fit (Ruby: Resque::Failure.count with a
// class). It reads all of them.
func (s *Store) CountMatching(ctx context.Context, f Filter) (int64, error) {
	n := int64(0)
	for _, err := range s.Each(ctx, f, OldestFirst) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

package failure

import (
	"slices"

	"example.com/understudy/resque"
)

// The walks of Each hear what the same store does to single records meanwhile,
// most likely in the loop's body, and so don't have to find out.

func (s *Store) listen(w *walk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.walks[w] = true
}

func (s *Store) ignore(w *walk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.walks, w)
}

// tell notes an edit that was carried out.
func (s *Store) tell(edit resque.Edit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.walks {
		if w.list == edit.Key {
			w.heard = append(w.heard, edit)
		}
	}
}

// catchUp takes over what was heard. An element that wasn't passed will be met,
// or not, as it is.
func (w *walk) catchUp() {
	w.store.mu.Lock()
	heard := w.heard
	w.heard = nil
	w.store.mu.Unlock()
	for _, edit := range heard {
		raw := short(digest(edit.Raw))
		for i, m := range slices.Backward(w.passed) {
			if m.raw == raw {
				w.changed(i, edit.Replace)
				break
			}
		}
	}
}

// changed notes what became of a passed element; now nil: it was removed.
func (w *walk) changed(i int, now []byte) {
	if now != nil {
		w.passed[i] = w.mark(now)
		return
	}
	if i >= len(w.passed)-w.aligned {
		w.aligned--
	}
	w.passed = append(w.passed[:i], w.passed[i+1:]...)
	if w.step > 0 {
		w.at, w.end = w.at-1, w.end-1
	}
}

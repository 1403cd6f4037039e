package scheduler

import "time"

// Timing is when a recurring job fires, from the moment on that it was loaded: a
// value, which never changes. The zero Timing never fires.
//
// Its rules are those of rufus-scheduler 3.8.2, where a job that is late fires
// once, and its next time is counted from the planned one.
type Timing struct {
	rules   rules
	last    time.Time // zero: none
	keep    bool      // times that were missed fire one by one
	bounded bool      // left counts
	left    int
	planned time.Time // zero: never again
}

// atOnce is how long after the loading a job fires whose first time is at once,
// in rufus-scheduler.
const atOnce = 3 * time.Millisecond

// Timing is when r fires when it is loaded then, in the time zone of loaded
// where r's times name none. What Validate refuses is refused here, too.
func (r Recurring) Timing(loaded time.Time) (Timing, error) {
	rules, err := r.rules()
	if err != nil {
		return Timing{}, err
	}
	loaded = loaded.Round(0) // a clock that stands still while the machine sleeps isn't the one meant
	t := Timing{rules: rules, bounded: r.Times != 0, left: r.Times, planned: loaded}
	if rules.last.set {
		t.last = rules.last.resolve(loaded)
	}
	fires := rules.line != nil || rules.every.Length() > 0
	if fires && rules.first.set {
		t.planned = rules.first.resolve(loaded).In(loaded.Location())
		if soon := loaded.Add(atOnce); !t.planned.Before(loaded) && t.planned.Before(soon) {
			t.planned = soon
		}
	}
	// A first time that is past is refused in Ruby, which dies at a restart.
	if !fires || !rules.first.set || t.planned.Before(loaded) {
		t = t.move(loaded)
	}
	t.keep = r.KeepPast && rules.line == nil
	return t.bound(), nil
}

// Planned is when it fires next; the zero time: never again. That may be past by
// now.
func (t Timing) Planned() time.Time { return t.planned }

// At is what is left of t at now: nothing once last is past, which a planned time
// that is late doesn't outlive either.
func (t Timing) At(now time.Time) Timing {
	if !t.last.IsZero() && !now.Before(t.last) {
		t.planned = time.Time{}
	}
	return t
}

// Fired is what comes after the planned time, which fired at now. Whatever would
// have been due up to then is left out.
func (t Timing) Fired(now time.Time) Timing {
	if t.planned.IsZero() {
		return t
	}
	t.left--
	return t.move(now).bound()
}

// move goes to the next time after now and after the planned one.
func (t Timing) move(now time.Time) Timing {
	if now.Before(t.planned) {
		now = t.planned
	}
	switch every := t.rules.every.Length(); {
	case t.rules.line != nil:
		t.planned = t.rules.line.Next(now.In(t.planned.Location()))
	case every == 0:
		t.planned = time.Time{}
	case t.keep:
		t.planned = t.planned.Add(every)
	default:
		late := now.Sub(t.planned)
		t.planned = t.planned.Add(late - late%every + every)
	}
	return t
}

// bound ends what times and last end.
func (t Timing) bound() Timing {
	if t.bounded && t.left < 1 || !t.last.IsZero() && !t.planned.Before(t.last) {
		t.planned = time.Time{}
	}
	return t
}

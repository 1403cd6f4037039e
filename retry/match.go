package retry

import (
	"reflect"
	"slices"
	"time"

	"example.com/understudy/resque"
)

// Errors is a list of errors in a Policy:
//
//	On: retry.Errors{
//		retry.Named("NetworkError").Wait(30 * time.Second),
//		retry.Is(io.ErrUnexpectedEOF).Wait(2*time.Minute, 4*time.Minute),
//		retry.As[*net.OpError]().Wait(time.Minute),
//	}
type Errors []Match

// Match is one error, or one class of errors: Named, Is or As.
type Match struct {
	name  string
	hits  func(err error) bool
	text  string // as its author wrote it
	waits []time.Duration
	bad   string // why it is refused
}

// Named is a Ruby class with its descendants, or a Go type with its package, as
// in net.OpError or main.BadRecipient; BadRecipient alone doesn't find the latter.
// For types of your own use As[BadRecipient](), or give them the name of the Ruby
// class by a method ExceptionName() string. It finds an error by its name and
// ancestors, as resque.DescribeError gives them, and by those of the errors that
// it wraps.
func Named(class string) Match {
	m := Match{name: class, text: class}
	if class == "" {
		m.bad = "has an error without a name"
	}
	return m
}

// Is is what errors.Is finds.
func Is(target error) Match {
	if target == nil {
		return Match{text: "Is(nil)", bad: "has Is(nil): name the error"}
	}
	byValue := reflect.TypeOf(target).Comparable()
	return Match{text: "Is(" + target.Error() + ")", hits: func(err error) bool {
		if byValue && any(err) == any(target) {
			return true
		}
		is, ok := any(err).(interface{ Is(target error) bool })
		return ok && is.Is(target)
	}}
}

// As is what errors.As finds: a type of error, or an interface.
func As[E error]() Match {
	return Match{text: "As[" + reflect.TypeFor[E]().String() + "]", hits: func(err error) bool {
		if _, ok := any(err).(E); ok {
			return true
		}
		as, ok := any(err).(interface{ As(target any) bool })
		return ok && as.As(new(E))
	}}
}

// Wait gives the error delays of its own, whole seconds, by attempt; after the
// last one, that one again. It has a meaning in Policy.On only.
func (m Match) Wait(delays ...time.Duration) Match {
	m.waits = slices.Clone(delays)
	if len(delays) == 0 {
		m.bad = "has a Wait without a delay for " + m.text
	}
	return m
}

// waits says that an entry has delays of its own.
func (e Errors) waits() bool {
	return slices.ContainsFunc(e, func(m Match) bool { return m.waits != nil })
}

// nearest finds the entry that stands for an error, the first in the order of
// unwrapping, then of ancestors, then of the list; nil: none does.
func (e Errors) nearest(lineage []resque.Link) *Match {
	for _, link := range lineage {
		var best *Match
		distance := 0
		for i := range e {
			d := e[i].distance(link)
			if d >= 0 && (best == nil || d < distance) {
				best, distance = &e[i], d
			}
		}
		if best != nil {
			return best
		}
	}
	return nil
}

// distance is how far the entry is from one error of a chain, in ancestors; -1:
// it doesn't stand for it.
func (m Match) distance(link resque.Link) int {
	if m.hits == nil {
		return slices.Index(link.Names, m.name)
	}
	if link.Err != nil && m.hits(link.Err) {
		return 0
	}
	return -1
}

// exact finds whether the list has an error itself: named entries mean exactly
// its class.
func (e Errors) exact(class string, lineage []resque.Link) bool {
	return slices.ContainsFunc(e, func(m Match) bool {
		if m.hits == nil {
			return m.name == class
		}
		return slices.ContainsFunc(lineage, func(l resque.Link) bool { return l.Err != nil && m.hits(l.Err) })
	})
}

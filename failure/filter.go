package failure

import (
	"errors"
	"strings"
	"time"

	"example.com/understudy/compat/ruby"
)

// Filter says which records are meant; those that fit all of its fields. The
// zero value is all.
type Filter struct {
	// List is the list to look in. "": all lists of the store.
	List string
	// Class, Queue and Exception are names, or patterns by File.fnmatch? as
	// queue names are: with one of * ? [ ] { } in it, as in Mail*. "": any.
	Class     string
	Queue     string
	Exception string
	// Error is a part of the error's text, in the same letters. "": any.
	Error string
	// Since and Until bound failed_at: not before Since, and before Until. A
	// record whose time can't be read doesn't fit either. Zero: no bound.
	Since time.Time
	Until time.Time
	// Retried means only those that were requeued (Ruby: clear_retried removes
	// these), Unretried only the others. Both together mean none.
	Retried   bool
	Unretried bool
	// Broken means only those that can't be requeued: see Record.Err. Only with
	// it are unreadable ones removed.
	Broken bool
}

// Match says whether the record fits, whatever list it stands in. One that is
// unreadable has none of the texts and times that a filter may ask for.
func (f *Filter) Match(r *Record) bool {
	return named(f.Class, r.Class) && named(f.Queue, r.Queue) && named(f.Exception, r.Exception) &&
		strings.Contains(r.Error, f.Error) &&
		within(r.FailedAt, f.Since, f.Until) &&
		(!f.Retried || r.RetriedAtText != "") &&
		(!f.Unretried || r.RetriedAtText == "" && !errors.Is(r.Err, ErrUnreadable)) &&
		(!f.Broken || r.Err != nil)
}

func named(pattern, name string) bool {
	return pattern == "" || pattern == name || ruby.IsPattern(pattern) && ruby.Fnmatch(pattern, name)
}

func within(t, since, until time.Time) bool {
	if since.IsZero() && until.IsZero() {
		return true
	}
	return !t.IsZero() && (since.IsZero() || !t.Before(since)) && (until.IsZero() || t.Before(until))
}

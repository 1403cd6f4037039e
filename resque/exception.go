package resque

import (
	"fmt"
	"reflect"
	"slices"
)

// Exception is an error in Ruby's terms: what a failure record says about it,
// and what retry rules compare with.
type Exception struct {
	// Name is the class name: "NetworkError", "net.OpError".
	Name string
	// Ancestors is Name followed by its ancestors, the nearest first.
	Ancestors []string
	// Message is valid UTF-8.
	Message string
	// Backtrace holds Ruby-like lines, outermost last; never nil.
	Backtrace []string
}

// The names at the root of Ruby's errors.
const (
	runtimeError  = "RuntimeError"
	standardError = "StandardError"
	rootException = "Exception"
)

// An error may say more about itself by these methods. They may stand on any
// error of the chain.
type (
	exceptionNamer interface{ ExceptionName() string }
	ancestorLister interface{ Ancestors() []string }
	backtracer     interface{ Backtrace() []string }
)

// DescribeError names an error as Ruby would. Along the chain of unwrapping,
// depth first:
//
//   - The first ExceptionName() string that isn't empty is the name, and
//     Ancestors() []string of the same error, where there is one, follows it.
//     The list ends in StandardError: it is added, unless the list has it or
//     says itself that it ends elsewhere, in Exception (SignalException,
//     Exception).
//   - Else the name is the first type that is no mere wrapping (fmt's, errors',
//     a join): net.OpError, without the *.
//   - Else it is RuntimeError.
//
// The first Backtrace() []string that isn't empty is the backtrace. Message and
// backtrace together are cut to 256 kB of JSON text, a name to 1 kB. A panic in one of an
// error's methods is contained.
func DescribeError(err error) Exception {
	lineage := ErrorLineage(err)
	head := headline(lineage)
	e := Exception{Name: head.Names[0], Ancestors: withRoot(head.Names)}
	e.Message, e.Backtrace = capErrorText(errorText(err), backtraceOf(lineage))
	return e
}

// Link is one error of a chain, with the Ruby classes that it stands for.
type Link struct {
	// Err is nil in the last link of a lineage, which stands for no error.
	Err error
	// Names holds its class and its ancestors, as far as the error tells them;
	// empty for an error that only wraps others.
	Names []string

	explicit bool // an ExceptionName gave the names
}

// maxLinks bounds the walk along a chain: an error may unwrap to itself.
const maxLinks = 1000

// ErrorLineage lists the errors that err wraps, itself first, in the order of
// unwrapping, depth first. The last link has no error: it holds the classes that
// everything descends from. A retry rule that goes through it finds the nearest
// match first.
func ErrorLineage(err error) []Link {
	var lineage []Link
	pending := []error{err}
	for len(pending) > 0 && len(lineage) < maxLinks {
		next := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if next == nil {
			continue
		}
		names, explicit := classNames(next)
		lineage = append(lineage, Link{Err: next, Names: names, explicit: explicit})
		inner := unwrap(next)
		slices.Reverse(inner)
		pending = append(pending, inner...)
	}
	return append(lineage, Link{Names: roots(lineage)})
}

// headline is the link that gives the chain its name.
func headline(lineage []Link) Link {
	head := Link{Names: []string{runtimeError}}
	for _, link := range lineage[:len(lineage)-1] {
		if link.explicit {
			return link
		}
		if len(link.Names) > 0 && head.Err == nil {
			head = link
		}
	}
	return head
}

// roots are the classes that a chain descends from without saying so.
func roots(lineage []Link) []string {
	head := headline(append(slices.Clip(lineage), Link{}))
	known := withRoot(head.Names)
	var names []string
	if head.Err == nil {
		names = append(names, head.Names...)
	}
	if known[len(known)-1] != rootException {
		names = append(names, standardError, rootException)
	}
	return names
}

// withRoot ends a list of ancestors in StandardError where it doesn't say
// otherwise.
func withRoot(names []string) []string {
	if slices.Contains(names, standardError) || names[len(names)-1] == rootException {
		return slices.Clone(names)
	}
	return append(slices.Clip(names), standardError)
}

// classNames is what one error, without those that it wraps, says of its class.
func classNames(err error) (names []string, explicit bool) {
	if namer, ok := any(err).(exceptionNamer); ok {
		if name := contained(namer.ExceptionName); name != "" {
			return append([]string{capClassName(name)}, ancestorsAfter(name, err)...), true
		}
	}
	if name := typeName(err); name != "" {
		return []string{name}, false
	}
	return nil, false
}

func ancestorsAfter(name string, err error) []string {
	lister, ok := any(err).(ancestorLister)
	if !ok {
		return nil
	}
	var ancestors []string
	for _, ancestor := range contained(lister.Ancestors) {
		if ancestor != "" && ancestor != name {
			ancestors = append(ancestors, capClassName(ancestor))
		}
	}
	return ancestors
}

// typeName is the package-qualified type of an error; "" for one that only
// wraps others or holds a text.
func typeName(err error) string {
	switch any(err).(type) {
	case interface{ Unwrap() []error }, OutcomeError, *PanicError:
		return ""
	}
	t := reflect.TypeOf(err)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.PkgPath() {
	case "", "fmt", "errors", "github.com/pkg/errors", "golang.org/x/xerrors":
		return ""
	}
	return t.String()
}

func unwrap(err error) []error {
	switch e := any(err).(type) {
	case interface{ Unwrap() error }:
		return []error{contained(e.Unwrap)}
	case interface{ Unwrap() []error }:
		return slices.Clone(contained(e.Unwrap))
	}
	return nil
}

func backtraceOf(lineage []Link) []string {
	for _, link := range lineage {
		if tracer, ok := any(link.Err).(backtracer); ok {
			if lines := contained(tracer.Backtrace); len(lines) > 0 {
				return lines
			}
		}
	}
	return nil
}

// errorText is Error(); where that panics, what fmt makes of it.
func errorText(err error) (text string) {
	if err == nil {
		return ""
	}
	defer func() {
		if recover() != nil {
			text = fmt.Sprint(err)
		}
	}()
	return err.Error()
}

// contained calls a method of a foreign error; a panic counts as no answer.
func contained[T any](method func() T) (answer T) {
	defer func() { _ = recover() }()
	return method()
}

package resque

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"example.com/understudy/compat/ruby"
)

// Func makes a Handler of any function whose first parameter is a
// context.Context and whose result is an error or nothing. A *Job may follow
// the context; every further parameter takes one positional argument:
//
//	func(ctx context.Context, id int64, number string, note *string) error
//
// A parameter takes what encoding/json would put there, with these differences:
//   - Strings arrive byte for byte, also where they aren't valid UTF-8; []byte
//     is base64 as in encoding/json.
//   - any (alone or inside a map, slice or struct) gets a json.Number for a
//     number, so that nothing is rounded.
//   - null goes only where there is a nil for it: a pointer, slice, map, any or
//     json.RawMessage. (Inside an argument it leaves the zero value.)
//   - An integer takes no number with a decimal point or exponent.
//   - An array of fixed length takes exactly as many elements.
//
// Pointers at the end of the list may be left out by whoever enqueues, and get
// nil; a variadic parameter is Ruby's *args. Another number of arguments, or an
// argument of another type, fails the run with an ArgumentError.
//
// A function that can't be a handler is refused by Worker.Handle; Check of the
// returned handler tells the reason before that.
func Func(fn any) Handler {
	h, err := newFuncHandler(fn)
	if err != nil {
		return &funcHandler{broken: err}
	}
	return h
}

// ArgumentError is an error about the arguments of a job, as Ruby has it.
type ArgumentError struct {
	// Reason is the text: "wrong number of arguments (given 1, expected 2)".
	Reason string
	cause  error
}

func (e *ArgumentError) Error() string { return e.Reason }

// Unwrap is the error of a parameter's own UnmarshalJSON, where that failed.
func (e *ArgumentError) Unwrap() error { return e.cause }

// ExceptionName is the error's class in Ruby.
func (e *ArgumentError) ExceptionName() string { return "ArgumentError" }

// Ancestors are the superclasses of that class.
func (e *ArgumentError) Ancestors() []string { return []string{"StandardError"} }

type funcHandler struct {
	broken   error
	fn       reflect.Value
	withJob  bool
	params   []param // without the variadic one
	required int     // how many of them must be given
	variadic *param
}

// param is one parameter that takes an argument.
type param struct {
	typ    reflect.Type
	decode decodeFunc
}

// Check tells why the function can't be a handler; nil: it can.
func (h *funcHandler) Check() error { return h.broken }

// Perform calls the function with the job's arguments.
func (h *funcHandler) Perform(ctx context.Context, job *Job) error {
	if h.broken != nil {
		return h.broken
	}
	args, err := splitArgs(job.Args)
	if err != nil {
		return &ArgumentError{Reason: "the arguments are no JSON: " + err.Error(), cause: err}
	}
	if err := h.checkCount(len(args)); err != nil {
		return err
	}
	in, err := h.values(ctx, job, args)
	if err != nil {
		return err
	}
	out := h.fn.Call(in)
	if len(out) == 0 || out[0].IsNil() {
		return nil
	}
	err, _ = reflect.TypeAssert[error](out[0])
	return err
}

func (h *funcHandler) values(ctx context.Context, job *Job, args [][]byte) ([]reflect.Value, error) {
	in := make([]reflect.Value, 0, 2+len(h.params)+len(args))
	in = append(in, reflect.ValueOf(ctx))
	if h.withJob {
		in = append(in, reflect.ValueOf(job))
	}
	for i := range h.params {
		if i >= len(args) {
			in = append(in, reflect.Zero(h.params[i].typ))
			continue
		}
		value, err := h.params[i].value(i, args[i])
		if err != nil {
			return nil, err
		}
		in = append(in, value)
	}
	for i := len(h.params); i < len(args); i++ {
		value, err := h.variadic.value(i, args[i])
		if err != nil {
			return nil, err
		}
		in = append(in, value)
	}
	return in, nil
}

func (p *param) value(index int, raw []byte) (reflect.Value, error) {
	to := reflect.New(p.typ).Elem()
	if err := p.decode(raw, to); err != nil {
		return to, argumentError(index, err)
	}
	return to, nil
}

func argumentError(index int, err error) error {
	place := "argument " + strconv.Itoa(index+1)
	d, ok := errors.AsType[*decodeError](err)
	if !ok {
		return &ArgumentError{Reason: place + ": " + err.Error(), cause: err}
	}
	if d.path != "" {
		place += " at " + strings.TrimPrefix(d.path, ".")
	}
	return &ArgumentError{Reason: d.at(place), cause: d.cause}
}

func (h *funcHandler) checkCount(given int) error {
	most := len(h.params)
	if given >= h.required && (given <= most || h.variadic != nil) {
		return nil
	}
	expected := strconv.Itoa(h.required)
	switch {
	case h.variadic != nil:
		expected += "+"
	case most > h.required:
		expected += ".." + strconv.Itoa(most)
	}
	return &ArgumentError{Reason: fmt.Sprintf("wrong number of arguments (given %d, expected %s)", given, expected)}
}

// splitArgs lists the arguments: none where there is nothing or null, one where
// there is no array.
func splitArgs(args []byte) ([][]byte, error) {
	if len(bytes.TrimSpace(args)) == 0 {
		return nil, nil
	}
	kind := ruby.KindOf(args)
	if kind == ruby.Array {
		return ruby.Elements(args)
	}
	if err := ruby.Check(args); err != nil || kind == ruby.Null {
		return nil, err
	}
	return [][]byte{bytes.TrimSpace(args)}, nil
}

func newFuncHandler(fn any) (*funcHandler, error) {
	value := reflect.ValueOf(fn)
	if !value.IsValid() || value.Kind() != reflect.Func {
		return nil, configError("Func", fmt.Sprintf("got %T: give it a function, such as func(ctx context.Context, id int64) error", fn))
	}
	t := value.Type()
	if value.IsNil() {
		return nil, configError("Func", "got a nil "+t.String())
	}
	if err := checkSignature(t); err != nil {
		return nil, err
	}
	h := &funcHandler{fn: value}
	first := 1
	if t.NumIn() > 1 && t.In(1) == reflect.TypeFor[*Job]() {
		h.withJob, first = true, 2
	}
	for i := first; i < t.NumIn(); i++ {
		if err := h.addParam(t, i); err != nil {
			return nil, err
		}
	}
	return h, nil
}

func checkSignature(t reflect.Type) error {
	if t.NumIn() == 0 || t.In(0) != reflect.TypeFor[context.Context]() {
		return configError("Func", "got "+t.String()+": its first parameter must be a context.Context")
	}
	if t.NumOut() > 1 || t.NumOut() == 1 && t.Out(0) != reflect.TypeFor[error]() {
		return configError("Func", "got "+t.String()+": its only result may be an error")
	}
	return nil
}

func (h *funcHandler) addParam(t reflect.Type, i int) error {
	typ := t.In(i)
	variadic := t.IsVariadic() && i == t.NumIn()-1
	if variadic {
		typ = typ.Elem()
	}
	decode, err := newDecoder(typ)
	if err != nil {
		return configError("Func", fmt.Sprintf("got %s: parameter %d: %v", t, i+1, err))
	}
	p := param{typ: typ, decode: decode}
	if variadic {
		h.variadic = &p
		return nil
	}
	h.params = append(h.params, p)
	if typ.Kind() != reflect.Pointer {
		h.required = len(h.params)
	}
	return nil
}

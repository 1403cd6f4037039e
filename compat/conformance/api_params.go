package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/understudy/compat/ruby"
	"example.com/understudy/resque"
)

// apiCall is a call of Go with its parameters. It answers what compares with
// Ruby's result, see resultOf.
type apiCall func(ctx context.Context, r *apiReplayer) (any, error)

// form is one way in which an op's parameters may stand there: so many of them,
// each of a certain type. An op has several where Ruby's method has.
type form struct {
	count int
	bind  func(file *apiFile, params []json.RawMessage) (apiCall, error)
}

// bind finds the call of an op, and reads its parameters. What it doesn't know
// it refuses.
func bind(file *apiFile, op string, params []json.RawMessage) (apiCall, error) {
	forms, err := formsOf(op)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(forms, func(f form) bool { return f.count == len(params) })
	if i < 0 {
		return nil, fmt.Errorf("op %q: %d params", op, len(params))
	}
	call, err := forms[i].bind(file, params)
	if err != nil {
		return nil, fmt.Errorf("op %q: %w", op, err)
	}
	return call, nil
}

// formsOf looks an op up by its whole name, then by what stands before the words
// behind it.
func formsOf(op string) ([]form, error) {
	if forms, ok := apiCalls()[op]; ok {
		return forms, nil
	}
	name, words, ok := strings.Cut(op, " ")
	withWords := apiCallsWithWords()[name]
	if !ok || withWords == nil {
		return nil, fmt.Errorf("unknown op %q", op)
	}
	forms, err := withWords(words)
	if err != nil {
		return nil, fmt.Errorf("op %q: %w", op, err)
	}
	return forms, nil
}

func no(call apiCall) form {
	return form{0, func(*apiFile, []json.RawMessage) (apiCall, error) { return call, nil }}
}

func one[A any](call func(context.Context, *apiReplayer, A) (any, error)) form {
	return form{1, func(file *apiFile, params []json.RawMessage) (apiCall, error) {
		a, err := param[A](file, params, 0)
		return func(ctx context.Context, r *apiReplayer) (any, error) { return call(ctx, r, a) }, err
	}}
}

func two[A, B any](call func(context.Context, *apiReplayer, A, B) (any, error)) form {
	return form{2, func(file *apiFile, params []json.RawMessage) (apiCall, error) {
		a, err1 := param[A](file, params, 0)
		b, err2 := param[B](file, params, 1)
		return func(ctx context.Context, r *apiReplayer) (any, error) { return call(ctx, r, a, b) }, errors.Join(err1, err2)
	}}
}

func three[A, B, C any](call func(context.Context, *apiReplayer, A, B, C) (any, error)) form {
	return form{3, func(file *apiFile, params []json.RawMessage) (apiCall, error) {
		a, err1 := param[A](file, params, 0)
		b, err2 := param[B](file, params, 1)
		c, err3 := param[C](file, params, 2)
		return func(ctx context.Context, r *apiReplayer) (any, error) { return call(ctx, r, a, b, c) }, errors.Join(err1, err2, err3)
	}}
}

func four[A, B, C, D any](call func(context.Context, *apiReplayer, A, B, C, D) (any, error)) form {
	return form{4, func(file *apiFile, params []json.RawMessage) (apiCall, error) {
		a, err1 := param[A](file, params, 0)
		b, err2 := param[B](file, params, 1)
		c, err3 := param[C](file, params, 2)
		d, err4 := param[D](file, params, 3)
		return func(ctx context.Context, r *apiReplayer) (any, error) { return call(ctx, r, a, b, c, d) }, errors.Join(err1, err2, err3, err4)
	}}
}

// param reads one parameter; null only where a pointer says so.
func param[T any](file *apiFile, params []json.RawMessage, index int) (value T, err error) {
	if isNull(params[index]) && reflect.TypeFor[T]().Kind() != reflect.Pointer {
		return value, fmt.Errorf("params[%d]: is null", index)
	}
	if err = json.Unmarshal(params[index], &value); err == nil {
		if c, ok := any(&value).(interface{ in(file *apiFile) error }); ok {
			err = c.in(file)
		}
	}
	if err != nil {
		return value, fmt.Errorf("params[%d]: %w", index, err)
	}
	return value, nil
}

// class is a job class of the file, and its queue.
type class struct{ name, queue string }

func (c *class) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &c.name) }

func (c *class) in(file *apiFile) error {
	known, ok := file.Classes[c.name]
	if !ok {
		return fmt.Errorf("class %q is none of the file's", c.name)
	}
	c.queue = known.Queue
	return nil
}

// arguments are a job's, in Ruby's form.
type arguments []any

func (a *arguments) UnmarshalJSON(data []byte) error {
	elements, err := ruby.Elements(data)
	if err != nil {
		return err
	}
	*a = arguments{}
	for _, element := range elements {
		text, err := ruby.Reencode(element)
		if err != nil {
			return err
		}
		*a = append(*a, json.RawMessage(text))
	}
	return nil
}

// item is a job as an object, in Ruby's form.
type item []byte

func (i *item) UnmarshalJSON(data []byte) (err error) {
	if ruby.KindOf(data) != ruby.Object {
		return fmt.Errorf("%.20q where an object belongs", data)
	}
	*i, err = ruby.Reencode(data)
	return err
}

// moment is a time in epoch seconds.
type moment struct{ time.Time }

func (m *moment) UnmarshalJSON(data []byte) error {
	d, err := secondsOf(data)
	m.Time = time.Unix(0, 0).UTC().Add(d)
	return err
}

// delay is a number of seconds. Ruby takes anything and raises for what is no
// number; Go's types don't let one write that.
type delay struct {
	time.Duration
	err error
}

func (d *delay) UnmarshalJSON(data []byte) error {
	d.Duration, d.err = secondsOf(data)
	return nil
}

func secondsOf(data []byte) (time.Duration, error) {
	seconds, ok := new(big.Rat).SetString(string(data))
	if !ok {
		return 0, fmt.Errorf("%.20q is no number of seconds", data)
	}
	nanos := seconds.Mul(seconds, big.NewRat(int64(time.Second), 1))
	n := new(big.Int).Quo(nanos.Num(), nanos.Denom())
	if !n.IsInt64() {
		return 0, fmt.Errorf("%.20q is too large", data)
	}
	return time.Duration(n.Int64()), nil
}

// ago is a time before the Redis server's.
type ago time.Duration

func (a *ago) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	number, ok := strings.CutPrefix(text, "server time - ")
	number, ok2 := strings.CutSuffix(number, " s")
	seconds, err := strconv.ParseUint(number, 10, 31)
	if !ok || !ok2 || err != nil {
		return fmt.Errorf("%q is no %q", text, "server time - 1 s")
	}
	*a = ago(time.Duration(seconds) * time.Second)
	return nil
}

// countWord reads x250.
func countWord(words string) (int, error) {
	number, ok := strings.CutPrefix(words, "x")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 1 {
		return 0, fmt.Errorf("%q is no count such as x250", words)
	}
	return n, nil
}

// selection is what a block says about the arguments of a delayed job: id=1 (the
// first one is an object with this id) or args=[2] (they are these).
func selection(words string) (func(resque.DelayedJob) bool, error) {
	what, text, _ := strings.Cut(words, "=")
	if err := ruby.Check([]byte(text)); err != nil {
		return nil, fmt.Errorf("selection %q: %w", words, err)
	}
	want := normal(text)
	switch what {
	case "args":
		return func(job resque.DelayedJob) bool { return normal(string(job.Args)) == want }, nil
	case "id":
		return func(job resque.DelayedJob) bool { return normal(firstID(job.Args)) == want }, nil
	default:
		return nil, fmt.Errorf("unknown selection %q", words)
	}
}

// firstID is the id of the object that is the first argument; "": there is none.
func firstID(args json.RawMessage) string {
	elements, err := ruby.Elements(args)
	if err != nil || len(elements) == 0 {
		return ""
	}
	id := ""
	members, _ := ruby.Members(elements[0]) // none, if it is no object
	for _, m := range members {
		if m.Key == "id" {
			id = string(m.Value)
		}
	}
	return id
}

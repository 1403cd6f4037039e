package resque_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"example.com/understudy/resque"
)

// Embedded is exported, so that it can be made where it is embedded as a pointer.
type Embedded struct {
	Deep string
	Key  string `json:"id"`   // the outer one counts
	Tag  string `json:"last"` // likewise
}

type point struct {
	X, Y float64
}

type named struct {
	Name string `json:"name"`
}

type order struct {
	named
	Last int `json:"last"`
	*Embedded
	*point
	ID     int64             `json:"id"`
	Items  []item            `json:"items"`
	Tags   map[string]string `json:"tags,omitempty"`
	Parent *order            `json:"parent"`
	Extra  any               `json:"extra"`
	Raw    json.RawMessage
	Quoted int      `json:"quoted,string"`
	Secret chan int `json:"-"`
}

type item struct {
	Price float64 `json:"price"`
	Note  *string
}

type level int

func (l *level) UnmarshalText(text []byte) error {
	switch string(text) {
	case "low":
		*l = 1
	case "high":
		*l = 2
	default:
		return fmt.Errorf("no level is called %s", text)
	}
	return nil
}

// perform runs fn with the arguments and gives what reached it.
func perform(t *testing.T, args string, fn any) error {
	t.Helper()
	return resque.Func(fn).Perform(t.Context(), &resque.Job{Class: "X", Args: json.RawMessage(args)})
}

// received makes a function of one parameter that keeps its argument.
func received[T any]() (fn func(context.Context, T) error, got *T) {
	got = new(T)
	return func(_ context.Context, v T) error {
		*got = v
		return nil
	}, got
}

type decodeCase struct {
	name string
	args string
	run  func(t *testing.T, args string)
}

// takes makes a case: a parameter of type T gets want.
func takes[T any](args string, want T) decodeCase {
	return decodeCase{fmt.Sprintf("%T %s", want, args), args, func(t *testing.T, args string) {
		t.Helper()
		fn, got := received[T]()
		if err := perform(t, args, fn); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(*got, want) {
			t.Errorf("got %#v, want %#v", *got, want)
		}
	}}
}

// refuses makes a case: the argument doesn't fit a parameter of type T.
func refuses[T any](args, says string) decodeCase {
	return decodeCase{fmt.Sprintf("%s %s", reflect.TypeFor[T](), args), args, func(t *testing.T, args string) {
		t.Helper()
		fn, _ := received[T]()
		err := perform(t, args, fn)
		if err == nil || err.Error() != says {
			t.Fatalf("error %v, want %s", err, says)
		}
		if argErr, ok := errors.AsType[*resque.ArgumentError](err); !ok || argErr.ExceptionName() != "ArgumentError" {
			t.Errorf("%T is no ArgumentError", err)
		}
	}}
}

func TestFuncArgument(t *testing.T) {
	t.Parallel()
	text := "x"
	price := 1.5
	huge, _ := new(big.Int).SetString("123456789012345678901234567890", 10)
	tests := []decodeCase{
		takes(`["a"]`, "a"),
		takes(`[""]`, ""),
		takes(`["\ud83d\ude00"]`, "😀"),
		takes(`["😀"]`, "😀"),
		takes("[\"\xff\xfe\"]", "\xff\xfe"),
		takes(`["a\u0000\/\n"]`, "a\x00/\n"),
		takes(`[ /* Ruby reads this */ "a" ]`, "a"),
		takes(`[true]`, true),
		takes(`[false]`, false),
		takes(`[9223372036854775807]`, int64(9223372036854775807)),
		takes(`[-5]`, -5),
		takes(`[18446744073709551615]`, uint64(18446744073709551615)),
		takes(`[1.5e3]`, 1500.0),
		takes(`[7]`, float32(7)),
		takes(`[12345678901234567890123]`, json.Number("12345678901234567890123")),
		takes(`[1.10]`, json.Number("1.10")),
		takes(`[ {"a" : 1.10} ]`, json.RawMessage(`{"a" : 1.10}`)),
		takes(`[null]`, json.RawMessage(`null`)),
		takes(`["aGk="]`, []byte("hi")),
		takes(`[[104,105]]`, []byte("hi")),
		takes(`[[1,2]]`, [2]int{1, 2}),
		takes(`[[]]`, []int{}),
		takes(`[null]`, []int(nil)),
		takes(`[["a",null]]`, []string{"a", ""}),
		takes("[[\"\xff\"]]", []string{"\xff"}),
		takes(`[null]`, map[string]int(nil)),
		takes("[{\"\xff\":\"\xfe\"}]", map[string]string{"\xff": "\xfe"}),
		takes(`[{"a":1,"b":2,"a":3}]`, map[string]int{"a": 3, "b": 2}),
		takes(`[{"1":"a"}]`, map[int]string{1: "a"}),
		takes(`[{"high":"a"}]`, map[level]string{2: "a"}),
		takes(`[null]`, (*string)(nil)),
		takes(`["x"]`, &text),
		takes(`[[1.5,null]]`, []*float64{&price, nil}),
		takes(`["2026-01-02T03:04:05Z"]`, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)),
		takes(`["10.0.0.1"]`, netip.MustParseAddr("10.0.0.1")),
		takes(`[123456789012345678901234567890]`, *huge),
		takes(`["high"]`, level(2)),

		takes[any](`[null]`, nil),
		takes[any](`["a"]`, "a"),
		takes[any](`[true]`, true),
		takes[any](`[9007199254740993]`, json.Number("9007199254740993")),
		takes[any]("[{\"a\":[1.0,\"\xff\",null,{\"b\":{}}],\"a2\":false}]", map[string]any{
			"a": []any{json.Number("1.0"), "\xff", nil, map[string]any{"b": map[string]any{}}}, "a2": false,
		}),
		takes(`[{"X":1,"y":2,"z":3}]`, point{1, 2}),
		takes("[{\"name\":\"\xff\",\"id\":7,\"items\":[{\"price\":1.5,\"note\":\"x\"},{\"price\":null}],\"tags\":{\"a\":\"b\"},"+
			`"parent":{"ID":6,"y":2},"deep":"d","last":3,"raw":null,"extra":10000000000000000000,"quoted":"5","Secret":1,"unknown":[]}]`, order{
			named: named{"\xff"}, ID: 7, Items: []item{{1.5, &text}, {}}, Tags: map[string]string{"a": "b"},
			Parent: &order{ID: 6}, Embedded: &Embedded{Deep: "d"}, Last: 3,
			Raw: json.RawMessage("null"), Extra: json.Number("10000000000000000000"), Quoted: 5,
		}),

		refuses[string](`[5]`, "wrong type of argument 1 (given Integer, expected string)"),
		refuses[string](`[null]`, "wrong type of argument 1 (given nil, expected string)"),
		refuses[string](`[1.5]`, "wrong type of argument 1 (given Float, expected string)"),
		refuses[bool](`["true"]`, "wrong type of argument 1 (given String, expected bool)"),
		refuses[int](`["5"]`, "wrong type of argument 1 (given String, expected int)"),
		refuses[int](`[1.0]`, "wrong type of argument 1 (given Float, expected int)"),
		refuses[int8](`[300]`, "wrong size of argument 1 (given 300, expected int8)"),
		refuses[uint](`[-1]`, "wrong size of argument 1 (given -1, expected uint)"),
		refuses[uint](`[true]`, "wrong type of argument 1 (given true, expected uint)"),
		refuses[float64](`[1e999]`, "wrong size of argument 1 (given 1e999, expected float64)"),
		refuses[float64](`[{}]`, "wrong type of argument 1 (given Hash, expected float64)"),
		refuses[json.Number](`["5"]`, "wrong type of argument 1 (given String, expected json.Number)"),
		refuses[[]int](`[{"a":1}]`, "wrong type of argument 1 (given Hash, expected []int)"),
		refuses[[]int](`[[1,"a"]]`, "wrong type of argument 1 at [1] (given String, expected int)"),
		refuses[[2]int](`[[1,2,3]]`, "wrong length of argument 1 (given 3, expected [2]int)"),
		refuses[[2]int](`[[1]]`, "wrong length of argument 1 (given 1, expected [2]int)"),
		refuses[[2]int](`[5]`, "wrong type of argument 1 (given Integer, expected [2]int)"),
		refuses[[]byte](`["?"]`, "wrong value of argument 1 (given String, expected []uint8): illegal base64 data at input byte 0"),
		refuses[map[string]int](`[[]]`, "wrong type of argument 1 (given Array, expected map[string]int)"),
		refuses[map[string]int](`[{"a b":{}}]`, `wrong type of argument 1 at ["a b"] (given Hash, expected int)`),
		refuses[map[int]int](`[{"a":1}]`, `wrong type of argument 1 at key "a" (given String, expected int)`),
		refuses[map[int]int](`[{"1.5":1}]`, `wrong type of argument 1 at key "1.5" (given Float, expected int)`),
		refuses[map[level]int](`[{"x":1}]`, `wrong value of argument 1 at key "x" (given String, expected resque_test.level): no level is called x`),
		refuses[*int](`["5"]`, "wrong type of argument 1 (given String, expected int)"),
		refuses[point](`["5"]`, "wrong type of argument 1 (given String, expected resque_test.point)"),
		refuses[point](`[null]`, "wrong type of argument 1 (given nil, expected resque_test.point)"),
		refuses[order](`[{"items":[{"price":1},{"price":"x"}]}]`, "wrong type of argument 1 at items[1].price (given String, expected float64)"),
		refuses[order](`[{"quoted":"x"}]`, "wrong type of argument 1 at quoted (given String, expected int)"),
		refuses[level](`["x"]`, "wrong value of argument 1 (given String, expected resque_test.level): no level is called x"),
		refuses[level](`[1]`, "wrong type of argument 1 (given Integer, expected resque_test.level)"),
		refuses[time.Time](`["x"]`, "wrong value of argument 1 (given String, expected time.Time): "+
			`parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"`),
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t, tt.args)
		})
	}
}

// list shows what reached a function, nil pointers as nil.
func list(values ...any) string {
	texts := make([]string, 0, len(values))
	for _, v := range values {
		if p, ok := v.(*string); ok && p != nil {
			v = *p
		}
		if p, ok := v.(*int); ok && p == nil {
			v = nil
		}
		if p, ok := v.(*string); ok && p == nil {
			v = nil
		}
		texts = append(texts, fmt.Sprint(v))
	}
	return strings.Join(texts, " ")
}

func TestFuncNumberOfArguments(t *testing.T) {
	t.Parallel()
	none := func(got *string) any { return func(context.Context) { *got = "called" } }
	two := func(got *string) any {
		return func(_ context.Context, a string, b int) { *got = list(a, b) }
	}
	optional := func(got *string) any {
		return func(_ context.Context, a string, b *string, c *int) { *got = list(a, b, c) }
	}
	middle := func(got *string) any {
		return func(_ context.Context, a *string, b string) { *got = list(a, b) }
	}
	splat := func(got *string) any {
		return func(_ context.Context, a string, rest ...int) { *got = list(a, rest) }
	}
	optionalSplat := func(got *string) any {
		return func(_ context.Context, a *string, rest ...any) { *got = list(a, rest) }
	}
	withJob := func(got *string) any {
		return func(_ context.Context, job *resque.Job, a string) { *got = list(job.Class, a) }
	}
	tests := []struct {
		name string
		fn   func(*string) any
		args string
		want string
	}{
		{"none", none, `[]`, "called"},
		{"none", none, `null`, "called"},
		{"none", none, ``, "called"},
		{"none", none, ` [ ] `, "called"},
		{"none", none, `[1]`, "wrong number of arguments (given 1, expected 0)"},
		{"two", two, `["a",1]`, "a 1"},
		{"two", two, `["a"]`, "wrong number of arguments (given 1, expected 2)"},
		{"two", two, `["a",1,2]`, "wrong number of arguments (given 3, expected 2)"},
		{"two", two, `[1,"a"]`, "wrong type of argument 1 (given Integer, expected string)"},
		{"two", two, `["a","b"]`, "wrong type of argument 2 (given String, expected int)"},
		{"optional", optional, `["a"]`, "a <nil> <nil>"},
		{"optional", optional, `["a","b"]`, "a b <nil>"},
		{"optional", optional, `["a",null,null]`, "a <nil> <nil>"},
		{"optional", optional, `[]`, "wrong number of arguments (given 0, expected 1..3)"},
		{"optional", optional, `["a","b",1,2]`, "wrong number of arguments (given 4, expected 1..3)"},
		{"a pointer before others", middle, `["a"]`, "wrong number of arguments (given 1, expected 2)"},
		{"a pointer before others", middle, `[null,"b"]`, "<nil> b"},
		{"splat", splat, `["a"]`, "a []"},
		{"splat", splat, `["a",1,2]`, "a [1 2]"},
		{"splat", splat, `[]`, "wrong number of arguments (given 0, expected 1+)"},
		{"splat", splat, `["a",1,"b"]`, "wrong type of argument 3 (given String, expected int)"},
		{"splat", splat, `["a",null]`, "wrong type of argument 2 (given nil, expected int)"},
		{"optional splat", optionalSplat, `[]`, "<nil> []"},
		{"optional splat", optionalSplat, `["a",1,null]`, "a [1 <nil>]"},
		{"with the job", withJob, `["a"]`, "X a"},
		{"with the job", withJob, `[]`, "wrong number of arguments (given 0, expected 1)"},
		{"no array: an object", splatAny, `{"id":5}`, "[map[id:5]]"},
		{"no array: a string", splatAny, `"a"`, "[a]"},
		{"no array: a number", splatAny, ` 5 `, "[5]"},
		{"no array: a boolean", splatAny, `true`, "[true]"},
		{"no JSON", splatAny, `[1`, "the arguments are no JSON: json: unexpected end of text (neither a comma nor the end of the array) at byte 2"},
	}
	for _, tt := range tests {
		t.Run(tt.name+" "+tt.args, func(t *testing.T) {
			t.Parallel()
			var got string
			if err := perform(t, tt.args, tt.fn(&got)); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func splatAny(got *string) any {
	return func(_ context.Context, args ...any) { *got = list(args) }
}

func TestFuncGivesTheErrorOn(t *testing.T) {
	t.Parallel()
	errBoom := errors.New("boom")
	if err := perform(t, `[]`, func(context.Context) error { return errBoom }); !errors.Is(err, errBoom) {
		t.Errorf("got %v", err)
	}
	if err := perform(t, `[]`, func(context.Context) error { return nil }); err != nil {
		t.Errorf("got %v", err)
	}
	err := perform(t, `["x"]`, func(context.Context, level) {})
	if cause := errors.Unwrap(err); cause == nil || cause.Error() != "no level is called x" {
		t.Errorf("the cause is %v", cause)
	}
}

func TestFuncPassesTheContext(t *testing.T) {
	t.Parallel()
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, "seen")
	handler := resque.Func(func(ctx context.Context) error { return errors.New(fmt.Sprint(ctx.Value(key{}))) })
	if err := handler.Perform(ctx, &resque.Job{}); err == nil || err.Error() != "seen" {
		t.Errorf("got %v", err)
	}
}

func TestFuncChecksTheSignature(t *testing.T) {
	t.Parallel()
	type node struct{ Next []*node }
	var noFunc func(context.Context) error
	tests := []struct {
		name string
		fn   any
		says string // "": accepted
	}{
		{"none", func(context.Context) {}, ""},
		{"self-holding type", func(context.Context, node, map[string]any) error { return nil }, ""},
		{"nil", nil, "got <nil>: give it a function"},
		{"no function", 5, "got int: give it a function"},
		{"nil function", noFunc, "got a nil func(context.Context) error"},
		{"no parameter", func() error { return nil }, "its first parameter must be a context.Context"},
		{"no context first", func(int, context.Context) {}, "its first parameter must be a context.Context"},
		{"another result", func(context.Context) int { return 0 }, "its only result may be an error"},
		{"two results", func(context.Context) (int, error) { return 0, nil }, "its only result may be an error"},
		{"channel", func(context.Context, string, chan int) {}, "parameter 3: no argument can become a chan int"},
		{"function", func(context.Context, ...func()) {}, "parameter 2: no argument can become a func()"},
		{"interface", func(context.Context, fmt.Stringer) {}, "take any, a struct or a type with UnmarshalJSON"},
		{"inside", func(context.Context, map[string][]*complex128) {}, "no argument can become a complex128"},
		{"array", func(context.Context, [2]func()) {}, "no argument can become a func()"},
		{"key", func(context.Context, map[point]int) {}, "no key of an object can become a resque_test.point"},
		{"field", func(context.Context, struct{ C chan int }) {}, `field C of struct { C chan int }: no argument can become a chan int (json:"-" leaves it out)`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			handler := resque.Func(tt.fn)
			checker, ok := handler.(interface{ Check() error })
			if !ok {
				t.Fatalf("%T can't be checked", handler)
			}
			err := checker.Check()
			if tt.says == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Fatalf("error %v, want it to say %q", err, tt.says)
			}
			if _, ok := errors.AsType[*resque.ConfigError](err); !ok {
				t.Errorf("%T is no ConfigError", err)
			}
			if got := handler.Perform(t.Context(), &resque.Job{}); !errors.Is(got, err) {
				t.Errorf("performs with %v", got)
			}
		})
	}
}

func TestFuncHandlerMayChangeItsArguments(t *testing.T) {
	t.Parallel()
	args := json.RawMessage(`[[1,2]]`)
	handler := resque.Func(func(_ context.Context, raw json.RawMessage) { raw[1] = 'x' })
	if err := handler.Perform(t.Context(), &resque.Job{Args: args}); err != nil || string(args) != `[[1,2]]` {
		t.Errorf("args became %s, error %v", args, err)
	}
}

func BenchmarkFunc(b *testing.B) {
	benchmarks := []struct {
		name, args string
		fn         any
	}{
		{"three", `[1234567,"+46701234567","Hello, how are you?"]`, func(context.Context, int64, string, string) error { return nil }},
		{"struct", `[{"id":7,"name":"x","items":[{"price":1.5},{"price":2.5}],"tags":{"a":"b"}}]`, func(context.Context, order) error { return nil }},
		{"any", `[{"id":7,"name":"x","items":[{"price":1.5},{"price":2.5}],"tags":{"a":"b"}}]`, func(context.Context, any) error { return nil }},
	}
	for _, bb := range benchmarks {
		b.Run(bb.name, func(b *testing.B) {
			handler, job := resque.Func(bb.fn), &resque.Job{Args: json.RawMessage(bb.args)}
			b.ReportAllocs()
			for b.Loop() {
				if err := handler.Perform(b.Context(), job); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

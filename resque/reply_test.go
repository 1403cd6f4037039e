package resque_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/resque"
)

func TestRedisErrorCode(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"WRONGTYPE Operation against a key": "WRONGTYPE",
		"NOSCRIPT No matching script.":      "NOSCRIPT",
		"LOADING":                           "LOADING",
		"unknown":                           "ERR",
		"":                                  "ERR",
		"READONLY You can't write against a read only replica. script: 0c1f, on @user_script:1.":                     "READONLY",
		"ERR Error running script (call to f_0c1f): @user_script:1: @user_script: 1: -READONLY You can't write":      "READONLY",
		"ERR Error running script (call to f_0c1f): @user_script:1: -OOM command not allowed when used memory > 'm'": "OOM",
		"ERR Error running script (call to f_0c1f): @user_script:1: user_script:1: attempt to index a nil value":     "ERR",
		"ERR Error compiling script (new function): :2: WRONGTYPE Operation against a key stack traceback:  [G]: ?":  "WRONGTYPE",
		"EXECABORT Transaction discarded because of previous errors.":                                                "EXECABORT",
		"EXECABORT Transaction discarded because of: OOM command not allowed":                                        "OOM",
	} {
		e := resque.NewRedisErrorForTest(message)
		if e.Code != want || e.Message != message {
			t.Errorf("%q: %q", message, e.Code)
		}
	}
	if got := resque.ErrorCode(errors.Join(errors.New("x"), resque.NewRedisErrorForTest("OOM x"))); got != "OOM" {
		t.Error(got)
	}
	if got := resque.ErrorCode(errors.New("OOM x")); got != "" {
		t.Error(got)
	}
}

func TestReplies(t *testing.T) {
	t.Parallel()
	refused := resque.NewRedisErrorForTest("OOM x")
	lost := errors.New("lost")
	read := map[string]func(any, error) (any, error){
		"Int":       func(r any, e error) (any, error) { return resque.Int(r, e) },
		"String":    func(r any, e error) (any, error) { return resque.String(r, e) },
		"Bytes":     func(r any, e error) (any, error) { return resque.Bytes(r, e) },
		"Values":    func(r any, e error) (any, error) { return resque.Values(r, e) },
		"Strings":   func(r any, e error) (any, error) { return resque.Strings(r, e) },
		"StringMap": func(r any, e error) (any, error) { return resque.StringMap(r, e) },
	}
	for _, test := range []struct {
		as    string
		reply any
		want  any
	}{
		{"Int", int64(-3), int64(-3)},
		{"Int", []byte("42"), int64(42)},
		{"Int", "42", int64(42)},
		{"String", []byte("a\xff"), "a\xff"},
		{"String", "OK", "OK"},
		{"String", int64(7), "7"},
		{"Bytes", []byte("a"), []byte("a")},
		{"Values", []any{int64(1), nil}, []any{int64(1), nil}},
		{"Strings", []any{[]byte("a"), nil, int64(1)}, []string{"a", "", "1"}},
		{"Strings", []any{}, []string{}},
		{"StringMap", []any{[]byte("a"), []byte("b")}, map[string]string{"a": "b"}},
	} {
		got, err := read[test.as](test.reply, nil)
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", test.as, err, diff)
		}
	}
	for as, f := range read {
		if _, err := f(nil, nil); !errors.Is(err, resque.ErrNil) {
			t.Errorf("%s of nothing: %v", as, err)
		}
		if _, err := f(nil, lost); !errors.Is(err, lost) {
			t.Errorf("%s after an error: %v", as, err)
		}
		if _, err := f(refused, nil); resque.ErrorCode(err) != "OOM" {
			t.Errorf("%s of an error: %v", as, err)
		}
		if _, err := f([]any{refused}, nil); as != "Values" && err == nil {
			t.Errorf("%s of a list with an error succeeded", as)
		}
		if _, err := f(1.5, nil); err == nil {
			t.Errorf("%s of a float succeeded", as)
		}
	}
	if _, err := resque.Int("x", nil); err == nil {
		t.Error("a word is no integer")
	}
	if _, err := resque.StringMap([]any{"a"}, nil); err == nil {
		t.Error("a name without a value")
	}
}

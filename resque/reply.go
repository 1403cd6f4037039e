package resque

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// RedisError is an error that Redis answered.
type RedisError struct {
	// Code is the error's first word: WRONGTYPE, READONLY, OOM, NOSCRIPT… For an
	// error from inside a script or a transaction it is the inner one.
	Code string
	// Message is the whole text.
	Message string
}

func (e *RedisError) Error() string { return "redis: " + e.Message }

// ErrorCode is the code of the RedisError in err, "" where there is none.
func ErrorCode(err error) string {
	if e, ok := errors.AsType[*RedisError](err); ok {
		return e.Code
	}
	return ""
}

// newRedisError reads the text of an error reply. Redis before 7 wraps an error
// inside a script ("ERR Error running script (call to f_…): @user_script:1:
// -READONLY You can't…"), miniredis does it otherwise, and a transaction's
// EXECABORT may name its reason.
func newRedisError(message string) *RedisError {
	code, ok := errorCodeOf(message)
	if !ok {
		code = "ERR"
	}
	for _, wrapper := range []string{"ERR Error running script", "ERR Error compiling script", "EXECABORT Transaction discarded because of"} {
		if rest, wrapped := strings.CutPrefix(message, wrapper); wrapped {
			for part := range strings.SplitSeq(rest, ": ") {
				if inner, ok := errorCodeOf(strings.TrimPrefix(part, "-")); ok {
					code = inner
				}
			}
		}
	}
	return &RedisError{Code: code, Message: message}
}

func errorCodeOf(text string) (string, bool) {
	word, _, _ := strings.Cut(text, " ")
	if word == "" || strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return "", false
	}
	return word, true
}

// ErrNil is what the functions below answer where Redis answered that there is
// no such value.
var ErrNil = errors.New("resque: no value")

// The functions below read a reply; they fit around a call, as in
// Int(client.Do(…)), and take the elements of a pipeline, errors included.

// Int reads an integer, also one that is text.
func Int(reply any, err error) (int64, error) {
	switch r := reply.(type) {
	case int64:
		return r, err
	case []byte:
		return parseInt(string(r), err)
	case string:
		return parseInt(r, err)
	}
	return 0, noReply("an integer", reply, err)
}

func parseInt(text string, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("resque: Redis answered %q instead of an integer", text)
	}
	return n, nil
}

// Bytes reads a text; nil is ErrNil.
func Bytes(reply any, err error) ([]byte, error) {
	switch r := reply.(type) {
	case []byte:
		return r, err
	case string:
		return []byte(r), err
	case int64:
		return strconv.AppendInt(nil, r, 10), err
	}
	return nil, noReply("a text", reply, err)
}

// String reads a text; nil is ErrNil.
func String(reply any, err error) (string, error) {
	b, err := Bytes(reply, err)
	return string(b), err
}

// Values reads a list; nil is ErrNil. Its elements are nil, int64, []byte,
// string (a status), []any or an error.
func Values(reply any, err error) ([]any, error) {
	if r, ok := reply.([]any); ok {
		return r, err
	}
	return nil, noReply("a list", reply, err)
}

// Strings reads a list of texts; an element that is nil is "".
func Strings(reply any, err error) ([]string, error) {
	values, err := Values(reply, err)
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i], err = String(value, nil)
		if err != nil && !errors.Is(err, ErrNil) {
			return nil, err
		}
	}
	return texts, nil
}

// StringMap reads a list of names and values by turns, as of HGETALL.
func StringMap(reply any, err error) (map[string]string, error) {
	texts, err := Strings(reply, err)
	if err != nil {
		return nil, err
	}
	if len(texts)%2 != 0 {
		return nil, errors.New("resque: Redis answered a name without a value")
	}
	m := make(map[string]string, len(texts)/2)
	for i := 0; i < len(texts); i += 2 {
		m[texts[i]] = texts[i+1]
	}
	return m, nil
}

func noReply(want string, reply any, err error) error {
	if err != nil {
		return err
	}
	switch r := reply.(type) {
	case nil:
		return ErrNil
	case error:
		return r
	default:
		return fmt.Errorf("resque: Redis answered %T instead of %s", reply, want)
	}
}

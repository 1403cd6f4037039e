package resque_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"example.com/understudy/resque"
)

// anyError says whatever it is told to of itself.
type anyError struct {
	name, text string
	ancestors  []string
	backtrace  []string
}

func (e anyError) Error() string         { return e.text }
func (e anyError) ExceptionName() string { return e.name }
func (e anyError) Ancestors() []string   { return e.ancestors }
func (e anyError) Backtrace() []string   { return e.backtrace }

// FuzzFailureRecord records the failure of any job by any error: one object of
// JSON in UTF-8 with Ruby's members in their order, of a bounded size.
func FuzzFailureRecord(f *testing.F) {
	f.Add([]byte(`{"class":"X","args":[1.10]}`), "q", "h:1:q", "NetworkError", "no route", "a.rb:1\nb.rb:2", uint16(1), false, int64(1767323045))
	f.Add([]byte("null"), "q\xff", "h:1\x00:q\xfe", "A\xff\"", "q\" \\ / <&> \n\x01\x7f \u2028 é\xfe", "\xff", uint16(999), true, int64(-1))
	f.Add([]byte("{\"class\":\"X\",\"args\":[\"\xff\"]}"), "", "", "", "\"", "\n\n", uint16(999), false, int64(0))
	f.Add([]byte("{}"), "q", "h:1:q", "E", strings.Repeat("漢\x01\"", 100), strings.Repeat("a.rb:1\n", 40), uint16(999), false, int64(0))
	f.Add([]byte(`{"class":"X" /* c */}`), "q", "h:1:q", "E", "漢", "漢\n", uint16(30), true, int64(1))
	f.Add([]byte("0 "), "q", "h:1:q", "E", "", "", uint16(0), false, int64(0))
	f.Fuzz(func(t *testing.T, payload []byte, queue, worker, name, text, trace string, times uint16, malformed bool, second int64) {
		if second < -62135596800 || second > 253402300799 {
			return
		}
		// A short text many times is a long one, beyond the bound.
		long := strings.Repeat(text, int(times)%1000)
		e := resque.DescribeError(fmt.Errorf("wrapped: %w", anyError{name: name, text: long, ancestors: []string{name, text}, backtrace: strings.Split(trace, "\n")}))
		failure := resque.Failure{
			Job: &resque.Job{Payload: payload, Queue: queue, WorkerID: worker}, Malformed: malformed,
			FailedAt: time.Unix(second, 0).UTC(), Exception: e.Name, Message: e.Message, Backtrace: e.Backtrace,
		}
		for _, zone := range []bool{true, false} {
			checkFailureRecord(t, failure, failure.Record(zone))
		}
	})
}

func checkFailureRecord(t *testing.T, f resque.Failure, record []byte) {
	t.Helper()
	if !json.Valid(record) || !utf8.Valid(record) {
		t.Fatalf("no JSON in UTF-8: %q", record)
	}
	const errorText, class, others = 256_000, 1000, 300
	texts := 6 * (len(f.Job.Queue) + len(f.Job.WorkerID)) // each byte may become an escape
	if most := base64.StdEncoding.EncodedLen(len(f.Job.Payload)) + errorText + class + others + texts; len(record) > most {
		t.Fatalf("%d bytes, %d at most", len(record), most)
	}
	decoder := json.NewDecoder(bytes.NewReader(record))
	if _, err := decoder.Token(); err != nil {
		t.Fatal(err)
	}
	members := map[string]json.RawMessage{}
	var keys []string
	for decoder.More() {
		var value json.RawMessage
		key, err := decoder.Token()
		if err == nil {
			err = decoder.Decode(&value)
		}
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, fmt.Sprint(key))
		members[fmt.Sprint(key)] = value
	}
	if want := []string{"failed_at", "payload", "exception", "error", "backtrace", "worker", "queue"}; !slices.Equal(keys, want) {
		t.Fatalf("members %v", keys)
	}
	// The decoder takes the space around a value away, so the bytes are looked for.
	kept := bytes.Contains(record, fmt.Appendf(nil, `,"payload":%s,"exception":`, f.Job.Payload))
	if inner := unwrapped(t, members["payload"]); !kept && !bytes.Equal(inner, f.Job.Payload) {
		t.Fatalf("the payload %q became %s", f.Job.Payload, members["payload"])
	}
	var backtrace []string
	if err := json.Unmarshal(members["backtrace"], &backtrace); err != nil || backtrace == nil {
		t.Fatalf("backtrace %s: %v", members["backtrace"], err)
	}
}

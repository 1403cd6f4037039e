package failure_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/compat/ruby"
	"example.com/understudy/failure"
	"example.com/understudy/resque"
)

// FuzzRecord reads any text as a record and requeues it, in both kinds of lists:
// it is refused, or the text differs in retried_at only and the job is one.
func FuzzRecord(f *testing.F) {
	for _, text := range []string{
		rec("q", `1.10,"\u00fc",{"a":[null]}`), retried(rec("q", "1"), nowZone), "", "null", `{"cut`, "{}", `{"queue":"q","payload":{}}`,
		`{"retried_at":1,"payload":{"class":"X","args":{"id":5}},"queue":"q","retried_at":null}`,
		`{"payload":{"class":"Understudy::Malformed","args":["eyJjdXQi"]},"queue":"q"}`,
		"{\"payload\":{\"class\":\"X\",\"args\":[\"\xff\"]} /* c */ ,\"queue\":\"q\" }",
		`{"failed_at":"Fri Jan 02 03:04:05 UTC 2026","payload":{"class":"X"},"backtrace":"a\nb","queue":"q"}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := string(raw)
		for _, list := range []string{"failed", "q_failed"} {
			r, edit, err := failure.PlanRequeue(list, raw)
			if (err == nil) != (r.Err == nil) || r.Blank && err == nil || string(raw) != before || string(r.Raw) != before {
				t.Fatalf("error %v, record %+v", err, r)
			}
			if err != nil {
				continue
			}
			at := nowZone
			if list != "failed" {
				at = nowBare
			}
			checkSpliced(t, raw, edit.Replace, at)
			checkPushed(t, r, edit)
		}
	})
}

// checkSpliced wants all members as they were, but retried_at.
func checkSpliced(t *testing.T, raw, spliced []byte, at string) {
	t.Helper()
	members := func(text []byte) (rest []string, retried string) {
		all, err := ruby.Members(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for _, m := range all {
			if m.Key == "retried_at" {
				retried = string(m.Value)
				continue
			}
			rest = append(rest, string(m.RawKey), string(m.Value))
		}
		return rest, retried
	}
	want, had := members(raw)
	got, now := members(spliced)
	if diff := cmp.Diff(want, got); diff != "" || now != `"`+at+`"` {
		t.Fatalf("%s became %s (-want +got):\n%s", raw, spliced, diff)
	}
	if had == "" && len(spliced) != len(raw)+len(`,"retried_at":""`)+len(at) {
		t.Fatalf("%s became %s", raw, spliced)
	}
	if json.Valid(raw) && !json.Valid(spliced) {
		t.Fatalf("%s is no JSON any more: %s", raw, spliced)
	}
}

// checkPushed wants a job of the record's class with its arguments, or the text
// that was none.
func checkPushed(t *testing.T, r failure.Record, edit resque.Edit) {
	t.Helper()
	pushed := []byte(edit.Then[1].Args[0])
	if text, ok := resque.UnwrapMalformed(r.Payload); ok {
		if !bytes.Equal(text, pushed) {
			t.Fatalf("%s instead of %s", pushed, text)
		}
		return
	}
	class, args, err := resque.ParsePayload(pushed)
	if err != nil || class != r.Class || !bytes.Equal(args, r.Args) || edit.Then[0].Args[0] != r.Queue {
		t.Fatalf("pushed %s, %v, for %+v", pushed, err, r)
	}
}

package resque_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"example.com/understudy/resque"
)

func TestRecord(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	base := func(payload string) resque.Failure {
		return resque.Failure{
			Job:      &resque.Job{Payload: []byte(payload), Queue: "mt_messages", WorkerID: "ruby.example:4242:mt_messages"},
			FailedAt: at, Exception: "ArgumentError", Message: "boom", Backtrace: []string{},
		}
	}
	const tail = `,"exception":"ArgumentError","error":"boom","backtrace":[],"worker":"ruby.example:4242:mt_messages","queue":"mt_messages"}`
	const head = `{"failed_at":"2026/01/02 03:04:05 UTC","payload":`
	tests := []struct {
		name    string
		failure resque.Failure
		change  func(*resque.Failure)
		noZone  bool
		want    string
	}{
		{name: "the usual", failure: base(`{"class":"X","args":[7]}`), want: head + `{"class":"X","args":[7]}` + tail},
		{
			name: "while a retry is pending", failure: base(`{"class":"X","args":[7]}`), noZone: true,
			want: `{"failed_at":"2026/01/02 03:04:05","payload":{"class":"X","args":[7]}` + tail,
		},
		{
			name: "the payload's bytes are kept", failure: base(`{ "args":[1.10,{"z":[1,{"k":null}],"a":"<&é\u00e9"}], "class":"X","extra":1}`),
			want: head + `{ "args":[1.10,{"z":[1,{"k":null}],"a":"<&é\u00e9"}], "class":"X","extra":1}` + tail,
		},
		{
			name: "text that is no job", failure: base(`null`), change: func(f *resque.Failure) { f.Malformed = true },
			want: head + `{"class":"Understudy::Malformed","args":["bnVsbA=="]}` + tail,
		},
		{name: "cut JSON, although nobody said so", failure: base(`{"class":"X"`), want: head + `{"class":"Understudy::Malformed","args":["eyJjbGFzcyI6Ilgi"]}` + tail},
		{name: "a byte that is not UTF-8", failure: base("{\"class\":\"X\",\"args\":[\"\xff\"]}"), want: head + `{"class":"Understudy::Malformed","args":["eyJjbGFzcyI6IlgiLCJhcmdzIjpbIv8iXX0="]}` + tail},
		{
			name: "texts of any bytes", failure: base(`{}`),
			change: func(f *resque.Failure) {
				f.Exception, f.Message, f.Backtrace = "A\xff", "q\" \\ / <&> \n\x01\x7f \u2028 é\xfe", []string{"one", "two\xff"}
				f.Job.Queue, f.Job.WorkerID = "q\xff", "h:1:q\xff"
			},
			want: head + `{},"exception":"A` + "\uFFFD" + `","error":"q\" \\ / <&> \n\u0001` + "\x7f \u2028 é\uFFFD" + `","backtrace":["one","two` + "\uFFFD" + `"],"worker":"h:1:q` + "\uFFFD" + `","queue":"q` + "\uFFFD" + `"}`,
		},
		{
			name: "no backtrace is an empty one", failure: base(`{}`), change: func(f *resque.Failure) { f.Backtrace = nil },
			want: head + `{}` + tail,
		},
		{
			name: "no job at all", failure: base(`{}`), change: func(f *resque.Failure) { f.Job = nil },
			want: head + `{"class":"Understudy::Malformed","args":[""]},"exception":"ArgumentError","error":"boom","backtrace":[],"worker":"","queue":""}`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.change != nil {
				test.change(&test.failure)
			}
			got := test.failure.Record(!test.noZone)
			if string(got) != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
			if !json.Valid(got) || !utf8.Valid(got) {
				t.Error("it is no valid JSON in UTF-8")
			}
		})
	}
}

// H10 lantins/resque-retry#84: giant texts of errors bloated Redis.
func TestRecordOfAGiantError(t *testing.T) {
	t.Parallel()
	e := resque.DescribeError(errors.New(strings.Repeat("漢", 17<<20)))
	f := resque.Failure{Job: &resque.Job{Payload: []byte(`{"class":"X","args":[]}`)}, Exception: e.Name, Message: e.Message, Backtrace: e.Backtrace}
	if record := f.Record(true); len(record) > 1<<20 || !json.Valid(record) || strings.Contains(string(record), "\uFFFD") {
		t.Errorf("%d bytes", len(record))
	}
	e = resque.DescribeError(&classed{name: strings.Repeat("漢", 17<<20), ancestors: []string{strings.Repeat("A", 50<<20)}})
	if len(e.Name) > 1000 || !utf8.ValidString(e.Name) || len(e.Ancestors) != 3 || e.Ancestors[0] != e.Name || len(e.Ancestors[1]) != 1000 {
		t.Errorf("the class has %d bytes, %d ancestors", len(e.Name), len(e.Ancestors))
	}
}

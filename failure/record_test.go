package failure_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.com/understudy/failure"
	"example.com/understudy/internal/redistest"
)

func TestRecordIsReadAsFarAsItCanBe(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	x := failure.Record{Payload: []byte(`{"class":"X","args":[7]}`), Class: "X", Args: []byte(`[7]`), Queue: "q"}
	with := func(change func(*failure.Record)) failure.Record {
		r := x
		change(&r)
		return r
	}
	tests := []struct {
		name, raw string
		want      failure.Record
		err       error
		reason    string
	}{
		{
			name: "Ruby's", raw: rec("q", "7"),
			want: with(func(r *failure.Record) {
				r.FailedAt, r.FailedAtText, r.Exception, r.Error, r.Backtrace, r.Worker = at, "2026/01/02 03:04:05 UTC", "E", "boom", []string{"a.rb:1"}, "h:1:q"
			}),
		},
		{
			name: "requeued", raw: `{"retried_at":"2026/01/02 03:04:10","payload":{"class":"X","args":[7]},"queue":"q"}`,
			want: with(func(r *failure.Record) {
				r.RetriedAt, r.RetriedAtText = at.Add(5*time.Second), "2026/01/02 03:04:10"
			}),
		},
		{
			name: "never requeued, and said so", raw: `{"retried_at":null,"payload":{"class":"X","args":[7]},"queue":"q"}`,
			want: x,
		},
		{
			name: "goworker's", raw: `{"failed_at":"2026-01-02T04:04:05.000000001+01:00","payload":{"class":"X","args":[7]},"exception":"Error","error":"boom","backtrace":null,"worker":"h:1-0:q","queue":"q"}`,
			want: with(func(r *failure.Record) {
				r.FailedAt, r.FailedAtText = at.Add(1), "2026-01-02T04:04:05.000000001+01:00"
				r.Exception, r.Error, r.Worker = "Error", "boom", "h:1-0:q"
			}),
		},
		{
			name: "php-resque's", raw: `{"failed_at":"Fri Jan 02 03:04:05 UTC 2026","payload":{"class":"X","args":[{"a":1}],"id":"0a","queue_time":1.5},"exception":"Exception","error":"b\/oom","backtrace":["#0 a.php(1): f()"],"worker":"h:1:q","queue":"q"}`,
			want: failure.Record{
				FailedAt: at, FailedAtText: "Fri Jan 02 03:04:05 UTC 2026",
				Payload: []byte(`{"class":"X","args":[{"a":1}],"id":"0a","queue_time":1.5}`), Class: "X", Args: []byte(`[{"a":1}]`),
				Exception: "Exception", Error: "b/oom", Backtrace: []string{"#0 a.php(1): f()"}, Worker: "h:1:q", Queue: "q",
			},
		},
		{
			name: "node-resque's", raw: `{"worker":"h:1","queue":"q","payload":{"class":"X","queue":"q","args":[7]},"exception":"Error","error":"boom","backtrace":["at f (a.js:1)"],"failed_at":"Fri Jan 02 2026 04:04:05 GMT+0100 (Central European Standard Time)"}`,
			want: with(func(r *failure.Record) {
				r.Payload = []byte(`{"class":"X","queue":"q","args":[7]}`)
				r.FailedAt, r.FailedAtText = at, "Fri Jan 02 2026 04:04:05 GMT+0100 (Central European Standard Time)"
				r.Exception, r.Error, r.Backtrace, r.Worker = "Error", "boom", []string{"at f (a.js:1)"}, "h:1"
			}),
		},
		{
			name: "an old JavaScript's time", raw: `{"failed_at":"Fri, 02 Jan 2026 03:04:05 GMT","payload":{"class":"X","args":[7]},"queue":"q"}`,
			want: with(func(r *failure.Record) { r.FailedAt, r.FailedAtText = at, "Fri, 02 Jan 2026 03:04:05 GMT" }),
		},
		{
			name: "other types", raw: `{"failed_at":5,"payload":{"class":"X","args":[7]},"exception":null,"error":{"a":1},"backtrace":"one\ntwo\n","worker":["w"],"queue":"q"}`,
			want: with(func(r *failure.Record) {
				r.FailedAtText, r.Error, r.Backtrace, r.Worker = "5", `{"a"=>1}`, []string{"one", "two"}, `["w"]`
			}),
		},
		{
			name: "arguments missing", raw: `{"payload":{"class":"X"},"queue":"q"}`,
			want: failure.Record{Payload: []byte(`{"class":"X"}`), Class: "X", Args: []byte(`[]`), Queue: "q"},
		},
		{name: "a tombstone", raw: "", want: failure.Record{Blank: true}, err: failure.ErrUnreadable, reason: "it is blank"},
		{name: "blanks", raw: " \n", want: failure.Record{Blank: true}, err: failure.ErrUnreadable, reason: "it is blank"},
		{name: "cut", raw: `{"failed_at":"2026/01/02 03:04:05 UTC","payl`, err: failure.ErrUnreadable, reason: "unexpected end"},
		{name: "null", raw: `null`, err: failure.ErrUnreadable, reason: "no object"},
		{name: "a list", raw: `[]`, err: failure.ErrUnreadable, reason: "no object"},
		{name: "no payload", raw: `{"queue":"q"}`, want: failure.Record{Queue: "q"}, err: failure.ErrNoJob, reason: "it has no payload"},
		{
			name: "a payload that is no object", raw: `{"payload":"class","queue":"q"}`,
			want: failure.Record{Payload: []byte(`"class"`), Queue: "q"}, err: failure.ErrNoJob, reason: "no object",
		},
		{
			name: "no class", raw: `{"payload":{"args":[1]},"queue":"q"}`,
			want: failure.Record{Payload: []byte(`{"args":[1]}`), Queue: "q"}, err: failure.ErrNoJob, reason: "it has no class",
		},
		{
			name: "a class that is no text", raw: `{"payload":{"class":5},"queue":"q"}`,
			want: failure.Record{Payload: []byte(`{"class":5}`), Queue: "q"}, err: failure.ErrNoJob, reason: "its class is no text",
		},
		{
			name: "an empty class", raw: `{"payload":{"class":""},"queue":"q"}`,
			want: failure.Record{Payload: []byte(`{"class":""}`), Args: []byte(`[]`), Queue: "q"}, err: failure.ErrNoJob, reason: "its class is empty",
		},
		{
			name: "a class that is no UTF-8", raw: "{\"payload\":{\"class\":\"\xff\"},\"queue\":\"q\"}",
			want: failure.Record{Payload: []byte("{\"class\":\"\xff\"}"), Class: "\xff", Args: []byte(`[]`), Queue: "q"}, err: failure.ErrNoJob, reason: "UTF-8",
		},
		{
			name: "no queue", raw: `{"payload":{"class":"X","args":[7]}}`,
			want: with(func(r *failure.Record) { r.Queue = "" }), err: failure.ErrNoJob, reason: "it has no queue",
		},
		{
			name: "an empty queue", raw: `{"payload":{"class":"X","args":[7]},"queue":null}`,
			want: with(func(r *failure.Record) { r.Queue = "" }), err: failure.ErrNoJob, reason: "its queue is empty",
		},
		{
			name: "a queue that is no text", raw: `{"payload":{"class":"X","args":[7]},"queue":5}`,
			want: with(func(r *failure.Record) { r.Queue = "5" }), err: failure.ErrNoJob, reason: "its queue is no text",
		},
	}
	s := redistest.New(t)
	store := newStore(t, s, false)
	list := redistest.List{}
	for _, test := range tests {
		list = append(list, test.raw)
	}
	s.Seed(map[string]any{"failed": list})
	records, err := store.All(t.Context(), "failed", 0, 1000)
	if err != nil || len(records) != len(tests) {
		t.Fatalf("%d records, %v", len(records), err)
	}
	for i, test := range tests {
		test.want.List, test.want.Index, test.want.Raw, test.want.ID = "failed", int64(i), []byte(test.raw), records[i].ID
		sameTime := cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })
		if diff := cmp.Diff(test.want, records[i], cmpopts.IgnoreFields(failure.Record{}, "Err"), cmpopts.EquateEmpty(), sameTime); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		if got := records[i].Err; !errors.Is(got, test.err) || got != nil && !strings.Contains(got.Error(), test.reason) {
			t.Errorf("%s: error %v, want %v with %q", test.name, got, test.err, test.reason)
		}
		if test.err != nil {
			continue
		}
		if found, err := store.Find(t.Context(), records[i].ID); err != nil || string(found.Raw) != test.raw || found.Index != int64(i) {
			t.Errorf("%s: found %d %s, %v", test.name, found.Index, found.Raw, err)
		}
	}
}

func TestTimesWithoutAZoneAreTheClocks(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	s.Seed(map[string]any{"failed": redistest.List{`{"failed_at":"2026/07/02 03:04:05 CEST"}`, `{"failed_at":"2026/07/02 03:04:05"}`}})
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no time zones here: ", err)
	}
	store := failure.NewStore(open(t, s), failure.StoreConfig{Clock: &inZone{loc: berlin}})
	for i := range int64(2) {
		if got, want := at(t, store, "failed", i).FailedAt, time.Date(2026, 7, 2, 1, 4, 5, 0, time.UTC); !got.Equal(want) {
			t.Errorf("record %d: %v", i, got)
		}
	}
}

type inZone struct {
	clock

	loc *time.Location
}

func (c *inZone) Now() time.Time { return time.Date(2026, 7, 2, 3, 4, 10, 0, c.loc) }

func TestFilter(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r := failure.Record{Class: "Mail::Send", Queue: "mail", Exception: "Net::ReadTimeout", Error: "no route to *host*", FailedAt: at, RetriedAtText: "2026"}
	fresh := r
	fresh.RetriedAtText = ""
	timeless := r
	timeless.FailedAt = time.Time{}
	broken := failure.Record{Err: failure.ErrNoJob, Queue: "mail"}
	blank := failure.Record{Err: failure.ErrUnreadable, Blank: true}
	tests := []struct {
		name   string
		filter failure.Filter
		yes    []failure.Record
		no     []failure.Record
	}{
		{"nothing asked for", failure.Filter{}, []failure.Record{r, fresh, timeless, broken, blank}, nil},
		{"a class", failure.Filter{Class: "Mail::Send"}, []failure.Record{r}, []failure.Record{broken, blank}},
		{"another class", failure.Filter{Class: "Mail"}, nil, []failure.Record{r}},
		{"classes", failure.Filter{Class: "Mail*"}, []failure.Record{r}, []failure.Record{broken, blank}},
		{"other classes", failure.Filter{Class: "mail*"}, nil, []failure.Record{r}},
		{"a queue", failure.Filter{Queue: "m?il"}, []failure.Record{r, broken}, []failure.Record{blank}},
		{"an exception", failure.Filter{Exception: "Net::*"}, []failure.Record{r}, []failure.Record{broken}},
		{"another exception", failure.Filter{Exception: "Net::Read"}, nil, []failure.Record{r}},
		{"text of the error", failure.Filter{Error: "route to *"}, []failure.Record{r}, []failure.Record{broken}},
		{"other text", failure.Filter{Error: "Route"}, nil, []failure.Record{r}},
		{"since then", failure.Filter{Since: at}, []failure.Record{r}, []failure.Record{timeless, blank}},
		{"since later", failure.Filter{Since: at.Add(1)}, nil, []failure.Record{r}},
		{"until then", failure.Filter{Until: at}, nil, []failure.Record{r}},
		{"until later", failure.Filter{Until: at.Add(1)}, []failure.Record{r}, []failure.Record{timeless, blank}},
		{"requeued", failure.Filter{Retried: true}, []failure.Record{r}, []failure.Record{fresh, broken, blank}},
		{"not requeued", failure.Filter{Unretried: true}, []failure.Record{fresh, broken}, []failure.Record{r, blank}},
		{"broken", failure.Filter{Broken: true}, []failure.Record{broken, blank}, []failure.Record{r}},
		{"all at once", failure.Filter{Class: "Mail::*", Queue: "mail", Error: "host", Since: at, Retried: true}, []failure.Record{r}, []failure.Record{fresh, timeless}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, r := range test.yes {
				if !test.filter.Match(&r) {
					t.Errorf("doesn't match %+v", r)
				}
			}
			for _, r := range test.no {
				if test.filter.Match(&r) {
					t.Errorf("matches %+v", r)
				}
			}
		})
	}
}

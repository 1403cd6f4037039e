package resque_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"example.com/understudy/compat/ruby"
	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

// FuzzPayload lets a worker take any text from a queue and fail its run. Whatever
// the text is, Ruby can read and write what stands in the hand, in the record and
// among the delayed jobs, and nothing of class and arguments gets lost.
func FuzzPayload(f *testing.F) {
	for _, text := range []string{
		`{"class":"X","args":[1.10,{"b":null,"a":"\u00e9"}]}`, `{"class":"X"}`, `{"class":"X","args":null}`, `{"class":"X","args":{"id":5}}`,
		`{"args":["x"],"class":"A","class":"\u0042"}`, `{"class":5,"args":[]}`, `{"class":null}`, `{"args":[]}`, `[]`, `null`, ``, `{"class":"X","args":[1`,
		`{"class":"","args":[]}`, " \n{ \"class\" /* c */ : \"X\" , \"args\" : [ 1 , /**/ 2 ] }\n", "{\"class\":\"X\xff\",\"args\":[\"\xff\"]}",
		`{"class":"X","args":["\udc00","\ud83d\ude00"]}`, `{"class":"X","args":[1e400]}`, `{"class":"X","args":[NaN]}`, `{"class":"X","args":[-0]}`,
		`{"class":"X","args":` + strings.Repeat("[", 98) + strings.Repeat("]", 98) + `}`, `{"class":"X","args":` + strings.Repeat("[", 99) + strings.Repeat("]", 99) + `}`,
		`{"class":"X","args":[` + strings.Repeat("9", 400) + `.5]}`, `{"class":"Understudy::Malformed","args":["eyJjbGFzcyI6IlgifQ=="]}`,
		`{"class":"Understudy::Malformed","args":["bnVsbA=="]}`, `{"class":"Understudy::Malformed","args":["*"]}`, "{\"class\":\"X\",\"args\":[\"\u2028<&>\x7f\"]}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, element []byte) {
		before := string(element)
		checkReading(t, element)
		checkTaken(t, element, 0)
		checkTaken(t, element, time.Minute)
		if string(element) != before {
			t.Fatal("the text was changed")
		}
	})
}

// checkReading holds ParsePayload against the rules written down as they are
// said, and against encoding/json where both read the text.
func checkReading(t *testing.T, element []byte) {
	t.Helper()
	class, args, err := resque.ParsePayload(element)
	wantClass, wantArgs, isJob := readSlowly(element)
	if (err == nil) != isJob {
		t.Fatalf("ParsePayload: %v", err)
	}
	if err != nil {
		return
	}
	if class != wantClass || string(args) != wantArgs || ruby.KindOf(args) != ruby.Array || ruby.Check(args) != nil {
		t.Fatalf("read as %q %q, want %q %q", class, args, wantClass, wantArgs)
	}
	if fast, sure := resque.Writable(element), resque.WritableForSure(element); fast != sure {
		t.Fatalf("writable %v, for sure %v", fast, sure)
	}
	if !json.Valid(element) || !utf8.Valid(element) || strings.Contains(strings.ToLower(string(element)), `\ud`) {
		return
	}
	members := map[string]json.RawMessage{}
	var standard string
	if err := json.Unmarshal(element, &members); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(members["class"], &standard); err != nil || standard != class {
		t.Fatalf("encoding/json reads %q, %v, not %q", standard, err, class)
	}
	if raw := bytes.TrimSpace(members["args"]); len(raw) > 0 && raw[0] == '[' && !bytes.Equal(raw, bytes.TrimSpace(args)) {
		t.Fatalf("encoding/json reads %s, not %s", raw, args)
	}
}

// readSlowly is a job by Ruby's rules: what JSON.parse makes a hash, with a text
// under class. The last of several members counts.
func readSlowly(element []byte) (class, args string, isJob bool) {
	members, err := ruby.Members(element)
	if err != nil {
		return "", "", false
	}
	last := map[string][]byte{}
	for _, m := range members {
		if m.Key == "class" && ruby.KindOf(m.Value) != ruby.Text {
			return "", "", false
		}
		last[m.Key] = m.Value
	}
	if last["class"] == nil {
		return "", "", false
	}
	class, err = ruby.String(last["class"])
	switch value := last["args"]; {
	case value == nil, ruby.KindOf(value) == ruby.Null:
		args = "[]"
	case ruby.KindOf(value) == ruby.Array:
		args = string(value)
	default:
		args = "[" + string(value) + "]"
	}
	return class, args, err == nil
}

// checkTaken looks at all that a failed run leaves, or would.
func checkTaken(t *testing.T, element []byte, wait time.Duration) {
	t.Helper()
	retrier, err := retry.Policy{Delay: retry.Every(wait)}.Retrier()
	if err != nil {
		t.Fatal(err)
	}
	taken := resque.Take("q", element, resque.Registration{Retrier: retrier}, newFrozen())
	checkForRuby(t, "the hand", taken.Hand)
	_, payload, _ := strings.Cut(strings.TrimSuffix(string(taken.Hand), "}"), `,"payload":`)
	if inner := unwrapped(t, []byte(payload)); payload != string(element) && !bytes.Equal(inner, element) {
		t.Fatalf("the hand %s doesn't hold the element", taken.Hand)
	}
	pushed := false
	for _, w := range taken.Writes {
		switch {
		case w.Key == "failed":
			checkRecord(t, taken, element, w.Args[0])
		case w.Command == "RPUSH":
			pushed = true
			checkRetry(t, taken, w.Key, []byte(w.Args[0]))
		}
	}
	if pushed != (taken.Malformed == nil) {
		t.Fatalf("tried again: %v, the job %+v, %v", pushed, taken.Job, taken.Malformed)
	}
}

// checkForRuby wants a text that Ruby reads and writes again.
func checkForRuby(t *testing.T, what string, text []byte) {
	t.Helper()
	if _, err := ruby.Reencode(text); err != nil || !utf8.Valid(text) {
		t.Fatalf("%s is %q: %v", what, text, err)
	}
}

// unwrapped is the text that is kept as malformed, nil: none is.
func unwrapped(t *testing.T, text []byte) []byte {
	t.Helper()
	class, args, err := resque.ParsePayload(text)
	var list []string
	if err != nil || class != resque.MalformedClass || json.Unmarshal(args, &list) != nil || len(list) != 1 {
		return nil
	}
	inner, err := base64.StdEncoding.DecodeString(list[0])
	if err != nil {
		return nil
	}
	return inner
}

func checkRecord(t *testing.T, taken resque.Taken, element []byte, record string) {
	t.Helper()
	if !json.Valid([]byte(record)) || !utf8.ValidString(record) {
		t.Fatalf("the record is %q", record)
	}
	var fields struct {
		Payload json.RawMessage `json:"payload"`
		Queue   string          `json:"queue"`
	}
	if err := json.Unmarshal([]byte(record), &fields); err != nil || fields.Queue != "q" {
		t.Fatalf("the record %s: %v", record, err)
	}
	inner := unwrapped(t, fields.Payload)
	if kept := string(fields.Payload); kept != string(bytes.Trim(taken.Job.Payload, " \t\r\n")) && !bytes.Equal(inner, taken.Job.Payload) {
		t.Fatalf("of the element %q the record holds %s", element, kept)
	}
}

// checkRetry wants class and arguments in the retry as they arrived.
func checkRetry(t *testing.T, taken resque.Taken, key string, item []byte) {
	t.Helper()
	if strings.HasPrefix(key, "delayed:") {
		checkForRuby(t, "the delayed job", item)
		if inner := unwrapped(t, item); inner != nil && taken.Job.Class != resque.MalformedClass { // a job of that class is none of ours
			item = inner
		}
	}
	class, args, err := resque.ParsePayload(item)
	if err != nil || class != taken.Job.Class || !bytes.Equal(args, taken.Job.Args) {
		t.Fatalf("the retry %q is %q %q, %v, not %q %q", item, class, args, err, taken.Job.Class, taken.Job.Args)
	}
}

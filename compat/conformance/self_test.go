package conformance_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/understudy/compat/conformance"
	"example.com/understudy/internal/redistest"
)

// The folders below testdata/broken must fail, each for its reason.
func TestBrokenFolders(t *testing.T) {
	t.Parallel()
	tests := []struct {
		folder string
		// refused is a part of what Open says; "": it accepts the folder.
		refused string
		// finding is a part of what is found.
		finding string
	}{
		{"unknown-step", `scenarios[0].steps[1]: unknown step "sleep"`, ""},
		{"unknown-field", `scenarios[0].steps[1]: unknown field "worker"`, ""},
		{"unknown-kind", "rates.json: is of no kind that is known here", ""},
		{"no-scenarios", "scenarios.json: has nothing to compare", ""},
		{"no-recordings", "no recordings that can be compared", ""},
		{"not-yet-alone", "no recordings that can be compared", ""},
		{"wrong-byte", "", "scenarios.json: delay: step 2 (work): resque:delayed:1767323105: (-Ruby +ours)"},
		{"wrong-ttl", "", "scenarios.json: delay: step 2 (work): resque:failure-resque-retry:DeliverSMS:356a192b7913b04c54574d18c28d46e6395428ab: time to live: Ruby 110 s, ours 120 s"},
	}
	for _, test := range tests {
		t.Run(test.folder, func(t *testing.T) {
			t.Parallel()
			check(t, filepath.Join("testdata", "broken", test.folder), test.refused, test.finding)
		})
	}
}

// testdata/small passes as it is, and no longer after any of these edits: a
// suite that ignored something would be green for ever.
func TestEditedRecordings(t *testing.T) {
	t.Parallel()
	const (
		scenarios = "scenarios.json"
		keys      = "keys.json"
		texts     = "json.json"
		crons     = "cron.json"
	)
	tests := []struct{ name, file, old, edited, refused, finding string }{
		{"untouched", scenarios, "{", "{", "", ""},
		{"untouched", keys, "{", "{", "", ""},
		{"untouched", texts, "{", "{", "", ""},
		{"untouched", crons, "{", "{", "", ""},

		// Nothing unknown, at any level.
		{"field of the file", scenarios, `"exceptions":`, `"extra":1,"exceptions":`, `unknown field "extra"`, ""},
		{"field in another case", scenarios, `"exceptions":`, `"Exceptions":`, `unknown field "Exceptions"`, ""},
		{"field twice", scenarios, `"exceptions":`, `"recorded with":{},"exceptions":`, `field "recorded with" stands there twice`, ""},
		{"field of a scenario", scenarios, `"failure_backend":`, `"backend":1,"failure_backend":`, `scenarios[0]: unknown field "backend"`, ""},
		{"field missing", scenarios, `"failure_backend":"multiple_with_retry_suppression",`, "", `scenarios[0]: field "failure_backend" is missing`, ""},
		{"start missing", scenarios, `"start":1767323045,`, "", "has neither start", ""},
		{"option of a job", scenarios, `"retry_limit":2`, `"retry_limits":2`, `jobs[0]: unknown field "retry_limits"`, ""},
		{"plugin", scenarios, `"plugin":"retry"`, `"plugin":"lock"`, `unknown plugin "lock"`, ""},
		{"form of an option", scenarios, `{"replace":[999,"fallback"]}`, `{"reverse":true}`, "retry_args: unknown form", ""},
		{"field of a form", scenarios, `{"fields":[1,0],`, `{"fields":[1,0],"case":"up",`, `retry_identifier: unknown field "case"`, ""},
		{"field of a check", scenarios, `{"message_includes":`, `{"class_is":"X","message_includes":`, `criteria_checks[0]: unknown field "class_is"`, ""},
		{"failure backend", scenarios, `"failure_backend":"multiple_with_retry_suppression"`, `"failure_backend":"sentry"`, "", `unknown failure backend "sentry"`},
		{"field of another step", scenarios, `"do":"tick","advance":41`, `"do":"tick","seconds":41`, `unknown field "seconds"`, ""},
		{"field of an outcome", scenarios, `{"raise":"RuntimeError",`, `{"cause":"X","raise":"RuntimeError",`, `outcome: unknown field "cause"`, ""},
		{"outcome", scenarios, `"outcome":"ok"`, `"outcome":"exit"`, "outcome", ""},
		{"event", scenarios, `["perform",0,[1]]`, `["performed",0,[1]]`, `unknown event "performed"`, ""},
		{"details of an event", scenarios, `["perform",0,[1]]`, `["perform",0,[1],2]`, `event "perform" with 3 details instead of 2`, ""},
		{"type of a key", scenarios, `{"type":"zset",`, `{"type":"stream",`, `unknown type "stream"`, ""},
		{"field of a key", scenarios, `{"type":"zset",`, `{"encoding":"listpack","type":"zset",`, `unknown field "encoding"`, ""},
		{"field of a row", keys, `{"args_json":`, `{"note":"","args_json":`, `rows[0]: unknown field "note"`, ""},
		{"form of inspect", keys, `"inspect":"3.3"`, `"inspect":"4.0"`, `unknown form of inspect "4.0"`, ""},
		{"field of a text", texts, `{"raw":`, `{"note":"","raw":`, `rows[0]: unknown field "note"`, ""},
		{"field of a malformed text", texts, `{"raw_hex":""`, `{"size":0,"raw_hex":""`, `malformed[0]: unknown field "size"`, ""},
		{"field of a cron", crons, `{"cron":`, `{"note":"","cron":`, `crons[0]: unknown field "note"`, ""},
		{"field of what follows", crons, `{"from":`, `{"note":"","from":`, `crons[0].next[0]: unknown field "note"`, ""},
		{"field of a duration", crons, `{"duration":`, `{"note":"","duration":`, `durations[0]: unknown field "note"`, ""},
		{"times of no line", crons, `"valid":true,`, `"valid":false,`, "crons[0]: a line has times if it is valid, and only then", ""},
		{"null for an array", scenarios, `"trace":[]`, `"trace":null`, "null where an array belongs", ""},
		{"cut", scenarios, "]}\n", "", "unexpected EOF", ""},
		{"key that goes without having been there", scenarios, `"gone":["`, `"gone":["resque:no","`, "", `key "resque:no" is gone without having been there`},

		// Every part of what a step did is compared.
		{"state at the start", scenarios, `"2026-01-02 03:04:05 +0000"`, `"2026-01-02 03:04:05 +0100"`, "", "resque:worker:ruby.example:4242:mt_messages:started: (-Ruby +ours)"},
		{"value of a string", scenarios, `"resque:stat:failed":{"type":"string","value":"1"}`, `"resque:stat:failed":{"type":"string","value":"2"}`, "", "resque:stat:failed: (-Ruby +ours)"},
		{"value of a list", scenarios, `"type":"list","value":["{\"class\":\"DeliverSMS\",\"args\":[1]}"]`, `"type":"list","value":["{\"class\":\"DeliverSMS\",\"args\":[ 1]}"]`, "", "step 1 (enqueue): resque:queue:mt_messages: (-Ruby +ours)"},
		{"member of a set", scenarios, `"type":"set","value":["delayed:1767323085"]`, `"type":"set","value":["delayed:1767323086"]`, "", "(-Ruby +ours)"},
		{"member of a sorted set", scenarios, `[["1767323085",1767323085]]`, `[["1767323084",1767323085]]`, "", "resque:delayed_queue_schedule: (-Ruby +ours)"},
		{"score", scenarios, `[["1767323085",1767323085]]`, `[["1767323085",1767323084]]`, "", "resque:delayed_queue_schedule: (-Ruby +ours)"},
		{"time to live", scenarios, `"ttl":80`, `"ttl":85`, "", "time to live: Ruby 85 s, ours 80 s"},
		{"time to live that isn't there", scenarios, `"ttl":80`, `"ttl":null`, "", "time to live: Ruby none, ours 80 s"},
		{"key too much", scenarios, `"resque:stat:failed":{`, `"resque:extra":{"type":"string","value":"1"},"resque:stat:failed":{`, "", "resque:extra: is missing"},
		{"key too few", scenarios, `,"resque:queues":{"type":"set","value":["mt_messages"]}`, "", "", "resque:queues: should not be there"},
		{"key that didn't go", scenarios, `"gone":["resque:queue:mt_messages"]`, `"gone":[]`, "", "resque:queue:mt_messages: is missing"},
		{"attempt", scenarios, `["perform",0,[1]]`, `["perform",1,[1]]`, "", "trace: (-Ruby +ours)"},
		{"arguments", scenarios, `["perform",0,[1]]`, `["perform",0,[2]]`, "", "trace: (-Ruby +ours)"},
		{"check asked", scenarios, `,["criteria_check",0]`, "", "", "trace: (-Ruby +ours)"},
		{"callback called", scenarios, `["try_again",1,"NetworkError",[1,"x"]]`, `["try_again",1,"RuntimeError",[1,"x"]]`, "", "trace: (-Ruby +ours)"},
		{"gave up", scenarios, `["give_up",0,`, `["give_up",1,`, "", "trace: (-Ruby +ours)"},
		{"slept", scenarios, `["sleep",5]`, `["sleep",6]`, "", "trace: (-Ruby +ours)"},
		{"hand", scenarios, `"during":"{\"queue\"`, `"during":"{\"Queue\"`, "", "during: (-Ruby +ours)"},
		{"no hand", scenarios, `"during":"{\"queue\":\"mt_messages\",\"run_at\":\"2026-01-02T03:04:05Z\",\"payload\":{\"class\":\"DeliverSMS\",\"args\":[1]}}",`, "", "", "during: (-Ruby +ours)"},
		{"error", scenarios, `"trace":[["perform",0,[1]]]`, `"error":{"class":"E","message":"m"},"trace":[["perform",0,[1]]]`, "", "error: Ruby &{E m}, ours <nil>"},
		{"clock", scenarios, `"seconds":5`, `"seconds":6`, "", "now: Ruby 1767323050, ours 1767323051"},
		{"clock of a tick", scenarios, `"advance":41`, `"advance":42`, "", "now: Ruby 1767323086, ours 1767323087"},
		{"definition refused", scenarios, `"fatal_exceptions":["PermanentError"],`, "", "", "definition_error: Ruby"},
		{"joined", keys, `"joined":" "`, `"joined":""`, "", "joined: (-Ruby +ours)"},
		{"identifier", keys, `"identifier":"b8`, `"identifier":"b9`, "", "identifier: (-Ruby +ours)"},
		{"key", keys, `"key":"resque-retry:KeyJob:b8`, `"key":"resque-retry:KeyJob:b9`, "", "key: (-Ruby +ours)"},
		{"key of a class in a module", keys, `"resque-retry:Billing::Send:b8`, `"resque-retry:Billing::Send:b9`, "", "namespaced_key: (-Ruby +ours)"},
		{"encoded", texts, `"encoded":"{\"class\":\"X\",\"args\":[1.0,100.0`, `"encoded":"{\"class\":\"X\",\"args\":[1.0,1e2`, "", "encoded: (-Ruby +ours)"},
		{"arguments encoded", texts, `"args_encoded":"[1]"`, `"args_encoded":"[2]"`, "", "args_encoded: (-Ruby +ours)"},
		{"read by Ruby", texts, `"raw_hex":"7b","error":"MultiJson::ParseError"`, `"raw_hex":"7b","decoded":{}`, "", "decoded: "},
		{"not read by Ruby", texts, `"raw_hex":"227822","decoded":"x"`, `"raw_hex":"227822","error":"MultiJson::ParseError"`, "", "error: Ruby MultiJson::ParseError"},
		{"read as something else", texts, `"raw_hex":"227822","decoded":"x"`, `"raw_hex":"227822","decoded":"y"`, "", "decoded: (-Ruby +ours)"},
		{"a cron's time", crons, `1793514600,`, `1793514601,`, "", "line 1: 30 1 * * * America/New_York: after 1793448000: (-Ruby +ours)"},
		{"a cron refused", crons, `"60 * * * *"`, `"59 * * * *"`, "", "valid: Ruby false, ours: <nil>"},
		{"a duration's length", crons, `3630`, `5400`, "", "duration 1: 1h30: seconds: Ruby 5400, ours 3630"},
		{"a duration's fraction", crons, `:3.5}`, `:3.4}`, "", "seconds: Ruby 3.4, ours 3.5"},
		{"a duration refused", crons, `"seconds":null`, `"seconds":1`, "", "duration 3: x: seconds: Ruby 1, ours: cron: duration x: "},
		{"a duration not refused", crons, `"seconds":3630`, `"seconds":null`, "", "duration 1: 1h30: seconds: Ruby refuses it, ours: 3630"},
		{"deviation that isn't one", texts, `"raw_hex":"5b5d","decoded":[]`, `"raw_hex":"7b22636c617373223a2258227d","decoded":{"class":5}`, "", "doesn't show: JSON that Ruby decodes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			check(t, edit(t, test.file, test.old, test.edited), test.refused, test.finding)
		})
	}
}

// edit copies a file of testdata/small with the first old text in it replaced.
func edit(t *testing.T, name, old, edited string) string {
	t.Helper()
	dir := t.TempDir()
	content, err := os.ReadFile(filepath.Join("testdata", "small", name))
	if err != nil {
		t.Fatal(err)
	}
	before, after, ok := strings.Cut(string(content), old)
	if !ok {
		t.Fatalf("%s: no %s in it", name, old)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(before+edited+after), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// check opens and compares a folder and wants it to be refused, or to differ in
// a certain way; both empty: to pass.
func check(t *testing.T, dir, refused, finding string) {
	t.Helper()
	suite, err := conformance.Open(dir)
	if refused != "" {
		if err == nil || !strings.Contains(err.Error(), refused) {
			t.Errorf("opened: %v, want %q", err, refused)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	server := redistest.New(t)
	findings, err := suite.Compare(t.Context(), server.URL(), server.Namespace())
	var found []string
	for _, f := range findings {
		found = append(found, f.String())
	}
	if err != nil {
		found = append(found, err.Error())
	}
	got := strings.Join(found, "\n")
	if finding == "" && got != "" || !strings.Contains(got, finding) {
		t.Errorf("found %q, want %q", got, finding)
	}
}

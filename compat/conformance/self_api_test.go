package conformance_test

import "testing"

// TestEditedRecordings for recordings of calls: testdata/small/api.json passes as
// it is, and no longer after any of these edits.
func TestEditedCalls(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, old, edited, refused, finding string }{
		{"untouched", "{", "{", "", ""},

		// Nothing unknown, at any level.
		{"field of the file", `"classes":`, `"extra":1,"classes":`, `unknown field "extra"`, ""},
		{"field of a class", `{"queue":"mail",`, `{"queue":"mail","retries":1,`, `classes.SendMail: unknown field "retries"`, ""},
		{"field of a group", `"failure_backend":`, `"backend":1,"failure_backend":`, `groups[0]: unknown field "backend"`, ""},
		{"field of a step", `"op":"size",`, `"op":"size","during":"",`, `steps[7]: unknown field "during"`, ""},
		{"field missing", `"op":"size","params":["mail"],"now":1767323045,`, `"op":"size","params":["mail"],`, `field "now" is missing`, ""},
		{"field of a lock", `"lock":{"value":`, `"lock":{"keys":"","value":`, `lock: unknown field "keys"`, ""},
		{"form of a lock", `"localhost:<pid>"`, `"localhost"`, `value "localhost" is of no form`, ""},
		{"no steps", `"start":1767323045,"steps":[`, `"start":1767323045,"steps":[]},{"name":"","failure_backend":"redis","start":1767323045,"steps":[`, "has no steps", ""},
		{"key that goes without having been there", `"gone":["`, `"gone":["resque:no","`, `key "resque:no" is gone without having been there`, ""},
		{"failure backend", `"failure_backend":"redis"`, `"failure_backend":"sentry"`, "", `unknown failure backend "sentry"`},

		// Nothing unknown in a call.
		{"op", `"op":"size"`, `"op":"sizes"`, `steps[7]: unknown op "sizes"`, ""},
		{"words behind an op", `"op":"paused?"`, `"op":"paused? really"`, `unknown op "paused? really"`, ""},
		{"selection", `selection id=1`, `selection ids=1`, `unknown selection "ids=1"`, ""},
		{"value of a selection", `selection args=[2]`, `selection args=[2`, `selection "args=[2"`, ""},
		{"parameters", `"op":"size","params":["mail"]`, `"op":"size","params":["mail",0]`, `op "size": 2 params`, ""},
		{"null for a parameter", `"op":"size","params":["mail"]`, `"op":"size","params":[null]`, "params[0]: is null", ""},
		{"type of a parameter", `"params":["mail",0,1]`, `"params":["mail",0.5,1]`, `op "peek": params[1]`, ""},
		{"arguments", `"params":["SendMail",[1,"a"]]`, `"params":["SendMail",{"a":1}]`, `op "enqueue": params[1]`, ""},
		{"class", `"params":["SendMail",[1,"a"]]`, `"params":["SendMails",[1,"a"]]`, `class "SendMails" is none of the file's`, ""},
		{"job", `"params":["raw",{"class":"Other","args":[]}]`, `"params":["raw","Other"]`, "where an object belongs", ""},
		{"time", `"op":"enqueue_at","params":[1767323105,`, `"op":"enqueue_at","params":["soon",`, "is no number of seconds", ""},
		{"time ago", `"server time - 301 s"`, `"server time - 301 min"`, `"server time - 301 min" is no`, ""},
		{"what a class raises", `"raises":"RuntimeError \"report\""`, `"raises":"RuntimeError report"`, "is of no form that is known here", ""},
		{"when a class raises", `when the first argument is \"bad\"`, `when the first argument is bad`, "raises: the first argument", ""},
		{"message that a class raises", `<args.inspect>`, `<args.to_s>`, "says something unknown about the message", ""},

		// Every part of what a call did is compared.
		{"result", `"op":"size","params":["mail"],"now":1767323045,"result":4`, `"op":"size","params":["mail"],"now":1767323045,"result":5`, "", "queues: step 8 (size): result: (-Ruby +ours)"},
		{"type of a result", `"op":"size","params":["mail"],"now":1767323045,"result":4`, `"op":"size","params":["mail"],"now":1767323045,"result":"4"`, "", "step 8 (size): result"},
		{"one element", `"result":{"class":"SendMail","args":[1,"a"]}`, `"result":[{"class":"SendMail","args":[1,"a"]}]`, "", "step 10 (peek): result"},
		{"element", `"result":[{"class":"SendMail","args":[0]}`, `"result":[{"class":"SendMail","args":[0.0]}`, "", "step 11 (peek): result"},
		{"nothing", `"op":"pop","params":["nope"],"now":1767323045,"result":null`, `"op":"pop","params":["nope"],"now":1767323045,"result":{}`, "", "step 13 (pop): result"},
		{"number in an object", `"queues":2`, `"queues":3`, "", "step 17 (info): result"},
		{"times", `"result":[1767323075,1767323105]`, `"result":[1767323075]`, "", "step 11 (delayed_queue_peek): result"},
		{"record", `"failed_at":"2026/01/02 03:04:05 UTC","payload":{"class":"SendMail","args":["bad",1]},"exception":"ArgumentError","error":"no [`, `"failed_at":"2026/01/02 03:04:06 UTC","payload":{"class":"SendMail","args":["bad",1]},"exception":"ArgumentError","error":"no [`, "", "step 12 (failure.all): result"},
		{"record requeued", `"retried_at\":\"2026/01/02 03:04:10 UTC`, `"retried_at\":\"2026/01/02 03:04:10`, "", "step 15 (failure.requeue): resque:failed: (-Ruby +ours)"},
		{"hand", `"run_at":"2026-01-02T03:04:05Z","payload"`, `"run_at":"2026-01-02T03:04:06Z","payload"`, "", "step 7 (job): result"},
		{"raised", `"result":{"error":"ArgumentError","message":"Please supply a numeric number of seconds"}`, `"result":true`, "", "step 9 (enqueue_in): error: Ruby answered true, ours"},
		{"not raised", `"params":["SendMail",[1,"a"]],"now":1767323045,"result":true`, `"params":["SendMail",[1,"a"]],"now":1767323045,"result":{"error":"E","message":"m"}`, "", "step 1 (enqueue): error: Ruby answered"},
		{"clock", `"op":"tick","params":[100]`, `"op":"tick","params":[101]`, "", "now: Ruby 1767323145, ours 1767323146"},
		{"lock", `"ttl":180`, `"ttl":170`, "", "lock: time to live: Ruby 170 s, ours 180 s"},
		{"value of a list", `"value":["{\"class\":\"SendMail\",\"args\":[1,\"a\"]}"]`, `"value":["{\"class\":\"SendMail\",\"args\":[1, \"a\"]}"]`, "", "step 1 (enqueue): resque:queue:mail: (-Ruby +ours)"},
		{"key that didn't go", `"gone":["resque:queue:urgent"]`, `"gone":[]`, "", "step 16 (remove_queue): resque:queue:urgent: is missing"},
		{"argument", `"op":"dequeue","params":["SendMail",[1]]`, `"op":"dequeue","params":["SendMail",[3]]`, "", "step 14 (dequeue): result"},
		{"heartbeat", `"2026-01-02T03:04:05+00:00"`, `"2026-01-02T03:04:05Z"`, "", "step 2 (heartbeat!): resque:workers:heartbeat: (-Ruby +ours)"},
		{"heartbeat by the server's clock", `"<server time>"`, `"2026-01-02T03:04:05+00:00"`, "", "step 2 (heartbeat!): resque:workers:heartbeat: (-Ruby +ours)"},
		{"time of that heartbeat", `"server time - 301 s"`, `"server time - 290 s"`, "", "step 6 (prune_dead_workers): resque:"},
		{"time to live", `"ttl":60`, `"ttl":50`, "", "time to live: Ruby 50 s, ours 60 s"},
		{"what a class raised", `\"report\"`, `\"reports\"`, "", "step 8 (work): resque:failed: (-Ruby +ours)"},
		{"emptied time that never was", `["1767323135",1767323135],["1767323165",1767323165]`, `["1767323135",1767323135],["1767323160",1767323160],["1767323165",1767323165]`, "", "resque:delayed_queue_schedule: "},
		{"deviation that isn't one", `"op":"peek","params":["mail",1,2],"now":1767323045,"result":[{"class":"SendMail","args":[0]},{"class":"SendMail","args":[1]}]`, `"op":"peek","params":["mail",1,-3],"now":1767323045,"result":[]`, "", "doesn't show: a part of a list"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			check(t, edit(t, "api.json", test.old, test.edited), test.refused, test.finding)
		})
	}
}

package foreign_test

import (
	"testing"

	"example.com/understudy/internal/foreign"
	"example.com/understudy/resque"
)

// Only {"cancel": true} ends a job without a retry.
func TestCancel(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		outcome resque.Outcome
		message string
	}{
		`{"cancel":true}`:                            {resque.Cancelled, "as before"},
		`{"cancel":true,"error":"no such number"}`:   {resque.Cancelled, "no such number"},
		`{"cancel":true,"exception":"BadNumber"}`:    {resque.Cancelled, "BadNumber"},
		`{"cancel":false,"error":"no such number"}`:  {resque.Failed, "no such number"},
		`{"cancel":null,"error":"no such number"}`:   {resque.Failed, "no such number"},
		`{"cancel":"true","error":"no such number"}`: {resque.Failed, "no such number"},
		`{"cancel":1}`: {resque.Failed, "as before"},
		`{"Cancel":true,"error":"no such number"}`: {resque.Failed, "no such number"},
		`{"error":"no such number"}`:               {resque.Failed, "no such number"},
		`{"cancel":true`:                           {resque.Failed, "as before"},
		`true`:                                     {resque.Failed, "as before"},
	} {
		e := &foreign.Error{Exception: "HTTP::503", Message: "as before"}
		e.Parse([]byte(text))
		err := e.Outcome()
		if got := resque.AskedOutcome(err); got != want.outcome || err.Error() != want.message {
			t.Errorf("%s: %s, %q; want %s, %q", text, got, err, want.outcome, want.message)
		}
	}
}

package cli_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"example.com/understudy/internal/redistest"
)

// TestExamplePrograms works the jobs of examples/programs.
func TestExamplePrograms(t *testing.T) {
	t.Parallel()
	const jobs = "../../examples/programs/jobs.yml"
	tests := []struct {
		needs, class string
		args         []string
		says         string // on the program's output
		records      string // in the record of a failure; "": none
		retries      bool
	}{
		{"sh", "WelcomeMail", []string{"ada@example.org"}, `WelcomeMail: mail shop@example.org sends: {"class":"WelcomeMail","args":["ada@example.org"]}`, "", false},
		{"sh", "WelcomeMail", []string{"ada"}, "WelcomeMail: no address in", `"exception":"RuntimeError","error":"no address in {\"class\":\"WelcomeMail\",\"args\":[\"ada\"]}"`, false},
		{"ruby", "DeliverSMS", []string{"7", `"+4912345"`, "fish & chips"}, "DeliverSMS: message 7 to +4912345: fish & chips", "", false},
		{"ruby", "DeliverSMS", []string{"7", `"+4912345"`, "busy"}, `DeliverSMS: {"exception":"NetworkError"`, "", true},
		{"ruby", "DeliverSMS", []string{"7", "nobody", "hello"}, "DeliverSMS: ", `"exception":"BadRecipient","error":"nobody is no number","backtrace":["`, false},
		{"ruby", "DeliverSMS", []string{"7"}, "DeliverSMS: ", "", true}, // ArgumentError is no fatal one
		{"python3", "SyncStock", []string{`{"pears":3,"apples":12}`}, "SyncStock: 12 apples\nSyncStock: 3 pears", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.class+" "+strings.Join(tt.args, " "), func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(tt.needs); err != nil {
				t.Skipf("needs %s", tt.needs)
			}
			s := redistest.New(t)
			if got := run(t, command{args: on(s, append([]string{"enqueue", "--jobs", jobs, tt.class}, tt.args...)...)}); got.number != 0 {
				t.Fatal(got.stderr)
			}
			got := run(t, command{args: on(s, words("work --queues * --until-empty --jobs", jobs)...)})
			if got.number != 0 || !strings.Contains(got.stderr, tt.says) {
				t.Errorf("ends with %d and says\n%s", got.number, got.stderr)
			}
			if records := fmt.Sprint(s.Do("LRANGE", s.Key("failed"), 0, -1)); (records != "[]") != (tt.records != "") || !strings.Contains(records, tt.records) {
				t.Errorf("failed holds %s", records)
			}
			if waiting := s.Do("ZCARD", s.Key("delayed_queue_schedule")); (waiting == int64(1)) != tt.retries {
				t.Errorf("%v times are waited for", waiting)
			}
		})
	}
}

package retry_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

func TestDecisionsAreLogged(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		policy  retry.Policy
		err     error
		attempt int64
		want    string
	}{
		{
			name: "a retry", policy: retry.Policy{Delay: retry.Every(time.Minute)}, err: errPlain,
			want: "DEBUG the error is sufficient for a retry, DEBUG trying again, DEBUG the retry is on its way",
		},
		{name: "the limit", err: errPlain, attempt: 1, want: "DEBUG the retry limit is reached, DEBUG giving up"},
		{
			name: "a check", err: errPlain,
			policy: retry.Policy{On: retry.Errors{}, Check: []retry.Check{func(*resque.Job, error) bool { return true }}},
			want:   "DEBUG the error is not sufficient for a retry, DEBUG a check is sufficient for a retry, DEBUG trying again, DEBUG the retry is on its way",
		},
		{
			name: "ignored", policy: retry.Policy{Ignore: retry.Errors{retry.Named("NetworkError")}, Limit: retry.Never}, err: network,
			want: "DEBUG the error is ignored: this attempt does not count, DEBUG the retry limit is reached, DEBUG giving up",
		},
		{
			name: "a function that fails", policy: retry.Policy{Queue: func(*resque.Job, error) string { panic("boom") }}, err: errPlain,
			want: "DEBUG the error is sufficient for a retry, DEBUG trying again, DEBUG giving up, WARN a function of the retry policy failed",
		},
		{name: "cancelled", err: retry.Cancel(errPlain), want: "DEBUG the handler ended the job, DEBUG giving up"},
		{name: "discarded", err: retry.Discard(errPlain), want: "DEBUG the handler discarded the job"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var log strings.Builder
			test.policy.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			decide(t, test.policy, test.err, test.attempt)
			var got []string
			for line := range strings.Lines(log.String()) {
				_, line, _ = strings.Cut(line, "level=")
				level, line, _ := strings.Cut(line, " msg=")
				message, _, ok := strings.Cut(line, " class=X queue=from attempt=")
				if !ok {
					t.Errorf("the line lacks the job: %s", line)
				}
				got = append(got, level+" "+strings.Trim(message, `"`))
			}
			if text := strings.Join(got, ", "); text != test.want {
				t.Errorf("got  %s\nwant %s", text, test.want)
			}
		})
	}
}

package retry_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"example.com/understudy/retry"
)

// B8 lantins/resque-retry#133, #65: with a backoff and delays by error one of the
// two was passed over in silence. CONTRIBUTING.md lists the reports.
func TestReportBackoffBesideDelaysByError(t *testing.T) {
	t.Parallel()
	_, err := retry.Policy{
		Backoff: retry.DefaultBackoff(), On: retry.Errors{retry.Named("NetworkError").Wait(time.Minute)},
	}.Retrier()
	checkRefusal(t, err, "Backoff", "On")
	for _, spec := range []string{
		`{"backoff_strategy":[1],"retry_exceptions":{"NetworkError":60}}`,
		`{"plugin":"exponential_backoff","retry_exceptions":[["NetworkError",[60,120]]]}`,
	} {
		_, err := readSpec(t, spec).Policy()
		checkRefusal(t, err, "backoff_strategy", "retry_exceptions")
	}
	if _, err := (retry.Policy{Backoff: retry.DefaultBackoff(), On: retry.Errors{retry.Named("NetworkError")}}).Retrier(); err != nil {
		t.Error("a list without delays is no contradiction:", err)
	}
}

func checkRefusal(t *testing.T, err error, fields ...string) {
	t.Helper()
	refusal, ok := errors.AsType[*retry.ConfigError](err)
	if !ok || strings.Join(refusal.Fields, " ") != strings.Join(fields, " ") {
		t.Errorf("got %v, want a refusal of %v", err, fields)
	}
}

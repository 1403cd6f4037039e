package spelling_test

import (
	"testing"

	"example.com/understudy/internal/spelling"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"queue", "exec", "retry_limit", "retry_delay", "Timeout"}
	for written, want := range map[string]string{
		"retry_limt":  "retry_limit",
		"retrylimit":  "retry_limit",
		"RetryDelay":  "retry_delay",
		"retry-delay": "retry_delay",
		"qeuue":       "queue",
		"exce":        "exec",
		"timeouts":    "Timeout",
		"exec":        "exec",
		"":            "",
		"x":           "",
		"verbose":     "",
		"retry_queue": "",
	} {
		if got := spelling.Nearest(written, known); got != want {
			t.Errorf("nearest to %q is %q, want %q", written, got, want)
		}
	}
	if got := spelling.Nearest("a", nil); got != "" {
		t.Errorf("got %q where nothing is known", got)
	}
}

package cron_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"example.com/understudy/scheduler/cron"
)

// Measured with fugit 1.5.2, beside the recordings.
func TestParseDuration(t *testing.T) {
	t.Parallel()
	const refused = time.Duration(math.MinInt64)
	tests := []struct {
		text string
		want time.Duration
	}{
		{"1h-30m", 30 * time.Minute},
		{"-1h30m", -90 * time.Minute},
		{"-1h 30m", -30 * time.Minute},
		{"-1h,-30m", -90 * time.Minute},
		{"+5m", 5 * time.Minute},
		{"1h30", time.Hour + 30*time.Second},
		{"1d 2", 24*time.Hour + 2*time.Second},
		{"1H30M", (30*30*24 + 1) * time.Hour},
		{"5.h", 5 * time.Hour},
		{".5h", 30 * time.Minute},
		{"0.1h", 6 * time.Minute},
		{"1.5", 1500 * time.Millisecond},
		{"1.", time.Second},
		{"0.0000000004s", 0},
		{"0.0000000006s", 1},
		{" 1h\n", time.Hour},
		{"10 d", 240 * time.Hour},
		{"1h  30m", 90 * time.Minute},
		{"1handand30m", 90 * time.Minute},
		{"3d, AND 4h", 76 * time.Hour},
		{"1ss", time.Second},
		{"2 WEEKS", 336 * time.Hour},
		{"1year2months", (365 + 60) * 24 * time.Hour},
		{"5 minutes", 5 * time.Minute},
		{"P", 0},
		{"p1dt-2h", 22 * time.Hour},
		{"PT.5S", 500 * time.Millisecond},
		{"P1M1M", 60 * 24 * time.Hour},
		{"P1MT1M", 30*24*time.Hour + time.Minute},
		{"PT", refused},
		{"P1DT", refused},
		{"PT5.S", refused},
		{"PT1H30", refused},
		{"-P1D", refused},
		{"1h,", refused},
		{"1h and", refused},
		{"and", refused},
		{",1h", refused},
		{"1.5.5h", refused},
		{".h", refused},
		{"1h\n2m", refused},
		{"- 5m", refused},
		{"--5m", refused},
		{"1 2", refused},
		{"1h-", refused},
		{"5 Minutes", refused},
		{"1MIN", refused},
		{"5mm", refused},
		{"5\tm", refused},
		{"1e3", refused},
		{"0x5", refused},
		{"1/2h", refused},
		{"293y", refused},
		{strings.Repeat("9", 100) + "s", refused},
		{strings.Repeat("1s", 101), refused},
	}
	for _, test := range tests {
		t.Run(test.text, func(t *testing.T) {
			t.Parallel()
			d, err := cron.ParseDuration(test.text)
			if test.want == refused {
				if err == nil {
					t.Errorf("got %v", d.Length())
				}
				return
			}
			if err != nil || d.Length() != test.want || d.String() != test.text {
				t.Errorf("got %v, %v, want %v", d.Length(), err, test.want)
			}
		})
	}
}

func TestParseEvery(t *testing.T) {
	t.Parallel()
	const want = "write seconds, such as 90, or units, such as 30s, 5m, 1h30m, 1d"
	tests := []struct{ text, want string }{
		{"0", "cron: duration 0: isn't more than nothing; " + want},
		{"", `cron: duration "": isn't more than nothing; ` + want},
		{"-5m", "cron: duration -5m: isn't more than nothing; " + want},
		{"every 5m", "cron: duration every 5m: " + want},
		{"300y", "cron: duration 300y: is more than 292 years; write less"},
		{strings.Repeat("5m ", 80), "cron: duration " + strings.Repeat("5m ", 20) + "...: is too long"},
	}
	for _, test := range tests {
		_, err := cron.ParseEvery(test.text)
		var refusal *cron.FieldError
		if !errors.As(err, &refusal) || err.Error() != test.want {
			t.Errorf("%q: %v, want %s", test.text, err, test.want)
		}
	}
	if d, err := cron.ParseEvery("90"); err != nil || d.Length() != 90*time.Second {
		t.Errorf("got %v, %v", d, err)
	}
}

func TestEverySeconds(t *testing.T) {
	t.Parallel()
	for seconds, want := range map[float64]time.Duration{
		30: 30 * time.Second, 0.25: 250 * time.Millisecond, 1e6: 1e6 * time.Second,
		0: 0, -1: 0, 1e300: 0, math.Inf(1): 0, math.NaN(): 0, // refused
	} {
		if d, err := cron.EverySeconds(seconds); d.Length() != want || (err == nil) != (want > 0) {
			t.Errorf("%v: %v, %v", seconds, d.Length(), err)
		}
	}
}

func TestDurationWarnings(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{"1h30m", ""},
		{"90", ""},
		{"-90", ""},
		{"1.5", ""},
		{"PT5M", ""},
		{"P5M", ""},
		{"5 months", ""},
		{"1h30", "1h30: 30 without a unit is 30 seconds; write 30m for minutes, 30s for seconds"},
		{"1d 2.5", "1d 2.5: 2.5 without a unit is 2.5 seconds; write 2.5m for minutes, 2.5s for seconds"},
		{"5M", "5M: M is months of 30 days; write 5m for minutes"},
		{"1H30M", "1H30M: M is months of 30 days; write 30m for minutes"},
		{"-1h 30m", "-1h 30m: the sign counts up to the blank; write -1h30m"},
		{"-1h, and 30m", "-1h, and 30m: the sign counts up to the blank; write -1h30m"},
		{"-1d and 30m", "-1d and 30m: the sign counts up to the blank; write -1d30m"},
		{"-1h -30m", ""},
		{"1h -30m", ""},
	}
	for _, test := range tests {
		d, err := cron.ParseDuration(test.text)
		if got := strings.Join(d.Warnings(), "; "); err != nil || got != test.want {
			t.Errorf("%s: %q, %v, want %q", test.text, got, err, test.want)
		}
	}
}

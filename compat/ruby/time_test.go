package ruby_test

import (
	"testing"
	"time"
	_ "time/tzdata" // New York, on machines without a zone database

	"example.com/understudy/compat/ruby"
)

// The right sides were put to Ruby 3.1.2 with TZ set.
func TestTimes(t *testing.T) {
	t.Parallel()
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	utc := time.Date(2026, 1, 2, 3, 4, 5, 999_999_999, time.UTC)
	local := utc.In(newYork)
	tests := map[string]struct{ got, want string }{
		"run_at":            {ruby.ISO8601UTC(utc), "2026-01-02T03:04:05Z"},
		"run_at, local":     {ruby.ISO8601UTC(local), "2026-01-02T03:04:05Z"},
		"heartbeat":         {ruby.ISO8601(utc), "2026-01-02T03:04:05+00:00"},
		"heartbeat, local":  {ruby.ISO8601(local), "2026-01-01T22:04:05-05:00"},
		"started":           {ruby.TimeToS(utc), "2026-01-02 03:04:05 +0000"},
		"started, local":    {ruby.TimeToS(local), "2026-01-01 22:04:05 -0500"},
		"failed_at":         {ruby.FailureTime(utc), "2026/01/02 03:04:05 UTC"},
		"failed_at, local":  {ruby.FailureTime(local), "2026/01/01 22:04:05 EST"},
		"retried_at":        {ruby.FailureTimeNoZone(utc), "2026/01/02 03:04:05"},
		"retried_at, local": {ruby.FailureTimeNoZone(local), "2026/01/01 22:04:05"},
	}
	for name, test := range tests {
		if test.got != test.want {
			t.Errorf("%s: %s; Ruby: %s", name, test.got, test.want)
		}
	}
}

func TestParseTime(t *testing.T) {
	t.Parallel()
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]int64{ // seconds by Ruby's Time.parse with TZ=America/New_York
		"2026-01-02T03:04:05Z":         1767323045,
		"2026-01-02T03:04:05+00:00":    1767323045,
		"2026-01-02T03:04:05.25+01:00": 1767319445,
		"2026-01-02T03:04:05+0100":     1767319445,
		"2026-01-02 03:04:05 +0000":    1767323045,
		"2026-01-02 03:04:05 UTC":      1767323045,
		"2026/01/02 03:04:05 UTC":      1767323045,
		"2026/01/01 22:04:05 EST":      1767323045,
		"2026/01/01 22:04:05":          1767323045,
	}
	for text, want := range tests {
		if got, err := ruby.ParseTime(text, newYork); err != nil || got.Unix() != want {
			t.Errorf("ParseTime(%q) = %v, %v; Ruby: %d", text, got.Unix(), err, want)
		}
	}
	for _, text := range []string{"", "soon", "2026-01-02", "2026-13-02T03:04:05Z", "1767323045"} {
		if got, err := ruby.ParseTime(text, time.UTC); err == nil {
			t.Errorf("ParseTime(%q) = %v", text, got)
		}
	}
}

func TestParseAnyTime(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"2026-01-02T03:04:05Z", "2026-01-02 03:04:05.5 +0000 UTC m=+0.012345678", "2026-01-02 04:04:05 +0100 CET",
		"Fri Jan 02 2026 04:04:05 GMT+0100 (Central European Standard Time)", "Fri Jan  2 03:04:05 UTC 2026",
		"Fri, 02 Jan 2026 03:04:05 GMT", "Fri, 02 Jan 2026 04:04:05 +0100",
	} {
		if got, err := ruby.ParseAnyTime(text, time.UTC); err != nil || got.Unix() != 1767323045 {
			t.Errorf("ParseAnyTime(%q) = %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "soon", "1767323045", "Fri Jan 02 2026"} {
		if got, err := ruby.ParseAnyTime(text, time.UTC); err == nil {
			t.Errorf("ParseAnyTime(%q) = %v", text, got)
		}
	}
}

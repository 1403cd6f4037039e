package duration_test

import (
	"strings"
	"testing"
	"time"

	"example.com/understudy/internal/duration"
)

func TestParse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		want time.Duration
		says string // of the refusal
	}{
		{"5", 5 * time.Second, ""},
		{"0", 0, ""},
		{"0.5", 500 * time.Millisecond, ""},
		{".5", 500 * time.Millisecond, ""},
		{"5.0", 5 * time.Second, ""},
		{" 30s ", 30 * time.Second, ""},
		{"1h30m", 90 * time.Minute, ""},
		{"250ms", 250 * time.Millisecond, ""},
		{"3153600000", 100 * 365 * 24 * time.Hour, ""},
		{"3153600001", 0, "is no duration"},
		{"-1", 0, "is negative"},
		{"-5s", 0, "is negative"},
		{"", 0, `"" is no duration`},
		{"soon", 0, "write seconds, such as 5 or 0.5, or a unit"},
		{"1e3", 0, "is no duration"},
		{"Inf", 0, "is no duration"},
		{"NaN", 0, "is no duration"},
		{"0x10", 0, "is no duration"},
		{"5 s", 0, "is no duration"},
		{"1.2.3", 0, "is no duration"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			t.Parallel()
			got, err := duration.Parse(tt.text)
			if tt.says == "" && (err != nil || got != tt.want) {
				t.Errorf("got %v, %v; want %v", got, err, tt.want)
			}
			if tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
				t.Errorf("error %v, want it to say %s", err, tt.says)
			}
		})
	}
}

package ruby_test

import (
	"testing"
	"time"

	"example.com/understudy/compat/ruby"
)

// FuzzTime writes any time in every form and reads it back, to the second; and
// what is read of any text is a time that all forms can hold.
func FuzzTime(f *testing.F) {
	f.Add(int64(1767323045), 0, "2026-01-02 03:04:05 UTC")
	f.Add(int64(1767373445), 330, "2026/01/02 17:04:05")
	f.Add(int64(-62135596800), -330, "2026/01/01 22:04:05 EST")
	f.Add(int64(253402300799), 840, "2026-01-02T03:04:05.25+01:00")
	f.Fuzz(func(t *testing.T, second int64, minutes int, text string) {
		const first, last, most = -62135596800, 253402300799, 14 * 60 // the years 1 to 9999
		if second >= first && second <= last && minutes >= -most && minutes <= most {
			checkTimes(t, time.Unix(second, 999_999_999).UTC(), minutes)
		}
		read, err := ruby.ParseTime(text, time.UTC)
		if err != nil {
			return
		}
		if again, err := ruby.ParseTime(ruby.ISO8601UTC(read), time.UTC); read.UTC().Year() >= 0 && read.UTC().Year() < 10000 &&
			(err != nil || again.Unix() != read.Unix()) {
			t.Fatalf("%q is %v, and again %v, %v", text, read, again, err)
		}
	})
}

func checkTimes(t *testing.T, at time.Time, minutes int) {
	t.Helper()
	local := at.In(time.FixedZone("", minutes*60))
	if local.Year() < 1 || local.Year() > 9999 {
		return
	}
	for text, loc := range map[string]*time.Location{
		ruby.ISO8601UTC(local): time.Local, ruby.ISO8601(local): time.Local, ruby.TimeToS(local): time.Local,
		ruby.FailureTime(at): time.UTC, ruby.FailureTimeNoZone(local): local.Location(), ruby.FailureTimeNoZone(at): time.UTC,
	} {
		if back, err := ruby.ParseTime(text, loc); err != nil || back.Unix() != at.Unix() {
			t.Fatalf("%v was written as %s and read as %v, %v", local, text, back, err)
		}
	}
}

package cron_test

import (
	"slices"
	"testing"
	"time"

	"example.com/understudy/scheduler/cron"
)

// times lists what follows a time, as the clocks of a zone show it.
func times(s *cron.Schedule, from time.Time, show *time.Location, count int) []string {
	var found []string
	for range count {
		from = s.Next(from)
		if from.IsZero() {
			return append(found, "never")
		}
		found = append(found, from.In(show).Format("2006-01-02 15:04:05 -0700"))
	}
	return found
}

func zone(tb testing.TB, name string) *time.Location {
	tb.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		tb.Fatal(err)
	}
	return loc
}

// Where the process lives in the zone of the line, a time that just fired doesn't
// fire again when the clocks show it a second time. Measured with fugit 1.5.2 and
// TZ=America/New_York.
func TestTwiceInTheProcessesZone(t *testing.T) {
	t.Parallel()
	home := zone(t, "America/New_York")
	tests := []struct {
		line, from string
		want       []string
	}{
		{"30 1 * * *", "2026-10-31T12:00:00Z", []string{"2026-11-01 01:30:00 -0400", "2026-11-02 01:30:00 -0500"}},
		{"30 1 * * * America/New_York", "2026-10-31T12:00:00Z", []string{"2026-11-01 01:30:00 -0400", "2026-11-02 01:30:00 -0500"}},
		{"30 1 * * *", "2026-11-01T05:45:00Z", []string{"2026-11-01 01:30:00 -0500", "2026-11-02 01:30:00 -0500"}},
		{"30 * * * *", "2026-11-01T04:45:00Z", []string{"2026-11-01 01:30:00 -0400", "2026-11-01 02:30:00 -0500"}},
		{"0,30 * * * *", "2026-11-01T04:45:00Z", []string{"2026-11-01 01:00:00 -0400", "2026-11-01 01:30:00 -0400", "2026-11-01 01:00:00 -0500", "2026-11-01 01:30:00 -0500"}},
		{"30 2 * * *", "2026-03-07T12:00:00Z", []string{"2026-03-09 02:30:00 -0400"}},
	}
	for _, test := range tests {
		from, err := time.Parse(time.RFC3339, test.from)
		if err != nil {
			t.Fatal(err)
		}
		got := times(parse(t, test.line), from.In(home), home, len(test.want))
		if !slices.Equal(got, test.want) {
			t.Errorf("%s after %s: %v, want %v", test.line, test.from, got, test.want)
		}
	}
}

// From elsewhere it fires twice.
func TestTwiceFromAnotherZone(t *testing.T) {
	t.Parallel()
	s := parse(t, "30 1 * * * America/New_York")
	got := times(s, time.Date(2026, time.October, 31, 12, 0, 0, 0, time.UTC), zone(t, "America/New_York"), 3)
	want := []string{"2026-11-01 01:30:00 -0400", "2026-11-01 01:30:00 -0500", "2026-11-02 01:30:00 -0500"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Times that fugit misses, though the clocks show them.
func TestTimesThatRubyMisses(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, line, from, want string }{
		{"a day without midnight", "0 12 * * sun America/Santiago", "2026-09-05T12:00:00Z", "2026-09-06 12:00:00 -0300"},
		{"a day after one of 23.5 hours", "15 0 * * mon Australia/Lord_Howe", "2026-10-03T12:00:00Z", "2026-10-05 00:15:00 +1100"},
		{"a tuesday in summer", "0 9 * * tue%2 Europe/Paris", "2026-07-01T00:00:00Z", "2026-07-14 09:00:00 +0200"},
		{"midnight of the first comes twice", "0 12 1 nov * America/Havana", "2026-10-01T00:00:00Z", "2026-11-01 12:00:00 -0500"},
		{"what UTC showed before", "0 */4 * * * America/New_York", "2026-11-01T04:00:00Z", "2026-11-01 04:00:00 -0500"},
	}
	for _, test := range tests {
		s := parse(t, test.line)
		from, err := time.Parse(time.RFC3339, test.from)
		if err != nil {
			t.Fatal(err)
		}
		if got := times(s, from, s.Location(), 1)[0]; got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// Measured with fugit 1.5.2.
func TestNextAsRuby(t *testing.T) {
	t.Parallel()
	tests := []struct {
		line, from string
		want       []string
	}{
		{"0 0 * * mon%2", "2018-12-10T00:00:00Z", []string{"2018-12-17 00:00:00 +0000", "2018-12-31 00:00:00 +0000", "2019-01-14 00:00:00 +0000"}},
		{"0 0 * * sun%3+1", "2018-11-01T00:00:00Z", []string{"2018-11-11 00:00:00 +0000", "2018-12-02 00:00:00 +0000", "2018-12-23 00:00:00 +0000"}},
		{"0 0 * * mon#-2", "2026-03-01T00:00:00Z", []string{"2026-03-23 00:00:00 +0000", "2026-04-20 00:00:00 +0000", "2026-05-18 00:00:00 +0000"}},
		{"0 0 * * thu#-5", "2026-03-01T00:00:00Z", []string{"2026-04-02 00:00:00 +0000", "2026-07-02 00:00:00 +0000", "2026-10-01 00:00:00 +0000"}},
		{"0 0 * * sun#5", "2026-01-01T00:00:00Z", []string{"2026-03-29 00:00:00 +0000", "2026-05-31 00:00:00 +0000", "2026-08-30 00:00:00 +0000"}},
		{"30 2 * * * Europe/Paris", "2026-10-25T00:45:00Z", []string{"2026-10-25 01:30:00 +0000", "2026-10-26 01:30:00 +0000"}},
	}
	for _, test := range tests {
		from, err := time.Parse(time.RFC3339, test.from)
		if err != nil {
			t.Fatal(err)
		}
		if got := times(parse(t, test.line), from, time.UTC, len(test.want)); !slices.Equal(got, test.want) {
			t.Errorf("%s after %s: %v, want %v", test.line, test.from, got, test.want)
		}
	}
}

func TestNextOfStrangeTimes(t *testing.T) {
	t.Parallel()
	utc := func(year int) time.Time { return time.Date(year, time.December, 31, 23, 59, 59, 999_999_999, time.UTC) }
	tests := []struct {
		line string
		from time.Time
		want string
	}{
		{"* * * * * *", time.Unix(10, 500_000_000).UTC(), "1970-01-01 00:00:11 +0000"},
		{"* * * * * *", time.Unix(-10, 500_000_000).UTC(), "1969-12-31 23:59:51 +0000"},
		{"0 0 29 2 mon&", utc(2026), "2044-02-29 00:00:00 +0000"},
		{"0 0 29 2 *", utc(2099), "2104-02-29 00:00:00 +0000"},
		{"0 0 -31 2 *", utc(2026), "never"},
		{"0 12 * * fri Europe/Dublin", time.Date(2040, time.December, 31, 13, 0, 0, 0, time.UTC), "2041-01-04 12:00:00 +0000"},
		{"0 0 1 1 * Europe/Paris", utc(1899), "1901-01-01 00:00:00 +0009"},
		{"0 0 * * *", time.Time{}, "0001-01-02 00:00:00 +0000"},
		{"0 0 * * *", time.Unix(1<<62, 0), "never"},
		{"0 0 * * *", time.Unix(-1<<62, 0), "never"},
		{"0 0 * * * Pacific/Apia", time.Date(2011, time.December, 29, 12, 0, 0, 0, time.UTC), "2011-12-30 10:00:00 +0000"}, // there is no 30 December
	}
	for _, test := range tests {
		s := parse(t, test.line)
		show := time.UTC
		if s.Location() != nil && s.Location().String() == "Europe/Paris" {
			show = s.Location()
		}
		if got := times(s, test.from, show, 1)[0]; got != test.want {
			t.Errorf("%s after %v: %s, want %s", test.line, test.from, got, test.want)
		}
	}
}

// The answer is in the zone of the question.
func TestNextKeepsTheZone(t *testing.T) {
	t.Parallel()
	tokyo := zone(t, "Asia/Tokyo")
	got := parse(t, "0 0 * * * Europe/Paris").Next(time.Date(2026, time.January, 1, 12, 0, 0, 0, tokyo))
	if want := "2026-01-02 08:00:00 +0900"; got.Format("2006-01-02 15:04:05 -0700") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

package ruby

import (
	"fmt"
	"strings"
	"time"
)

// The layouts of the times that Resque writes.
const (
	layoutISO8601UTC  = "2006-01-02T15:04:05Z"
	layoutISO8601     = "2006-01-02T15:04:05-07:00"
	layoutBareOffset  = "2006-01-02T15:04:05-0700"
	layoutToS         = "2006-01-02 15:04:05 -0700"
	layoutToSUTC      = "2006-01-02 15:04:05 UTC"
	layoutFailure     = "2006/01/02 15:04:05"
	layoutFailureZone = layoutFailure + " MST"

	layoutGo         = "2006-01-02 15:04:05 -0700 MST"
	layoutJavaScript = "Mon Jan 02 2006 15:04:05 GMT-0700"
)

// ISO8601UTC is Time#utc.iso8601, the run_at of a busy worker: 2026-01-02T03:04:05Z.
func ISO8601UTC(t time.Time) string { return t.UTC().Format(layoutISO8601UTC) }

// ISO8601 is Time#iso8601 of a local time, the form of heartbeats: 2026-01-02T03:04:05+00:00, in the time's own
// location. UTC is written as +00:00, never Z, as for a Ruby whose zone is UTC.
func ISO8601(t time.Time) string { return t.Format(layoutISO8601) }

// TimeToS is Time#to_s of a local time, a worker's start and the scheduler's last runs: 2026-01-02 03:04:05 +0000, in
// the time's own location. (Only a Ruby time that was turned to UTC prints UTC; Resque writes none.)
func TimeToS(t time.Time) string { return t.Format(layoutToS) }

// FailureTime is the failed_at of a failure record, "%Y/%m/%d %H:%M:%S %Z" in the time's own location:
// 2026/01/02 03:04:05 UTC.
func FailureTime(t time.Time) string { return t.Format(layoutFailureZone) }

// FailureTimeNoZone is FailureTime without the zone, as in the records of jobs that wait for their retry and in the
// retried_at of the lists by queue: 2026/01/02 03:04:05.
func FailureTimeNoZone(t time.Time) string { return t.Format(layoutFailure) }

// ParseTime reads any of the forms above back, and RFC 3339 with fractions. It stands for Ruby's Time.parse, which
// takes far more than any Resque writes. A text without a zone, or with only the zone's short name, is taken to be in
// loc; Ruby takes the zone of its process.
func ParseTime(text string, loc *time.Location) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, layoutBareOffset, layoutToS, layoutToSUTC, layoutFailureZone, layoutFailure} {
		if t, err := time.ParseInLocation(layout, text, zoneOf(layout, loc)); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("ruby: %q is no time in any of Resque's forms", text)
}

// ParseAnyTime reads what ParseTime does, and what Resque's workers in other languages write: goworker's (Go's
// Time.String), node-resque's (JavaScript's forms; Ruby reads their GMT+0100 wrongly) and php-resque's (that of date).
func ParseAnyTime(text string, loc *time.Location) (time.Time, error) {
	t, err := ParseTime(text, loc)
	if err == nil {
		return t, nil
	}
	plain, _, _ := strings.Cut(text, " m=") // Go's monotonic clock
	plain, _, _ = strings.Cut(plain, " (")  // JavaScript's name of the zone
	for _, layout := range []string{layoutGo, layoutJavaScript, time.UnixDate, time.RFC1123Z, time.RFC1123} {
		if t, err := time.ParseInLocation(layout, plain, loc); err == nil {
			return t, nil
		}
	}
	return time.Time{}, err
}

// zoneOf gives the location for texts of this layout: the word UTC in it is text to package time, not a zone.
func zoneOf(layout string, loc *time.Location) *time.Location {
	if layout == layoutToSUTC {
		return time.UTC
	}
	return loc
}

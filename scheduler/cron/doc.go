// Package cron says when recurring jobs fire: the lines of cron and the texts of
// every, read as fugit reads them, the library behind resque-scheduler.
//
// A line has five fields, minute, hour, day of the month, month and weekday, or
// six with the second first, and a time zone may stand last:
//
//	30 6 * * mon-fri Europe/Stockholm
//
// Measured against fugit 1.5.2. What differs from it, and what later ones read
// differently, is in docs/differences.md.
//
// schedule.go is a line as a whole, line.go takes it apart, field.go reads a
// field and element.go what stands between its commas, weekday.go weekdays,
// zone.go zones; next.go finds the next time and days.go the days of a month;
// every.go reads durations, iso.go those of ISO 8601.
//
// Everything here is a pure function and safe for concurrent use.
package cron

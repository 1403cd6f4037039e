package cron_test

import (
	"testing"
	"time"

	"example.com/understudy/scheduler/cron"
)

func BenchmarkNext(b *testing.B) {
	for _, line := range []string{
		"*/5 * * * *", "*/10 * * * * *", "0 0 * * *", "30 6 * * mon-fri Europe/Stockholm", "0 12 L * *", "0 12 * * sun#2",
		"0 0 29 2 mon&", "0 0 -31 2 *", "0 30 2 25-31& mar sun Europe/Paris",
	} {
		b.Run(line, func(b *testing.B) {
			s := parse(b, line)
			from := time.Date(2026, time.January, 2, 3, 4, 5, 0, time.UTC)
			const years = 10
			for at := from; b.Loop(); {
				if at = s.Next(at); at.Year() > from.Year()+years || at.IsZero() {
					at = from
				}
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		if _, err := cron.Parse("5,35 8-18/2 * jan,jul mon-fri Europe/Stockholm"); err != nil {
			b.Fatal(err)
		}
	}
}

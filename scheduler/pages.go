package scheduler

import (
	"context"
	"fmt"

	"example.com/understudy/resque"
)

// timesPerCall is how many times of the schedule one call looks at.
const timesPerCall = 250

// dueTime is a time of the schedule.
type dueTime struct{ member, score string }

// pages reads the times of the schedule that are due, the oldest first. What was
// passed over isn't read again, however much it is.
type pages struct {
	client *resque.Client
	key    string
	until  int64 // the second that it is
	// from is the score of what was passed over last, and tied how many times of
	// that score were.
	from string
	tied int
}

func (s *Scheduler) pagesUntil(second int64) pages {
	return pages{client: s.client, key: s.keys.Of(keySchedule), until: second, from: "-inf"}
}

// read reads the first times behind those that were passed over.
func (p *pages) read(ctx context.Context) ([]dueTime, error) {
	rows, err := resque.Strings(p.client.Do(ctx, "ZRANGEBYSCORE", p.key, p.from, p.until, "LIMIT", p.tied, timesPerCall, "WITHSCORES"))
	if err != nil {
		return nil, fmt.Errorf("scheduler: read the schedule: %w", err)
	}
	times := make([]dueTime, 0, len(rows)/2) //nolint:mnd // member and score
	for i := 0; i+1 < len(rows); i += 2 {
		times = append(times, dueTime{rows[i], rows[i+1]})
	}
	return times, nil
}

// passOver goes on behind a time, the first of those that were read.
func (p *pages) passOver(t dueTime) {
	if t.score != p.from {
		p.from, p.tied = t.score, 0
	}
	p.tied++
}

package conformance

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"example.com/understudy/scheduler/cron"
)

// cronFile is the form of cron*.json.
type cronFile struct {
	RecordedWith map[string]string `json:"recorded with"`
	Crons        []cronRow         `json:"crons"`
	Durations    []durationRow     `json:"durations"`
}

type cronRow struct {
	Cron  string    `json:"cron"`
	Valid bool      `json:"valid"`
	Next  []nextRow `json:"next,omitempty"`
}

// nextRow is what follows a time, each of it the next after the one before.
type nextRow struct {
	From  int64   `json:"from"`
	Times []int64 `json:"times"`
}

type durationRow struct {
	Duration string `json:"duration"`
	// Seconds is nil where Ruby refuses the text.
	Seconds *json.Number `json:"seconds"`
}

func openCrons(name string, data []byte) (*file, error) {
	var content cronFile
	if err := decodeStrict(data, &content); err != nil {
		return nil, err
	}
	f := &file{name: name}
	for i, row := range content.Crons {
		if row.Valid != (len(row.Next) > 0) {
			return nil, fmt.Errorf("crons[%d]: a line has times if it is valid, and only then", i)
		}
		f.add(fmt.Sprintf("line %d: %s", i+1, row.Cron), row, func() []difference { return compareCron(row) })
	}
	for i, row := range content.Durations {
		f.add(fmt.Sprintf("duration %d: %s", i+1, row.Duration), row, func() []difference { return compareDuration(row) })
	}
	return f, nil
}

// compareCron compares whether a line is accepted, and when it fires. The
// recorder's process lives in UTC.
func compareCron(row cronRow) []difference {
	schedule, err := cron.Parse(row.Cron)
	if (err == nil) != row.Valid {
		return []difference{{Field: "valid", Detail: fmt.Sprintf("Ruby %t, ours: %v", row.Valid, err)}}
	}
	var found []difference
	for _, next := range row.Next {
		got := make([]int64, 0, len(next.Times))
		from := time.Unix(next.From, 0).UTC()
		for range next.Times {
			from = schedule.Next(from)
			got = append(got, from.Unix())
		}
		found = differ(found, fmt.Sprintf("after %d", next.From), next.Times, got)
	}
	return found
}

// compareDuration compares a length of time, to the microsecond.
func compareDuration(row durationRow) []difference {
	d, err := cron.ParseDuration(row.Duration)
	got := d.Length().Seconds()
	switch {
	case row.Seconds == nil && err == nil:
		return []difference{{Field: fieldSeconds, Detail: fmt.Sprintf("Ruby refuses it, ours: %v", got)}}
	case row.Seconds == nil:
		return nil
	case err != nil:
		return []difference{{Field: fieldSeconds, Detail: fmt.Sprintf("Ruby %v, ours: %v", *row.Seconds, err)}}
	}
	if want, err := row.Seconds.Float64(); err != nil || math.Abs(want-got) >= 1e-6 {
		return []difference{{Field: fieldSeconds, Detail: fmt.Sprintf("Ruby %v, ours %v", *row.Seconds, got)}}
	}
	return nil
}

// fieldSeconds is what differs where a duration is another one.
const fieldSeconds = "seconds"

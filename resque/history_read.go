package resque

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Attempt is one run of a job in the history (WorkerConfig.History).
type Attempt struct {
	// ID is its place in the history; later ones are greater.
	ID string
	// Recorded is when it was written, by the time of the Redis server.
	Recorded time.Time

	Class string
	// Job tells it from other jobs: see JobKey.
	Job   string
	Queue string
	// Number is that of the attempt, 0 the first time and always for a class
	// without a retry policy.
	Number   int64
	WorkerID string
	// Started and Duration are by the worker's clock, to the microsecond.
	Started  time.Time
	Duration time.Duration
	// Outcome says what became of it.
	Outcome Outcome
	// Exception and Error are those of the failure record, the latter cut to 500
	// bytes; "": it didn't fail.
	Exception, Error string
}

// HistoryFilter says which attempts are meant. The zero value means all.
type HistoryFilter struct {
	// Class, Job (see JobKey) and Outcome are matched exactly; "": any.
	Class, Job string
	Outcome    Outcome
	// Since and Until bound the time of the record, both included; zero: none.
	Since, Until time.Time
}

// historyPage is how many entries one call reads.
const historyPage = 1000

// History answers the last attempts that fit, the newest first, at most limit.
// limit 0 or less: all. Only workers with WorkerConfig.History write them.
func (c *Client) History(ctx context.Context, f HistoryFilter, limit int) ([]Attempt, error) {
	first, last := "-", "+"
	if !f.Since.IsZero() {
		first = strconv.FormatInt(f.Since.UnixMilli(), 10)
	}
	if !f.Until.IsZero() {
		last = strconv.FormatInt(f.Until.UnixMilli(), 10)
	}
	var found []Attempt
	for {
		entries, err := Values(c.Do(ctx, "XREVRANGE", c.keys.Of(keyHistory), last, first, "COUNT", historyPage))
		if err != nil {
			return nil, fmt.Errorf("resque: reading the history: %w", err)
		}
		for _, entry := range entries {
			a := readAttempt(entry)
			last = "(" + a.ID
			if f.fits(a) {
				found = append(found, a)
			}
			if limit > 0 && len(found) == limit {
				return found, nil
			}
		}
		if len(entries) < historyPage {
			return found, nil
		}
	}
}

func (f HistoryFilter) fits(a Attempt) bool {
	return (f.Class == "" || f.Class == a.Class) && (f.Job == "" || f.Job == a.Job) && (f.Outcome == "" || f.Outcome == a.Outcome)
}

// readAttempt reads an entry as far as it can be.
func readAttempt(entry any) (a Attempt) {
	row, _ := entry.([]any)
	if len(row) == 0 {
		return a
	}
	fields, _ := row[len(row)-1].([]any)
	for i := 0; i+1 < len(fields); i += 2 {
		if text(fields[i]) == historyField {
			a = parseAttempt(blob(fields[i+1]))
		}
	}
	a.ID = text(row[0])
	ms, _, _ := strings.Cut(a.ID, "-")
	if n, err := strconv.ParseInt(ms, 10, 64); err == nil {
		a.Recorded = time.UnixMilli(n)
	}
	return a
}

// storedAttempt is the text of an entry.
type storedAttempt struct {
	Class     string  `json:"class"`
	Job       string  `json:"job"`
	Queue     string  `json:"queue"`
	Number    int64   `json:"attempt"`
	Worker    string  `json:"worker"`
	Started   int64   `json:"started_us"`
	Took      int64   `json:"took_us"`
	Outcome   Outcome `json:"outcome"`
	Exception string  `json:"exception"`
	Error     string  `json:"error"`
}

func parseAttempt(raw []byte) Attempt {
	var e storedAttempt
	if json.Unmarshal(raw, &e) != nil {
		return Attempt{Error: "not an attempt: " + cut(string(raw), maxHistoryError)}
	}
	return Attempt{
		Class: e.Class, Job: e.Job, Queue: e.Queue, Number: e.Number, WorkerID: e.Worker, Outcome: e.Outcome,
		Started: time.UnixMicro(e.Started), Duration: time.Duration(e.Took) * time.Microsecond,
		Exception: e.Exception, Error: e.Error,
	}
}

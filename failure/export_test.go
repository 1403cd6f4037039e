package failure

import (
	"time"

	"example.com/understudy/resque"
)

// SetBatch bounds what the store reads and changes in one call.
func (s *Store) SetBatch(records, bytes int) { s.batch = batch{records: records, bytes: bytes} }

// PlanRequeue is what a requeue of the text does.
func PlanRequeue(list string, raw []byte) (Record, resque.Edit, error) {
	now := time.Date(2026, 1, 2, 3, 4, 10, 0, time.UTC)
	r := readRecord(list, 0, raw, time.UTC)
	edit, err := requeue(&r, now)
	return r, edit, err
}

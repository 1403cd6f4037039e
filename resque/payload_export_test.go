package resque

import (
	"context"
	"errors"
	"log/slog"
)

// Taken is what a worker makes of an element of a queue whose run then fails.
type Taken struct {
	Job       *Job
	Malformed error
	// Hand is what Ruby meets while the job runs.
	Hand []byte
	// Writes are those of the outcome.
	Writes []Write
}

// Take takes an element from a queue, for a class that is registered as r says.
func Take(queue string, element []byte, r Registration, clock Clock) Taken {
	w := &Worker{
		cfg: WorkerConfig{Clock: clock, Random: func() float64 { return 0 }}, log: slog.New(slog.DiscardHandler),
		registrations: map[string]*Registration{},
	}
	e := entryOf(queue, element)
	r.Class = e.Class
	w.registrations[e.Class] = &r
	one := w.newRun(&slot{id: "host:1:" + queue}, &grant{queue: queue, element: element})
	one.ctx, one.err = context.Background(), errors.New("boom")
	return Taken{Job: one.job, Malformed: one.malformed, Hand: one.handText(one.wraps()), Writes: w.decide(one).writes}
}

// The two ways to see whether Ruby can write a text again.
var (
	Writable        = writable
	WritableForSure = writableForSure
)

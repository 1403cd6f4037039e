package resque

import (
	"context"
	"strconv"
	"time"
)

// slotState is where a slot stands in the story of a job.
type slotState uint8

const (
	idle     slotState = iota // may ask for a job
	reserved                  // has a job in hand; its begin, or a rewrite of the hand, is to come
	running                   // the handler runs
	finished                  // the outcome is still to be recorded
	pausing                   // sleeps after a requeue; empty in Redis
	stuck                     // abandoned: the job stays in hand
)

// slot is one worker id in Ruby's registry: it performs one job at a time. The
// dispatcher owns it.
type slot struct {
	number int
	field  string // the number as text: the slot's field in understudy:runs
	id     string
	state  slotState
	asked  int64 // the token of the ask under way, 0: none
	last   int64 // the token of the last run: never adopted anew before its record
	run    *run
}

func newSlot(number int) *slot {
	return &slot{number: number, field: strconv.Itoa(number)}
}

// run is one run of a job. The dispatcher owns it, but while the slot is running
// its goroutine does.
type run struct {
	slot    *slot
	token   int64
	queue   string
	element []byte
	// wrapped says that the hand holds the element as malformed, blank that it
	// doesn't hold it yet; foreign that Ruby can't write its text.
	wrapped, blank, foreign bool

	job          *Job
	registration *Registration // nil: unknown class
	retrier      Retrier       // nil: the job isn't tried again
	malformed    error         // why the element is no job
	counter      Counter
	pending      *pending // what the handler keeps back, nil before it runs
	kept         []Write  // that, when it has returned
	counterErr   error    // why the counter could not be named or stepped
	random       float64
	began        time.Time

	ctx     context.Context //nolint:containedctx // the run's own, from its start to its record
	cancel  context.CancelCauseFunc
	err     error
	told    bool // the hook OnFailure was called
	outcome outcome
	// refusals counts how often its begin or record was refused for a key of the
	// wrong type; notBefore is when it is tried again, a record by itself.
	refusals  int
	notBefore time.Time
	sent      bool // the outcome went with a flush
}

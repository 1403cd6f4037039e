// Package resque is the wire and the worker: it reads and writes the exact
// Redis layout of Ruby's Resque, so that Go and Ruby work the same queues side
// by side.
//
// The story of one job reads in this order: enqueue.go puts it in a queue,
// reserve.go moves it from there into a worker's hand, begin.go steps its retry
// counter, perform.go runs its handler, outcome.go decides what becomes of it
// and record.go writes that, in one step. dispatcher.go is the one goroutine of
// a worker process that talks to Redis about all of this.
package resque

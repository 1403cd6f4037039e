// Package scheduler moves delayed jobs to their queues when they are due, in the
// place of Ruby's resque-scheduler or beside it: both hold the same master lock,
// and only who holds it moves.
//
// config.go says what can be set, scheduler.go is the loop, lock.go the master
// lock, mover.go one pass over what is due, plan.go decides about one item, and
// the two scripts that read and move are in script.go.
package scheduler

// Package scheduler moves delayed jobs to their queues when they are due, and
// enqueues recurring ones at their times, in the place of Ruby's resque-scheduler
// or beside it: both hold the same master lock, and only who holds it moves.
//
// config.go says what can be set, scheduler.go is the loop, lock.go the master
// lock. Delayed jobs: mover.go is one pass over what is due, plan.go decides about
// one item, and script.go has the scripts. Recurring jobs: recurring.go is one of
// them, timing.go when it fires, schedules.go all of them as a program sees them;
// load.go and timetable.go are what a master makes of them, fire.go one pass over
// what is due, and fire_script.go the scripts.
package scheduler

// Package failure holds the places where failed jobs are recorded: Ruby's lists
// in Redis, several places at once, and nowhere as long as a retry is pending.
// Store is where recorded failures are looked at, requeued and removed.
//
// A backend answers the commands to write and doesn't carry them out: they
// become part of the script that records the run, so a failure is recorded
// together with everything else that the run leads to, or not at all.
package failure

// Package retry decides whether, when and as what a failed job is tried again.
//
// Policy has every option of Ruby's resque-retry, and leaves the same in Redis:
// a job may fail in Ruby, be tried again by Go, fail there and go back. It is an
// option of resque.Worker's Handle:
//
//	w.Handle("DeliverSMS", deliverSMS, retry.Policy{Limit: 10, Delay: retry.Every(2 * time.Minute)})
//
// Spec is the same policy as data, under the names of the Ruby options. Discard
// and Cancel are errors with which a handler itself ends the retries.
//
// Delays are whole seconds, as in resque-scheduler. Deciding touches neither
// Redis nor the clock.
package retry

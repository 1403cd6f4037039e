// Package live has no code but tests: a real Ruby and this module's packages
// work the same queues, delayed jobs, failures and pages of resque-web.
//
// They run where Ruby finds resque, resque-scheduler and resque-retry, and where
// there is a redis-server; elsewhere each is skipped and says why:
//
//	go test -count=1 -v ./compat/live
//
// Gems that aren't installed but lie in folders are found with RUBYLIB. Ruby's
// side is a process that carries out what a test tells it
// (testdata/peer.rb), so that a test reads in one place what both do.
package live

// Package conformance replays recordings of Ruby Resque, resque-scheduler and
// resque-retry against this module's packages, and compares what they leave in
// Redis byte for byte.
//
// Open reads a folder of recordings and refuses whatever it doesn't know in
// them; Run replays it within a test. The folder testdata/ruby belongs to this
// module; the flag -fixtures of this package's test takes another one:
//
//	go test -v ./compat/conformance -fixtures DIR
//
// recording.go and job.go are the forms of the recordings, strict.go the reading
// that ignores nothing, suite.go what is in a folder, replay.go a scenario,
// texts.go keys and JSON texts, api*.go single calls (api_calls.go says which Go
// call is which of Ruby's), state.go, inspect.go and compare.go whole states of
// Redis, and deviations.go the one table of what is meant to differ.
package conformance

// Package ruby writes and reads text the way Ruby does, to the byte.
//
// Retry keys, cancelled delayed jobs and the workers' hash compare whole texts, so "the same value" is not enough:
// this package gives Ruby's own bytes for JSON (the json gem 2.6 of Ruby 3.1), to_s, inspect, Array#join, times and
// File.fnmatch?. It works on raw JSON bytes, because what arrived from Redis must leave as it was: sub-slices of the
// input are handed out, never copies that were decoded and encoded again.
//
// Everything here is a pure function and safe for concurrent use.
package ruby

// Package redistest gives a test a Redis of its own to write to: a namespace of
// a real redis-server that the test binary shares, or a miniredis. A proxy
// between the two makes replies get lost and requests come twice or late.
//
// The environment variable UNDERSTUDY_TEST_REDIS says which: unset takes the
// real one where redis-server is installed; real fails the tests without it;
// mini takes miniredis.
package redistest

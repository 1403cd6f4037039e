package resque

import (
	"math/rand/v2"
	"time"
)

// backoff is how long to wait between tries to reach Redis: first, doubling up
// to most, each shortened by up to a quarter so that many processes don't come
// back in one moment. The zero value waits 0.1 s at first and 5 s at most.
type backoff struct {
	first, most time.Duration
}

const (
	defaultBackoffFirst = 100 * time.Millisecond
	defaultBackoffMost  = 5 * time.Second
)

// wait is the wait after the tries that failed so far (1 the first time) for a
// random number from [0, 1).
func (b backoff) wait(failed int, random float64) time.Duration {
	first, most := b.first, b.most
	if first <= 0 {
		first = defaultBackoffFirst
	}
	if most <= 0 {
		most = defaultBackoffMost
	}
	full := min(first, most)
	for ; failed > 1 && full < most; failed-- {
		full = min(2*full, most)
	}
	return full - time.Duration(random*float64(full/4))
}

// next is wait with a number of its own.
func (b backoff) next(failed int) time.Duration {
	return b.wait(failed, rand.Float64()) //nolint:gosec // it spreads waits, it keeps no secret
}

package conformance

import (
	"context"
	"sync"
	"time"
)

// clock stands still until a step moves it; nobody sleeps.
type clock struct {
	mu    sync.Mutex
	now   time.Time
	slept func(d time.Duration)
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(seconds int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(time.Duration(seconds) * time.Second)
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.slept(d)
	return context.Cause(ctx)
}

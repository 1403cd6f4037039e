package resque

import (
	"context"
	"errors"
	"time"
)

// step is one job on the first slot: flush until it is recorded.
func (d *dispatcher) step(ctx context.Context) (worked bool, err error) {
	if !d.fetching || d.hasEnded() {
		return false, errors.New("resque: Step needs a worker that was started and not stopped")
	}
	s := d.slots[0]
	d.single = true
	if s.state == stuck {
		return false, errors.New("resque: the worker abandoned a job: bury it, and make a new worker")
	}
	if s.state == idle {
		d.want.hungry = true
	}
	for first := true; first || s.state != idle || s.asked != 0; first = false {
		worked = worked || s.state != idle
		if s.state == running {
			select {
			case r := <-d.done:
				d.returned(r)
			case <-d.poked:
				d.cancelJobs()
			case <-ctx.Done():
				return worked, context.Cause(ctx)
			}
		}
		if s.state == stuck {
			return true, nil
		}
		if s.run != nil && time.Now().Before(s.run.notBefore) {
			d.wait(ctx, s.run.notBefore)
			if ctx.Err() != nil {
				return worked, context.Cause(ctx)
			}
		}
		if err := d.flush(ctx); err != nil {
			d.drop()
			return worked, err
		}
		worked = worked || s.state != idle
		d.want.hungry = false
		if s.state == pausing {
			select {
			case s = <-d.rested:
				d.awake(s)
			case <-ctx.Done():
				return worked, context.Cause(ctx)
			}
		}
	}
	d.noticeEmpty()
	d.after.Wait()
	return worked, nil
}

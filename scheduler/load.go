package scheduler

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"time"

	"example.com/understudy/resque"
)

// scheduleRead is what a master knows of the schedule.
type scheduleRead struct {
	// persistent are the configurations in Redis.
	persistent map[string]string
	// version is that of the jobs in memory.
	version uint64
	// unsure says that an answer about changes got lost.
	unsure bool
	// deaf says that schedules_changed is of another type, and tells nothing.
	deaf bool
}

// keys ask for a pass where the schedule may change at run time.
func (f *firer) keys() []string {
	if !f.cfg.Dynamic || f.known.deaf {
		return nil
	}
	return []string{f.Scheduler.keys.Of(keyChanged)}
}

// load reads the whole schedule. Where there is a plan, jobs that haven't changed
// keep their times.
func (f *firer) load(ctx context.Context, now time.Time) error {
	now = now.In(f.cfg.Location)
	changes := "keep"
	if f.cfg.Dynamic {
		changes = "drop"
	}
	reply, err := f.ask(ctx, "all", changes)
	if err != nil {
		return err
	}
	persistent, err1 := resque.StringMap(reply[1], nil)
	fired, err2 := resque.StringMap(reply[2], nil)
	wrong, err3 := resque.Strings(reply[3], nil)
	if err := firstError(err1, err2, err3); err != nil {
		return fmt.Errorf("scheduler: read the schedule: %w", err)
	}
	f.known = scheduleRead{persistent: persistent}
	f.complain(ctx, wrong)
	if f.table == nil {
		f.table = &timetable{env: f.cfg.Env, log: f.cfg.Logger, told: f.told, jobs: map[string]*recurrence{}}
	}
	gone := f.arrange(ctx, now, nil)
	return f.forget(ctx, f.obsolete(ctx, now, fired, gone))
}

// update takes in what has changed since.
func (f *firer) update(ctx context.Context, now time.Time, asked bool) error {
	switch {
	case f.known.unsure:
		return f.load(ctx, now)
	case asked:
		return f.loadChanged(ctx, now)
	}
	if _, version := f.cfg.Schedules.snapshot(); version != f.known.version {
		f.arrange(ctx, now, nil)
	}
	return nil
}

// loadChanged reads what somebody changed. As in Ruby, a job that was set again
// is planned anew, be it the same.
func (f *firer) loadChanged(ctx context.Context, now time.Time) error {
	f.known.unsure = true
	reply, err := f.ask(ctx, "changed", "")
	if err != nil {
		return err
	}
	wrong, err := resque.Strings(reply[len(reply)-1], nil)
	if err != nil {
		return fmt.Errorf("scheduler: read the schedule: %w", err)
	}
	f.complain(ctx, wrong)
	if len(reply) < 4 { //nolint:mnd // nothing has changed
		f.known.unsure = false
		return nil
	}
	names, err1 := resque.Strings(reply[1], nil)
	configs, err2 := resque.Values(reply[2], nil)
	fired, err3 := resque.Values(reply[3], nil)
	if err := firstError(err1, err2, err3); err != nil {
		return fmt.Errorf("scheduler: read the schedule: %w", err)
	}
	anew := map[string]bool{}
	for i, name := range names {
		anew[name] = true
		if config, err := resque.String(configs[i], nil); err == nil {
			f.known.persistent[name] = config
		} else {
			delete(f.known.persistent, name)
		}
	}
	f.arrange(ctx, now, anew)
	f.known.unsure = false
	obsolete := map[string]string{}
	for i, name := range names {
		if at, err := resque.String(fired[i], nil); err == nil && f.table.jobs[name] == nil {
			obsolete[name] = at
		}
	}
	return f.forget(ctx, obsolete)
}

// ask runs loadScript.
func (f *firer) ask(ctx context.Context, what, changes string) ([]any, error) {
	k := f.Scheduler.keys
	keys := []string{f.lock, k.Of(keyChanged), k.Of(keySchedules), k.Of(keyFired)}
	reply, err := resque.Values(f.client.Run(ctx, loadScript, keys, f.cfg.Value, what, changes))
	if err != nil {
		return nil, fmt.Errorf("scheduler: read the schedule: %w", err)
	}
	if verdict, _ := resque.String(reply[0], nil); verdict == "lost" {
		return nil, errLost
	}
	return reply, nil
}

// complain tells of keys of the wrong type, once.
func (f *firer) complain(ctx context.Context, wrong []string) {
	for _, key := range wrong {
		f.known.deaf = f.known.deaf || key == f.Scheduler.keys.Of(keyChanged)
		if f.told[key] == "" {
			f.told[key] = "wrong type"
			f.cfg.Logger.ErrorContext(ctx, "a key of the schedule is of the wrong type and counts as empty", "key", key)
		}
	}
}

// arrange brings the plan to what is scheduled: in memory, and over that in
// Redis.
func (f *firer) arrange(ctx context.Context, now time.Time, anew map[string]bool) (gone []string) {
	var configs map[string]string
	configs, f.known.version = f.cfg.Schedules.snapshot()
	maps.Copy(configs, f.known.persistent)
	return f.table.arrange(ctx, now, configs, anew)
}

// keptFor is how long the last firing of a job that isn't scheduled here is
// remembered: another scheduler may have it in its memory.
const keptFor = 24 * time.Hour

// obsolete are the firings that aren't needed any more: those of jobs that went,
// or that nobody seems to have; and those that only a clock that was wrong can
// have planned, and that would stop a job until then.
func (f *firer) obsolete(ctx context.Context, now time.Time, fired map[string]string, gone []string) map[string]string {
	obsolete := map[string]string{}
	for _, name := range gone {
		if at, ok := fired[name]; ok {
			obsolete[name] = at
		}
	}
	for name, at := range fired {
		planned, err := strconv.ParseInt(at, 10, 64)
		switch when := time.UnixMilli(planned); {
		case err != nil, f.table.jobs[name] == nil && now.Sub(when) > keptFor:
			obsolete[name] = at
		case when.Sub(now) > horizon:
			obsolete[name] = at
			f.cfg.Logger.WarnContext(ctx, "a recurring job was fired by a clock that is far ahead; that doesn't count", "name", name, "planned", when)
		}
	}
	return obsolete
}

// forget drops firings, unless there was another since they were read.
func (f *firer) forget(ctx context.Context, obsolete map[string]string) error {
	if len(obsolete) == 0 {
		return nil
	}
	args := []any{f.cfg.Value}
	for name, at := range obsolete {
		args = append(args, name, at)
	}
	if _, err := f.client.Run(ctx, forgetScript, []string{f.lock, f.Scheduler.keys.Of(keyFired)}, args...); err != nil {
		return fmt.Errorf("scheduler: forget recurring jobs: %w", err)
	}
	return nil
}

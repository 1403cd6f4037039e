package scheduler

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"example.com/understudy/resque"
)

// recurrence is a recurring job with its next time.
type recurrence struct {
	name string
	// config is its configuration, as it stands where it is kept.
	config string
	job    resque.Item
	timing Timing
	// note is what this scheduler wrote last into Ruby's note of the last run.
	note string
}

// next is when it fires; zero: never.
func (r *recurrence) next() time.Time { return r.timing.Planned() }

// timetable is what a master has planned. A job that never fires stands there as
// well, so that it is read only once.
type timetable struct {
	env string
	log *slog.Logger

	jobs map[string]*recurrence
	// told are the reasons why jobs never fire, each logged once.
	told map[string]string
}

// arrange brings the timetable to the configurations that there are now. Jobs
// whose configuration is the same keep their next time, unless they are to be
// planned anew. It answers the names of those that went.
func (t *timetable) arrange(ctx context.Context, now time.Time, configs map[string]string, anew map[string]bool) (gone []string) {
	for name := range t.jobs {
		if _, ok := configs[name]; !ok {
			gone = append(gone, name)
			delete(t.jobs, name)
			delete(t.told, name)
		}
	}
	for name, config := range configs {
		if old := t.jobs[name]; old == nil || old.config != config || anew[name] {
			t.jobs[name] = t.plan(ctx, name, config, now)
		}
	}
	return gone
}

// Why a job that can be read never fires.
var (
	errOtherEnv = errors.New("scheduler: it is for other environments")
	errNoTimes  = errors.New("scheduler: it has neither cron nor every")
)

// plan reads a configuration. One that can't be read fires never, and doesn't
// keep the others from it.
func (t *timetable) plan(ctx context.Context, name, config string, now time.Time) *recurrence {
	r := &recurrence{name: name, config: config}
	err := r.read(t.env, now)
	switch {
	case err == nil:
		delete(t.told, name)
	case errors.Is(err, errOtherEnv):
		t.log.DebugContext(ctx, "a recurring job is for another environment", "name", name, "env", t.env)
	case t.told[name] != err.Error():
		t.told[name] = err.Error()
		t.log.ErrorContext(ctx, "a recurring job can't be read and never fires", "name", name, "error", err)
	}
	return r
}

func (r *recurrence) read(env string, now time.Time) error {
	job, err := ParseRecurring([]byte(r.config))
	if err != nil {
		return err
	}
	if !job.Within(env) {
		return errOtherEnv
	}
	if job.Cron == "" && job.Every == "" {
		return errNoTimes
	}
	if r.job, err = recurringJob(r.name, job); err == nil {
		r.timing, err = job.Timing(now)
	}
	return err
}

// due are the jobs whose time has come, the earliest first. Those whose last time
// has passed meanwhile are over.
func (t *timetable) due(now time.Time) []*recurrence {
	var due []*recurrence
	for _, r := range t.jobs {
		r.timing = r.timing.At(now)
		if next := r.next(); !next.IsZero() && !next.After(now) {
			due = append(due, r)
		}
	}
	slices.SortFunc(due, func(a, b *recurrence) int {
		return cmp.Or(a.next().Compare(b.next()), cmp.Compare(a.name, b.name))
	})
	return due
}

// next is the next time of all; zero: there is none.
func (t *timetable) next() (next time.Time) {
	for _, r := range t.jobs {
		next = earlier(next, r.next())
	}
	return next
}

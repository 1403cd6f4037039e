package scheduler

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"example.com/understudy/compat/ruby"
	"example.com/understudy/resque"
)

// firer is the source of recurring jobs: it plans their times when mastership
// begins, and fires those that have come. A plan outlives any trouble with Redis,
// so that a time that passes meanwhile fires when that is over.
type firer struct {
	*Scheduler

	// table is nil where there is no plan: another scheduler may be the master.
	table *timetable
	// told are the faults that were logged, by job or key.
	told map[string]string
	// known is the schedule as it was read.
	known scheduleRead
}

func newFirer(s *Scheduler) *firer { return &firer{Scheduler: s, told: map[string]string{}} }

// drop forgets the plan.
func (f *firer) drop() { f.table = nil }

func (f *firer) renew(ctx context.Context, now time.Time) error {
	if f.table != nil {
		if err := f.fire(ctx, now.In(f.cfg.Location)); err != nil {
			return err
		}
	}
	f.drop()
	return nil
}

// pass fires what is due, and then takes in what has changed, as Ruby does.
func (f *firer) pass(ctx context.Context, now time.Time, asked bool) (next time.Time, err error) {
	now = now.In(f.cfg.Location)
	err = f.fire(ctx, now)
	if f.cfg.Dynamic && !errors.Is(err, errLost) {
		err = errors.Join(err, f.update(ctx, now, asked))
	}
	return f.table.next(), err
}

// planned are the next times of all jobs that fire again.
func (f *firer) planned() map[string]time.Time {
	planned := map[string]time.Time{}
	if f.table != nil {
		for name, r := range f.table.jobs {
			if next := r.next(); !next.IsZero() {
				planned[name] = next
			}
		}
	}
	return planned
}

// fire enqueues the jobs whose times have come, many in one step. As in Ruby, one
// that has missed many times and fires for each does so once a pass: a clock that
// leaps ahead floods nothing.
func (f *firer) fire(ctx context.Context, now time.Time) error {
	v := volley{firer: f, now: now, note: ruby.TimeToS(now), broken: map[string]string{}}
	for due := f.table.due(now); len(due) > 0; {
		n, err := v.fire(ctx, due)
		if err != nil {
			return err
		}
		due = due[n:]
	}
	if v.fired > 0 {
		f.cfg.Logger.InfoContext(ctx, "enqueued recurring jobs", "jobs", v.fired)
	}
	return v.stuck
}

// volley fires everything that is due at one moment.
type volley struct {
	*firer

	now time.Time
	// note is the moment as Ruby notes it.
	note string
	// broken are queues that can't be pushed to, with the reason.
	broken map[string]string
	// stuck says why no job can go to the failed ones. Those that have to stay due.
	stuck error
	fired int
}

// horizon is how far ahead of this clock a firing or a note of one may be. One
// beyond that is by a clock that was wrong, and mustn't stop a job until then.
const horizon = time.Hour

// fire fires the first of these jobs, as many as one call takes, and says how many
// of them are done with.
func (v *volley) fire(ctx context.Context, due []*recurrence) (done int, err error) {
	done, shots, keys, args := v.call(due)
	if len(shots) == 0 {
		return done, nil
	}
	answer, err := resque.Values(v.client.Run(ctx, fireScript, keys, args...))
	if err != nil {
		for _, s := range shots {
			s.job.note = v.note // it may have been written
		}
		return 0, fmt.Errorf("scheduler: fire recurring jobs: %w", err)
	}
	switch verdict, _ := resque.String(answer[0], nil); {
	case verdict == "lost":
		return 0, errLost
	case verdict == "type":
		key, _ := resque.String(answer[1], nil)
		return 0, v.setBroken(key)
	case len(answer) != 1+len(shots):
		return 0, fmt.Errorf("scheduler: fire recurring jobs: answered %d for %d", len(answer)-1, len(shots))
	}
	for i, s := range shots {
		v.settle(ctx, s.job, s.plan, answer[1+i])
	}
	return done, nil
}

// shot is a recurring job whose time has come, and what becomes of it.
type shot struct {
	job  *recurrence
	plan plan
}

// settle takes note of one firing, and plans the next.
func (v *volley) settle(ctx context.Context, r *recurrence, p plan, answer any) {
	planned := r.next()
	r.timing = r.timing.Fired(v.now)
	if fired, _ := resque.Int(answer, nil); fired == 0 {
		v.cfg.Logger.DebugContext(ctx, "somebody else has enqueued the recurring job", "name", r.name, "planned", planned)
		return
	}
	r.note = v.note
	v.fired++
	if p.queue == "" {
		v.cfg.Logger.WarnContext(ctx, "a recurring job can't be queued and goes to the failed jobs", "name", r.name, "record", string(p.payload))
		return
	}
	v.cfg.Logger.DebugContext(ctx, "enqueued the recurring job", "name", r.name, "queue", p.queue, "planned", planned)
}

// setBroken notes that a key is of the wrong type: a queue's, so that its jobs go
// to the failed ones; or that of these.
func (v *volley) setBroken(key string) error {
	if key == v.Scheduler.keys.Of(keyFailed) && v.stuck == nil {
		v.stuck = fmt.Errorf("scheduler: fire recurring jobs: %w", wrongType(key))
		return nil
	}
	queue, ok := strings.CutPrefix(key, v.Scheduler.keys.Of(queuePrefix))
	if !ok || v.broken[queue] != "" {
		return fmt.Errorf("scheduler: fire recurring jobs: %w", wrongType(key))
	}
	v.broken[queue] = key + " is not a list"
	return nil
}

// call builds the keys and arguments of fireScript for the first of these jobs,
// as many as one call takes. done says how many of due these are, with those that
// stay due.
func (v *volley) call(due []*recurrence) (done int, shots []shot, keys []string, args []any) {
	k := v.Scheduler.keys
	keys = []string{v.lock, k.Of(keyQueues), k.Of(keyFailed), k.Of(keyLastEnqueued), k.Of(keyFired)}
	var names, firings []any
	numbers := map[string]int{"": 0}
	size := 0
	for _, r := range due {
		if size > batchBytes || len(shots) == v.cfg.Batch {
			break
		}
		done++
		p := v.deliver(r.job, nil, v.broken)
		if p.queue == "" && v.stuck != nil {
			continue
		}
		number, ok := numbers[p.queue]
		if !ok {
			number = len(numbers)
			numbers[p.queue] = number
			keys, names = append(keys, k.Of(queuePrefix+p.queue)), append(names, p.queue)
		}
		shots = append(shots, shot{r, p})
		firings = append(firings, r.name, r.next().UnixMilli(), number, p.payload, r.note)
		size += len(p.payload)
	}
	args = []any{v.cfg.Value, v.lockMillis(), v.note, v.now.Add(horizon).Unix(), len(names)}
	return done, shots, keys, append(append(args, names...), firings...)
}

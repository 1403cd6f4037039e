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

// fire enqueues the jobs whose times have come, many in one step.
func (f *firer) fire(ctx context.Context, now time.Time) error {
	v := volley{firer: f, now: now, note: ruby.TimeToS(now), broken: map[string]string{}}
	for due := f.table.due(now); len(due) > 0; due = f.table.due(now) {
		if err := v.fire(ctx, due); err != nil {
			return err
		}
	}
	if v.fired > 0 {
		f.cfg.Logger.InfoContext(ctx, "enqueued recurring jobs", "jobs", v.fired)
	}
	return nil
}

// volley fires everything that is due at one moment.
type volley struct {
	*firer

	now time.Time
	// note is the moment as Ruby notes it.
	note string
	// broken are queues that can't be pushed to, with the reason.
	broken map[string]string
	fired  int
}

// horizon is how far ahead of this clock a firing or a note of one may be. One
// beyond that is by a clock that was wrong, and mustn't stop a job until then.
const horizon = time.Hour

// fire fires the first of these jobs, as many as one call takes.
func (v *volley) fire(ctx context.Context, due []*recurrence) error {
	plans, keys, args := v.call(due)
	answer, err := resque.Values(v.client.Run(ctx, fireScript, keys, args...))
	for i := range plans {
		due[i].note = v.note // also where the answer got lost
	}
	if err != nil {
		return fmt.Errorf("scheduler: fire recurring jobs: %w", err)
	}
	switch verdict, _ := resque.String(answer[0], nil); {
	case verdict == "lost":
		return errLost
	case verdict == "type":
		key, _ := resque.String(answer[1], nil)
		return v.setBroken(key)
	case len(answer) != 1+len(plans):
		return fmt.Errorf("scheduler: fire recurring jobs: answered %d for %d", len(answer)-1, len(plans))
	}
	for i, plan := range plans {
		v.settle(ctx, due[i], plan, answer[1+i])
	}
	return nil
}

// settle takes note of one firing, and plans the next.
func (v *volley) settle(ctx context.Context, r *recurrence, p plan, answer any) {
	switch fired, _ := resque.Int(answer, nil); {
	case fired == 0:
		v.cfg.Logger.DebugContext(ctx, "somebody else has enqueued the recurring job", "name", r.name, "planned", r.next())
	case p.queue == "":
		v.cfg.Logger.WarnContext(ctx, "a recurring job can't be queued and goes to the failed jobs", "name", r.name, "record", string(p.payload))
		v.fired++
	default:
		v.cfg.Logger.DebugContext(ctx, "enqueued the recurring job", "name", r.name, "queue", p.queue, "planned", r.next())
		v.fired++
	}
	r.timing = r.timing.Fired(v.now)
}

// setBroken notes that a queue's key is of the wrong type, so that its jobs go to
// the failed ones.
func (v *volley) setBroken(key string) error {
	queue, ok := strings.CutPrefix(key, v.Scheduler.keys.Of(queuePrefix))
	if !ok || v.broken[queue] != "" {
		return fmt.Errorf("scheduler: fire recurring jobs: %w", wrongType(key))
	}
	v.broken[queue] = key + " is not a list"
	return nil
}

// call builds the keys and arguments of fireScript for the first of these jobs,
// as many as one call takes, and says what becomes of each.
func (v *volley) call(due []*recurrence) (plans []plan, keys []string, args []any) {
	k := v.Scheduler.keys
	keys = []string{v.lock, k.Of(keyQueues), k.Of(keyFailed), k.Of(keyLastEnqueued), k.Of(keyFired)}
	var names, firings []any
	numbers := map[string]int{"": 0}
	size := 0
	for _, r := range due {
		if size > batchBytes || len(plans) == v.cfg.Batch {
			break
		}
		p := v.deliver(r.job, nil, v.broken)
		number, ok := numbers[p.queue]
		if !ok {
			number = len(numbers)
			numbers[p.queue] = number
			keys, names = append(keys, k.Of(queuePrefix+p.queue)), append(names, p.queue)
		}
		plans = append(plans, p)
		firings = append(firings, r.name, r.next().UnixMilli(), number, p.payload, r.note)
		size += len(p.payload)
	}
	args = []any{v.cfg.Value, v.lockMillis(), v.note, v.now.Add(horizon).Unix(), len(names)}
	return plans, keys, append(append(args, names...), firings...)
}

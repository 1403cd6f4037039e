package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"example.com/understudy/compat/ruby"
	"example.com/understudy/resque"
	"example.com/understudy/scheduler"
)

// schedulerSettings are those of a group's scheduler.
type schedulerSettings struct {
	Dynamic    bool    `json:"dynamic,omitempty"`
	Env        *string `json:"env,omitempty"`
	TZ         string  `json:"tz,omitempty"`
	LockPrefix string  `json:"lock_prefix,omitempty"`
}

func (c *schedulerSettings) location() (*time.Location, error) {
	if c == nil {
		return time.UTC, nil
	}
	return time.LoadLocation(c.TZ) //nolint:wrapcheck // the caller says where it stands
}

// ownLock is our scheduler in the master lock.
const ownLock = "ruby.example:4243"

// schedule makes the group's scheduler and its recurring jobs.
func (r *apiReplayer) schedule() (err error) {
	c := scheduler.Config{
		Clock: r.clock, Value: ownLock, QueueOf: func(class string) string { return r.file.Classes[class].Queue },
		Schedules: scheduler.NewSchedules(r.client),
	}
	if c.Location, err = r.group.Scheduler.location(); err != nil {
		return err
	}
	if settings := r.group.Scheduler; settings != nil {
		c.Dynamic, c.LockPrefix = settings.Dynamic, settings.LockPrefix
		if settings.Env != nil {
			c.Env = *settings.Env
		}
	}
	r.schedules, r.location = c.Schedules, c.Location
	r.schedules.QueueOf = c.QueueOf
	r.scheduler, err = scheduler.New(r.client, c)
	return err
}

// config is that of a recurring job.
type config struct{ scheduler.Recurring }

func (c *config) UnmarshalJSON(data []byte) error {
	var text item
	err := text.UnmarshalJSON(data)
	if err == nil {
		c.Recurring, err = scheduler.ParseRecurring(text)
	}
	return err
}

// scheduleCalls are those about recurring jobs and the master lock.
func scheduleCalls() map[string][]form {
	all := []form{no(func(ctx context.Context, r *apiReplayer) (any, error) { return r.schedules.All(ctx) })}
	return map[string][]form{
		"set_schedule": {two(func(ctx context.Context, r *apiReplayer, name string, c config) (any, error) {
			return nothing(r.schedules.Set(ctx, name, c.Recurring))
		})},
		"schedule=": {one(func(ctx context.Context, r *apiReplayer, configs map[string]config) (any, error) {
			jobs := map[string]scheduler.Recurring{}
			for name, c := range configs {
				jobs[name] = c.Recurring
			}
			return nothing(r.schedules.SetAll(ctx, jobs))
		})},
		"remove_schedule": {one(func(ctx context.Context, r *apiReplayer, name string) (any, error) {
			return nothing(r.schedules.Remove(ctx, name))
		})},
		"schedule":         all,
		"reload_schedule!": all,
		"fetch_schedule": {one(func(ctx context.Context, r *apiReplayer, name string) (any, error) {
			job, ok, err := r.schedules.Get(ctx, name)
			return ifThere(job, ok), err
		})},
		"last_enqueued_at": {one(func(ctx context.Context, r *apiReplayer, name string) (any, error) {
			return nothing(r.schedules.SetLastEnqueuedAt(ctx, name, r.clock.Now().In(r.location)))
		})},
		"get_last_enqueued_at": {one(func(ctx context.Context, r *apiReplayer, name string) (any, error) {
			at, ok, err := r.schedules.LastEnqueuedAt(ctx, name)
			return ifThere(ruby.TimeToS(at), ok), err
		})},
		"enqueue_from_config": {enqueueConfig()},
		"master?": {no(func(ctx context.Context, r *apiReplayer) (any, error) {
			_, err := r.scheduler.Tick(ctx)
			return r.scheduler.Master(), err
		})},
		"release_master_lock": {no(stop)},
		"stop":                {no(stop)},
		"pass":                {no(turn)},
		"redis": {
			two(func(ctx context.Context, r *apiReplayer, command rawCommand, key string) (any, error) {
				return nothing(r.raw(ctx, command, key))
			}),
			three(func(ctx context.Context, r *apiReplayer, command rawCommand, key, a string) (any, error) {
				return nothing(r.raw(ctx, command, key, a))
			}),
			four(func(ctx context.Context, r *apiReplayer, command rawCommand, key, a, b string) (any, error) {
				return nothing(r.raw(ctx, command, key, a, b))
			}),
		},
	}
}

func enqueueConfig() form {
	return one(func(ctx context.Context, r *apiReplayer, c config) (any, error) {
		return nothing(r.schedules.Enqueue(ctx, scheduler.Scheduled{Recurring: c.Recurring}))
	})
}

func stop(ctx context.Context, r *apiReplayer) (any, error) { return nothing(r.scheduler.Stop(ctx)) }

// turn is one of the scheduler's loop. What fired is what the notes of the last
// runs say.
func turn(ctx context.Context, r *apiReplayer) (any, error) {
	before, err := r.lastRuns(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := r.scheduler.Tick(ctx); err != nil {
		return nil, err
	}
	after, err := r.lastRuns(ctx)
	if err != nil {
		return nil, err
	}
	fired := []string{}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if after[name] != before[name] {
			fired = append(fired, name)
		}
	}
	done := passed{master: r.scheduler.Master(), fired: fired}
	if done.master {
		done.next = r.scheduler.Planned()
	}
	return done, nil
}

func (r *apiReplayer) lastRuns(ctx context.Context) (map[string]string, error) {
	return resque.StringMap(r.client.Do(ctx, "HGETALL", r.client.Keys().Of("delayed:last_enqueued_at")))
}

// passed is what one turn of a scheduler did; next is nil where it isn't the
// master.
type passed struct {
	master bool
	fired  []string
	next   map[string]time.Time
}

func passedResult(p passed) (any, error) {
	fired, err := each(p.fired)
	members := map[string]any{"master": p.master, "fired": fired}
	if p.next != nil {
		next := map[string]any{}
		for name, at := range p.next {
			next[name] = json.Number(fmt.Sprint(at.UnixMilli()))
		}
		members["next"] = next
	}
	return members, err
}

// scheduleResult is the whole schedule by name.
func scheduleResult(jobs []scheduler.Scheduled) (any, error) {
	members := map[string]any{}
	for _, job := range jobs {
		result, err := resultOf(job)
		if err != nil {
			return nil, err
		}
		members[job.Name] = result
	}
	return members, nil
}

// rawCommand is what another process sends to Redis.
type rawCommand string

func (c *rawCommand) UnmarshalJSON(data []byte) error {
	name := textOf(data, "")
	if !slices.Contains([]string{"set", "del", "hset", "hdel", "sadd"}, name) {
		return fmt.Errorf("unknown command %.40s", data)
	}
	*c = rawCommand(name)
	return nil
}

// raw does what another process did. A lock that it set is its own.
func (r *apiReplayer) raw(ctx context.Context, command rawCommand, key string, args ...string) error {
	full := r.client.Keys().Of(key)
	if strings.HasSuffix(key, lockSuffix) {
		full = r.lockKey(recordedPrefix + key)
		r.holder = strings.Join(args, " ")
	}
	all := []any{full}
	for _, arg := range args {
		all = append(all, arg)
	}
	_, err := r.client.Do(ctx, string(command), all...)
	return err
}

// lockKey is where a recording's master lock stands here: the namespace comes
// twice.
func (r *apiReplayer) lockKey(recorded string) string {
	keys := r.client.Keys()
	return keys.Of(keys.Namespace() + ":" + strings.TrimPrefix(recorded, recordedPrefix+recordedPrefix))
}

// lockKey is where the master lock stands in a recording.
func (c *schedulerSettings) lockKey() string {
	prefix := ""
	if c != nil && c.LockPrefix != "" {
		prefix = c.LockPrefix + ":"
	}
	return recordedPrefix + recordedPrefix + prefix + lockSuffix
}

var pid = regexp.MustCompile(`\d+$`)

// compareLock compares the master lock: its time to live, and for recordings of
// schedules whether there is one, and whose it is. The recorder of the others
// kept its mastership between groups.
func (r *apiReplayer) compareLock(ctx context.Context, s *apiStep) ([]difference, error) {
	key := r.group.Scheduler.lockKey()
	got, err := r.readLock(ctx, key)
	if err != nil {
		return nil, err
	}
	if s.Lock == nil || got == nil {
		if !r.group.locked || s.Lock == nil && got == nil {
			return nil, nil
		}
		return []difference{{Field: fieldLock, Detail: fmt.Sprintf("Ruby %v, ours %v", s.Lock, got)}}, nil
	}
	var found []difference
	if !sameTTL(&s.Lock.TTL, &got.TTL, time.Since(r.began)) {
		found = append(found, difference{Field: fieldLock, Detail: fmt.Sprintf("time to live: Ruby %d s, ours %d s", s.Lock.TTL, got.TTL)})
	}
	want := ownLock
	if pid.ReplaceAllString(r.holder, "<pid>") == s.Lock.Value {
		want = r.holder
	}
	if r.group.locked && (got.Value != want || cmp.Or(s.Lock.Key, (*schedulerSettings)(nil).lockKey()) != key) {
		found = append(found, difference{Field: fieldLock, Detail: fmt.Sprintf("Ruby %v, ours %v at %s", s.Lock, got, key)})
	}
	return found, nil
}

// readLock is the master lock here; nil: there is none.
func (r *apiReplayer) readLock(ctx context.Context, key string) (*masterLock, error) {
	value, err := resque.String(r.client.Do(ctx, "GET", r.lockKey(key)))
	if errors.Is(err, resque.ErrNil) {
		return nil, nil //nolint:nilnil // none is no error
	}
	if err != nil {
		return nil, err
	}
	left, err := resque.Int(r.client.Do(ctx, "TTL", r.lockKey(key)))
	return &masterLock{Value: value, TTL: left}, err
}

func (l *masterLock) String() string {
	if l == nil {
		return "none"
	}
	return fmt.Sprintf("%s for %d s %s", l.Value, l.TTL, l.Key)
}

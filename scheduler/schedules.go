package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"example.com/understudy/compat/ruby"
	"example.com/understudy/resque"
)

// Schedules are the recurring jobs of a process: those that it keeps in memory,
// and, over them, those in Redis that all processes share (Ruby: Resque.schedule;
// the hash persistent_schedules). Any number of goroutines may use them. Make it
// with NewSchedules, and give it to a Scheduler (Config.Schedules) for the jobs
// to fire.
type Schedules struct {
	// QueueOf answers the queue of a class for jobs that name none and are
	// enqueued by Enqueue; "": it has none. nil: no class has one. It is to be set
	// before the first use.
	QueueOf func(class string) string

	client *resque.Client
	keys   resque.Keys

	mu sync.Mutex
	// memory are the configurations of the process's own.
	memory map[string]string
	// version counts the changes of memory.
	version uint64
}

// NewSchedules makes the recurring jobs of a process, none of its own to begin
// with.
func NewSchedules(client *resque.Client) *Schedules {
	return &Schedules{client: client, keys: client.Keys(), memory: map[string]string{}}
}

// Scheduled is a recurring job with its name. Persist says that it stands in
// Redis, and not in this process alone.
type Scheduled struct {
	Name string
	Recurring
	// Raw is its configuration, as it stands there.
	Raw []byte
	// Err says why the configuration is none; nil: it is one.
	Err error
}

// Set keeps a recurring job under a name: in Redis for all schedulers if Persist
// is set, else in this process (Ruby: Resque.set_schedule). One that is in Redis
// goes before one of the same name in a process. Dynamic schedulers take it up
// within a moment, others when they reload.
//
// A job that could never fire is refused, and nothing is written. After an error
// of the connection it is unknown whether Redis has the job; to set it again does
// no harm.
func (s *Schedules) Set(ctx context.Context, name string, job Recurring) error {
	change, err := changeOf(name, job, false)
	if err != nil {
		return err
	}
	if change.what == changeTell {
		s.mu.Lock()
		s.memory[name] = change.config
		s.version++
		s.mu.Unlock()
	}
	return s.write(ctx, change)
}

// SetAll sets many recurring jobs in one step, in the place of all that this
// process kept in memory (Ruby: Resque.schedule=). Those in Redis stay unless
// they are among them. The class of a job that names none is its name.
func (s *Schedules) SetAll(ctx context.Context, jobs map[string]Recurring) error {
	memory := make(map[string]string, len(jobs))
	changes := make([]change, 0, len(jobs))
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(jobs)) {
		change, err := changeOf(name, jobs[name], true)
		if change.what == changeTell {
			memory[name] = change.config
		}
		changes, faults = append(changes, change), append(faults, err)
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	s.mu.Lock()
	s.memory = memory
	s.version++
	s.mu.Unlock()
	return s.write(ctx, changes...)
}

// Remove removes the recurring job of a name, from Redis and from this process
// (Ruby: Resque.remove_schedule).
func (s *Schedules) Remove(ctx context.Context, name string) error {
	s.mu.Lock()
	if _, ok := s.memory[name]; ok {
		delete(s.memory, name)
		s.version++
	}
	s.mu.Unlock()
	return s.write(ctx, change{what: changeDrop, name: name})
}

// All are the recurring jobs, in the order of their names (Ruby:
// Resque.schedule). One whose configuration is none is shown with its Err.
func (s *Schedules) All(ctx context.Context) ([]Scheduled, error) {
	persistent, err := resque.StringMap(s.client.Do(ctx, "HGETALL", s.keys.Of(keySchedules)))
	if err != nil {
		return nil, fmt.Errorf("scheduler: read %s: %w", keySchedules, err)
	}
	memory, _ := s.snapshot()
	all := make([]Scheduled, 0, len(memory)+len(persistent))
	for name, config := range memory {
		if _, ok := persistent[name]; !ok {
			all = append(all, scheduledOf(name, config, false))
		}
	}
	for name, config := range persistent {
		all = append(all, scheduledOf(name, config, true))
	}
	slices.SortFunc(all, func(a, b Scheduled) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// Get is the recurring job of a name; ok is false where there is none (Ruby:
// Resque.fetch_schedule).
func (s *Schedules) Get(ctx context.Context, name string) (job Scheduled, ok bool, err error) {
	config, err := resque.String(s.client.Do(ctx, "HGET", s.keys.Of(keySchedules), name))
	switch {
	case err == nil:
		return scheduledOf(name, config, true), true, nil
	case !errors.Is(err, resque.ErrNil):
		return Scheduled{}, false, fmt.Errorf("scheduler: read %s: %w", keySchedules, err)
	}
	memory, _ := s.snapshot()
	config, ok = memory[name]
	if !ok {
		return Scheduled{}, false, nil
	}
	return scheduledOf(name, config, false), true, nil
}

func scheduledOf(name, config string, persistent bool) Scheduled {
	job, err := ParseRecurring([]byte(config))
	job.Persist = persistent
	return Scheduled{Name: name, Recurring: job, Raw: []byte(config), Err: err}
}

// LastEnqueuedAt is when a scheduler, Ruby's too, last enqueued the recurring job
// of a name, to the second; ok is false where none has (Ruby:
// Resque.get_last_enqueued_at). Enqueue doesn't count.
func (s *Schedules) LastEnqueuedAt(ctx context.Context, name string) (at time.Time, ok bool, err error) {
	text, err := resque.String(s.client.Do(ctx, "HGET", s.keys.Of(keyLastEnqueued), name))
	if errors.Is(err, resque.ErrNil) {
		return time.Time{}, false, nil
	}
	if err == nil {
		at, err = ruby.ParseTime(text, time.Local)
	}
	if err != nil {
		return time.Time{}, false, fmt.Errorf("scheduler: read %s of %q: %w", keyLastEnqueued, name, err)
	}
	return at, true, nil
}

// SetLastEnqueuedAt notes that a recurring job was enqueued then, for those who do
// a scheduler's work: one that becomes the master fires no time up to then (Ruby:
// Resque.last_enqueued_at). The note is in the time zone of at, to the second.
func (s *Schedules) SetLastEnqueuedAt(ctx context.Context, name string, at time.Time) error {
	if _, err := s.client.Do(ctx, "HSET", s.keys.Of(keyLastEnqueued), name, ruby.TimeToS(at)); err != nil {
		return fmt.Errorf("scheduler: write %s of %q: %w", keyLastEnqueued, name, err)
	}
	return nil
}

// Enqueue puts a recurring job into its queue now, whatever its times are, and
// runs no hooks (Ruby: Resque::Scheduler.enqueue_from_config, and the button
// "Queue now" of resque-web). Its next times stay as they are, and so does
// LastEnqueuedAt. A job without a queue is refused.
func (s *Schedules) Enqueue(ctx context.Context, job Scheduled) error {
	err := job.Err
	var now resque.Item
	if err == nil {
		now, err = recurringJob(job.Name, job.Recurring)
	}
	if now.Queue == "" && s.QueueOf != nil {
		now.Queue = s.QueueOf(now.Class)
	}
	if err == nil && now.Queue == "" {
		err = noQueueOf(now)
	}
	if err == nil {
		err = s.client.Push(ctx, now.Queue, now.Payload)
	}
	if err != nil {
		return fmt.Errorf("scheduler: enqueue the recurring job %q: %w", job.Name, err)
	}
	return nil
}

// recurringJob is the job that a recurring one fires.
func recurringJob(name string, job Recurring) (resque.Item, error) {
	item, err := job.Item(name)
	if err != nil {
		return resque.Item{}, err
	}
	return resque.ParseItem(item)
}

// snapshot are the configurations in memory, and their version.
func (s *Schedules) snapshot() (map[string]string, uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.memory), s.version
}

// change is what becomes of one recurring job in Redis.
type change struct{ what, name, config string }

// What setScript knows.
const (
	changeSet  = "set"
	changeDrop = "drop"
	changeTell = "tell"
)

// changeOf is what setting a job changes. named gives it a class where it has
// none.
func changeOf(name string, job Recurring, named bool) (change, error) {
	err := job.Validate()
	var config []byte
	if err == nil {
		config, err = job.Config()
	}
	if err == nil && named {
		config, err = withClass(config, name)
	}
	if err != nil {
		return change{}, fmt.Errorf("%w (the job %q)", err, name)
	}
	what := changeTell
	if job.Persist {
		what = changeSet
	}
	return change{what, name, string(config)}, nil
}

// withClass gives a configuration without a class its name for one. Ruby does so
// where all are set at once.
func withClass(config []byte, class string) ([]byte, error) {
	members, err := ruby.Members(config)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(members, func(m ruby.Member) bool { return m.Key == "class" }) {
		return config, nil
	}
	return ruby.SetMember(config, "class", ruby.AppendString(nil, class))
}

// write carries out changes in one step.
func (s *Schedules) write(ctx context.Context, changes ...change) error {
	if len(changes) == 0 {
		return nil
	}
	args := make([]any, 0, 3*len(changes)) //nolint:mnd // what, name, configuration
	for _, c := range changes {
		config := c.config
		if c.what == changeTell {
			config = "" // it stays here
		}
		args = append(args, c.what, c.name, config)
	}
	answer, err := resque.String(s.client.Run(ctx, setScript, []string{s.keys.Of(keySchedules), s.keys.Of(keyChanged)}, args...))
	if err == nil && answer != "ok" {
		err = wrongType(answer)
	}
	if err != nil {
		return fmt.Errorf("scheduler: write recurring jobs: %w", err)
	}
	return nil
}

func wrongType(key string) error {
	return &resque.RedisError{Code: "WRONGTYPE", Message: fmt.Sprintf("WRONGTYPE %q is of another type than resque-scheduler's", key)}
}

package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.com/understudy/compat/ruby"
	"example.com/understudy/resque"
	"example.com/understudy/scheduler"
)

// Finding is one thing that isn't as Ruby left it.
type Finding struct {
	File string
	// Case is the name of a scenario or a group, or a row.
	Case string
	// Step counts from 1; 0 is the state at the start, or a row.
	Step int
	// Do is what the step does.
	Do string
	// Field is what differs: a key in Redis, "trace", "during", "error", "now",
	// "definition_error", "result", "lock", or a field of a row.
	Field string
	// Detail shows both sides.
	Detail string
}

func (f Finding) String() string {
	where := fmt.Sprintf("%s: %s", f.File, f.Case)
	if f.Step > 0 {
		where += fmt.Sprintf(": step %d (%s)", f.Step, f.Do)
	}
	return fmt.Sprintf("%s: %s: %s", where, f.Field, f.Detail)
}

// replayer replays one scenario.
type replayer struct {
	file     *scenarioFile
	scenario *scenario
	client   *resque.Client
	clock    *clock
	id       string
	failures resque.FailureBackend
	classes  map[string]job

	worker *resque.Worker
	// former are the workers before it that were buried. They are stopped at the
	// end only: a stop unregisters, and that has to be the burial's work.
	former    []*resque.Worker
	scheduler *scheduler.Scheduler
	began     time.Time

	mu      sync.Mutex
	outcome outcome
	trace   []string
	during  *string
}

// replay answers how far it came and, for the first step where anything
// differs, what. An error means that the replay itself went wrong.
func replay(ctx context.Context, url, namespace string, file *scenarioFile, s *scenario) (steps int, findings []Finding, err error) {
	r := &replayer{
		file: file, scenario: s, classes: map[string]job{}, began: time.Now(),
		id:    "ruby.example:4242:" + strings.Join(s.Queues, ","),
		clock: &clock{now: time.Unix(s.Start, 0).UTC()},
	}
	r.clock.slept = func(d time.Duration) {
		r.happened(fmt.Sprintf(`[%q,%s]`, eventSleep, strconv.FormatFloat(d.Seconds(), 'f', -1, 64)))
	}
	if r.failures, err = backendOf(s.FailureBackend); err != nil {
		return 0, nil, err
	}
	if r.client, err = resque.Open(ctx, url, resque.Options{Namespace: namespace, Clock: r.clock}); err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, r.client.Close()) }()
	r.scheduler, err = scheduler.New(r.client, scheduler.Config{
		Clock: r.clock, Value: "ruby.example:4243", QueueOf: func(class string) string { return r.classes[class].Queue },
	})
	if err != nil {
		return 0, nil, err
	}
	return r.run(ctx)
}

func (r *replayer) run(ctx context.Context) (steps int, findings []Finding, err error) {
	w, refusal := r.newWorker()
	if r.scenario.DefinitionError != nil || refusal != nil {
		return 0, r.compareRefusal(refusal), nil
	}
	r.worker = w
	if err := r.worker.Start(ctx); err != nil {
		return 0, nil, err
	}
	defer func() {
		for _, w := range append(r.former, r.worker) {
			err = errors.Join(err, w.Stop(context.WithoutCancel(ctx)))
		}
	}()
	want := r.scenario.Redis
	findings, err = r.compare(ctx, want, 0, nil, nil)
	for i := range r.scenario.Steps {
		if err != nil || len(findings) > 0 {
			return i, findings, err
		}
		s := &r.scenario.Steps[i]
		if want, err = want.after(s.Redis, s.Gone); err != nil {
			return i, nil, fmt.Errorf("step %d: %w", i+1, err)
		}
		r.reset(s.Outcome)
		raised := r.step(ctx, s)
		findings, err = r.compare(ctx, want, i+1, s, r.compareStep(s, raised))
	}
	return len(r.scenario.Steps), findings, err
}

// newWorker makes the scenario's worker. An error is that of a definition.
func (r *replayer) newWorker() (*resque.Worker, error) {
	w, err := resque.NewWorker(r.client, r.config(nil))
	if err != nil {
		return nil, err
	}
	all := classes(r.scenario.Jobs)
	for _, j := range all {
		r.classes[j.Class] = j
		if err := r.define(w, j); err != nil {
			return nil, err
		}
	}
	if len(all) == 0 { // a worker without any class doesn't start
		err = w.Handle("Conformance::Nothing", resque.HandlerFunc(func(context.Context, *resque.Job) error { return nil }))
	}
	return w, err
}

func (r *replayer) config(fallback resque.Handler) resque.WorkerConfig {
	return resque.WorkerConfig{
		Queues: r.scenario.Queues, Concurrency: 1, Failures: r.failures, Clock: r.clock, Fallback: fallback,
		WorkerID: func(int) string { return r.id },
		// The recorder registers its worker without Ruby's start-up pruning.
		PruneAfter: -1,
	}
}

func (r *replayer) step(ctx context.Context, s *step) error {
	switch s.Do {
	case doEnqueue:
		return r.enqueue(ctx, s)
	case doPushRaw:
		return r.client.Push(ctx, s.Queue, []byte(s.Payload))
	case doWork:
		_, err := r.worker.Step(ctx)
		return err
	case doTick:
		r.clock.advance(s.Advance)
		_, err := r.scheduler.Tick(ctx)
		return err
	case doAdvance:
		r.clock.advance(s.Seconds)
		return nil
	case doDirtyExit:
		return r.dirtyExit(ctx)
	default:
		return fmt.Errorf("conformance: unknown step %q", s.Do)
	}
}

func (r *replayer) enqueue(ctx context.Context, s *step) error {
	j, ok := r.classes[s.Class]
	if !ok {
		return fmt.Errorf("conformance: uninitialized constant %s", s.Class)
	}
	args := make([]any, len(s.Args))
	for i, arg := range s.Args {
		text, err := ruby.Reencode(arg)
		if err != nil {
			return fmt.Errorf("conformance: argument %d: %w", i, err)
		}
		args[i] = json.RawMessage(text)
	}
	return r.client.Enqueue(ctx, j.Queue, s.Class, args...)
}

// dirtyExit lets a worker of the same name take a job and die with it, buries
// it, and starts a new one in the place of both.
func (r *replayer) dirtyExit(ctx context.Context) error {
	dying, err := resque.NewWorker(r.client, r.config(resque.HandlerFunc(func(context.Context, *resque.Job) error {
		return resque.ErrAbandon
	})))
	if err != nil {
		return err
	}
	if empty, err := r.nothingToDo(ctx); empty || err != nil {
		return err
	}
	if err := dying.Start(ctx); err != nil {
		return err
	}
	_, err = dying.Step(ctx)
	if err = errors.Join(err, dying.Stop(ctx)); err != nil {
		return err
	}
	if err := r.worker.Bury(ctx, r.id); err != nil {
		return err
	}
	next, err := r.newWorker()
	if err != nil {
		return err
	}
	if err := next.Start(ctx); err != nil {
		return err
	}
	r.worker, r.former = next, append(r.former, r.worker)
	return nil
}

// nothingToDo says that all of the worker's queues are empty: Ruby's worker then
// reserves nothing, and is not unregistered either.
func (r *replayer) nothingToDo(ctx context.Context) (bool, error) {
	queues, err := resque.ParseQueueList(r.scenario.Queues...)
	if err != nil {
		return false, err
	}
	known, err := resque.Strings(r.client.Do(ctx, "SMEMBERS", r.client.Keys().Of("queues")))
	if err != nil {
		return false, err
	}
	for _, queue := range queues.Expand(known) {
		n, err := resque.Int(r.client.Do(ctx, "LLEN", r.client.Keys().Of("queue:"+queue)))
		if n > 0 || err != nil {
			return false, err
		}
	}
	return true, nil
}

// perform is every class's handler.
func (r *replayer) perform(ctx context.Context, run *resque.Job, plugin bool) error {
	attempt := "null"
	if plugin {
		attempt = strconv.FormatInt(run.Attempt, 10)
	}
	r.happened(fmt.Sprintf(`[%q,%s,%s]`, eventPerform, attempt, run.Args))
	hand, err := resque.String(r.client.Do(ctx, "GET", r.client.Keys().Of("worker:"+r.id)))
	if err != nil && !errors.Is(err, resque.ErrNil) {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.during = &hand
	}
	if r.outcome.Raise == "" {
		return nil
	}
	return r.raise(r.outcome)
}

func (r *replayer) happened(event string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trace = append(r.trace, normal(event))
}

// normal is a JSON text in Ruby's form.
func normal(text string) string {
	if encoded, err := ruby.Reencode([]byte(text)); err == nil {
		return string(encoded)
	}
	return text
}

func (r *replayer) reset(o outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcome, r.trace, r.during = o, nil, nil
}

// compareStep compares what a step did, apart from Redis.
func (r *replayer) compareStep(s *step, raised error) []difference {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []difference
	if now := r.clock.Now().Unix(); now != s.Now {
		found = append(found, difference{Field: fieldNow, Detail: fmt.Sprintf("Ruby %d, ours %d", s.Now, now)})
	}
	found = differ(found, fieldTrace, traceOf(s), append([]string{}, r.trace...))
	found = differ(found, fieldDuring, s.During, r.during)
	// Which error a call answers is its own language's business; that it answers
	// one is not.
	if (s.Error != nil) != (raised != nil) {
		found = append(found, difference{Field: fieldError, Detail: fmt.Sprintf("Ruby %v, ours %v", s.Error, raised)})
	}
	return found
}

func (r *replayer) compareRefusal(refusal error) []Finding {
	if (r.scenario.DefinitionError != nil) == (refusal != nil) {
		return nil
	}
	return r.findings(0, nil, []difference{{Field: fieldDefinition, Detail: fmt.Sprintf("Ruby %v, ours %v", r.scenario.DefinitionError, refusal)}})
}

// compare compares the whole state.
func (r *replayer) compare(ctx context.Context, want state, number int, s *step, found []difference) ([]Finding, error) {
	got, err := read(ctx, r.client)
	if err != nil {
		return nil, err
	}
	found = append(found, compareStates(want.compared(), got.compared(), time.Since(r.began))...)
	return r.findings(number, s, found), nil
}

func (r *replayer) findings(number int, s *step, found []difference) []Finding {
	var all []Finding
	for _, d := range settle(place{step: s}, found) {
		f := Finding{Case: r.scenario.Name, Step: number, Field: d.Field, Detail: d.Detail}
		if s != nil {
			f.Do = s.Do
		}
		all = append(all, f)
	}
	return all
}

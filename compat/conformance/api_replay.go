package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"example.com/understudy/compat/ruby"
	"example.com/understudy/failure"
	"example.com/understudy/resque"
	"example.com/understudy/scheduler"
)

// apiReplayer replays one group of calls.
type apiReplayer struct {
	file      *apiFile
	group     *group
	client    *resque.Client
	clock     *clock
	failures  resque.FailureBackend
	store     *failure.Store
	scheduler *scheduler.Scheduler
	schedules *scheduler.Schedules
	location  *time.Location
	// holder is who has the master lock by another process's writing.
	holder string
	began  time.Time

	// workers are those that were registered, by id; current is the last one.
	workers map[string]*employee
	current string
	// leaving are workers that are stopped at the end only.
	leaving []*employee
	// newID is what the recording says is registered in this step.
	newID string
	// sent are the heartbeats by the server's clock, by the worker's id.
	sent map[string]ago
}

// replayGroup answers how far it came and, for the first step where anything
// differs, what. An error means that the replay itself went wrong.
func replayGroup(ctx context.Context, url, namespace string, file *apiFile, g *group) (steps int, findings []Finding, err error) {
	r := &apiReplayer{
		file: file, group: g, began: time.Now(), workers: map[string]*employee{}, sent: map[string]ago{},
		clock: &clock{now: time.Unix(g.Start, 0).UTC(), slept: func(time.Duration) {}},
	}
	if r.failures, err = backendOf(g.FailureBackend); err != nil {
		return 0, nil, err
	}
	if r.client, err = resque.Open(ctx, url, resque.Options{Namespace: namespace, Clock: r.clock}); err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, r.client.Close()) }()
	r.store = failure.NewStore(r.client, failure.StoreConfig{PerQueue: perQueue(g.FailureBackend), Clock: r.clock})
	if err := r.schedule(); err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, r.dismiss(ctx)) }()
	return r.run(ctx)
}

func (r *apiReplayer) run(ctx context.Context) (steps int, findings []Finding, err error) {
	for i := range r.group.Steps {
		s := &r.group.Steps[i]
		r.newID = registered(s, r.group.before(i))
		if s.Op != opTick { // the recorder moves its clock between steps, too
			r.clock.advance(max(0, s.Now-r.clock.Now().Unix()))
		}
		answer, raised := s.call(ctx, r)
		findings, err = r.compare(ctx, i, answer, raised)
		if err != nil || len(findings) > 0 {
			return i, findings, err
		}
	}
	return len(r.group.Steps), nil, nil
}

// opTick is the op that moves the clock by its parameter.
const opTick = "tick"

// before is the whole state before a step.
func (g *group) before(step int) state {
	if step == 0 {
		return state{}
	}
	return g.places[step-1].want
}

// compare compares what a call did and answered.
func (r *apiReplayer) compare(ctx context.Context, i int, answer any, raised error) ([]Finding, error) {
	s, want := &r.group.Steps[i], r.group.places[i].want
	var found []difference
	if now := r.clock.Now().Unix(); now != s.Now {
		found = append(found, difference{Field: fieldNow, Detail: fmt.Sprintf("Ruby %d, ours %d", s.Now, now)})
	}
	answered, err := compareResult(s, answer, raised)
	if err != nil {
		return nil, err
	}
	got, err := read(ctx, r.client)
	if err != nil {
		return nil, err
	}
	locked, err := r.compareLock(ctx, s)
	if err != nil {
		return nil, err
	}
	found = append(append(found, answered...), locked...)
	found = append(found, compareStates(want, got.withServerTimes(want, r.sent, time.Since(r.began)), time.Since(r.began))...)
	var findings []Finding
	for _, d := range settle(r.group.places[i], found) {
		findings = append(findings, Finding{Case: r.group.Name, Step: i + 1, Do: s.Op, Field: d.Field, Detail: d.Detail})
	}
	return findings, nil
}

// compareResult compares whether a call raised and, if it didn't, its answer.
// Which error a call answers is its own language's business.
// One that only says that Redis wasn't reached is none of a call's answers.
func compareResult(s *apiStep, answer any, raised error) ([]difference, error) {
	if _, network := errors.AsType[net.Error](raised); network || errors.Is(raised, io.EOF) || errors.Is(raised, context.Canceled) {
		return nil, raised
	}
	switch {
	case s.raised() != (raised != nil):
		return []difference{{Field: fieldError, Detail: fmt.Sprintf("Ruby answered %s, ours %v", s.Result, raised)}}, nil
	case s.raised():
		return nil, nil
	}
	want, err := decoded(s.Result)
	if err != nil {
		return nil, err
	}
	got, err := resultOf(answer)
	if err != nil {
		return nil, err
	}
	return differ(nil, fieldResult, want, got), nil
}

// serverTime stands in a recording for a heartbeat by the clock of the Redis
// server.
const serverTime = "<server time>"

// serverSlack is what two clocks may be apart, and a second cut off.
const serverSlack = 5 * time.Second

// withServerTimes puts it where the recording has it and ours is such a time:
// that which was sent, so long before now.
func (s state) withServerTimes(want state, sent map[string]ago, elapsed time.Duration) state {
	ours, _ := s[heartbeatsKey].Value.(map[string]string)
	theirs, _ := want[heartbeatsKey].Value.(map[string]string)
	for id, beat := range ours {
		before, ok := sent[id]
		at, err := ruby.ParseTime(beat, time.UTC)
		if theirs[id] != serverTime || !ok || err != nil || ruby.ISO8601(at) != beat {
			continue
		}
		if late := time.Since(at) - time.Duration(before); late > -serverSlack && late < elapsed+serverSlack {
			ours[id] = serverTime
		}
	}
	return s
}

// record is the one that stands at an index of a list.
func (r *apiReplayer) record(ctx context.Context, index int64, list *string) (failure.Record, error) {
	records, err := r.store.All(ctx, named(list), index, 1)
	if err == nil && len(records) != 1 {
		err = fmt.Errorf("conformance: %d records at %d", len(records), index)
	}
	if err != nil {
		return failure.Record{}, err
	}
	return records[0], nil
}

// enqueueNumbers delays so many jobs of the recorder's first class, each with its
// number as argument.
func (r *apiReplayer) enqueueNumbers(ctx context.Context, n int, d delay) error {
	const name = "SendMail"
	c, ok := r.file.Classes[name]
	if !ok || d.err != nil {
		return errors.Join(d.err, fmt.Errorf("conformance: class %s: known %t", name, ok))
	}
	jobs := make([]resque.NewJob, n)
	for i := range jobs {
		jobs[i] = resque.NewJob{Queue: c.Queue, Class: name, Args: []any{i}, At: r.clock.Now().Add(d.Duration)}
	}
	written, err := r.client.EnqueueMany(ctx, jobs...)
	if err == nil && written != n {
		err = fmt.Errorf("conformance: enqueued %d of %d", written, n)
	}
	return err
}

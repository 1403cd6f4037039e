package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/understudy/resque"
)

// employee is a worker of a group.
type employee struct {
	*resque.Worker
	id string
	// held says that the job in hand waits for the group's next steps.
	held bool
	// began hears of it when it has been taken, verdict tells what becomes of
	// it, and stepped how the worker's step ended.
	began   chan struct{}
	verdict chan error
	stepped chan error
}

// registered is the id that is in the registry after a step and wasn't before;
// "": there is none.
func registered(s *apiStep, before state) string {
	known, _ := before[workersKey].Value.([]string)
	now, _ := s.Redis[workersKey].Value.([]string)
	for _, id := range now {
		if !slices.Contains(known, id) {
			return id
		}
	}
	return ""
}

const workersKey = recordedPrefix + "workers"

// hire makes a worker with an id of Ruby's form.
func (r *apiReplayer) hire(id string, pruneAfter time.Duration) (*employee, error) {
	parts := strings.SplitN(id, ":", 3)
	if len(parts) != 3 {
		return nil, fmt.Errorf("conformance: worker id %q", id)
	}
	w := &employee{id: id, began: make(chan struct{}), verdict: make(chan error), stepped: make(chan error, 1)}
	var err error
	w.Worker, err = resque.NewWorker(r.client, resque.WorkerConfig{
		Queues: []string{parts[2]}, Concurrency: 1, Failures: r.failures, Clock: r.clock,
		WorkerID: func(int) string { return id }, PruneAfter: pruneAfter,
	})
	if err != nil {
		return nil, err
	}
	form := inspectForm(r.file.RecordedWith["ruby"])
	for name, class := range r.file.Classes {
		err = errors.Join(err, w.Handle(name, resque.HandlerFunc(func(ctx context.Context, run *resque.Job) error {
			if w.held {
				return w.hold(ctx)
			}
			return class.Raises.perform(run.Args, form)
		})))
	}
	return w, err
}

// hold keeps a job in hand until a step says what becomes of it.
func (w *employee) hold(ctx context.Context) error {
	w.began <- struct{}{}
	select {
	case err := <-w.verdict:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// start registers. Ruby's register_worker sends no heartbeat, and whoever is
// registered in a recording didn't prune the dead at that moment.
func (r *apiReplayer) start(ctx context.Context, w *employee) error {
	if err := w.Start(ctx); err != nil {
		return err
	}
	_, err := r.client.Do(ctx, "HDEL", r.client.Keys().Of("workers:heartbeat"), w.id)
	return err
}

func (r *apiReplayer) register(ctx context.Context, id string) error {
	if r.workers[id] != nil {
		return fmt.Errorf("conformance: worker %q is registered already", id)
	}
	w, err := r.hire(id, -1)
	if err != nil {
		return err
	}
	r.workers[id], r.current = w, id
	return r.start(ctx, w)
}

// worker is the one with this id; "": the current one.
func (r *apiReplayer) worker(id string) (*employee, error) {
	if id == "" {
		id = r.current
	}
	if w := r.workers[id]; w != nil {
		return w, nil
	}
	return nil, fmt.Errorf("conformance: worker %q isn't registered", id)
}

// unregister unregisters the current worker. One that has a job in hand has died
// with it, as for Ruby.
func (r *apiReplayer) unregister(ctx context.Context) error {
	w, err := r.worker("")
	if err != nil {
		return err
	}
	delete(r.workers, w.id)
	if !w.held {
		return w.Stop(ctx)
	}
	r.leaving = append(r.leaving, w)
	if err := w.end(resque.ErrAbandon); err != nil {
		return err
	}
	return w.Bury(ctx, w.id)
}

// work lets the current worker take one job, if there is one, and perform it.
func work(ctx context.Context, r *apiReplayer) (any, error) {
	w, err := r.worker("")
	if err != nil {
		return nil, err
	}
	return w.Step(ctx)
}

// workOn lets a worker take a job and keep it.
func (r *apiReplayer) workOn(ctx context.Context, id string) error {
	w, err := r.worker(id)
	if err != nil {
		return err
	}
	if w.held {
		return errors.New("conformance: the worker has a job in hand")
	}
	w.held = true
	go func() {
		_, err := w.Step(ctx)
		w.stepped <- err
	}()
	select {
	case <-w.began:
		return nil
	case err := <-w.stepped:
		w.held = false
		return errors.Join(errors.New("conformance: there was no job to work on"), err)
	}
}

// end ends the job in hand.
func (w *employee) end(verdict error) error {
	w.verdict <- verdict
	err := <-w.stepped
	w.held = false
	return err
}

func (r *apiReplayer) doneWorking(context.Context) error {
	w, err := r.worker("")
	if err == nil && !w.held {
		err = errors.New("conformance: the worker has no job in hand")
	}
	if err != nil {
		return err
	}
	return w.end(nil)
}

// beat sends a heartbeat with this time.
func (r *apiReplayer) beat(ctx context.Context, id string, at time.Time) error {
	w, err := r.worker(id)
	if err != nil {
		return err
	}
	return w.Heartbeat(ctx, at)
}

// beatAgo sends one by the Redis server's clock, so long ago.
func (r *apiReplayer) beatAgo(ctx context.Context, id string, before ago) error {
	now, err := resque.Strings(r.client.Do(ctx, "TIME"))
	if err != nil {
		return err
	}
	seconds, err := secondsOf([]byte(now[0]))
	if err != nil {
		return err
	}
	r.sent[id] = before
	return r.beat(ctx, id, local(time.Unix(0, 0).Add(seconds-time.Duration(before))))
}

// beatNow sends one by that clock.
func (r *apiReplayer) beatNow(ctx context.Context) error {
	r.sent[r.current] = 0
	return r.beat(ctx, "", time.Time{})
}

// local is a time in the recorder's zone: UTC, but not a time that was turned to
// UTC, which Ruby writes in another way.
func local(t time.Time) time.Time { return t.In(time.FixedZone("UTC", 0)) }

// prune is what a starting worker does before it registers.
func (r *apiReplayer) prune(ctx context.Context, id string) error {
	w, err := r.hire(id, 0)
	if err != nil {
		return err
	}
	if err := r.start(ctx, w); err != nil {
		return err
	}
	if r.workers[id] != nil { // it is registered, and stays so
		r.leaving = append(r.leaving, w)
		return nil
	}
	return w.Stop(ctx)
}

// dismiss stops everybody, after the last comparison.
func (r *apiReplayer) dismiss(ctx context.Context) error {
	for _, w := range r.workers {
		r.leaving = append(r.leaving, w)
	}
	var faults []error
	for _, w := range r.leaving {
		if w.held {
			faults = append(faults, w.end(resque.ErrAbandon))
		}
		faults = append(faults, w.Stop(context.WithoutCancel(ctx)))
	}
	return errors.Join(faults...)
}

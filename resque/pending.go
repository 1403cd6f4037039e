package resque

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrNotRunning is what a job's own enqueues answer outside of its run: they are
// written with its success, so its handler has to be under way.
var ErrNotRunning = errors.New("resque: the job isn't running: use the client")

// Bounds of what one run keeps back: it is written in one step.
const (
	maxPendingJobs  = 5000
	maxPendingBytes = 4 << 20
)

// Enqueue enqueues another job once this one has succeeded: it is written in the
// step that records the success. A run that fails, is cancelled or discarded, is
// given back at a stop or lost to somebody else enqueues nothing. The hooks before
// it run now, and refuse it now; those after it when it is written. A run may keep
// back 5000 jobs and 4 MB. Other databases take no part: see docs/pending.md.
func (j *Job) Enqueue(ctx context.Context, queue, class string, args ...any) error {
	return j.EnqueueMany(ctx, NewJob{Queue: queue, Class: class, Args: args})
}

// EnqueueAt is Enqueue for a job that waits for a time, which is compared with the
// time of this call.
func (j *Job) EnqueueAt(ctx context.Context, at time.Time, queue, class string, args ...any) error {
	return j.EnqueueMany(ctx, NewJob{Queue: queue, Class: class, Args: args, At: at})
}

// EnqueueIn is EnqueueAt for d from now.
func (j *Job) EnqueueIn(ctx context.Context, d time.Duration, queue, class string, args ...any) error {
	if j.pending == nil {
		return ErrNotRunning
	}
	return j.EnqueueAt(ctx, j.pending.client.options.Clock.Now().Add(d), queue, class, args...)
}

// EnqueueMany is Enqueue for several jobs, all or none.
func (j *Job) EnqueueMany(ctx context.Context, jobs ...NewJob) error {
	if j.pending == nil {
		return ErrNotRunning
	}
	return j.pending.enqueue(ctx, jobs)
}

// RemoveDelayed removes, once this job has succeeded, the delayed jobs with exactly
// this queue, class and arguments: those that wait now and still do so then, and
// those that this run keeps back. It answers at how many times they wait now.
func (j *Job) RemoveDelayed(ctx context.Context, queue, class string, args ...any) (times int, err error) {
	if j.pending == nil {
		return 0, ErrNotRunning
	}
	return j.pending.remove(ctx, queue, class, args)
}

// pending is what a run keeps back until it has succeeded. Its handler may use it
// from several goroutines.
type pending struct {
	client *Client

	mu       sync.Mutex
	closed   bool // the handler has returned
	removals []Write
	jobs     []keptJob
	size     int
}

// keptJob is a job to be enqueued.
type keptJob struct {
	job    NewJob
	waits  bool
	writes []Write
}

func (p *pending) enqueue(ctx context.Context, jobs []NewJob) error {
	kept, size := make([]keptJob, len(jobs)), 0
	for i, job := range jobs {
		writes, waits, err := p.client.jobWrites(job)
		if err == nil {
			err = p.client.options.Hooks.beforeEnqueue(ctx, job, waits)
		}
		if err != nil && len(jobs) > 1 {
			err = amongMany(i, err)
		}
		if err != nil {
			return err
		}
		kept[i] = keptJob{job: job, waits: waits, writes: writes}
		size += outcome{writes: writes}.size()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return ErrNotRunning
	case len(p.jobs)+len(kept) > maxPendingJobs || p.size+size > maxPendingBytes:
		return fmt.Errorf("resque: a run keeps back %d jobs and %d MB at most: use the client's EnqueueMany for more", maxPendingJobs, maxPendingBytes>>20)
	}
	p.jobs, p.size = append(p.jobs, kept...), p.size+size
	return nil
}

func (p *pending) remove(ctx context.Context, queue, class string, args []any) (times int, err error) {
	text, err := checkDelayed(queue, class, args)
	if err != nil {
		return 0, err
	}
	item := encodeJob(class, text, queue)
	notes, err := p.client.notesOf(ctx, item)
	if err != nil {
		return 0, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return 0, ErrNotRunning
	}
	for _, list := range listsOf(notes, nil) {
		p.removals = append(p.removals,
			Write{Command: "LREM", Key: list, Args: []string{"0", string(item)}},
			Write{Command: "SREM", Key: timestampsKey(item), Args: []string{list}})
		times++
	}
	left := p.jobs[:0]
	for _, k := range p.jobs {
		if !k.waits || !bytes.Equal(item, []byte(k.writes[0].Args[0])) {
			left = append(left, k)
		}
	}
	p.jobs = left
	return times, nil
}

// close ends the keeping back and answers what to write if the run has succeeded:
// what goes before what comes.
func (p *pending) close() []Write {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	writes := p.removals
	for first := 0; first < len(p.jobs); first += maxStepJobs {
		chunk := p.jobs[first:min(first+maxStepJobs, len(p.jobs))]
		all := make([][]Write, len(chunk))
		for i, k := range chunk {
			all[i] = k.writes
		}
		writes = append(writes, merge(all)...)
	}
	return writes
}

// tell calls the hooks for what has been written.
func (p *pending) tell(ctx context.Context) {
	for _, k := range p.jobs {
		p.client.options.Hooks.afterEnqueue(ctx, k.job, k.waits)
	}
}

// tells says that there is something to tell, and somebody to hear it.
func (p *pending) tells() bool {
	return p != nil && len(p.jobs) > 0 && p.client.options.Hooks.enqueueing()
}

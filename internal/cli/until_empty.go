package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"example.com/understudy/resque"
	"example.com/understudy/scheduler"
)

// lockPrefixVariable is resque-scheduler's own.
const lockPrefixVariable = "RESQUE_SCHEDULER_MASTER_LOCK_PREFIX"

// workUntilEmpty works until nothing is left that is due.
func workUntilEmpty(ctx context.Context, worker *resque.Worker, e emptiness) error {
	var err error
	if e.mover, err = scheduler.New(e.client, scheduler.Config{LockPrefix: e.lockPrefix, Logger: e.log}); err != nil {
		return err
	}
	e.worker = worker
	watched, cancel := context.WithCancel(ctx)
	watching := make(chan error, 1)
	go func() { watching <- e.await(watched, worker.Drain) }()
	err = unlessStopped(ctx, worker.Run(ctx))
	cancel()
	return errors.Join(err, <-watching)
}

// emptiness finds out when a worker's queues are empty for good: no job is in
// them or in the worker's hands, and no delayed job is due.
type emptiness struct {
	client     *resque.Client
	queues     resque.QueueList
	log        *slog.Logger
	lockPrefix string
	mover      *scheduler.Scheduler
	worker     *resque.Worker
}

// emptyPause is the time between two looks.
const emptyPause = 50 * time.Millisecond

// troublePause is that after a look that failed.
const troublePause = 500 * time.Millisecond

// await calls drained once everything is empty, or returns when ctx ends.
func (e emptiness) await(ctx context.Context, drained func()) error {
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if err := e.mover.Stop(end); err != nil {
			e.log.WarnContext(end, "the scheduler's lock was not released", "error", err)
		}
	}()
	ticker := time.NewTicker(emptyPause)
	defer ticker.Stop()
	told := ""
	for {
		empty, err := e.reached(ctx)
		if err != nil && ctx.Err() == nil && err.Error() != told {
			told = err.Error()
			e.log.WarnContext(ctx, "could not look whether work is left; trying again", "error", err)
		}
		if err != nil {
			ticker.Reset(troublePause)
		} else {
			told = ""
			ticker.Reset(emptyPause)
		}
		if empty && err == nil {
			drained()
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// reached looks once.
func (e emptiness) reached(ctx context.Context) (bool, error) {
	if moved, err := e.mover.Tick(ctx); err != nil || moved > 0 {
		return false, err
	}
	names, hands, err := e.places(ctx)
	if err != nil {
		return false, err
	}
	left, err := e.left(ctx, names, hands)
	if err != nil || left > 0 {
		return false, err
	}
	// A queue that came up meanwhile isn't among those looked at.
	again, handsAgain, err := e.places(ctx)
	if err != nil || !slices.Equal(names, again) || !slices.Equal(hands, handsAgain) {
		return false, err
	}
	overdue, err := e.mover.Overdue(ctx)
	return overdue == 0, err
}

// places are where a job can be: the keys of the queues and of this process's
// hands.
func (e emptiness) places(ctx context.Context) (queues, hands []string, err error) {
	keys := e.client.Keys()
	all, err := resque.Strings(e.client.Do(ctx, "SMEMBERS", keys.Of("queues")))
	if err != nil {
		return nil, nil, fmt.Errorf("read the queues: %w", err)
	}
	workers, err := resque.Strings(e.client.Do(ctx, "SMEMBERS", keys.Of("workers")))
	if err != nil {
		return nil, nil, fmt.Errorf("read the workers: %w", err)
	}
	for _, queue := range e.queues.Expand(all) {
		queues = append(queues, keys.Of("queue:"+queue))
	}
	for _, id := range workers {
		if strings.HasPrefix(id, e.worker.Name()+"-") {
			hands = append(hands, keys.Of("worker:"+id))
		}
	}
	slices.Sort(queues)
	slices.Sort(hands)
	return queues, hands, nil
}

// leftLua counts jobs.
//
//	KEYS queues, then hands
//	ARGV 1 how many of them are queues
//
// It answers how many jobs are in all of them at one moment. A key that is no
// list holds none.
const leftLua = `
local left = 0
for i, key in ipairs(KEYS) do
  if i > tonumber(ARGV[1]) then
    left = left + redis.call('EXISTS', key)
  else
    local is = redis.call('TYPE', key)
    if (is.ok or is) == 'list' then left = left + redis.call('LLEN', key) end
  end
end
return left
`

func (e emptiness) left(ctx context.Context, queues, hands []string) (int64, error) {
	script := resque.NewScript("left", leftLua)
	left, err := resque.Int(e.client.Run(ctx, script, append(slices.Clip(queues), hands...), len(queues)))
	if err != nil {
		return 0, fmt.Errorf("count the jobs left: %w", err)
	}
	return left, nil
}

package conformance

import (
	"context"
	"maps"

	"example.com/understudy/compat/ruby"
	"example.com/understudy/failure"
	"example.com/understudy/resque"
)

// apiCalls is the one table of which Go call is Ruby's: each op of a recording,
// words behind it included, with its parameters in Ruby's order. Where Ruby
// takes a class and asks it for its queue, Go is given the queue.
func apiCalls() map[string][]form {
	all := map[string][]form{}
	for _, calls := range []map[string][]form{queueCalls(), delayedCalls(), failureCalls(), workerCalls(), scheduleCalls()} {
		maps.Copy(all, calls)
	}
	return all
}

// done is what Ruby's methods that enqueue answer, nothing what others do.
func done(err error) (any, error)    { return true, err }
func nothing(err error) (any, error) { return nil, err }

// queueCalls are those of Resque about queues.
func queueCalls() map[string][]form {
	return map[string][]form{
		"enqueue": {two(func(ctx context.Context, r *apiReplayer, c class, args arguments) (any, error) {
			return done(r.client.Enqueue(ctx, c.queue, c.name, args...))
		})},
		"enqueue_to": {three(func(ctx context.Context, r *apiReplayer, queue string, c class, args arguments) (any, error) {
			return done(r.client.Enqueue(ctx, queue, c.name, args...))
		})},
		"push": {two(func(ctx context.Context, r *apiReplayer, queue string, i item) (any, error) {
			return nothing(r.client.Push(ctx, queue, i))
		})},
		"queues": {no(func(ctx context.Context, r *apiReplayer) (any, error) { return r.client.Queues(ctx) })},
		"size": {one(func(ctx context.Context, r *apiReplayer, queue string) (any, error) {
			return r.client.Size(ctx, queue)
		})},
		"peek": {three(func(ctx context.Context, r *apiReplayer, queue string, start, count int64) (any, error) {
			entries, err := r.client.Peek(ctx, queue, start, count)
			return oneOrMany(count, entries), err
		})},
		"pop": {one(func(ctx context.Context, r *apiReplayer, queue string) (any, error) {
			e, ok, err := r.client.Pop(ctx, queue)
			return ifThere(e, ok), err
		})},
		"dequeue": {two(func(ctx context.Context, r *apiReplayer, c class, args *arguments) (any, error) {
			if args == nil || len(*args) == 0 {
				return r.client.DequeueClass(ctx, c.queue, c.name)
			}
			return r.client.Dequeue(ctx, c.queue, c.name, *args...)
		})},
		"remove_queue": {one(func(ctx context.Context, r *apiReplayer, queue string) (any, error) {
			return nothing(r.client.RemoveQueue(ctx, queue))
		})},
		"info": {no(func(ctx context.Context, r *apiReplayer) (any, error) { return r.client.Info(ctx) })},
		"set pause-all-workers": {one(func(ctx context.Context, r *apiReplayer, value string) (any, error) {
			if value == "true" {
				return nothing(r.client.PauseAll(ctx))
			}
			_, err := r.client.Do(ctx, "SET", r.client.Keys().Of("pause-all-workers"), value)
			return nothing(err)
		})},
		"del pause-all-workers": {no(func(ctx context.Context, r *apiReplayer) (any, error) {
			return nothing(r.client.ResumeAll(ctx))
		})},
	}
}

// delayedCalls are those of resque-scheduler.
func delayedCalls() map[string][]form {
	return map[string][]form{
		"enqueue_at": {three(func(ctx context.Context, r *apiReplayer, at moment, c class, args arguments) (any, error) {
			return done(r.client.EnqueueAt(ctx, at.Time, c.queue, c.name, args...))
		})},
		"enqueue_at_with_queue": {four(func(ctx context.Context, r *apiReplayer, queue string, at moment, c class, args arguments) (any, error) {
			return done(r.client.EnqueueAt(ctx, at.Time, queue, c.name, args...))
		})},
		"enqueue_in": {three(func(ctx context.Context, r *apiReplayer, d delay, c class, args arguments) (any, error) {
			if d.err != nil {
				return nil, d.err
			}
			return done(r.client.EnqueueIn(ctx, d.Duration, c.queue, c.name, args...))
		})},
		"enqueue_in_with_queue": {four(func(ctx context.Context, r *apiReplayer, queue string, d delay, c class, args arguments) (any, error) {
			if d.err != nil {
				return nil, d.err
			}
			return done(r.client.EnqueueIn(ctx, d.Duration, queue, c.name, args...))
		})},
		"delayed_push": {two(func(ctx context.Context, r *apiReplayer, at moment, i item) (any, error) {
			return nothing(r.client.PushAt(ctx, at.Time, i))
		})},
		"delay_or_enqueue_at": {three(func(ctx context.Context, r *apiReplayer, at moment, c class, args arguments) (any, error) {
			return r.client.DelayOrEnqueueAt(ctx, at.Time, c.queue, c.name, args...)
		})},
		"delay_or_enqueue_in": {three(func(ctx context.Context, r *apiReplayer, d delay, c class, args arguments) (any, error) {
			if d.err != nil {
				return nil, d.err
			}
			return r.client.DelayOrEnqueueIn(ctx, d.Duration, c.queue, c.name, args...)
		})},
		"remove_delayed": {two(func(ctx context.Context, r *apiReplayer, c class, args arguments) (any, error) {
			return r.client.RemoveDelayed(ctx, c.queue, c.name, args...)
		})},
		"remove_delayed_in_queue": {three(func(ctx context.Context, r *apiReplayer, c class, queue string, args arguments) (any, error) {
			return r.client.RemoveDelayed(ctx, queue, c.name, args...)
		})},
		"remove_delayed_job_from_timestamp": {three(func(ctx context.Context, r *apiReplayer, at moment, c class, args arguments) (any, error) {
			return r.client.RemoveDelayedAt(ctx, at.Time, c.queue, c.name, args...)
		})},
		"enqueue_delayed": {two(func(ctx context.Context, r *apiReplayer, c class, args arguments) (any, error) {
			return r.client.EnqueueDelayed(ctx, c.queue, c.name, args...)
		})},
		"enqueue_delayed_with_queue": {three(func(ctx context.Context, r *apiReplayer, c class, queue string, args arguments) (any, error) {
			return r.client.EnqueueDelayed(ctx, queue, c.name, args...)
		})},
		"delayed?": {two(func(ctx context.Context, r *apiReplayer, c class, args arguments) (any, error) {
			return r.client.IsDelayed(ctx, c.queue, c.name, args...)
		})},
		"scheduled_at": {two(func(ctx context.Context, r *apiReplayer, c class, args arguments) (any, error) {
			return r.client.ScheduledAt(ctx, c.queue, c.name, args...)
		})},
		"delayed_queue_peek": {two(func(ctx context.Context, r *apiReplayer, start, count int64) (any, error) {
			return r.client.DelayedTimes(ctx, start, count)
		})},
		"delayed_queue_schedule_size": {no(func(ctx context.Context, r *apiReplayer) (any, error) {
			return r.client.DelayedTimesCount(ctx)
		})},
		"delayed_timestamp_peek": {three(func(ctx context.Context, r *apiReplayer, at moment, start, count int64) (any, error) {
			return r.client.DelayedAt(ctx, at.Time, start, count)
		})},
		"delayed_timestamp_size": {one(func(ctx context.Context, r *apiReplayer, at moment) (any, error) {
			return r.client.DelayedAtCount(ctx, at.Time)
		})},
		"count_all_scheduled_jobs": {no(func(ctx context.Context, r *apiReplayer) (any, error) {
			return r.client.DelayedCount(ctx)
		})},
		"next_delayed_timestamp": {one(func(ctx context.Context, r *apiReplayer, before moment) (any, error) {
			at, ok, err := r.client.NextDelayedTime(ctx, before.Time)
			return ifThere(at, ok), err
		})},
		"reset_delayed_queue": {no(func(ctx context.Context, r *apiReplayer) (any, error) {
			return nothing(r.client.ResetDelayed(ctx))
		})},
		"tick": {one(func(ctx context.Context, r *apiReplayer, seconds int64) (any, error) {
			r.clock.advance(seconds)
			_, err := r.scheduler.Tick(ctx)
			return nothing(err)
		})},
	}
}

// apiCallsWithWords are the ops behind whose name stands a number, or what a
// block says.
func apiCallsWithWords() map[string]func(words string) ([]form, error) {
	return map[string]func(string) ([]form, error){
		"enqueue_in": func(words string) ([]form, error) {
			n, err := countWord(words)
			return []form{one(func(ctx context.Context, r *apiReplayer, d delay) (any, error) {
				return nothing(r.enqueueNumbers(ctx, n, d))
			})}, err
		},
		"remove_delayed_selection": func(words string) ([]form, error) {
			return selectionForms(words, (*resque.Client).RemoveDelayedFunc)
		},
		"enqueue_delayed_selection": func(words string) ([]form, error) {
			return selectionForms(words, (*resque.Client).EnqueueDelayedFunc)
		},
		// The words only say what is special about the configuration.
		"enqueue_from_config": func(string) ([]form, error) { return []form{enqueueConfig()}, nil },
	}
}

// selectionForms are those of a call with a block: all classes, or one.
func selectionForms(words string, call func(*resque.Client, context.Context, func(resque.DelayedJob) bool) (int64, error)) ([]form, error) {
	match, err := selection(words)
	return []form{
		no(func(ctx context.Context, r *apiReplayer) (any, error) { return call(r.client, ctx, match) }),
		one(func(ctx context.Context, r *apiReplayer, c class) (any, error) {
			return call(r.client, ctx, func(job resque.DelayedJob) bool { return job.Class == c.name && match(job) })
		}),
	}, err
}

// failureCalls are the class methods of Resque::Failure, with the group's
// backend. A list that is null is the backend's own choice.
func failureCalls() map[string][]form {
	return map[string][]form{
		"failure.count": {one(func(ctx context.Context, r *apiReplayer, list *string) (any, error) {
			return r.store.Count(ctx, named(list))
		})},
		"failure.count class": {two(func(ctx context.Context, r *apiReplayer, class string, list *string) (any, error) {
			return r.store.CountMatching(ctx, failure.Filter{Class: class, List: named(list)})
		})},
		"failure.queues": {no(func(ctx context.Context, r *apiReplayer) (any, error) { return r.store.Lists(ctx) })},
		"failure.all": {three(func(ctx context.Context, r *apiReplayer, start, count int64, list *string) (any, error) {
			records, err := r.store.All(ctx, named(list), start, count)
			return oneOrMany(count, records), err
		})},
		"failure.requeue": {two(func(ctx context.Context, r *apiReplayer, index int64, list *string) (any, error) {
			record, err := r.record(ctx, index, list)
			if err == nil {
				err = r.store.Requeue(ctx, record)
			}
			return nothing(err)
		})},
		"failure.remove": {two(func(ctx context.Context, r *apiReplayer, index int64, list *string) (any, error) {
			record, err := r.record(ctx, index, list)
			if err == nil {
				err = r.store.Remove(ctx, record)
			}
			return nothing(err)
		})},
		"failure.requeue_queue": {one(func(ctx context.Context, r *apiReplayer, queue string) (any, error) {
			_, err := r.store.RequeueQueue(ctx, queue, nil)
			return nothing(err)
		})},
		"failure.requeue_all": {no(func(ctx context.Context, r *apiReplayer) (any, error) {
			_, err := r.store.RequeueAll(ctx, nil)
			return nothing(err)
		})},
		"failure.remove_queue": {one(func(ctx context.Context, r *apiReplayer, queue string) (any, error) {
			_, err := r.store.RemoveQueue(ctx, queue, nil)
			return nothing(err)
		})},
		"failure.clear": {one(func(ctx context.Context, r *apiReplayer, list *string) (any, error) {
			if list == nil {
				_, err := r.store.ClearAll(ctx)
				return nothing(err)
			}
			_, err := r.store.Clear(ctx, *list)
			return nothing(err)
		})},
		"failure.clear_retried": {no(func(ctx context.Context, r *apiReplayer) (any, error) {
			_, err := r.store.RemoveMatching(ctx, failure.Filter{Retried: true}, nil)
			return nothing(err)
		})},
	}
}

// named is the name of a list, "" where the recording has none.
func named(list *string) string {
	if list == nil {
		return ""
	}
	return *list
}

// workerCalls are those of Resque::Worker. Without an id they are about the
// worker that was registered last.
func workerCalls() map[string][]form {
	register := []form{
		no(func(ctx context.Context, r *apiReplayer) (any, error) { return nothing(r.register(ctx, r.newID)) }),
		one(func(ctx context.Context, r *apiReplayer, id string) (any, error) { return nothing(r.register(ctx, id)) }),
	}
	prune := []form{one(func(ctx context.Context, r *apiReplayer, id string) (any, error) { return nothing(r.prune(ctx, id)) })}
	return map[string][]form{
		"register_worker":                          register,
		"register_worker (never sent a heartbeat)": register,
		"unregister_worker": {no(func(ctx context.Context, r *apiReplayer) (any, error) {
			return nothing(r.unregister(ctx))
		})},
		"heartbeat!": {
			no(func(ctx context.Context, r *apiReplayer) (any, error) { return nothing(r.beatNow(ctx)) }),
			one(func(ctx context.Context, r *apiReplayer, at moment) (any, error) {
				return nothing(r.beat(ctx, "", local(at.Time)))
			}),
			two(func(ctx context.Context, r *apiReplayer, id string, before ago) (any, error) {
				return nothing(r.beatAgo(ctx, id, before))
			}),
		},
		"heartbeat! UTC": {one(func(ctx context.Context, r *apiReplayer, at moment) (any, error) {
			return nothing(r.beat(ctx, "", at.UTC()))
		})},
		"work":              {no(work)},
		"work while paused": {no(work)},
		"working_on": {
			no(func(ctx context.Context, r *apiReplayer) (any, error) { return nothing(r.workOn(ctx, "")) }),
			one(func(ctx context.Context, r *apiReplayer, id string) (any, error) { return nothing(r.workOn(ctx, id)) }),
		},
		"done_working":                         {no(func(ctx context.Context, r *apiReplayer) (any, error) { return nothing(r.doneWorking(ctx)) })},
		"state":                                {no(ofWorker(func(w resque.WorkerInfo) any { return w.State() }))},
		"job":                                  {no(ofWorker(func(w resque.WorkerInfo) any { return w.Hand }))},
		"processed":                            {no(ofWorker(func(w resque.WorkerInfo) any { return w.Processed }))},
		"failed":                               {no(ofWorker(func(w resque.WorkerInfo) any { return w.Failed }))},
		"started":                              {no(ofWorker(func(w resque.WorkerInfo) any { return ruby.TimeToS(local(w.Started)) }))},
		"paused?":                              {no(func(ctx context.Context, r *apiReplayer) (any, error) { return r.client.AllPaused(ctx) })},
		"workers":                              {no(func(ctx context.Context, r *apiReplayer) (any, error) { return ids(r.client.Workers(ctx)) })},
		"working":                              {no(func(ctx context.Context, r *apiReplayer) (any, error) { return ids(r.client.Working(ctx)) })},
		"prune_dead_workers":                   prune,
		"prune_dead_workers again (lock held)": prune,
	}
}

// ofWorker shows what the registry says of the current worker.
func ofWorker(show func(resque.WorkerInfo) any) func(ctx context.Context, r *apiReplayer) (any, error) {
	return func(ctx context.Context, r *apiReplayer) (any, error) {
		w, ok, err := r.client.WorkerInfo(ctx, r.current)
		if err != nil || !ok {
			return nil, err
		}
		return show(w), nil
	}
}

func ids(workers []resque.WorkerInfo, err error) (any, error) {
	names := make([]string, len(workers))
	for i, w := range workers {
		names[i] = w.ID
	}
	return names, err
}

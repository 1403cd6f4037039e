package scheduler

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"example.com/understudy/resque"
)

const (
	// batchBytes is, an item more or less, the most that one call moves.
	batchBytes = 256 << 10
	// maxIdleRounds is how often a pass may find everything changed under its
	// hands before it leaves the rest to the next one.
	maxIdleRounds = 10
)

// due is a time of the schedule, as its member there, with its first items.
type due struct {
	member string
	items  [][]byte
}

// pass moves everything that is due at one moment.
type pass struct {
	*Scheduler

	schedule pages
	// bad are times whose list is none; they stay where they are.
	bad map[string]bool
	// broken are queues that can't be pushed to, with the reason.
	broken map[string]string
	// stuck says why no item can go to the failed jobs. The times of those that have
	// to stay where they are.
	stuck error
	moved int
	lost  bool
}

func (p *pass) run(ctx context.Context) error {
	for idle := 0; idle < maxIdleRounds && !p.lost; {
		dues, err := p.peek(ctx)
		if err != nil {
			return err
		}
		if len(dues) == 0 {
			return p.stuck
		}
		if dues = p.withoutStuck(dues); len(dues) == 0 {
			continue
		}
		done, err := p.move(ctx, dues)
		if err != nil {
			return err
		}
		if done {
			idle = 0
		} else {
			idle++
		}
	}
	return p.stuck
}

// withoutStuck leaves out the times that can't be emptied.
func (p *pass) withoutStuck(dues []due) []due {
	if p.stuck == nil {
		return dues
	}
	return slices.DeleteFunc(dues, func(d due) bool {
		stuck := slices.ContainsFunc(d.items, func(item []byte) bool { return p.planOf(item, p.broken).queue == "" })
		if stuck {
			p.bad[d.member] = true
		}
		return stuck
	})
}

// peek reads the first items that are due, oldest time first.
func (p *pass) peek(ctx context.Context) ([]due, error) {
	for {
		times, err := p.schedule.read(ctx)
		if err != nil || len(times) == 0 {
			return nil, err
		}
		for len(times) > 0 && p.bad[times[0].member] {
			p.schedule.passOver(times[0])
			times = times[1:]
		}
		var lists, members []string
		for _, t := range times {
			if !p.bad[t.member] {
				members = append(members, t.member)
				lists = append(lists, p.keys.Of(delayedPrefix+t.member))
			}
		}
		if len(lists) == 0 {
			continue
		}
		heads, err := resque.Values(p.client.Run(ctx, peekScript, lists, p.cfg.Batch, batchBytes))
		if err != nil {
			return nil, fmt.Errorf("scheduler: read delayed jobs: %w", err)
		}
		dues, err := p.read(ctx, members, heads)
		if err != nil || len(dues) > 0 {
			return dues, err
		}
	}
}

// read takes the answer of peekScript, and sorts out the times that have no
// list.
func (p *pass) read(ctx context.Context, members []string, heads []any) ([]due, error) {
	var dues []due
	for i, head := range heads {
		if kind, ok := head.([]byte); ok {
			p.bad[members[i]] = true
			if p.told[members[i]] {
				continue
			}
			p.cfg.Logger.ErrorContext(ctx, "a delayed time is no list and stays where it is",
				"key", p.keys.Of(delayedPrefix+members[i]), "type", string(kind))
			continue
		}
		values, err := resque.Values(head, nil)
		if err != nil {
			return nil, fmt.Errorf("scheduler: read delayed jobs: %w", err)
		}
		d := due{member: members[i]}
		for _, value := range values {
			item, err := resque.Bytes(value, nil)
			if err != nil {
				return nil, fmt.Errorf("scheduler: read delayed jobs: %w", err)
			}
			d.items = append(d.items, item)
		}
		dues = append(dues, d)
	}
	return dues, nil
}

// move moves these items in one step. done says that something came of it:
// items moved, an empty time dropped, a queue found broken.
func (p *pass) move(ctx context.Context, dues []due) (done bool, err error) {
	keys, args, orphans := p.moveCall(dues)
	reply, err := resque.Values(p.client.Run(ctx, moveScript, keys, args...))
	if err != nil {
		return false, fmt.Errorf("scheduler: move delayed jobs: %w", err)
	}
	verdict, err := resque.String(reply[0], nil)
	if err != nil {
		return false, fmt.Errorf("scheduler: move delayed jobs: %w", err)
	}
	switch verdict {
	case "lost":
		p.lost = true
		return false, nil
	case "type":
		wrong, err := resque.Strings(reply[1:], nil)
		if err != nil {
			return false, fmt.Errorf("scheduler: move delayed jobs: %w", err)
		}
		for _, key := range wrong {
			if err := p.setBroken(key); err != nil {
				return false, err
			}
		}
		return true, nil
	default:
		moved, err1 := resque.Int(reply[1], nil)
		dropped, err2 := resque.Int(reply[2], nil)
		if err1 != nil || err2 != nil {
			return false, fmt.Errorf("scheduler: move delayed jobs: answered %v", reply)
		}
		p.moved += int(moved)
		if moved > 0 {
			p.tellOf(ctx, orphans)
		}
		return moved+dropped > 0, nil
	}
}

// setBroken notes that a key is of the wrong type. That of a queue keeps only
// the jobs of this queue from their way.
func (p *pass) setBroken(key string) error {
	if key == p.keys.Of(keyFailed) && p.stuck == nil {
		p.stuck = fmt.Errorf("scheduler: move delayed jobs: %w", wrongType(key))
		return nil
	}
	queue, ok := strings.CutPrefix(key, p.keys.Of(queuePrefix))
	if !ok || p.broken[queue] != "" {
		return fmt.Errorf("scheduler: move delayed jobs: %s has the wrong type", key)
	}
	p.broken[queue] = key + " is not a list"
	return nil
}

// orphan is an item that goes to the failed jobs.
type orphan struct {
	member string
	record []byte
}

func (p *pass) tellOf(ctx context.Context, orphans []orphan) {
	for _, o := range orphans {
		p.cfg.Logger.WarnContext(ctx, "a delayed job can't be queued and goes to the failed jobs", "second", o.member, "record", string(o.record))
	}
}

// moveCall builds the keys and arguments of moveScript.
func (p *pass) moveCall(dues []due) (keys []string, args []any, orphans []orphan) {
	keys = []string{p.lock, p.keys.Of(keySchedule), p.keys.Of(keyQueues), p.keys.Of(keyFailed)}
	var lists, queues, marks []string
	var counts, names, items []any
	numbers := map[string]int{"": 0}
	for _, d := range dues {
		lists = append(lists, p.keys.Of(delayedPrefix+d.member))
		counts = append(counts, d.member, len(d.items))
		for _, item := range d.items {
			plan := p.planOf(item, p.broken)
			if plan.queue == "" {
				orphans = append(orphans, orphan{d.member, plan.payload})
			}
			number, ok := numbers[plan.queue]
			if !ok {
				number = len(numbers)
				numbers[plan.queue] = number
				queues = append(queues, p.keys.Of(queuePrefix+plan.queue))
				names = append(names, plan.queue)
			}
			marks = append(marks, p.keys.Of(timestampsPrefix+string(item)))
			items = append(items, number, plan.payload)
		}
	}
	keys = append(append(append(keys, lists...), queues...), marks...)
	args = []any{p.cfg.Value, p.lockMillis(), len(dues), len(queues), len(p.keys.Of(timestampsPrefix))}
	args = append(append(append(args, counts...), names...), items...)
	return keys, args, orphans
}

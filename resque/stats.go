package resque

import (
	"context"
	"fmt"
)

// Info is the state of a Resque in numbers.
type Info struct {
	// Pending is how many jobs wait in all queues together.
	Pending int64
	// Queues is how many queues there are, empty ones too.
	Queues int64
	// Workers is how many workers are registered, each slot of a Go worker being
	// one; Working is how many of them have a job in hand.
	Workers, Working int64
	// Processed and FailedTotal count the runs and the failed runs of all time
	// (stat:processed, stat:failed). Processed holds the failed ones too, and
	// FailedTotal those whose failure was suppressed, so both only ever rise.
	Processed, FailedTotal int64
	// FailedRecords is how many failures stand in the list failed (Ruby:
	// Resque.info[:failed], which is 0 where failures go to lists by queue).
	FailedRecords int64
	// FailedQueueRecords is how many stand in the lists by queue,
	// <queue>_failed, together.
	FailedQueueRecords int64
}

// Info counts, in two round trips (Ruby: Resque.info). A key of the wrong type
// counts as empty.
func (c *Client) Info(ctx context.Context) (Info, error) {
	replies, err := c.Pipeline(ctx,
		Call{Command: "SMEMBERS", Keys: []string{c.keys.Of(keyQueues)}},
		Call{Command: "SMEMBERS", Keys: []string{c.keys.Of(keyWorkers)}},
		Call{Command: "SMEMBERS", Keys: []string{c.keys.Of(keyFailedQueues)}},
		Call{Command: "MGET", Keys: []string{c.keys.Of(keyProcessed), c.keys.Of(keyFailedStat)}},
		Call{Command: "LLEN", Keys: []string{c.keys.Of(keyFailed)}})
	if err != nil {
		return Info{}, err
	}
	queues, workers, lists, err := namesOf(replies)
	if err != nil {
		return Info{}, err
	}
	stats, err := Values(replies[3], nil)
	if err != nil {
		return Info{}, fmt.Errorf("resque: reading the statistics: %w", err)
	}
	info := Info{
		Queues: int64(len(queues)), Workers: int64(len(workers)),
		Processed: number(stats[0]), FailedTotal: number(stats[1]),
	}
	if info.FailedRecords, err = lengthOf(replies[4]); err == nil {
		err = c.countInto(ctx, &info, queues, workers, lists)
	}
	if err != nil {
		return Info{}, fmt.Errorf("resque: counting: %w", err)
	}
	return info, nil
}

// lengthOf reads the length of a list or text; a key of another type has none.
func lengthOf(reply any) (int64, error) {
	n, err := Int(reply, nil)
	if ErrorCode(err) == "WRONGTYPE" {
		return 0, nil
	}
	return n, err
}

// namesOf reads the first three replies: names of queues, workers and lists of
// failures.
func namesOf(replies []any) (queues, workers, lists []string, err error) {
	all := make([][]string, 3)
	for i := range all {
		if all[i], err = Strings(replies[i], nil); err != nil && ErrorCode(err) != "WRONGTYPE" {
			return nil, nil, nil, fmt.Errorf("resque: reading the names of queues and workers: %w", err)
		}
	}
	return all[0], all[1], all[2], nil
}

// countInto adds the lengths of lists and the number of full hands.
func (c *Client) countInto(ctx context.Context, info *Info, queues, workers, lists []string) error {
	var calls []Call
	for _, queue := range queues {
		calls = append(calls, Call{Command: "LLEN", Keys: []string{c.keys.Of(queueKey(queue))}})
	}
	for _, list := range lists {
		calls = append(calls, Call{Command: "LLEN", Keys: []string{c.keys.Of(list)}})
	}
	for _, id := range workers {
		calls = append(calls, Call{Command: "STRLEN", Keys: []string{c.keys.Of(handKey(id))}})
	}
	if len(calls) == 0 {
		return nil
	}
	replies, err := c.Pipeline(ctx, calls...)
	if err != nil {
		return err
	}
	for i, reply := range replies {
		n, err := lengthOf(reply)
		switch {
		case err != nil:
			return err
		case i < len(queues):
			info.Pending += n
		case i < len(queues)+len(lists):
			info.FailedQueueRecords += n
		case n > 0:
			info.Working++
		}
	}
	return nil
}

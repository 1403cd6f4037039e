package resque

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/understudy/compat/ruby"
)

// WorkerInfo is a worker as Redis knows it, Ruby's or Go's. Each slot of a Go
// worker is one.
type WorkerInfo struct {
	// ID is its name in the set workers.
	ID string
	// Host, PID and Queues are the id's parts; PID may hold more than a number.
	// A queue's name may hold colons.
	Host, PID string
	Queues    []string
	// Started is when it registered, Heartbeat when it last said that it is
	// alive, by the Redis server's clock; zero: unknown (a Ruby worker of an old
	// version sends none), or no time, and then Err holds its text.
	Started, Heartbeat time.Time
	// Hand is what it is working on; nil: it is idle.
	Hand *Hand
	// Processed and Failed count its jobs since it registered; Processed holds
	// the failed ones too.
	Processed, Failed int64
	// Err says what about it is broken: an id of another form than
	// host:pid:queues, a hand that can't be read, a time that is none. Such an id
	// or hand breaks pages of resque-web, such a heartbeat Ruby's pruning. A hand
	// that can be read and holds no job isn't broken: that is Hand.Err.
	Err error
}

// Hand is a job that a worker has taken.
type Hand struct {
	Entry
	// RunAt is when it was taken (Ruby: run_at); zero: unknown.
	RunAt time.Time
}

// State is Ruby's word for what it does: working or idle (Ruby: Worker#state).
func (w WorkerInfo) State() string {
	if w.Hand != nil {
		return "working"
	}
	return "idle"
}

// Go says that it is a slot of a worker of this package.
func (w WorkerInfo) Go() bool { return isGoID(w.ID) }

// Workers answers all registered workers in the order of their ids (Ruby:
// Resque.workers), in two round trips. What is broken about one is told in its
// Err and keeps nothing from the others.
func (c *Client) Workers(ctx context.Context) ([]WorkerInfo, error) {
	ids, err := Strings(c.Do(ctx, "SMEMBERS", c.keys.Of(keyWorkers)))
	if err != nil {
		return nil, fmt.Errorf("resque: reading the names of the workers: %w", err)
	}
	slices.Sort(ids)
	return c.workerInfos(ctx, ids)
}

// Working answers those workers that have a job in hand (Ruby: Resque.working).
func (c *Client) Working(ctx context.Context) ([]WorkerInfo, error) {
	workers, err := c.Workers(ctx)
	return slices.DeleteFunc(workers, func(w WorkerInfo) bool { return w.Hand == nil }), err
}

// WorkerInfo answers one worker by its id (Ruby: Worker.find); ok is false when
// it isn't registered.
func (c *Client) WorkerInfo(ctx context.Context, id string) (w WorkerInfo, ok bool, err error) {
	n, err := Int(c.Do(ctx, "SISMEMBER", c.keys.Of(keyWorkers), id))
	if err != nil || n == 0 {
		return WorkerInfo{}, false, err
	}
	workers, err := c.workerInfos(ctx, []string{id})
	if err != nil {
		return WorkerInfo{}, false, err
	}
	return workers[0], true, nil
}

// workerInfos reads what is known of workers, in one round trip.
func (c *Client) workerInfos(ctx context.Context, ids []string) ([]WorkerInfo, error) {
	var calls []Call
	for chunk := range slices.Chunk(ids, pageSize) {
		for _, key := range []func(string) string{handKey, startedKey, processedKey, failedStatKey} {
			call := Call{Command: "MGET"}
			for _, id := range chunk {
				call.Keys = append(call.Keys, c.keys.Of(key(id)))
			}
			calls = append(calls, call)
		}
		beats := Call{Command: "HMGET", Keys: []string{c.keys.Of(keyHeartbeats)}}
		for _, id := range chunk {
			beats.Args = append(beats.Args, id)
		}
		calls = append(calls, beats)
	}
	replies, err := c.Pipeline(ctx, calls...)
	if err != nil {
		return nil, err
	}
	var workers []WorkerInfo
	for chunk := range slices.Chunk(ids, pageSize) {
		rows := make([][]any, 5)
		for i := range rows {
			rows[i], err = Values(replies[i], nil)
			if i == 4 && ErrorCode(err) == "WRONGTYPE" {
				rows[i], err = make([]any, len(chunk)), nil // a broken key of heartbeats hides no worker
			}
			if err != nil {
				return nil, fmt.Errorf("resque: reading the workers: %w", err)
			}
		}
		for i, id := range chunk {
			workers = append(workers, newWorkerInfo(id, blob(rows[0][i]), text(rows[1][i]), number(rows[2][i]), number(rows[3][i]), text(rows[4][i])))
		}
		replies = replies[len(rows):]
	}
	return workers, nil
}

func newWorkerInfo(id string, hand []byte, started string, processed, failed int64, beat string) WorkerInfo {
	w := WorkerInfo{ID: id, Processed: processed, Failed: failed}
	var errs [4]error
	w.Host, w.PID, w.Queues, errs[0] = parseWorkerID(id)
	w.Started, errs[1] = readTime("started", started)
	w.Heartbeat, errs[2] = readTime("heartbeat", beat)
	if len(hand) > 0 {
		w.Hand = &Hand{}
		*w.Hand, errs[3] = readHand(hand)
	}
	w.Err = errors.Join(errs[:]...)
	return w
}

// readTime reads a time of the registry, as Ruby and other workers write it; ""
// is none.
func readTime(what, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if t, err := ruby.ParseAnyTime(text, time.UTC); err == nil {
		return t, nil
	}
	if second, err := strconv.ParseInt(text, 10, 64); err == nil { // node-resque's started
		return time.Unix(second, 0).UTC(), nil
	}
	return time.Time{}, fmt.Errorf("resque: %s %.100q is no time", what, text)
}

// parseWorkerID splits an id into three parts at most: the queues' names may
// hold colons.
func parseWorkerID(id string) (host, pid string, queues []string, err error) {
	host, rest, _ := strings.Cut(id, ":")
	pid, list, _ := strings.Cut(rest, ":")
	if list != "" {
		queues = strings.Split(list, ",")
	}
	if host == "" || list == "" || pid == "" || pid[0] < '0' || pid[0] > '9' {
		err = fmt.Errorf("resque: worker id %q is not of the form host:pid:queues", id)
	}
	return host, pid, queues, err
}

// readHand reads the content of worker:<id>.
func readHand(text []byte) (h Hand, err error) {
	members, err := ruby.Members(text)
	if err != nil {
		return Hand{Entry: Entry{Raw: text, Err: err}}, fmt.Errorf("resque: hand %.100q: %w", text, err)
	}
	fields := map[string][]byte{}
	for _, m := range members {
		fields[m.Key] = m.Value
	}
	queue, err := ruby.String(fields["queue"])
	h.Entry = entryOf(queue, fields["payload"])
	if err != nil || fields["payload"] == nil {
		return h, fmt.Errorf("resque: hand %.100q has no queue or no payload", text)
	}
	if fields["run_at"] == nil {
		return h, nil
	}
	at, err := ruby.String(fields["run_at"])
	if err != nil {
		at = string(fields["run_at"])
	}
	h.RunAt, err = readTime("run_at", at)
	return h, err
}

package resque

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// stop ends the worker: it waits for running jobs, cancels those left, gives
// the unfinished back and unregisters. ctx ends the waiting for jobs early.
func (d *dispatcher) stop(ctx context.Context) error {
	if !d.entered || d.hasEnded() {
		return nil
	}
	defer d.end()
	d.fetching, d.starting = false, false
	d.await(ctx, d.cfg.ShutdownTimeout, d.hurry.Load)
	if left := d.count(running); left > 0 {
		d.log.WarnContext(ctx, "cancelling the jobs that still run", "jobs", left)
		d.cancelRunning(ErrStopping)
		d.await(ctx, d.cfg.CancelTimeout, func() bool { return false })
	}
	release, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), d.cfg.ReleaseTimeout, errReleaseTimeout)
	defer cancel()
	d.giveUp(release, d.cfg.ReleaseTimeout/2) //nolint:mnd // the other half is for giving back
	if err := d.release(release); err != nil {
		return fmt.Errorf("resque: stop: %w; jobs that are left stay in their workers' hands", err)
	}
	d.log.InfoContext(ctx, "worker unregistered", "process", d.process)
	return nil
}

var errReleaseTimeout = errors.New("giving back took longer than ReleaseTimeout")

// end leaves nothing behind that waits.
func (d *dispatcher) end() {
	d.cancel()
	d.track.close()
	d.drop()
	close(d.ended)
	d.waitAside()
}

// waitAside waits for notifications, hooks and pruning, ReleaseTimeout at most.
func (d *dispatcher) waitAside() {
	done := make(chan struct{})
	go func() {
		d.after.Wait()
		close(done)
	}()
	timer := time.NewTimer(d.cfg.ReleaseTimeout)
	defer timer.Stop()
	select {
	case <-done:
		d.setDown()
	case <-timer.C:
		d.setDown()
		d.log.Error("a notification or hook doesn't end, and is left")
	}
}

// abandoned says that a handler left its job in hand by ErrAbandon.
func (d *dispatcher) abandoned() bool {
	return slices.ContainsFunc(d.slots, (*slot).abandoned)
}

func (s *slot) abandoned() bool { return s.state == stuck && s.run.outcome.kind == "" }

func (d *dispatcher) count(state slotState) (n int) {
	for _, s := range d.slots {
		if s.state == state {
			n++
		}
	}
	return n
}

// await records what finishes, until nothing runs any more, the time is up or
// enough says so.
func (d *dispatcher) await(ctx context.Context, limit time.Duration, enough func() bool) {
	ctx, cancel := context.WithTimeout(ctx, max(limit, 0))
	defer cancel()
	for {
		d.collect()
		if d.count(running)+d.count(finished) == 0 || ctx.Err() != nil || enough() {
			return
		}
		d.turn(ctx)
	}
}

// release gives back what the fields in Redis say is unfinished (not what this
// process remembers: a late copy of a reserve may have taken more), closes the
// process and unregisters its ids. Each step is tried until ctx ends.
func (d *dispatcher) release(ctx context.Context) error {
	var last error // of a try that the end of ctx didn't spoil
	for try := 1; ; try++ {
		err := d.tryRelease(ctx)
		if err == nil {
			return nil
		}
		if errors.Is(err, errTakenForDead) {
			d.log.WarnContext(ctx, "this process was taken for dead before it stopped; its jobs were given back", "process", d.process)
			return nil
		}
		if ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), cmp.Or(last, err))
		}
		last = err
		if errors.Is(err, errUnfinished) { // a late reserve, or a queue whose key is no list
			d.pause(ctx, backoff{most: outageMost}.next(try))
			continue
		}
		d.outage.note(d.log, err)
		d.drop()
		d.pause(ctx, d.outage.wait())
	}
}

var (
	errUnfinished   = errors.New("a run is unfinished")
	errTakenForDead = errors.New("the process was closed by recovery, which gives back and unregisters")
)

func (d *dispatcher) tryRelease(ctx context.Context) error {
	if d.count(finished) > 0 && !d.lost && !d.closed { // what is done is recorded, if that still can be
		if err := d.flush(ctx); err != nil {
			return err
		}
	}
	given, err := d.giveBackAll(ctx)
	if err != nil {
		return err
	}
	if d.abandoned() {
		return nil // as after a death: the job stays in hand, and the process isn't closed
	}
	if given > 0 {
		d.log.WarnContext(ctx, "gave unfinished jobs back to their queues", "jobs", given)
	}
	reply, err := d.one(ctx, Call{Script: d.scripts.finish, Keys: []string{d.keys.Of(runsKey(d.process))}})
	if err != nil {
		return err
	}
	if number(reply) == 0 {
		return errUnfinished
	}
	return d.leaveAll(ctx)
}

// giveBackLua puts jobs of unfinished runs back to the heads of their queues.
//
//	KEYS 1 runs of the process, 2 begins, 3 queues, 4 history, then for each run: hand,
//	     queue, retry counter (any key where there is none)
//	ARGV 1 process, 2 entries that the history keeps, then for each run: slot, its field as it was read, queue,
//	     element, attempt, before, expires, counter, mark ("" for a run that
//	     hasn't begun), its text in the history ("": none)
//
// It answers how many were given back, or an error before it wrote anything where
// queues or begins is of the wrong type. A run whose field has changed since is
// left alone; one with an empty hand is only marked. The counter is restored
// only while it holds what this run's begin wrote, and that begin is the last
// one noted.
const giveBackLua = `
local runs, begins, given = KEYS[1], KEYS[2], 0
for key, want in pairs({[begins] = 'hash', [KEYS[3]] = 'set'}) do
  local is = redis.call('TYPE', key)
  is = is.ok or is
  if is ~= 'none' and is ~= want then return redis.error_reply('WRONGTYPE ' .. key .. ' is no ' .. want) end
end
if redis.call('HEXISTS', runs, 'closed') == 1 then return 0 end
local k = 5
for a = 3, #ARGV, 10 do
  local slot, field, queue, element = ARGV[a], ARGV[a + 1], ARGV[a + 2], ARGV[a + 3]
  local attempt, before, expires, counter, mark = ARGV[a + 4], ARGV[a + 5], ARGV[a + 6], ARGV[a + 7], ARGV[a + 8]
  local is = redis.call('TYPE', KEYS[k + 1])
  is = is.ok or is
  if redis.call('HGET', runs, slot) == field and (is == 'list' or is == 'none') then
    local token = string.match(field, '^%d+')
    redis.call('HSET', runs, slot, token .. ' d')
    if redis.call('DEL', KEYS[k]) == 1 then
      redis.call('SADD', KEYS[3], queue)
      redis.call('LPUSH', KEYS[k + 1], element)
      given = given + 1
      if ARGV[a + 9] ~= '' then redis.pcall('XADD', KEYS[4], 'MAXLEN', '~', ARGV[2], '*', 'run', ARGV[a + 9]) end
    end
    if attempt ~= '' and redis.pcall('GET', KEYS[k + 2]) == attempt
      and redis.call('HGET', begins, counter) == ARGV[1] .. ' ' .. slot .. ' ' .. token then
      if before == '-' then
        redis.call('DEL', KEYS[k + 2])
      else
        redis.call('SET', KEYS[k + 2], before)
        if expires ~= '-' then redis.call('PEXPIREAT', KEYS[k + 2], expires) end
      end
      if mark == '' then redis.call('HDEL', begins, counter) else redis.call('HSET', begins, counter, mark) end
    end
  end
  k = k + 3
end
return given
`

// owed is an unfinished run, as Redis tells of it.
type owed struct {
	slot    string
	stored  []byte
	field   runField
	hand    string // its key
	queue   string
	element []byte
	history []byte // the run as an attempt, nil where that isn't kept
}

// giveBackChunk bounds one call by runs; elements can be large.
const giveBackChunk = 100

// giveBackAll gives back all unfinished runs of the process, the last reserved
// first, so that the first ends up at the head.
func (d *dispatcher) giveBackAll(ctx context.Context) (given int64, err error) {
	runs, err := d.unfinished(ctx)
	if err != nil {
		return 0, err
	}
	for chunk := range slices.Chunk(runs, giveBackChunk) {
		keys := []string{d.keys.Of(runsKey(d.process)), d.keys.Of(keyBegins), d.keys.Of(keyQueues), d.keys.Of(keyHistory)}
		args := []any{d.process, d.cfg.History}
		for _, o := range chunk {
			counter := o.field.counter
			if counter == "" {
				counter = keyBegins // stands for none
			}
			keys = append(keys, o.hand, d.keys.Of(queueKey(o.queue)), d.keys.Of(counter))
			args = append(args, o.slot, o.stored, o.queue, o.element,
				o.field.attempt, o.field.before, o.field.expires, o.field.counter, o.field.mark, o.history)
		}
		reply, err := d.one(ctx, Call{Script: d.scripts.giveBack, Keys: keys, Args: args})
		if err != nil {
			return given, fmt.Errorf("give back: %w", err)
		}
		given += number(reply)
	}
	return given, nil
}

// unfinished reads the unfinished runs of the process, the last reserved first.
func (d *dispatcher) unfinished(ctx context.Context) ([]owed, error) {
	reply, err := d.one(ctx, Call{Command: "HGETALL", Keys: []string{d.keys.Of(runsKey(d.process))}})
	pairs, err := Values(reply, err)
	if err != nil {
		return nil, fmt.Errorf("give back: %w", err)
	}
	var runs []owed
	for i := 0; i+1 < len(pairs); i += 2 {
		name := text(pairs[i])
		if name == "closed" && text(pairs[i+1]) != "stop" {
			return nil, errTakenForDead
		}
		number, err := strconv.Atoi(name)
		if err != nil || number >= len(d.slots) || d.slots[number].abandoned() {
			continue // closed, probe; or a death
		}
		stored := blob(pairs[i+1])
		f, err := parseField(stored)
		if err != nil || !f.unfinished() {
			continue
		}
		runs = append(runs, owed{
			slot: name, stored: stored, field: f, hand: d.keys.Of(handKey(d.slots[number].id)),
		})
	}
	slices.SortFunc(runs, func(a, b owed) int { return cmp.Compare(b.field.token, a.field.token) })
	return runs, d.readHands(ctx, runs)
}

// readHands fills in what the hands say.
func (d *dispatcher) readHands(ctx context.Context, runs []owed) error {
	for chunk := range slices.Chunk(runs, giveBackChunk) {
		keys := make([]string, len(chunk))
		for i := range chunk {
			keys[i] = chunk[i].hand
		}
		reply, err := d.one(ctx, Call{Command: "MGET", Keys: keys})
		hands, err := Values(reply, err)
		if err != nil {
			return fmt.Errorf("give back: %w", err)
		}
		for i := range chunk {
			hand := blob(hands[i])
			if hand == nil {
				continue
			}
			if chunk[i].queue, chunk[i].element, err = handJob(hand, chunk[i].field.raw); err != nil {
				return err
			}
			// A hand can't hold every byte of a queue's name; the run knows it.
			number, _ := strconv.Atoi(chunk[i].slot)
			if r := d.slots[number].run; r != nil && r.token == chunk[i].field.token {
				chunk[i].queue = r.queue
				chunk[i].history = d.interrupted(r)
			}
		}
	}
	return nil
}

// interrupted is a run that is given back as the history keeps it. One that never
// began is no attempt.
func (d *dispatcher) interrupted(r *run) []byte {
	if d.cfg.History == 0 || r.ctx == nil {
		return nil
	}
	return attemptOf(r, Interrupted, nil, d.clock.Now()).json()
}

// finishLua closes the process.
//
//	KEYS 1 runs of the process
//
// It answers 1, or 0 while a run is reserved or begun. What is closed is
// remembered for 24 h, so that late calls of the process do nothing; the value
// tells that the process did it itself.
const finishLua = `
if redis.call('HEXISTS', KEYS[1], 'closed') == 0 then
  for slot, field in ipairs(redis.call('HVALS', KEYS[1])) do
    if string.match(field, '^%d+ [ob]') then return 0 end
  end
end
redis.call('HSET', KEYS[1], 'closed', 'stop')
redis.call('EXPIRE', KEYS[1], 86400)
return 1
`

// leaveLua takes worker ids out of Ruby's registry; an id whose hand isn't empty
// stays.
//
//	KEYS 1 processes, 2 workers, 3 heartbeats, then for each id: hand, started,
//	     stat:processed, stat:failed
//	ARGV 1 process, 2 "1" with the last ids, then the ids
//
// It answers how many stay. With the last ids the lease goes too, if none stays.
const leaveLua = `
local stay = 0
for i = 3, #ARGV do
  local k = 4 * (i - 2)
  if redis.call('EXISTS', KEYS[k]) == 1 then
    stay = stay + 1
  else
    redis.call('SREM', KEYS[2], ARGV[i])
    redis.call('HDEL', KEYS[3], ARGV[i])
    redis.call('DEL', KEYS[k + 1], KEYS[k + 2], KEYS[k + 3])
  end
end
if ARGV[2] == '1' and stay == 0 then redis.call('ZREM', KEYS[1], ARGV[1]) end
return stay
`

func (d *dispatcher) leaveAll(ctx context.Context) error {
	gone := 0
	for ids := range d.idChunks() {
		gone += len(ids)
		keys := []string{d.keys.Of(keyProcesses), d.keys.Of(keyWorkers), d.keys.Of(keyHeartbeats)}
		args := []any{d.process, gone == len(d.slots)}
		for _, id := range ids {
			keys = append(keys, d.keys.Of(handKey(id)), d.keys.Of(startedKey(id)),
				d.keys.Of(processedKey(id)), d.keys.Of(failedStatKey(id)))
			args = append(args, id)
		}
		reply, err := d.one(ctx, Call{Script: d.scripts.leave, Keys: keys, Args: args})
		if err != nil {
			return fmt.Errorf("unregister: %w", err)
		}
		if stay := number(reply); stay > 0 {
			return fmt.Errorf("unregister: %d workers still have a job in hand", stay)
		}
	}
	return nil
}

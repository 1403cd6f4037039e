package resque

import (
	"context"
	"fmt"
)

// workerScripts are the scripts of a worker, each with its manual where its text
// stands.
type workerScripts struct {
	reserve, begin, record, rewrite *Script
	epoch, register, renew, beat    *Script
	move, giveBack, finish, leave   *Script
	bury, sweep                     *Script
}

func newWorkerScripts() workerScripts {
	return workerScripts{
		reserve: NewScript("reserve", reserveLua), begin: NewScript("begin", beginLua),
		record: NewScript("record", recordLua), rewrite: NewScript("rewrite", rewriteLua),
		epoch: NewScript("epoch", epochLua), register: NewScript("register", registerLua),
		renew: NewScript("renew", renewLua), beat: NewScript("beat", beatLua),
		move: NewScript("move", moveLua), giveBack: NewScript("give back", giveBackLua),
		finish: NewScript("finish", finishLua), leave: NewScript("leave", leaveLua),
		bury: NewScript("bury", buryLua), sweep: NewScript("sweep", sweepLua),
	}
}

// all are the scripts that the dispatcher sends.
func (s workerScripts) all() []*Script {
	return []*Script{
		s.reserve, s.begin, s.record, s.rewrite, s.epoch, s.register, s.renew, s.beat, s.move, s.giveBack, s.finish, s.leave,
	}
}

// load makes the scripts known to Redis: one that isn't known yet runs behind
// the others of its flush, and a hand has to be rewritten before its run begins.
func (s workerScripts) load(ctx context.Context, k *conn) error {
	var calls []Call
	for _, script := range s.all() {
		calls = append(calls, Call{Command: "SCRIPT", Args: []any{"LOAD", script.src}})
	}
	replies, err := k.pipeline(ctx, calls)
	if err != nil {
		return err
	}
	for _, reply := range replies {
		if refused, ok := reply.(error); ok {
			return fmt.Errorf("resque: loading scripts: %w", refused)
		}
	}
	return nil
}

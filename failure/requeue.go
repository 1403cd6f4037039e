package failure

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/understudy/compat/ruby"
	"example.com/understudy/resque"
)

// Requeue puts the record's job at the end of its queue and notes the time in
// the record, which stays (Ruby: Resque::Failure.requeue), in one step. What is
// pushed is class and args alone, with the bytes of the arguments; of text that
// was no job, the text. In the record everything but retried_at keeps its bytes.
//
// ErrGone: the record isn't there any more as it was seen; of several with the
// same text, one is meant. ErrUnreadable, ErrNoJob: it can't be requeued. After
// an error of the connection it is unknown whether it was; it is safe to look
// again.
func (s *Store) Requeue(ctx context.Context, r Record) error { return s.one(ctx, r, requeue) }

// RequeueAndRemove is Requeue, but the record goes.
func (s *Store) RequeueAndRemove(ctx context.Context, r Record) error {
	return s.one(ctx, r, requeueAndRemove)
}

// Remove removes the record (Ruby: Resque::Failure.remove), a blank or broken
// one as well. See Requeue about errors.
func (s *Store) Remove(ctx context.Context, r Record) error { return s.one(ctx, r, remove) }

// one acts on one record.
func (s *Store) one(ctx context.Context, r Record, act action) error {
	if err := s.checkList(r.List); err != nil {
		return err
	}
	now := s.clock.Now()
	r = readRecord(r.List, r.Index, r.Raw, now.Location())
	edit, err := act(&r, now)
	if err != nil {
		return err
	}
	found, err := s.client.Edit(ctx, edit)
	if err != nil {
		return fmt.Errorf("failure: changing %s: %w", r.List, err)
	}
	if found[0] == 0 {
		return fmt.Errorf("%w: %s", ErrGone, r.ID)
	}
	s.tell(edit)
	return nil
}

// action makes the edit that carries out what is to become of a record, or says
// why that can't be.
type action func(r *Record, now time.Time) (resque.Edit, error)

func remove(r *Record, _ time.Time) (resque.Edit, error) {
	return resque.Edit{Key: r.List, Raw: r.Raw, Near: r.Index}, nil
}

// removeReadable leaves what can't be read alone.
func removeReadable(r *Record, now time.Time) (resque.Edit, error) {
	if errors.Is(r.Err, ErrUnreadable) {
		return resque.Edit{}, r.Err
	}
	return remove(r, now)
}

func requeueAndRemove(r *Record, _ time.Time) (resque.Edit, error) {
	if r.Err != nil {
		return resque.Edit{}, r.Err
	}
	return resque.Edit{Key: r.List, Raw: r.Raw, Near: r.Index, Then: resque.PushWrites(r.Queue, r.job())}, nil
}

func requeue(r *Record, now time.Time) (resque.Edit, error) {
	edit, err := requeueAndRemove(r, now)
	if err != nil {
		return edit, err
	}
	edit.Replace, err = r.retried(now)
	return edit, err
}

// job is what a requeue pushes.
func (r *Record) job() []byte {
	if text, ok := resque.UnwrapMalformed(r.Payload); ok {
		return text
	}
	return resque.EncodeJob(r.Class, r.Args)
}

// retried is the record's text after a requeue. As in Ruby, the time has a zone
// in the list failed, and none in the lists by queue.
func (r *Record) retried(now time.Time) ([]byte, error) {
	at := ruby.FailureTimeNoZone(now)
	if r.List == keyFailed {
		at = ruby.FailureTime(now)
	}
	text, err := ruby.SetMember(r.Raw, keyRetriedAt, ruby.AppendString(nil, at))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return text, nil
}

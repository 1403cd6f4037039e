package failure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"example.com/understudy/resque"
)

// ErrGone says that a record isn't there any more as it was seen: somebody
// removed or requeued it meanwhile. Nothing was done.
var ErrGone = errors.New("failure: the record isn't there any more as it was seen")

// Store is where recorded failures are looked at, requeued and removed (Ruby:
// the class methods of Resque::Failure). It is safe for use by any number of
// goroutines, beside workers that record and others that requeue and remove, in
// Ruby too: records are told apart by their text, never by their place.
//
// Retry counters and failure-* keys are left alone, as in Ruby: a requeued job
// whose counter is still there goes on counting.
type Store struct {
	client   *resque.Client
	perQueue bool
	clock    resque.Clock
	batch    batch

	page, find, clear *resque.Script

	mu    sync.Mutex
	walks map[*walk]bool // those of Each that are under way
}

// StoreConfig are the settings of a Store. The zero value is a good one.
type StoreConfig struct {
	// PerQueue takes the lists by queue, those of ListPerQueue, named in
	// failed_queues (Ruby: Resque::Failure::RedisMultiQueue). The list failed
	// joins them where there is one: what no backend took stands there. false:
	// the list failed alone.
	PerQueue bool
	// Clock says what retried_at is, and in which zone records without a known
	// one are. nil: the system's.
	Clock resque.Clock
}

// batch bounds what one call reads and changes, and so how long it keeps Redis
// from others.
type batch struct{ records, bytes int }

var defaultBatch = batch{records: 250, bytes: 4 << 20} //nolint:gochecknoglobals // a constant

// NewStore makes a store; it doesn't talk to Redis yet.
func NewStore(client *resque.Client, c StoreConfig) *Store {
	if c.Clock == nil {
		c.Clock = resque.SystemClock()
	}
	return &Store{
		client: client, perQueue: c.PerQueue, clock: c.Clock, batch: defaultBatch, walks: map[*walk]bool{},
		page:  resque.NewScript("failure page", pageLua),
		find:  resque.NewScript("failure find", findLua),
		clear: resque.NewScript("failure clear", clearLua),
	}
}

// Lists names the lists, sorted by bytes (Ruby: Resque::Failure.queues). One
// that was cleared stays in failed_queues, and so here.
func (s *Store) Lists(ctx context.Context) ([]string, error) {
	if !s.perQueue {
		return []string{keyFailed}, nil
	}
	keys := s.client.Keys()
	replies, err := s.client.Pipeline(ctx,
		resque.Call{Command: "SMEMBERS", Keys: []string{keys.Of(keyFailedQueues)}},
		resque.Call{Command: "EXISTS", Keys: []string{keys.Of(keyFailed)}})
	if err != nil {
		return nil, err
	}
	names, err := resque.Strings(replies[0], nil)
	if err != nil {
		return nil, fmt.Errorf("failure: reading %s: %w", keyFailedQueues, err)
	}
	// What isn't named like a list of failures is none, whoever wrote it there.
	names = slices.DeleteFunc(names, func(name string) bool { return s.checkList(name) != nil })
	if there, err := resque.Int(replies[1], nil); err != nil {
		return nil, err
	} else if there > 0 && !slices.Contains(names, keyFailed) {
		names = append(names, keyFailed)
	}
	slices.Sort(names)
	return names, nil
}

// Count is how many records a list holds, blank and broken ones included; "":
// all lists together (Ruby: Resque::Failure.count). It is not stat:failed, which
// counts failures as long as Redis keeps its data, suppressed ones too.
func (s *Store) Count(ctx context.Context, list string) (int64, error) {
	lists, err := s.lists(ctx, list)
	if err != nil || len(lists) == 0 {
		return 0, err
	}
	calls := make([]resque.Call, len(lists))
	for i, name := range lists {
		calls[i] = resque.Call{Command: "LLEN", Keys: []string{s.client.Keys().Of(name)}}
	}
	replies, err := s.client.Pipeline(ctx, calls...)
	if err != nil {
		return 0, err
	}
	total := int64(0)
	for i, reply := range replies {
		n, err := resque.Int(reply, nil)
		if err != nil {
			return 0, fmt.Errorf("failure: counting %s: %w", lists[i], err)
		}
		total += n
	}
	return total, nil
}

// clearLua deletes a list.
//
//	KEYS 1 list
//
// It answers how many elements it had. What is no list is deleted as well, as by
// Ruby, and counts as none.
const clearLua = `
local kind = redis.call('TYPE', KEYS[1])
local count = 0
if (kind.ok or kind) == 'list' then count = redis.call('LLEN', KEYS[1]) end
redis.call('UNLINK', KEYS[1])
return count
`

// Clear deletes a list with all that is in it, blank and broken records included
// (Ruby: Resque::Failure.clear with a queue). Its name stays in failed_queues. It
// answers how many records went. "" is refused: ClearAll is for all lists.
func (s *Store) Clear(ctx context.Context, list string) (int64, error) {
	if list == "" {
		return 0, errors.New("failure: the list to clear is empty: name one, or use ClearAll")
	}
	lists, err := s.lists(ctx, list)
	if err != nil {
		return 0, err
	}
	return s.clearLists(ctx, lists)
}

// ClearAll is Clear for all lists of the store (Ruby: Resque::Failure.clear).
func (s *Store) ClearAll(ctx context.Context) (int64, error) {
	lists, err := s.Lists(ctx)
	if err != nil {
		return 0, err
	}
	return s.clearLists(ctx, lists)
}

func (s *Store) clearLists(ctx context.Context, lists []string) (total int64, err error) {
	for _, name := range lists {
		n, err := resque.Int(s.client.Run(ctx, s.clear, []string{s.client.Keys().Of(name)}))
		if err != nil {
			return total, fmt.Errorf("failure: clearing %s: %w", name, err)
		}
		total += n
	}
	return total, nil
}

// lists are those that a caller's list means.
func (s *Store) lists(ctx context.Context, list string) ([]string, error) {
	if list == "" {
		return s.Lists(ctx)
	}
	return []string{list}, s.checkList(list)
}

// checkList refuses names of other keys: a list is cleared and written to by its
// name.
func (s *Store) checkList(list string) error {
	waiting := strings.HasPrefix(list, "queue:") // jobs of a queue that is named like a list
	switch {
	case list == keyFailed, s.perQueue && strings.HasSuffix(list, suffixFailed) && !waiting:
		return nil
	case s.perQueue:
		return fmt.Errorf("failure: there is no list %q: use failed, or the name of a queue with _failed behind it", list)
	default:
		return fmt.Errorf("failure: there is no list %q: use failed, or set StoreConfig.PerQueue for lists by queue", list)
	}
}

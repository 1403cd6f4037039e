package resque

import (
	"context"
	"fmt"
)

// sweepLua forgets the begins noted for retry counters that are gone: Ruby
// deletes counters, and they expire, without a word.
//
//	KEYS 1 begins, then the counters
//	ARGV the counters without namespace
const sweepLua = `
for i = 1, #ARGV do
  if redis.call('EXISTS', KEYS[i + 1]) == 0 then redis.call('HDEL', KEYS[1], ARGV[i]) end
end
return #ARGV
`

// Bounds of one sweep.
const (
	sweepChunk  = 500
	sweepChunks = 20
)

// sweep goes through understudy:begins, a bounded part each time.
func (w *Worker) sweep(ctx context.Context) error {
	keys := w.client.keys
	cursor := "0"
	if from := w.sweepFrom.Load(); from != nil { // where the last sweep ended
		cursor = *from
	}
	defer func() { w.sweepFrom.Store(&cursor) }()
	for range sweepChunks {
		scan, err := Values(w.client.Do(ctx, "HSCAN", keys.Of(keyBegins), cursor, "COUNT", sweepChunk))
		if err != nil {
			return fmt.Errorf("resque: sweep: %w", err)
		}
		if len(scan) != 2 {
			return protocolError("sweep", scan)
		}
		pairs, err := Strings(scan[1], nil)
		if err != nil {
			return fmt.Errorf("resque: sweep: %w", err)
		}
		if len(pairs) > 0 {
			names, args := []string{keys.Of(keyBegins)}, make([]any, 0, len(pairs)/2)
			for i := 0; i < len(pairs); i += 2 {
				names, args = append(names, keys.Of(pairs[i])), append(args, pairs[i])
			}
			if _, err := w.client.Run(ctx, w.dispatcher.scripts.sweep, names, args...); err != nil {
				return fmt.Errorf("resque: sweep: %w", err)
			}
		}
		if cursor = text(scan[0]); cursor == "0" {
			return nil
		}
	}
	return nil
}

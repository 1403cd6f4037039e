package failure_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/failure"
	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// clock stands still until it is advanced.
type clock struct{ seconds atomic.Int64 }

func (c *clock) Now() time.Time {
	return time.Date(2026, 1, 2, 3, 4, 10, 0, time.UTC).Add(time.Duration(c.seconds.Load()) * time.Second)
}

func (c *clock) Sleep(context.Context, time.Duration) error { return nil }

const (
	nowZone = "2026/01/02 03:04:10 UTC"
	nowBare = "2026/01/02 03:04:10"
)

func open(tb testing.TB, s *redistest.Server) *resque.Client {
	tb.Helper()
	client, err := resque.Open(tb.Context(), s.URL(), resque.Options{Namespace: s.Namespace()})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := client.Close(); err != nil {
			tb.Error(err)
		}
	})
	return client
}

func newStore(tb testing.TB, s *redistest.Server, perQueue bool) *failure.Store {
	tb.Helper()
	return failure.NewStore(open(tb, s), failure.StoreConfig{PerQueue: perQueue, Clock: &clock{}})
}

// rec is a record of a job of class X with one argument.
func rec(queue, arg string) string {
	return fmt.Sprintf(`{"failed_at":"2026/01/02 03:04:05 UTC","payload":{"class":"X","args":[%s]},"exception":"E","error":"boom",`+
		`"backtrace":["a.rb:1"],"worker":"h:1:q","queue":"%s"}`, arg, queue)
}

// retried is a record as a requeue leaves it.
func retried(record, at string) string { return record[:len(record)-1] + `,"retried_at":"` + at + `"}` }

func job(arg string) string { return `{"class":"X","args":[` + arg + `]}` }

func checkDump(tb testing.TB, s *redistest.Server, want map[string]any) {
	tb.Helper()
	if diff := cmp.Diff(want, s.Dump()); diff != "" {
		tb.Errorf("in Redis (-want +got):\n%s", diff)
	}
}

// first is the first record of a list.
func first(tb testing.TB, store *failure.Store, list string) failure.Record {
	tb.Helper()
	return at(tb, store, list, 0)
}

func at(tb testing.TB, store *failure.Store, list string, index int64) failure.Record {
	tb.Helper()
	records, err := store.All(tb.Context(), list, index, 1)
	if err != nil || len(records) != 1 {
		tb.Fatalf("%d records, %v", len(records), err)
	}
	return records[0]
}

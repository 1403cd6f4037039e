package scheduler_test

import (
	"io"
	"net"
	"testing"
	"time"

	"example.com/understudy/resque"
)

// rubys is how long it takes to move what is due by what resque-scheduler 5.0
// sends, in its round trips: so MONITOR shows it with redis-rb 4, where a batch is
// one transaction. All else that Ruby does is left out.
func (f *filler) rubys(client *resque.Client) time.Duration {
	f.Helper()
	begin := time.Now()
	moved := 0
	for {
		times := f.texts(client, "ZRANGEBYSCORE", "delayed_queue_schedule", "-inf", now, "LIMIT", 0, 1)
		if len(times) == 0 {
			break
		}
		list := "delayed:" + times[0]
		moved += f.rubysTime(client, list)
		f.send(client, f.one("WATCH", list))
		f.send(client, f.one("LLEN", list))
		f.send(client, resque.Call{Command: "MULTI"}, f.one("DEL", list), f.one("ZREM", "delayed_queue_schedule", times[0]), resque.Call{Command: "EXEC"})
	}
	took := time.Since(begin)
	if moved != f.jobs {
		f.Fatalf("moved %d of %d", moved, f.jobs)
	}
	return took
}

// rubysTime empties a time.
func (f *filler) rubysTime(client *resque.Client, list string) (moved int) {
	f.Helper()
	const batch = 100
	for {
		items := f.texts(client, "LRANGE", list, 0, batch-1)
		f.send(client, f.one("WATCH", list))
		calls := []resque.Call{{Command: "MULTI"}}
		for _, item := range items {
			job, err := resque.ParseItem([]byte(item))
			if err != nil {
				f.Fatal(err)
			}
			calls = append(calls, f.one("SREM", "timestamps:"+item, list), f.one("SADD", "queues", job.Queue), f.one("RPUSH", "queue:"+job.Queue, job.Payload))
		}
		f.send(client, append(calls, f.one("LTRIM", list, batch, -1), resque.Call{Command: "EXEC"})...)
		moved += len(items)
		if len(items) < batch {
			return moved
		}
	}
}

func (f *filler) one(command, key string, args ...any) resque.Call {
	return resque.Call{Command: command, Keys: []string{f.server.Key(key)}, Args: args}
}

func (f *filler) texts(client *resque.Client, command, key string, args ...any) []string {
	f.Helper()
	texts, err := resque.Strings(f.send(client, f.one(command, key, args...))[0], nil)
	if err != nil {
		f.Fatal(err)
	}
	return texts
}

// away is the URL of a relay to a server from which each reply comes later.
func away(b *testing.B, server string, latency time.Duration) string {
	b.Helper()
	listener, err := (&net.ListenConfig{}).Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := (&net.Dialer{}).DialContext(b.Context(), "tcp", server)
			if err != nil {
				_ = near.Close()
				return
			}
			go func() { _, _ = io.Copy(far, near); _ = far.Close() }()
			go relayLater(near, far, latency)
		}
	}()
	return "redis://" + listener.Addr().String()
}

// relayLater passes on what comes from far, each piece when its time has come.
func relayLater(near io.WriteCloser, far io.Reader, latency time.Duration) {
	type piece struct {
		bytes []byte
		at    time.Time
	}
	pieces := make(chan piece, 1024)
	go func() {
		defer func() { _ = near.Close() }()
		for p := range pieces {
			time.Sleep(time.Until(p.at))
			_, _ = near.Write(p.bytes) // near is gone, or the benchmark sees it
		}
	}()
	defer close(pieces)
	for {
		bytes := make([]byte, 64<<10)
		n, err := far.Read(bytes)
		if err != nil {
			return
		}
		pieces <- piece{bytes[:n], time.Now().Add(latency)}
	}
}

package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// TestWorker runs the example until it has performed a good and a bad job.
func TestWorker(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	s.Seed(map[string]any{"queues": redistest.Set{"mt_messages"}, "queue:mt_messages": redistest.List{
		`{"class":"DeliverSMS","args":[7,"nobody","hello"]}`, `{"class":"DeliverSMS","args":[8,"+4912345","hello"]}`,
	}})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, s.URL(), resque.Options{Namespace: s.Namespace()}) }()
	for s.Do("GET", s.Key("stat:processed")) != "2" {
		select {
		case err := <-ended:
			t.Fatalf("ends early: %v", err)
		default:
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	records := fmt.Sprint(s.Do("LRANGE", s.Key("failed"), 0, -1))
	if strings.Count(records, "failed_at") != 1 || !strings.Contains(records, `"exception":"BadRecipient","error":"\"nobody\" is no number"`) {
		t.Errorf("failed holds %s", records)
	}
	if n := s.Do("ZCARD", s.Key("delayed_queue_schedule")); n != int64(0) {
		t.Errorf("%v retries are waited for", n)
	}
}

func TestWithoutRedis(t *testing.T) {
	t.Parallel()
	if err := run(t.Context(), "redis://127.0.0.1:"+redistest.FreePort(t), resque.Options{}); err == nil {
		t.Error("no error")
	}
}

package cli_test

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/understudy/internal/redistest"
)

func TestScheduler(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, lock string // behind the second namespace
		env        map[string]string
		args       []string
	}{
		{"plain", "resque_scheduler_master_lock", nil, words("--interval 0.05")},
		{"variables", "mine:resque_scheduler_master_lock", map[string]string{"RESQUE_SCHEDULER_INTERVAL": "0.05", "RESQUE_SCHEDULER_MASTER_LOCK_PREFIX": "mine"}, nil},
		{"the option first", "mine:resque_scheduler_master_lock", map[string]string{"RESQUE_SCHEDULER_INTERVAL": "never", "RESQUE_SCHEDULER_MASTER_LOCK_PREFIX": "other"}, words("--interval 0.05 --lock-prefix mine")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := redistest.New(t)
			signals, stderr := make(chan os.Signal), newWatched()
			ended := make(chan result, 1)
			go func() {
				ended <- run(t, command{args: on(s, append(words("scheduler --verbose"), tt.args...)...), env: tt.env, signals: signals, stderr: stderr})
			}()
			stderr.await(t, "this scheduler is the master")
			if strings.Contains(stderr.String(), "moved delayed jobs") {
				t.Error("it tells of nothing")
			}
			if key := s.Key(s.Namespace() + ":" + tt.lock); s.Do("EXISTS", key) != int64(1) {
				t.Errorf("there is no lock %s, but %v", key, s.Do("KEYS", s.Key("*lock")))
			}
			// What becomes due while it runs is moved after its interval.
			past := strconv.FormatInt(time.Now().Unix()-60, 10)
			item := `{"class":"A","args":[1],"queue":"q"}`
			s.Seed(map[string]any{
				"delayed:" + past:        redistest.List{item},
				"timestamps:" + item:     redistest.Set{"delayed:" + past},
				"delayed_queue_schedule": redistest.ZSet{past: float64(time.Now().Unix() - 60)},
			})
			for began := time.Now(); s.Do("LLEN", s.Key("queue:q")) == int64(0); {
				if time.Since(began) > 4*time.Second {
					t.Fatal("the job stays where it is")
				}
			}
			stderr.await(t, "moved delayed jobs to their queues\" jobs=1")
			signals <- syscall.SIGTERM
			if got := <-ended; got.number != 0 || !strings.Contains(got.stderr, "terminated: stopping") || strings.Count(got.stderr, "moved delayed jobs") != 1 {
				t.Errorf("ends with %d: %s", got.number, got.stderr)
			}
			if job := s.Do("LINDEX", s.Key("queue:q"), 0); job != `{"class":"A","args":[1]}` {
				t.Errorf("in the queue is %v", job)
			}
			if keys, _ := s.Do("KEYS", s.Key("*lock")).([]any); len(keys) > 0 {
				t.Errorf("left behind: %v", keys)
			}
		})
	}
}

package resque_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

// stopAmid starts one job of class Job, stops the worker in the middle of it, and
// answers the keys that are left. change may set the worker up; options are the
// class's.
func stopAmid(b *bench, change func(*resque.WorkerConfig), perform func(ctx context.Context, job *resque.Job) error, options ...resque.HandleOption) map[string]any {
	b.t.Helper()
	w := b.worker(func(c *resque.WorkerConfig) {
		c.ShutdownTimeout = -1
		if change != nil {
			change(c)
		}
	}, nil)
	began := make(chan struct{})
	handler := resque.HandlerFunc(func(ctx context.Context, job *resque.Job) error {
		close(began)
		return perform(ctx, job)
	})
	if err := w.Handle("Job", handler, append(options, resque.Queue("q"))...); err != nil {
		b.t.Fatal(err)
	}
	b.server.Seed(map[string]any{"queue:q": redistest.List{deadlineJob, `{"class":"Job","args":["next"]}`}, "queues": redistest.Set{"q"}})
	ended := make(chan error, 1)
	go func() { ended <- w.Run(b.t.Context()) }()
	<-began
	if err := w.Stop(b.t.Context()); err != nil {
		b.t.Error(err)
	}
	if err := <-ended; err != nil {
		b.t.Error(err)
	}
	keys := b.keys()
	if keys["workers"] != nil || keys["worker:"+testID] != nil {
		b.t.Errorf("the registry holds %v, the hand %v", keys["workers"], keys["worker:"+testID])
	}
	delete(keys, "understudy:history")
	return keys
}

const deadlineJob = `{"class":"Job","args":[1.10]}`

// E6 hibiken/asynq#688: what becomes of a job at the stop's deadline was to be its
// class's choice: given back, failed, or dropped.
func TestReportChoiceAtTheDeadline(t *testing.T) {
	t.Parallel()
	queue := func(jobs ...string) redistest.List {
		return append(redistest.List(jobs), `{"class":"Job","args":["next"]}`)
	}
	record := `{"failed_at":"2026/01/02 03:04:05 UTC","payload":` + deadlineJob +
		`,"exception":"Resque::TermException","error":"SIGTERM","backtrace":[],"worker":"host:1:q","queue":"q"}`
	back := map[string]any{"queue:q": queue(deadlineJob), "queues": redistest.Set{"q"}}
	failed := map[string]any{"queue:q": queue(), "queues": redistest.Set{"q"}, "failed": redistest.List{record}, "stat:processed": "1", "stat:failed": "1"}
	dropped := map[string]any{"queue:q": queue(), "queues": redistest.Set{"q"}, "stat:processed": "1"}
	item := `{"class":"Job","args":[1.10],"queue":"q"}`
	const at = "1767323105" // a minute later
	retried := map[string]any{
		"queue:q": queue(), "queues": redistest.Set{"q"}, "failed": redistest.List{record}, "stat:processed": "1", "stat:failed": "1",
		"delayed_queue_schedule": redistest.ZSet{at: 1767323105}, "delayed:" + at: redistest.List{item},
		"timestamps:" + item: redistest.Set{"delayed:" + at}, "resque-retry:Job:4491f8b5ecc09d9de308ea37e6a23ad2dd66c256": "0",
	}
	done := map[string]any{"queue:q": queue(), "queues": redistest.Set{"q"}, "stat:processed": "1"}

	answers := func(err error) func(*testing.T, context.Context) error {
		return func(_ *testing.T, ctx context.Context) error {
			<-ctx.Done()
			return err
		}
	}
	ignores := func(t *testing.T, _ context.Context) error {
		t.Helper()
		<-t.Context().Done()
		return nil
	}
	policy := retry.Policy{Limit: 3, Delay: retry.Every(time.Minute)}
	for _, c := range []struct {
		name    string
		perform func(*testing.T, context.Context) error
		options []resque.HandleOption
		want    map[string]any
	}{
		{"by default an error gives back", answers(errors.New("boom")), nil, back},
		{"by default silence gives back", ignores, nil, back},
		{"GiveBack with retries", answers(errors.New("boom")), []resque.HandleOption{resque.GiveBack, policy}, back},
		{"Fail, an error", answers(errors.New("boom")), []resque.HandleOption{resque.Fail}, failed},
		{"Fail, silence", ignores, []resque.HandleOption{resque.Fail}, failed},
		{"Fail, success", answers(nil), []resque.HandleOption{resque.Fail}, done},
		{"Fail with retries, an error", answers(errors.New("boom")), []resque.HandleOption{resque.Fail, policy}, retried},
		{"Fail with retries, silence", ignores, []resque.HandleOption{policy, resque.Fail}, retried},
		{"Drop, an error", answers(errors.New("boom")), []resque.HandleOption{resque.Drop, policy}, dropped},
		{"Drop, silence", ignores, []resque.HandleOption{resque.Drop, policy}, dropped},
		{"Drop, success", answers(nil), []resque.HandleOption{resque.Drop}, done},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				b := newBench(t, s)
				got := stopAmid(b, func(cfg *resque.WorkerConfig) {
					if strings.HasSuffix(c.name, "silence") {
						cfg.CancelTimeout = -1
					}
				}, func(ctx context.Context, job *resque.Job) error {
					if err := job.Enqueue(ctx, "other", "Follower"); err != nil {
						t.Error(err)
					}
					return c.perform(t, ctx)
				}, c.options...)
				delete(got, "queue:other") // of the successes
				if strings.HasSuffix(c.name, "success") {
					got["queues"] = c.want["queues"]
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// speechless is a failure backend that says when it is asked, and then doesn't answer.
type speechless struct {
	asked chan struct{}
	over  <-chan struct{}
}

func (h speechless) Writes(*resque.Failure) ([]resque.Write, error) {
	h.asked <- struct{}{}
	<-h.over
	return nil, nil
}

// A user's function can't hold the stop at the deadline: the job is given back.
func TestDeadlineIsHeldByNobody(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		element string
		perform func(context.Context, *resque.Job) error
	}{
		{"a backend asked at the deadline", deadlineJob, func(ctx context.Context, _ *resque.Job) error { <-ctx.Done(); return errors.New("boom") }},
		{"a backend asked for a job without a handler", `{"class":"Nobody","args":[]}`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, redistest.New(t))
			backend := speechless{make(chan struct{}, 2), t.Context().Done()}
			w := b.worker(func(cfg *resque.WorkerConfig) {
				cfg.ShutdownTimeout, cfg.CancelTimeout, cfg.ReleaseTimeout = -1, -1, 200*time.Millisecond
				cfg.Failures = backend
			}, nil)
			began := make(chan struct{}, 1)
			if err := w.Handle("Job", resque.HandlerFunc(func(ctx context.Context, job *resque.Job) error {
				began <- struct{}{}
				return c.perform(ctx, job)
			}), resque.Fail); err != nil {
				t.Fatal(err)
			}
			b.server.Seed(map[string]any{"queue:q": redistest.List{c.element}, "queues": redistest.Set{"q"}})
			ended := make(chan error, 1)
			go func() { ended <- w.Run(t.Context()) }()
			if c.perform != nil {
				<-began
			} else {
				<-backend.asked
			}
			if err := w.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
			want := map[string]any{"queue:q": redistest.List{c.element}, "queues": redistest.Set{"q"}}
			if diff := cmp.Diff(want, b.keys()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// CancelJobs ends what runs, and nothing else: an error is a failure like any
// other, no error is success, and the next job isn't touched.
func TestCancelJobs(t *testing.T) {
	t.Parallel()
	record := `{"failed_at":"2026/01/02 03:04:05 UTC","payload":` + deadlineJob +
		`,"exception":"Resque::DirtyExit","error":"the worker was told to cancel its running jobs: boom","backtrace":[],"worker":"host:1:q","queue":"q"}`
	for _, c := range []struct {
		name string
		err  error
		want map[string]any
	}{
		{"an error", errors.New("boom"), map[string]any{"queues": redistest.Set{"q"}, "stat:processed": "2", "stat:failed": "1", "failed": redistest.List{record}}},
		{"none", nil, map[string]any{"queues": redistest.Set{"q"}, "stat:processed": "2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, life := range []string{"Run", "Step"} {
				redistest.Each(t, func(t *testing.T, s *redistest.Server) {
					b := newBench(t, s)
					w := b.worker(nil, nil)
					began, causes, done := make(chan struct{}), make(chan error, 2), make(chan struct{})
					if err := w.Handle("Job", resque.HandlerFunc(func(ctx context.Context, _ *resque.Job) error {
						close(began)
						<-ctx.Done()
						causes <- context.Cause(ctx)
						return c.err
					})); err != nil {
						t.Fatal(err)
					}
					if err := w.Handle("Next", resque.HandlerFunc(func(ctx context.Context, _ *resque.Job) error {
						defer close(done)
						return ctx.Err()
					})); err != nil {
						t.Fatal(err)
					}
					s.Seed(map[string]any{"queue:q": redistest.List{deadlineJob, `{"class":"Next","args":[]}`}, "queues": redistest.Set{"q"}})
					ended := make(chan error, 1)
					go func() {
						if life == "Run" {
							ended <- w.Run(t.Context())
							return
						}
						err := w.Start(t.Context())
						for range 2 {
							_, again := w.Step(t.Context())
							err = errors.Join(err, again)
						}
						ended <- err
					}()
					<-began
					w.CancelJobs()
					if cause := <-causes; !errors.Is(cause, resque.ErrJobsCancelled) {
						t.Errorf("the cause is %v", cause)
					}
					<-done
					if life == "Step" { // beside which no Stop may run
						ended <- <-ended
					}
					if err := errors.Join(w.Stop(t.Context()), <-ended); err != nil {
						t.Error(err)
					}
					if diff := cmp.Diff(c.want, b.keys()); diff != "" {
						t.Errorf("%s: %s", life, diff)
					}
				})
			}
		})
	}
}

// One CancelJobs is about what runs then, however often the worker is called later.
func TestCancelJobsOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, redistest.New(t))
	jobs := make(calls)
	w := b.worker(func(c *resque.WorkerConfig) { own(c); c.Concurrency = 2 }, map[string]resque.Handler{"Job": jobs})
	push := func() { b.server.Do("RPUSH", b.server.Key("queue:q"), deadlineJob) }
	run(t, w)
	push()
	first := jobs.next(t)
	w.CancelJobs()
	<-first.ctx.Done()
	first.answer <- nil
	push()
	second := jobs.next(t)
	w.Resume() // it hears of something
	push()
	third := jobs.next(t) // and has gone on since
	if second.ctx.Err() != nil || third.ctx.Err() != nil {
		t.Errorf("later jobs: %v, %v", second.ctx.Err(), third.ctx.Err())
	}
	second.answer <- nil
	third.answer <- nil
}

func TestAtDeadlineIsChecked(t *testing.T) {
	t.Parallel()
	b := newBench(t, redistest.New(t))
	err := b.worker(nil, nil).Handle("Job", resque.HandlerFunc(good), resque.AtDeadline(9))
	if _, ok := errors.AsType[*resque.ConfigError](err); !ok || !strings.Contains(err.Error(), "GiveBack, Fail and Drop") {
		t.Errorf("%v", err)
	}
}

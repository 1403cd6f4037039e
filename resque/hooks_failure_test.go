package resque_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

// OnFailure hears of every failed run, once, before anything is written about it
// and before the policy decides.
func TestOnFailure(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		element string
		want    []string
	}{
		{"success", `{"class":"Good"}`, nil},
		{"failure", `{"class":"Bad","args":[1.10]}`, []string{"Bad [1.10] boom", "deciding"}},
		{"panic", `{"class":"Panics"}`, []string{"Panics [] oh", "deciding"}},
		{"cancelled", `{"class":"Cancelled"}`, []string{"Cancelled [] boom", "deciding"}},
		{"discarded", `{"class":"Discarded"}`, nil},
		{"not to be performed", `{"class":"Dont"}`, nil},
		{"no handler", `{"class":"Nobody"}`, []string{"Nobody [] uninitialized constant Nobody"}},
		{"no job", `[]`, []string{"  not a job: its JSON is no object"}},
		{"an error that can't be read", `{"class":"Rude"}`, []string{"Rude [] unreadable", "deciding"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				b, e := newBench(t, s), &events{}
				s.Seed(map[string]any{"queue:q": redistest.List{c.element}})
				w := b.worker(func(cfg *resque.WorkerConfig) {
					cfg.Hooks.OnFailure = func(ctx context.Context, job *resque.Job, err error) {
						message := "unreadable"
						if _, rude := errors.AsType[rudeError](err); !rude {
							message = err.Error()
						}
						e.add("%s %s %s", job.Class, job.Args, message)
						if ctx.Err() != nil || job.WorkerID != testID || s.Get("failed") != nil || s.Get("worker:"+testID) == nil {
							e.add("too late: %v %v", ctx.Err(), s.Dump())
						}
						clear(job.Payload) // a copy
						clear(job.Args)
					}
				}, nil)
				for class, err := range map[string]error{
					"Good": nil, "Bad": errors.New("boom"), "Cancelled": retry.Cancel(errors.New("boom")),
					"Discarded": retry.Discard(errors.New("boom")), "Dont": resque.ErrDontPerform, "Rude": rudeError{},
				} {
					handler := resque.HandlerFunc(func(context.Context, *resque.Job) error { return err })
					decides := resque.HandleOptionFunc(func(r *resque.Registration) error {
						r.Retrier = deciding(func() { e.add("deciding") })
						return nil
					})
					if err := w.Handle(class, handler, decides); err != nil {
						t.Fatal(err)
					}
				}
				panicking := resque.HandlerFunc(func(context.Context, *resque.Job) error { panic("oh") })
				if err := w.Handle("Panics", panicking, resque.HandleOptionFunc(func(r *resque.Registration) error {
					r.Retrier = deciding(func() { e.add("deciding") })
					return nil
				})); err != nil {
					t.Fatal(err)
				}
				b.start(w)
				b.step(w)
				e.expect(t, c.want...)
				failed, _ := s.Get("failed").(redistest.List)
				if strings.HasPrefix(c.element, "{") && len(failed) > 0 && !strings.Contains(failed[0], `"payload":`+c.element) {
					t.Errorf("the hook changed the record: %s", failed[0])
				}
			})
		})
	}
}

// rudeError can't be described.
type rudeError struct{}

func (rudeError) Error() string         { panic("no text") }
func (rudeError) ExceptionName() string { panic("no name") }

// deciding is a Retrier without counters that never retries.
type deciding func()

func (deciding) Counter(*resque.Job, float64) (resque.Counter, error) { return resque.Counter{}, nil }

func (d deciding) Decide(resque.FailedRun) resque.Decision { d(); return resque.Decision{} }

func TestOnFailureOfABuriedJob(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b, e := newBench(t, s), &events{}
		s.Seed(map[string]any{
			"workers": redistest.Set{"dead:1:q"}, "worker:dead:1:q": `{"queue":"q","run_at":"x","payload":{"class":"Good","args":[1]}}`,
		})
		w := b.worker(func(c *resque.WorkerConfig) { c.Hooks = e.hooks(s) }, map[string]resque.Handler{"Good": resque.HandlerFunc(good)})
		if err := w.Bury(t.Context(), "dead:1:q"); err != nil {
			t.Fatal(err)
		}
		e.expect(t, "OnFailure Good Job still being processed, 1 workers")
	})
}

// notified counts the failures that a backend is told of.
type notified struct{ n chan struct{} }

func (notified) Writes(*resque.Failure) ([]resque.Write, error) { return nil, nil }

func (n notified) Notify(context.Context, *resque.Failure) error { n.n <- struct{}{}; return nil }

// ErrDontPerform ends a job quietly, from middleware and from a handler, wrapped
// or not. A counter that was there goes, unlike in Ruby.
func TestDontPerform(t *testing.T) {
	t.Parallel()
	wrapped := fmt.Errorf("the account is closed: %w", resque.ErrDontPerform)
	for _, c := range []struct {
		name    string
		handler error
		around  error
		policy  *retry.Policy
	}{
		{name: "handler", handler: resque.ErrDontPerform},
		{name: "handler, wrapped", handler: wrapped, policy: &retry.Policy{Limit: 3}},
		{name: "middleware", around: resque.ErrDontPerform, policy: &retry.Policy{Limit: retry.Forever}},
		{name: "middleware, joined", around: errors.Join(errNo, wrapped), policy: &retry.Policy{Limit: 3, Delay: retry.Every(time.Hour)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				b := newBench(t, s)
				told := notified{make(chan struct{}, 1)}
				s.Seed(map[string]any{"queue:q": redistest.List{`{"class":"Dont","args":[1]}`}})
				want := map[string]any{"stat:processed": "1", "stat:processed:" + testID: "1"}
				if c.policy != nil {
					s.Seed(map[string]any{"resque-retry:Dont:356a192b7913b04c54574d18c28d46e6395428ab": "1"}) // sha1 of 1
				}
				performed := 0
				handler := resque.HandlerFunc(func(context.Context, *resque.Job) error { performed++; return c.handler })
				w := b.worker(func(cfg *resque.WorkerConfig) {
					cfg.Failures = told
					cfg.Middleware = []resque.Middleware{func(next resque.Handler) resque.Handler {
						return resque.HandlerFunc(func(ctx context.Context, job *resque.Job) error {
							if c.around != nil {
								return c.around
							}
							return next.Perform(ctx, job)
						})
					}}
				}, nil)
				var options []resque.HandleOption
				if c.policy != nil {
					options = append(options, *c.policy)
				}
				if err := w.Handle("Dont", handler, options...); err != nil {
					t.Fatal(err)
				}
				b.start(w)
				b.step(w)
				if diff := cmp.Diff(want, b.keys()); diff != "" {
					t.Error(diff)
				}
				if len(told.n) > 0 || (performed == 0) != (c.around != nil) {
					t.Errorf("told of %d failures, performed %d times", len(told.n), performed)
				}
				if err := w.Inline(t.Context(), "Dont", 1); err != nil {
					t.Errorf("Inline: %v", err)
				}
			})
		})
	}
}

// Inline runs the hooks that Ruby runs in its inline mode, in their order.
func TestInlineHooks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		class, refuse string
		want          []string
		err           error
	}{
		{"Good", "", []string{"before inline", "Good", "after"}, nil},
		{"Dont", "", []string{"before inline", "Dont", "after"}, nil},
		{"Bad", "", []string{"before inline", "Bad", "failed: not today"}, errNo},
		{"Discarded", "", []string{"before inline", "Discarded"}, errNo},
		{"Nobody", "", []string{"before inline", "failed: uninitialized constant Nobody"}, nil},
		{"Good", "Good", []string{"before inline"}, resque.ErrRefused},
	} {
		t.Run(c.class+c.refuse, func(t *testing.T) {
			t.Parallel()
			s, e := redistest.New(t), &events{}
			b := newBench(t, s)
			b.client = dialTest(t, s, s.URL(), func(o *resque.Options) {
				o.Hooks.BeforeEnqueue = func(_ context.Context, job resque.NewJob) error {
					e.add("before %s", job.Queue)
					if job.Class == c.refuse {
						return errNo
					}
					return nil
				}
				o.Hooks.AfterEnqueue = func(context.Context, resque.NewJob) { e.add("after") }
			})
			handlers := map[string]resque.Handler{}
			for class, err := range map[string]error{"Good": nil, "Dont": resque.ErrDontPerform, "Bad": errNo, "Discarded": retry.Discard(errNo)} {
				handlers[class] = resque.HandlerFunc(func(context.Context, *resque.Job) error { e.add("%s", class); return err })
			}
			w := b.worker(func(cfg *resque.WorkerConfig) {
				cfg.Hooks.OnFailure = func(_ context.Context, _ *resque.Job, err error) { e.add("failed: %v", err) }
			}, handlers)
			err := w.Inline(t.Context(), c.class)
			if c.err != nil && !errors.Is(err, c.err) || (err == nil) != (c.class == "Good" && c.refuse == "" || c.class == "Dont") {
				t.Error(err)
			}
			e.expect(t, c.want...)
			if diff := cmp.Diff(map[string]any{}, s.Dump()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

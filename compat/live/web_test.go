package live_test

import (
	"context"
	"fmt"
	"html"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/understudy/failure"
	"example.com/understudy/internal/redistest"
	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

// fill writes what a Go worker leaves behind: failures of all kinds, delayed
// jobs, retries that wait with their failures, waiting jobs. Its queue is "jobs".
func (b *bench) fill(inner resque.FailureBackend) {
	b.t.Helper()
	raws := []string{
		`{"class":"Later","args":[7,"é <&> 😀"]}`, `{"class":"Later","args":[8]}`, `{"class":"GoOnly","args":[{"a":[1.10]}]}`,
		"{\"class\":\"Later\",\"args\":[\"\xff\"]}", `{"class":"NoSuchJob","args":["<script>"]}`, `{"class":"Once","args":[1]}`,
		`{"class":"Once","args":[2]}`, `{"class":"Panics","args":[]}`,
	}
	for _, name := range slices.Sorted(maps.Keys(elements)) {
		raws = append(raws, elements[name].raw)
	}
	b.server.Seed(map[string]any{"queue:jobs": redistest.List(raws)})
	w := b.newWorker(func(cfg *resque.WorkerConfig) { cfg.Failures = failure.SuppressRetries(inner) })
	b.jobs.fails = true
	b.handle(w, "Slow", &b.jobs)
	b.handle(w, "GoOnly", &b.jobs, retry.Policy{Delay: retry.Every(time.Hour)})
	b.handle(w, "Panics", resque.Func(func(context.Context) { panic("\xff\xfe went wrong") }))
	b.start(w)
	for range raws {
		b.step(w)
	}
	for _, err := range []error{
		b.client.EnqueueIn(b.t.Context(), 2*time.Hour, "jobs", "Once", map[string]any{"k": "<&>"}),
		b.client.EnqueueIn(b.t.Context(), 2*time.Hour, "jobs", "Once", 9),
		b.client.EnqueueIn(b.t.Context(), 3*time.Hour, "elsewhere", "GoOnly"),
		b.client.Enqueue(b.t.Context(), "jobs", "Once", "waits"),
	} {
		if err != nil {
			b.t.Fatal(err)
		}
	}
}

// Every page of resque-web answers with Go's data in Redis, and shows it.
func TestEveryPage(t *testing.T) {
	t.Parallel()
	type page struct{ path, shows string }
	oj := adapters()[len(adapters())-1]
	for _, c := range []struct {
		backend, adapter string
		inner            resque.FailureBackend
		pages            []page
	}{
		{"Redis", "json_gem", failure.List{}, []page{{"/failed", errGo.Error()}, {"/failed/failed", "uninitialized constant NoSuchJob"}}},
		{"RedisMultiQueue", oj, failure.ListPerQueue{}, []page{{"/failed", "jobs_failed"}, {"/failed/jobs_failed", errGo.Error()}}},
	} {
		t.Run(c.backend+" "+c.adapter, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			b := newBench(t, s)
			b.fill(c.inner)
			b.hold(refusing{})
			p := startPeerWith(t, s, c.adapter, "jobs.rb", "web.rb")
			p.do("Resque::Failure.backend = Resque::Failure::" + c.backend + "\nnil")

			troubles, _ := p.do("VISITOR = Visitor.new\nVISITOR.visit_all").(map[string]any)
			for path, trouble := range exceptRubys(p, c.backend, troubles) {
				t.Errorf("%s: %v", path, trouble)
			}
			if visited, _ := p.do("VISITOR.bodies.size").(int); visited < 150 {
				t.Errorf("only %d pages were visited", visited)
			}

			retryPage := fmt.Sprint("/retry/", p.do("Resque.scheduled_at(Later, 8).first"))
			for _, page := range append(c.pages, page{"/working", "Slow"}, page{"/workers", ".go"},
				page{"/queues/jobs", "waits"}, page{"/stats.txt", "queues.jobs=1"}, page{"/delayed", "Later"},
				page{retryPage, errGo.Error()}) {
				body, _ := p.do("VISITOR.bodies[%s]", page.path).(string)
				if !strings.Contains(html.UnescapeString(body), page.shows) {
					t.Errorf("%s doesn't show %q:\n%s", page.path, page.shows, body)
				}
			}
		})
	}
}

// exceptRubys leaves out the pages that Ruby can't show, whatever the data: they
// have to fail on an empty Redis, too.
func exceptRubys(p *peer, backend string, troubles map[string]any) map[string]any {
	p.t.Helper()
	known := []string{}
	for path := range troubles {
		switch {
		case strings.HasPrefix(path, "/key"), // there is no such view
			strings.Contains(path, "%2F"), // no route matches a slash within a part
			// these two mean the list failed, which this backend doesn't have
			backend == "RedisMultiQueue" && (path == "/failed/requeue/0" || path == "/failed/remove/0"):
			known = append(known, path)
		}
	}
	empty, _ := p.do(`
		full = Resque.redis
		begin
			Resque.redis = Redis::Namespace.new("#{full.namespace}-empty", redis: Redis.new(url: ARGV[0]))
			Visitor.new.troubles_of(%s)
		ensure
			Resque.redis = full
		end`, known).(map[string]any)
	for path := range empty {
		delete(troubles, path)
	}
	return troubles
}

package cli_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"example.com/understudy/internal/redistest"
)

func TestWorkPostsJobs(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		t.Helper()
		var mu sync.Mutex
		var seen []string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			mu.Lock()
			seen = append(seen, fmt.Sprintf("%s %s %s %s", r.URL.Path, r.Header.Get("Resque-Attempt"), r.Header.Get("Authorization"), body))
			mu.Unlock()
			switch r.URL.Path {
			case "/bad":
				w.WriteHeader(http.StatusServiceUnavailable)
			case "/fatal":
				w.WriteHeader(http.StatusUnprocessableEntity)
				_, _ = io.WriteString(w, `{"exception":"BadRecipient","error":"nobody"}`)
			case "/slow":
				<-r.Context().Done()
			}
		}))
		t.Cleanup(server.Close)
		jobs := writeFile(t, "jobs.yml", strings.ReplaceAll(`
jobs:
  Good: {http: {url: HOST/good, headers: {Authorization: "Bearer ${SMS_TOKEN}"}}}
  Bad: {http: HOST/bad, retry_limit: 1, retry_exceptions: [HTTP::ServerError]}
  Fatal: {http: HOST/fatal, retry_limit: 5, fatal_exceptions: [BadRecipient]}
  Slow: {http: HOST/slow, timeout: 0.05}
`, "HOST", server.URL))
		s.Seed(map[string]any{"queues": redistest.Set{"q"}, "queue:q": redistest.List{
			`{"class":"Good","args":[1]}`, `{"class":"Bad","args":[]}`, `{"class":"Fatal","args":[]}`, `{"class":"Slow","args":[]}`,
		}})
		got := run(t, command{
			args: on(s, words("work --queues q --until-empty --verbose --jobs", jobs)...),
			env:  map[string]string{"SMS_TOKEN": "s3cret"},
		})
		if got.number != 0 || strings.Contains(got.stderr, "s3cret") {
			t.Errorf("ends with %d: %s", got.number, got.stderr)
		}
		if want := "classes=Good,Bad,Fatal,Slow queues=q hosts=" + server.Listener.Addr().String() + "\n"; !strings.Contains(got.stderr, want) {
			t.Errorf("%q isn't in\n%s", want, got.stderr)
		}
		records := fmt.Sprint(s.Do("LRANGE", s.Key("failed"), 0, -1))
		for _, want := range []string{
			`"exception":"HTTP::503","error":"503 Service Unavailable"`,
			`"exception":"BadRecipient","error":"nobody"`,
			`"exception":"Timeout::Error","error":"execution expired (the request to ` + server.Listener.Addr().String() + ` was given up)"`,
		} {
			if strings.Count(records, want) != 1 {
				t.Errorf("%s isn't once in %s", want, records)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		for _, want := range []string{
			`/good 0 Bearer s3cret {"class":"Good","args":[1]}`,
			`/bad 0  {"class":"Bad","args":[]}`, `/bad 1  {"class":"Bad","args":[]}`,
			`/fatal 0  {"class":"Fatal","args":[]}`, `/slow 0  {"class":"Slow","args":[]}`,
		} {
			if n := strings.Count(strings.Join(seen, "\n")+"\n", want+"\n"); n != 1 || len(seen) != 5 {
				t.Errorf("%s came %d times among %q", want, n, seen)
			}
		}
	})
}

// TestWorkGivesPostedJobsBack: a stop in the middle of a request is no failure.
func TestWorkGivesPostedJobsBack(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	asked, aborted := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(asked)
		<-r.Context().Done()
		close(aborted)
	}))
	t.Cleanup(server.Close)
	jobs := writeFile(t, "jobs.yml", "jobs: {Slow: {http: '"+server.URL+"', retry_limit: 5}}")
	const job = `{"class":"Slow","args":[1.10]}`
	s.Seed(map[string]any{"queues": redistest.Set{"q"}, "queue:q": redistest.List{job}})
	signals, stderr, ended := make(chan os.Signal), newWatched(), make(chan result, 1)
	go func() {
		ended <- run(t, command{args: on(s, words("work --queues q --jobs", jobs)...), signals: signals, stderr: stderr})
	}()
	<-asked
	signals <- syscall.SIGTERM
	stderr.await(t, "once more cancels")
	signals <- syscall.SIGTERM
	<-aborted
	if got := <-ended; got.number != 0 || !strings.Contains(got.stderr, "gave unfinished jobs back") {
		t.Errorf("ends with %d: %s", got.number, got.stderr)
	}
	if got := s.Do("LINDEX", s.Key("queue:q"), 0); got != job {
		t.Errorf("the queue holds %v", got)
	}
	if n := s.Do("EXISTS", s.Key("stat:failed"), s.Key("stat:processed"), s.Key("failed"), s.Key("delayed_queue_schedule")); n != int64(0) {
		t.Error("something was recorded")
	}
	for _, name := range s.Names() {
		if strings.HasPrefix(name, "resque-retry:") {
			t.Errorf("the attempt counts: %s", name)
		}
	}
}

func TestWorkNeedsItsVariables(t *testing.T) {
	t.Parallel()
	s := redistest.New(t)
	jobs := writeFile(t, "jobs.yml", "jobs:\n  A:\n    queue: q\n    http:\n      url: http://127.0.0.1:1/\n      headers:\n        X-Key: ${SMS_KEY}\n")
	for _, env := range []map[string]string{nil, {"SMS_KEY": ""}} {
		got := run(t, command{args: on(s, words("work --queues q --jobs", jobs)...), env: env})
		if want := jobs + ":7: A: http: headers: X-Key: the environment has no SMS_KEY: set it before the worker starts\n"; got.number != 2 || !strings.HasSuffix(got.stderr, want) {
			t.Errorf("ends with %d: %s", got.number, got.stderr)
		}
	}
	if got := run(t, command{args: on(s, words("enqueue A --jobs", jobs)...)}); got.number != 0 {
		t.Errorf("enqueueing needs it too: %s", got.stderr)
	}
}

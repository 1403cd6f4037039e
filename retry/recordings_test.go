package retry_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/understudy/failure"
	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

// The recordings of Ruby are replayed here without Redis: a few maps stand for
// it, and a few lines for the worker, so that a difference is one of the rules.

type scenarioFile struct {
	Exceptions map[string][]string
	Scenarios  []scenario
}

type scenario struct {
	Name            string
	FailureBackend  string `json:"failure_backend"`
	Queues          []string
	Jobs            []recordedJob
	Start           int64
	Steps           []step
	DefinitionError *struct{ Class, Message string } `json:"definition_error"`
}

type recordedJob struct {
	Class  string
	Queue  string
	Again  int `json:"try_again_callbacks"`
	GaveUp int `json:"give_up_callbacks"`
	retry.Spec
}

type step struct {
	Do      string
	Class   string
	Args    json.RawMessage
	Queue   string
	Payload string
	Outcome json.RawMessage
	Advance int64
	Seconds int64
	Now     int64
	Trace   json.RawMessage
	Redis   map[string]entry
	Gone    []string
}

type entry struct {
	Type  string
	Value json.RawMessage
	TTL   *int64
}

func TestRecordings(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"scenarios.json", "scenarios-random.json"} {
		file := readJSON[scenarioFile](t, name)
		for _, s := range file.Scenarios {
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				replay(t, s, file.Exceptions)
			})
		}
	}
}

func readJSON[T any](t *testing.T, name string) (v T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "testdata", "ruby", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(name, err)
	}
	return v
}

func replay(t *testing.T, s scenario, exceptions map[string][]string) {
	t.Helper()
	m := newModel(s, exceptions)
	for _, job := range s.Jobs {
		err := m.define(job)
		if (err != nil) != (s.DefinitionError != nil) {
			t.Fatalf("defining %s: %v, recorded %+v", job.Class, err, s.DefinitionError)
		}
	}
	want := map[string]string{}
	for i, step := range s.Steps {
		m.now = step.Now
		m.trace = nil
		m.step(t, step)
		for key, e := range step.Redis {
			if ours(key) {
				want[key] = e.text()
			}
		}
		for _, key := range step.Gone {
			delete(want, key)
		}
		got := m.dump()
		for key := range union(want, got) {
			if !same(got[key], want[key]) {
				t.Errorf("step %d (%s): %s\n  got  %s\n  want %s", i, step.Do, key, got[key], want[key])
			}
		}
		if got := m.traced(); got != string(step.Trace) {
			t.Errorf("step %d (%s): trace\n  got  %s\n  want %s", i, step.Do, got, step.Trace)
		}
		if t.Failed() {
			return
		}
	}
}

// ours are the keys that retry and failure write.
func ours(key string) bool {
	for _, other := range []string{"worker", "workers", "stat:"} {
		if strings.HasPrefix(key, "resque:"+other) {
			return false
		}
	}
	return true
}

func union(a, b map[string]string) map[string]bool {
	keys := map[string]bool{}
	for key := range a {
		keys[key] = true
	}
	for key := range b {
		keys[key] = true
	}
	return keys
}

func (e entry) text() string {
	ttl := ""
	if e.TTL != nil {
		ttl = fmt.Sprintf(" ttl %d", *e.TTL)
	}
	return fmt.Sprintf("%s %s%s", e.Type, e.Value, ttl)
}

// same lets a recorded time to live be a second old.
func same(got, want string) bool {
	before, ttl, ok := strings.Cut(got, " ttl ")
	if n, err := strconv.Atoi(ttl); ok && err == nil && want == fmt.Sprintf("%s ttl %d", before, n-1) {
		return true
	}
	return got == want
}

// model is a worker and its Redis.
type model struct {
	scenario   scenario
	exceptions map[string][]string
	jobs       map[string]*resque.Registration
	now        int64
	trace      []any
	failures   resque.FailureBackend

	strings map[string]string
	ttls    map[string]int64
	lists   map[string][]string
	sets    map[string][]string
	times   []int64
}

func newModel(s scenario, exceptions map[string][]string) *model {
	m := &model{
		scenario: s, exceptions: exceptions, jobs: map[string]*resque.Registration{},
		strings: map[string]string{}, ttls: map[string]int64{}, lists: map[string][]string{}, sets: map[string][]string{},
	}
	m.failures = map[string]resque.FailureBackend{
		"redis":                           failure.List{},
		"redis_multi_queue":               failure.ListPerQueue{},
		"multiple_with_retry_suppression": failure.SuppressRetries(failure.List{}),
		"suppression_over_multi_queue":    failure.SuppressRetries(failure.ListPerQueue{}),
	}[s.FailureBackend]
	return m
}

func (m *model) define(job recordedJob) error {
	r := &resque.Registration{Class: job.Class, Queue: job.Queue}
	m.jobs[job.Class] = r
	if d := job.RetryJobDelegate; d != nil {
		if err := m.define(recordedJob{Class: d.Class, Queue: d.Queue, Spec: d.Spec}); err != nil {
			return err
		}
	}
	if !job.Enabled() {
		return nil
	}
	policy, err := job.Policy()
	if err != nil {
		return err
	}
	for n, check := range policy.Check {
		policy.Check[n] = func(j *resque.Job, err error) bool {
			m.trace = append(m.trace, []any{"criteria_check", n})
			return check(j, err)
		}
	}
	for n := range job.Again {
		policy.TryAgain = append(policy.TryAgain, m.callback("try_again", n))
	}
	for n := range job.GaveUp {
		policy.GiveUp = append(policy.GiveUp, m.callback("give_up", n))
	}
	return policy.Apply(r)
}

func (m *model) callback(kind string, n int) retry.Callback {
	return func(job *resque.Job, err error) error {
		m.trace = append(m.trace, []any{kind, n, resque.DescribeError(err).Name, job.Args})
		return nil
	}
}

func (m *model) step(t *testing.T, s step) {
	t.Helper()
	switch s.Do {
	case "enqueue":
		m.apply(t, resque.PushWrites(m.jobs[s.Class].Queue, payload(s.Class, s.Args)))
	case "push_raw":
		m.apply(t, resque.PushWrites(s.Queue, []byte(s.Payload)))
	case "work":
		if job := m.pop(t); job != nil {
			m.work(t, job, s.Outcome)
		}
	case "dirty_exit":
		if job := m.pop(t); job != nil {
			m.bury(t, job)
		}
	case "tick":
		m.tick(t)
	case "advance":
	default:
		t.Fatalf("unknown step %s", s.Do)
	}
}

// element is a job in a queue or in a delayed list.
type element struct {
	Class string          `json:"class"`
	Args  json.RawMessage `json:"args"`
	Queue string          `json:"queue"`
}

func payload(class string, args []byte) []byte {
	return fmt.Appendf(nil, `{"class":%q,"args":%s}`, class, args)
}

func (m *model) pop(t *testing.T) *resque.Job {
	t.Helper()
	for _, queue := range m.scenario.Queues {
		list := m.lists["queue:"+queue]
		if len(list) == 0 {
			continue
		}
		m.setList("queue:"+queue, list[1:])
		var content element
		if err := json.Unmarshal([]byte(list[0]), &content); err != nil {
			t.Fatal(err)
		}
		return &resque.Job{
			Class: content.Class, Args: content.Args, Queue: queue, Payload: []byte(list[0]),
			WorkerID: "ruby.example:4242:" + strings.Join(m.scenario.Queues, ","),
		}
	}
	return nil
}

func (m *model) work(t *testing.T, job *resque.Job, recorded json.RawMessage) {
	t.Helper()
	run := resque.FailedRun{Job: job, Registration: m.jobs[job.Class], Random: 0.5}
	if run.Registration == nil {
		run.Err = &rubyError{name: "NameError", message: "uninitialized constant " + job.Class}
		m.fail(t, run)
		return
	}
	var attempt any
	if retrier := run.Registration.Retrier; retrier != nil {
		run.Counter = m.counter(t, run)
		run.Attempt = m.begin(run.Counter)
		attempt = run.Attempt
	}
	job.Attempt = run.Attempt
	m.trace = append(m.trace, []any{"perform", attempt, job.Args})
	var outcome struct {
		Raise   string `json:"raise"`
		Message string `json:"message"`
	}
	if string(recorded) == `"ok"` {
		m.apply(t, clearing(run.Counter))
		return
	}
	if err := json.Unmarshal(recorded, &outcome); err != nil {
		t.Fatal(err)
	}
	run.Err = &rubyError{name: outcome.Raise, ancestors: m.exceptions[outcome.Raise], message: outcome.Message}
	m.fail(t, run)
}

func (m *model) counter(t *testing.T, run resque.FailedRun) resque.Counter {
	t.Helper()
	counter, err := run.Registration.Retrier.Counter(run.Job, run.Random)
	if err != nil {
		t.Fatal(err)
	}
	return counter
}

// begin counts the run.
func (m *model) begin(c resque.Counter) int64 {
	if _, ok := m.strings[c.Key]; !ok {
		m.strings[c.Key] = "-1"
	}
	attempt := m.add(c.Key, 1)
	if c.TTLs != nil {
		m.ttls[c.Key] = c.TTLs[min(attempt, int64(len(c.TTLs)-1))]
	}
	return attempt
}

func (m *model) add(key string, by int64) int64 {
	n, _ := strconv.ParseInt(m.strings[key], 10, 64)
	m.strings[key] = strconv.FormatInt(n+by, 10)
	return n + by
}

func (m *model) bury(t *testing.T, job *resque.Job) {
	t.Helper()
	run := resque.FailedRun{Job: job, Registration: m.jobs[job.Class], Err: resque.DirtyExit{}}
	if run.Registration.Retrier != nil {
		run.Counter = m.counter(t, run)
		run.Attempt, _ = strconv.ParseInt(m.strings[run.Counter.Key], 10, 64)
	}
	m.fail(t, run)
}

func clearing(c resque.Counter) []resque.Write {
	if c.Key == "" {
		return nil
	}
	return []resque.Write{{Command: "DEL", Key: c.Key}}
}

func (m *model) fail(t *testing.T, run resque.FailedRun) {
	t.Helper()
	var d resque.Decision
	if run.Registration != nil && run.Registration.Retrier != nil {
		d = run.Registration.Retrier.Decide(run)
	}
	var writes []resque.Write
	if d.Uncount {
		writes = append(writes, resque.Write{Command: "DECR", Key: run.Counter.Key})
	}
	if d.Retry == nil || d.DropCounter {
		writes = append(writes, clearing(run.Counter)...)
	} else {
		writes = append(writes, resque.Write{Command: "SETNX", Key: run.Counter.Key, Args: []string{"-1"}})
	}
	if d.Retry != nil {
		writes = append(writes, m.retryWrites(d.Retry)...)
	}
	if d.SleepAfter > 0 {
		m.trace = append(m.trace, []any{"sleep", int64(d.SleepAfter / time.Second)})
	}
	e := resque.DescribeError(run.Err)
	f := &resque.Failure{
		Job: run.Job, Err: run.Err, FailedAt: time.Unix(m.now, 0).UTC(), Exception: e.Name, Message: e.Message, Backtrace: e.Backtrace,
		RetryKey: run.Counter.Key,
	}
	if d.Retry != nil && !d.DropCounter {
		f.RetryPending, f.RetryDelay = true, d.Retry.Delay
	}
	more, err := m.failures.Writes(f)
	if err != nil {
		t.Fatal(err)
	}
	m.apply(t, append(writes, more...))
}

func (m *model) retryWrites(r *resque.Retry) []resque.Write {
	if r.Delay <= 0 {
		return resque.PushWrites(r.Queue, payload(r.Class, r.Args))
	}
	item := append(bytes.TrimSuffix(payload(r.Class, r.Args), []byte("}")), fmt.Sprintf(`,"queue":%q}`, r.Queue)...)
	return resque.DelayedWrites(time.Unix(m.now, 0).Add(r.Delay), item)
}

// tick moves what is due.
func (m *model) tick(t *testing.T) {
	t.Helper()
	slices.Sort(m.times)
	for len(m.times) > 0 && m.times[0] <= m.now {
		key := fmt.Sprintf("delayed:%d", m.times[0])
		for _, item := range m.lists[key] {
			var content element
			if err := json.Unmarshal([]byte(item), &content); err != nil {
				t.Fatal(err)
			}
			m.apply(t, resque.PushWrites(content.Queue, payload(content.Class, content.Args)))
			m.remove("timestamps:"+item, key)
		}
		m.setList(key, nil)
		m.times = m.times[1:]
	}
}

func (m *model) remove(set, member string) {
	m.sets[set] = slices.DeleteFunc(m.sets[set], func(s string) bool { return s == member })
	if len(m.sets[set]) == 0 {
		delete(m.sets, set)
	}
}

func (m *model) setList(key string, list []string) {
	m.lists[key] = list
	if len(list) == 0 {
		delete(m.lists, key)
	}
}

func (m *model) apply(t *testing.T, writes []resque.Write) {
	t.Helper()
	for _, w := range writes {
		switch w.Command {
		case "RPUSH":
			m.lists[w.Key] = append(slices.Clip(m.lists[w.Key]), w.Args...)
		case "SADD":
			if !slices.Contains(m.sets[w.Key], w.Args[0]) {
				m.sets[w.Key] = append(m.sets[w.Key], w.Args[0])
			}
		case "ZADD":
			second, _ := strconv.ParseInt(w.Args[0], 10, 64)
			if !slices.Contains(m.times, second) {
				m.times = append(m.times, second)
			}
		case "DEL":
			delete(m.strings, w.Key)
			delete(m.ttls, w.Key)
		case "SETNX":
			if _, ok := m.strings[w.Key]; !ok {
				m.strings[w.Key] = w.Args[0]
			}
		case "SETEX":
			m.strings[w.Key] = w.Args[1]
			m.ttls[w.Key], _ = strconv.ParseInt(w.Args[0], 10, 64)
		case "DECR":
			m.add(w.Key, -1)
		default:
			t.Fatalf("unknown command %s", w.Command)
		}
	}
}

func (m *model) dump() map[string]string {
	all := map[string]string{}
	put := func(key, kind string, value any, ttl *int64) {
		all["resque:"+key] = entry{Type: kind, Value: plainJSON(value), TTL: ttl}.text()
	}
	for key, value := range m.strings {
		var ttl *int64
		if seconds, ok := m.ttls[key]; ok {
			ttl = &seconds
		}
		put(key, "string", value, ttl)
	}
	for key, list := range m.lists {
		put(key, "list", list, nil)
	}
	for key, set := range m.sets {
		put(key, "set", slices.Sorted(slices.Values(set)), nil)
	}
	if len(m.times) > 0 {
		var members []any
		slices.Sort(m.times)
		for _, second := range m.times {
			members = append(members, []any{strconv.FormatInt(second, 10), second})
		}
		put("delayed_queue_schedule", "zset", members, nil)
	}
	return all
}

func (m *model) traced() string {
	if m.trace == nil {
		return "[]"
	}
	return string(plainJSON(m.trace))
}

func plainJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	text := bytes.TrimSpace(b.Bytes())
	// encoding/json escapes these two whatever it is told.
	text = bytes.ReplaceAll(text, []byte(`\u2028`), []byte("\u2028"))
	return bytes.ReplaceAll(text, []byte(`\u2029`), []byte("\u2029"))
}

// rubyError is an error with a Ruby class.
type rubyError struct {
	name      string
	ancestors []string
	message   string
}

func (e *rubyError) Error() string         { return e.message }
func (e *rubyError) ExceptionName() string { return e.name }
func (e *rubyError) Ancestors() []string   { return e.ancestors }

package schedulefile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/understudy/scheduler/schedulefile"
)

func TestEntries(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, yaml string
		want       []string // name, and the configuration that Ruby keeps
	}{
		{"the example", schedulefile.Example, []string{`clear_caches {"cron":"30 6 * * *","class":"ClearCaches","queue":"low"}`}},
		{
			"as in resque-scheduler's manual",
			"queue_documents_for_indexing:\n  cron: \"0 0 * * *\"\n  class: \"QueueDocuments\"\n  queue: high\n  args:\n  description: \"This job queues all content\"\n" +
				"clear_leaderboards_contributors:\n  every:\n    - \"30s\"\n    - :first_in: \"120s\"\n  class: \"ClearLeaderboards\"\n  queue: low\n  args: contributors\n",
			[]string{
				`queue_documents_for_indexing {"cron":"0 0 * * *","class":"QueueDocuments","queue":"high","args":null,"description":"This job queues all content"}`,
				`clear_leaderboards_contributors {"every":["30s",{"first_in":"120s"}],"class":"ClearLeaderboards","queue":"low","args":"contributors"}`,
			},
		},
		{"the class is the name", "Poll:\n  every: 1h\n", []string{`Poll {"every":"1h","class":"Poll"}`}},
		{"also of nothing", "Poll: {}\n", []string{`Poll {"class":"Poll"}`}},
		{"a class of null stays", "Poll: {every: 1h, class: ~}\n", []string{`Poll {"every":"1h","class":null}`}},
		{"symbols at each level", ":poll:\n  :every:\n  - :1h\n  - :first_in: :now\n  :queue: :low\n  :args:\n  - :a\n  - :b: :c\n", []string{`poll {"every":["1h",{"first_in":"now"}],"queue":"low","args":["a",{"b":"c"}],"class":"poll"}`}},
		{"defaults", "a: &a\n  every: 1h\n  queue: low\nb:\n  <<: *a\n  queue: high\n", []string{`a {"every":"1h","queue":"low","class":"a"}`, `b {"every":"1h","queue":"high","class":"b"}`}},
		{"without persist", "a: {every: 1h, persist: true}\n", []string{`a {"every":"1h","class":"a"}`}},
		{"names of other kinds", "1:\n  every: 1h\n", []string{`1 {"every":"1h","class":"1"}`}},
		{"comments of ERB", "# <%= 1 %>\na: {every: 1h}\n", []string{`a {"every":"1h","class":"a"}`}},
		{"what isn't ERB", "a: {every: 1h, description: \"a <% b\"}\n", []string{`a {"every":"1h","description":"a <% b","class":"a"}`}},
		{"nothing", "{}\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			file, err := schedulefile.Parse("s.yml", []byte(tt.yaml), nil)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range file.Entries {
				config, err := e.Job.Config()
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, e.Name+" "+string(config))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, yaml string
		want       []string // the beginning of each
	}{
		{"all at once", "a:\n  cron: 61 * * * *\n  queue: [q]\nb:\n  every:\n    - 1h\n    - first_at: tomorrow\n      last: soon\nc: 5\nd:\n  every: 10s\n  args: [.inf, !ruby/range 1..2]\n", []string{
			`s.yml:2: a: cron "61 * * * *": minute 61`,
			`s.yml:3: a: queue is no text`,
			`s.yml:7: b: first_at "tomorrow": is no time`,
			`s.yml:8: b: last_at "soon": is no time`,
			`s.yml:9: c: is 5: write when and what`,
			`s.yml:12: d: .inf is no number`,
			`s.yml:12: d: !ruby/range makes an object`,
		}},
		{"the word for an option", "a:\n  every: [1h, {first: -5}]\n", []string{`s.yml:2: a: first_in "-5": is in the past`}},
		{"a number", "a:\n  every: 30\n", []string{`s.yml:2: a: every is no text: write it in quotes, such as "1h"`}},
		{"ERB", "a:\n  every: <%= x %>\n  queue: <% if y %>\n", []string{`s.yml:2: <% is ERB`, `s.yml:3: <% is ERB`}},
		{"environments", "production:\n  a:\n    every: 1h\n", []string{`s.yml:1: production: holds recurring jobs instead of being one: write them without it, each with rails_env: production`}},
		{"a name twice", "a:\n  every: 1h\nb:\n  every: 1h\na:\n  every: 2h\n", []string{`s.yml:5: a stands here for the second time (line 1)`}},
		{"a key twice", "a:\n  every: 1h\n  :every: 2h\n", []string{`s.yml:3: a: every stands here for the second time (line 2)`}},
		{"no YAML", "a:\n\tevery: 1h\n", []string{`s.yml:2: begins with a tab`}},
		{"nothing", "# nothing\n", []string{`s.yml: holds no recurring jobs: write`}},
		{"a list", "- a\n", []string{`s.yml:1: holds a list, not recurring jobs`}},
		{"two documents", "a: {every: 1h}\n---\nb: {every: 1h}\n", []string{`s.yml:2: a second document`}},
		{"never", "a:\n  queue: q\n  cron: 0 0 30 2 *\n", []string{`s.yml:3: a: cron "0 0 30 2 *": day 30 of month 2: no such day`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			file, err := schedulefile.Parse("s.yml", []byte(tt.yaml), nil)
			if file != nil || err == nil {
				t.Fatalf("reads %v, %v", file, err)
			}
			compareFindings(t, faults(err), tt.want)
		})
	}
}

func faults(err error) []schedulefile.Finding {
	wrong, ok := errors.AsType[*schedulefile.FaultsError](err)
	if !ok {
		return nil
	}
	return wrong.Faults
}

func compareFindings(t *testing.T, got []schedulefile.Finding, want []string) {
	t.Helper()
	var texts []string
	for i, f := range got {
		text := f.String()
		if i < len(want) && strings.HasPrefix(text, want[i]) {
			text = want[i]
		}
		texts = append(texts, text)
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Error(diff)
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, yaml string
		in         schedulefile.Circumstances
		want       []string
	}{
		{"none", "a: {every: 1h, queue: q}\n", schedulefile.Circumstances{}, nil},
		{"what the jobs say", "a:\n  queue: q\n  every: 1h30\n  quue: x\nb:\n  cron: 0 0 * * *\n  every: 1h\n  queue: q\nc: {queue: q}\nd: {every: \"30\", queue: q}\n", schedulefile.Circumstances{}, []string{
			`s.yml:3: a: every 1h30`, `s.yml:4: a: quue means nothing: did you mean queue?`, `s.yml:7: b: every has no effect beside cron`,
			`s.yml:9: c: has neither cron nor every`, `s.yml:10: d: every 30 has no unit`,
		}},
		{"values", "a:\n  queue: q\n  every: 1h\n  args: [010, 12:30, 2026-01-02, 2026-01-02 03:04:05]\n", schedulefile.Circumstances{}, []string{
			`s.yml:4: a: 010 is the number 8 to YAML`, `s.yml:4: a: 12:30 is the number 45000 to YAML`, `s.yml:4: a: 2026-01-02 is a time to YAML`, `s.yml:4: a: 2026-01-02 03:04:05 is a time to YAML`,
		}},
		{"names", "yes: {every: 1h, queue: q}\n", schedulefile.Circumstances{}, []string{`s.yml:1: true: the name is true to YAML, and becomes the text "true"`}},
		{"merges", "a: &a {every: 1h, queue: q}\nb:\n  queue: r\n  <<: *a\n", schedulefile.Circumstances{}, []string{`s.yml:4: b: << overrides queue of line 3`}},
		{"no jobs", "{}\n", schedulefile.Circumstances{}, []string{`s.yml:1: holds no recurring jobs`}},
		{"no queue", "a: {every: 1h}\nb: {every: 1h, class: B}\n", schedulefile.Circumstances{QueueOf: func(class string) string { return map[string]string{"B": "q"}[class] }}, []string{`s.yml:1: a: has no queue, and its class a has none here`}},
		{"environments", "a: {every: 1h, queue: q, rails_env: production}\nb: {every: 1h, queue: q, env: \"staging, test\"}\n", schedulefile.Circumstances{Env: "test"}, []string{`s.yml:1: a: is only for "production", and never fires in "test"`}},
		{"no environment", "a: {every: 1h, queue: q, rails_env: production}\n", schedulefile.Circumstances{}, []string{`s.yml:1: a: is only for "production", and never fires without an environment`}},
		{"over", "a: {every: [1h, {last_at: \"2026-01-01\"}], queue: q}\n", schedulefile.Circumstances{}, []string{`s.yml:1: a: never fires again after 2026-01-02 03:04:05 +0000`}},
		{"times", "a:\n  every: [1h, {times: 0}]\n  queue: q\n", schedulefile.Circumstances{}, []string{`s.yml:2: a: times allows no firing`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			file, err := schedulefile.Parse("s.yml", []byte(tt.yaml), nil)
			if err != nil {
				t.Fatal(err)
			}
			tt.in.Now = time.Unix(1767323045, 0).UTC()
			compareFindings(t, tt.in.Warnings(file), tt.want)
		})
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.yml")
	if _, err := schedulefile.Read(path, nil); err == nil || faults(err) != nil {
		t.Errorf("a file that isn't there: %v", err)
	}
	if err := os.WriteFile(path, []byte(schedulefile.Example), 0o600); err != nil {
		t.Fatal(err)
	}
	if file, err := schedulefile.Read(path, nil); err != nil || file.Path != path || len(file.Entries) != 1 || file.Entries[0].Line != 1 {
		t.Errorf("reads %v, %v", file, err)
	}
}

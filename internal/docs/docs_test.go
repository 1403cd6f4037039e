// Package docs_test holds the documents to the code: what they show compiles and
// parses, and what they list is there.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/understudy/internal/jobsfile"
	"example.com/understudy/retry"
	"example.com/understudy/scheduler"
	"example.com/understudy/scheduler/schedulefile"
)

// root is the module's, seen from this folder.
const root = "../.."

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// documents are the module's own.
func documents(t *testing.T) []string {
	t.Helper()
	paths := []string{"README.md", "CHANGELOG.md", "CONTRIBUTING.md"}
	more, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range more {
		paths = append(paths, "docs/"+filepath.Base(path))
	}
	return paths
}

// blocks are the fenced blocks of a language.
func blocks(document, language string) []string {
	var found []string
	for _, m := range regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$").FindAllStringSubmatch(document, -1) {
		if m[1] == language {
			found = append(found, m[2])
		}
	}
	return found
}

// goFiles lists the Go files of the module, but for tests and testdata.
func goFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && (name == ".git" || name == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		relative, err := filepath.Rel(root, path)
		files = append(files, filepath.ToSlash(relative))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// unindented takes the white space off the front of every line: a snippet may be
// the middle of a function.
func unindented(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i := range lines {
		lines[i] = strings.TrimLeft(lines[i], "\t ")
	}
	return strings.Join(lines, "\n")
}

// Every Go snippet stands, line for line, in an example that is compiled and run.
func TestSnippetsAreExamples(t *testing.T) {
	t.Parallel()
	var examples []string
	paths, err := filepath.Glob(filepath.Join(root, "*", "example*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		examples = append(examples, unindented(string(text)))
	}
	found := 0
	for _, document := range documents(t) {
		for _, snippet := range blocks(read(t, document), "go") {
			found++
			if !slices.ContainsFunc(examples, func(e string) bool { return strings.Contains(e, unindented(snippet)) }) {
				t.Errorf("%s has a snippet that stands in no example*_test.go:\n%s", document, snippet)
			}
		}
	}
	if found == 0 {
		t.Error("no snippet was found")
	}
}

// Every jobs file and every schedule that is shown is accepted.
func TestFilesParse(t *testing.T) {
	t.Parallel()
	jobs, schedules := 0, 0
	for _, document := range documents(t) {
		for _, text := range blocks(read(t, document), "yaml") {
			var err error
			if regexp.MustCompile(`(?m)^(jobs|queues|defaults):`).MatchString(text) {
				jobs++
				_, err = jobsfile.Parse(document, []byte(text))
			} else {
				schedules++
				_, err = schedulefile.Parse(document, []byte(text), nil)
			}
			if err != nil {
				t.Error(err)
			}
		}
	}
	if jobs == 0 || schedules == 0 {
		t.Errorf("%d jobs files and %d schedules were found", jobs, schedules)
	}
}

// Every key of a jobs file stands in the table of docs/jobs.md, and in one of its
// examples.
func TestJobsListsEveryKey(t *testing.T) {
	t.Parallel()
	page := read(t, "docs/jobs.md")
	example := strings.Join(blocks(page, "yaml"), "")
	keys := []string{"queue", "exec", "http", "timeout", "at_deadline"}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[retry.Spec]()) {
		key, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		keys = append(keys, key)
	}
	for _, key := range keys {
		if !strings.Contains(page, "\n| `"+key+"` |") {
			t.Errorf("docs/jobs.md has no row for %s", key)
		}
		if !strings.Contains(example, "    "+key+": ") && !strings.Contains(example, "    "+key+":\n") {
			t.Errorf("docs/jobs.md has no example of %s", key)
		}
	}
}

// Every member of a schedule's entry stands in the table of docs/schedules.md, and
// the schedule to begin with is one without a warning.
func TestSchedulesListEveryKey(t *testing.T) {
	t.Parallel()
	page := read(t, "docs/schedules.md")
	all := scheduler.Recurring{
		Cron: "@daily", Every: "1h", FirstIn: "1h", FirstAt: "2030-01-01", LastIn: "2h", LastAt: "2030-01-02", Times: 3, KeepPast: true,
		Class: "A", Queue: "q", Args: 1, CustomJobClass: "B", Env: "test", Description: "text", Persist: true,
	}
	for i := range reflect.TypeOf(all).NumField() {
		if f := reflect.TypeOf(all).Field(i); f.IsExported() && reflect.ValueOf(all).Field(i).IsZero() {
			t.Errorf("the field %s isn't tried", f.Name)
		}
	}
	config, err := all.Config()
	if err != nil {
		t.Fatal(err)
	}
	keys := []string{"env", "persist"} // not in a configuration, or under another name there
	for _, m := range regexp.MustCompile(`"(\w+)":`).FindAllStringSubmatch(string(config), -1) {
		keys = append(keys, m[1])
	}
	for _, key := range keys {
		if !regexp.MustCompile("(?m)^\\|.*`" + key + "`.* \\|").MatchString(page) {
			t.Errorf("docs/schedules.md has no row for %s", key)
		}
	}
	if len(keys) < 16 {
		t.Errorf("only %v were looked for", keys)
	}
	path := "examples/scheduler/schedule.yml"
	file, err := schedulefile.Parse(path, []byte(read(t, path)), nil)
	if err != nil {
		t.Fatal(err)
	}
	where := schedulefile.Circumstances{Now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Env: "production"}
	if warnings := where.Warnings(file); len(warnings) > 0 {
		t.Errorf("%v", warnings)
	}
}

// Every Go file has its line in docs/architecture.md, and every line its file.
func TestArchitectureListsEveryFile(t *testing.T) {
	t.Parallel()
	folder := ""
	var listed []string
	for line := range strings.Lines(read(t, "docs/architecture.md")) {
		if name, ok := strings.CutPrefix(line, "### "); ok {
			folder = strings.Trim(strings.TrimSpace(name), "`")
			continue
		}
		if m := regexp.MustCompile("^- `([^`]+)`: ").FindStringSubmatch(line); m != nil && folder != "" {
			listed = append(listed, strings.TrimPrefix(folder+m[1], "./"))
		}
	}
	for _, file := range goFiles(t) {
		if !slices.Contains(listed, file) {
			t.Errorf("docs/architecture.md has no line for %s: write what it is for", file)
		}
	}
	for _, file := range listed {
		if _, err := os.Stat(filepath.Join(root, file)); err != nil {
			t.Errorf("docs/architecture.md lists %s, which isn't there", file)
		}
	}
}

// Every key of our own stands in the table of docs/protocol.md.
func TestProtocolListsEveryKey(t *testing.T) {
	t.Parallel()
	protocol := read(t, "docs/protocol.md")
	_, keys, _ := strings.Cut(protocol, "\n## Keys\n")
	keys, _, _ = strings.Cut(keys, "\n## ")
	for _, file := range goFiles(t) {
		for _, key := range regexp.MustCompile(`"understudy:[a-z]+`).FindAllString(read(t, file), -1) {
			if !strings.Contains(keys, "| `"+key[1:]) {
				t.Errorf("%s names the key %s, which has no line in docs/protocol.md", file, key[1:])
			}
		}
	}
}

// Every link to a file of the module leads to one.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	for _, document := range documents(t) {
		for _, m := range regexp.MustCompile(`\]\(([^):#]+)(#[^)]*)?\)`).FindAllStringSubmatch(read(t, document), -1) {
			path := filepath.Join(root, filepath.Dir(document), m[1])
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s has a link to %s, which isn't there", document, m[1])
			}
		}
	}
}

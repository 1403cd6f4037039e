// Package schedulefile reads the schedule of recurring jobs from a file in
// resque-scheduler's own form, as Ruby reads it with YAML.unsafe_load_file:
//
//	clear_caches:
//	  cron: "30 6 * * * Europe/Stockholm"
//	  class: ClearCaches
//	  queue: low
//	poll:
//	  every: ["1h", {first_in: "5m"}]
//	  class: PollFeeds
//	  args: [1, {deep: true}]
//
// A file is read as a whole, and everything that is wrong with it is told at
// once. schedulefile.go is the file and its entries, value.go nodes as JSON,
// scalar.go texts, numbers and times as YAML 1.1 and Ruby have them, findings.go
// what is told of them.
package schedulefile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"example.com/understudy/compat/ruby"
	"example.com/understudy/internal/yamlfile"
	"example.com/understudy/scheduler"
)

// Example is a whole file, for refusals and help.
const Example = `clear_caches:
  cron: "30 6 * * *"
  class: ClearCaches
  queue: low`

// File is a schedule.
type File struct {
	// Path is its path, as it was given.
	Path string
	// Entries stand in the order of the file.
	Entries []Entry
	// Warnings are what may be meant otherwise, in the order of the lines.
	Warnings []Finding
}

// Entry is one recurring job.
type Entry struct {
	// Name is its name in the schedule.
	Name string
	// Line is where it begins.
	Line int
	// Job is the job. Its class is there, the name where the file has none.
	Job scheduler.Recurring
}

// Read reads a file. Times without a zone are of UTC to YAML; they become texts of
// the zone, as in a Ruby process there. nil: time.Local.
//
// Everything that is wrong is told at once, as a *FaultsError.
func Read(path string, zone *time.Location) (*File, error) {
	file, err := os.Open(path) //nolint:gosec // the file that the user names
	if err != nil {
		return nil, fmt.Errorf("schedulefile: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	return ReadFrom(path, file, zone)
}

// ReadFrom is Read for a stream; path names it.
func ReadFrom(path string, stream io.Reader, zone *time.Location) (*File, error) {
	text, err := yamlfile.ReadFrom(path, stream)
	if wrong, ok := errors.AsType[*yamlfile.LineError](err); ok {
		return nil, &FaultsError{[]Finding{{File: path, Text: wrong.Text}}}
	}
	if err != nil {
		return nil, fmt.Errorf("schedulefile: %w", err)
	}
	return Parse(path, text, zone)
}

// Parse is Read for the text of a file; path names it.
func Parse(path string, text []byte, zone *time.Location) (*File, error) {
	if zone == nil {
		zone = time.Local
	}
	p := &parser{file: &File{Path: path}, zone: zone, told: map[told]bool{}, listed: map[*yaml.Node][]member{}}
	if p.templates(string(text)) {
		return nil, p.faults()
	}
	root, lines, err := yamlfile.Document(path, text, "holds no recurring jobs: write\n"+Example)
	if err != nil {
		p.add(err)
		return nil, p.faults()
	}
	p.lines = lines
	p.top(root)
	if err := p.faults(); err != nil {
		return nil, err
	}
	sortFindings(p.file.Warnings)
	return p.file, nil
}

type parser struct {
	file     *File
	zone     *time.Location
	lines    int    // how many the file has
	name     string // the entry that is being read
	told     map[told]bool
	listed   map[*yaml.Node][]member
	problems []Finding
}

// templates tells of ERB.
func (p *parser) templates(text string) bool {
	p.lines = strings.Count(text, "\n") + 1
	number := 0
	for line := range strings.Lines(text) {
		number++
		if strings.Contains(line, "<%") && strings.Contains(text, "%>") && !strings.HasPrefix(strings.TrimSpace(line), "#") {
			p.fail(number, "<%% is ERB, which only Ruby can fill in: let it, by erb %s > schedule.yml, and give that file", p.file.Path)
		}
	}
	return len(p.problems) > 0
}

// top reads the outermost mapping.
func (p *parser) top(root *yaml.Node) {
	if root.Kind != yaml.MappingNode {
		p.fail(root.Line, "holds %s, not recurring jobs: write\n%s", yamlfile.KindOf(root), Example)
		return
	}
	entries := p.members(root)
	if len(entries) == 0 && len(p.problems) == 0 {
		p.warn(root.Line, "", "holds no recurring jobs")
	}
	for _, e := range entries {
		p.entry(e)
	}
	p.name = ""
}

// entry reads one recurring job.
func (p *parser) entry(e member) {
	p.name = e.key
	if e.kind != "" {
		p.warn(e.line, "", "the name is %s to YAML, and becomes the text %q: put it in quotes", e.kind, e.key)
	}
	if e.node.Kind != yaml.MappingNode {
		p.fail(e.line, "is %s: write when and what under it, such as\n%s", yamlfile.KindOf(e.node), Example)
		return
	}
	before := len(p.problems)
	members := p.members(e.node)
	if p.environment(e, members) {
		return
	}
	raw := p.config(e, members)
	if len(p.problems) > before {
		return
	}
	where := func(key string) int { return lineOf(members, key, e.line) }
	job, err := scheduler.ParseRecurring(raw)
	if err != nil {
		p.refused(err, where)
		return
	}
	for _, w := range job.Warnings() {
		p.warn(where(w.Field), w.Field, "%s", w.Text)
	}
	p.file.Entries = append(p.file.Entries, Entry{Name: e.key, Line: e.line, Job: job})
}

// config is the entry's JSON. Ruby puts the class behind the rest where it is
// missing.
func (p *parser) config(e member, members []member) []byte {
	raw := p.value(e.node)
	if slices.ContainsFunc(members, func(m member) bool { return m.key == "class" }) {
		return raw
	}
	raw = raw[:max(len(raw)-1, 0)] // without its brace
	if len(members) > 0 {
		raw = append(raw, ',')
	}
	return append(ruby.AppendString(append(raw, `"class":`...), e.key), '}')
}

// environment tells of a mapping of entries in the place of one. In Ruby it is
// an entry that never fires.
func (p *parser) environment(e member, members []member) bool {
	holdsJobs := func(m member) bool {
		return m.node.Kind == yaml.MappingNode && slices.ContainsFunc(p.members(m.node), func(inner member) bool {
			return inner.key == "cron" || inner.key == "every"
		})
	}
	if !slices.ContainsFunc(members, holdsJobs) {
		return false
	}
	p.fail(e.line, "holds recurring jobs instead of being one: write them without it, each with rails_env: %s where they are for that environment", e.key)
	return true
}

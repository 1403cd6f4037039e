package jobsfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"example.com/understudy/internal/duration"
	"example.com/understudy/internal/yamlfile"
	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

// Parse reads the text of a file; path names it.
func Parse(path string, text []byte) (*File, error) {
	root, lines, err := yamlfile.Document(path, text, "holds no jobs: write\n"+Example)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names file and line
	}
	p := &parser{
		file: &File{Path: path}, lines: lines,
		open: map[*yaml.Node]bool{}, listed: map[*yaml.Node][]entry{},
	}
	p.top(root)
	if len(p.problems) > 0 {
		return nil, yamlfile.Sort(p.problems)
	}
	return p.file, nil
}

type parser struct {
	file     *File
	lines    int                 // how many the file has
	open     map[*yaml.Node]bool // the mappings that are being listed
	listed   map[*yaml.Node][]entry
	problems []*LineError
}

func (p *parser) fail(line int, format string, args ...any) {
	p.problems = append(p.problems, p.problem(line, fmt.Sprintf(format, args...)))
}

// problem stands on a line of the file: what is missing at its end has none.
func (p *parser) problem(line int, text string) *LineError {
	return &LineError{File: p.file.Path, Line: min(line, p.lines), Text: text}
}

// top reads the outermost mapping.
func (p *parser) top(root *yaml.Node) {
	entries, ok := p.entries(root)
	if !ok {
		p.fail(root.Line, "holds %s, not jobs: write\n%s", yamlfile.KindOf(root), Example)
		return
	}
	found := false
	for _, e := range entries {
		switch e.name {
		case "jobs":
			found = true
			p.jobs(e)
		case "queues":
			p.queues(e)
		case "defaults":
			p.file.Default, _ = p.retries(e, "defaults")
		default:
			p.unknown(e, "", []string{"jobs", "queues", "defaults"})
		}
	}
	if !found && len(p.problems) == 0 {
		p.fail(root.Line, "holds no jobs: write\n%s", Example)
	}
}

func (p *parser) jobs(jobs entry) {
	before := len(p.problems)
	entries, ok := p.entries(jobs.value)
	if !ok || len(entries) == 0 && len(p.problems) == before {
		p.fail(jobs.line, "jobs is %s: write a class with its options under it, such as\n%s", yamlfile.KindOf(jobs.value), Example)
		return
	}
	for _, e := range entries {
		p.job(e)
	}
}

func (p *parser) job(class entry) {
	job := Job{Class: class.name, line: class.line}
	if job.Class == "" {
		p.fail(class.line, "a class without a name: write the job's class, as Ruby enqueues it")
		return
	}
	entries, ok := p.entries(class.value)
	if !ok {
		p.fail(class.line, "%s is %s: write its options under it, such as\n%s", job.Class, yamlfile.KindOf(class.value), Example)
		return
	}
	var spec retry.Spec
	before := len(p.problems)
	for _, e := range entries {
		switch e.name {
		case "queue":
			p.queue(&job, e)
		case "timeout":
			p.timeout(&job, e)
		case "at_deadline":
			p.atDeadline(&job, e)
		case "exec":
			job.line = e.line
			p.exec(&job, e)
		case "http":
			job.line = e.line
			p.http(&job, e)
		default:
			p.option(&spec, job.Class, e)
		}
	}
	switch has := func(name string) bool { return find(entries, name) >= 0 }; {
	case has("exec") && has("http"):
		p.fail(lastLine(entries, []string{"exec", "http"}), "%s: exec and http exclude each other: keep the program or the address", job.Class)
	case !has("exec") && !has("http"):
		p.fail(class.line, "%s has nothing that performs it: name a program, such as exec: [./deliver-sms], or an address, such as http: https://sms.internal/deliver", job.Class)
	}
	if len(p.problems) == before {
		job.NoRetry = spec.Plugin == retry.PluginNone
		job.Retry, job.delayed = p.policy(job.Class, job.line, spec, entries)
	}
	p.file.Jobs = append(p.file.Jobs, job)
}

func (p *parser) queue(job *Job, e entry) {
	if e.value.Kind != yaml.ScalarNode || yamlfile.IsNull(e.value) || strings.TrimSpace(e.value.Value) == "" {
		p.wrongType(job.Class, e, nil)
		return
	}
	job.Queue = e.value.Value
}

func (p *parser) timeout(job *Job, e entry) {
	d, err := duration.Parse(e.value.Value)
	if e.value.Kind != yaml.ScalarNode || err != nil || d == 0 {
		p.wrongType(job.Class, e, nil)
		return
	}
	job.Timeout = d
}

func (p *parser) atDeadline(job *Job, e entry) {
	choices := map[string]resque.AtDeadline{"give_back": resque.GiveBack, "fail": resque.Fail, "drop": resque.Drop}
	choice, ok := choices[e.value.Value]
	if e.value.Kind != yaml.ScalarNode || !ok {
		p.wrongType(job.Class, e, nil)
		return
	}
	job.AtDeadline = choice
}

func (p *parser) exec(job *Job, e entry) {
	var command []string
	for _, part := range e.value.Content {
		part = yamlfile.Resolve(part)
		if part.Kind != yaml.ScalarNode || yamlfile.IsNull(part) {
			p.wrongType(job.Class, e, nil)
			return
		}
		command = append(command, part.Value)
	}
	if e.value.Kind != yaml.SequenceNode || len(command) == 0 || command[0] == "" {
		p.wrongType(job.Class, e, nil)
		return
	}
	job.Exec = command
}

// policy makes the options a policy, which refuses those that conflict. nil: there
// is none. waits says that a retry may wait.
func (p *parser) policy(where string, at int, spec retry.Spec, entries []entry) (made *retry.Policy, waits bool) {
	if !spec.Enabled() {
		return nil, false
	}
	policy, err := spec.Policy()
	if err == nil {
		return &policy, delayed(spec, policy)
	}
	for _, err := range flatten(err) {
		line, text := 0, err.Error()
		if conflict, ok := errors.AsType[*retry.ConfigError](err); ok {
			text = strings.Join(conflict.Fields, " and ") + " " + conflict.Reason
			line = lastLine(entries, conflict.Fields)
		}
		if line == 0 {
			line = at
		}
		p.fail(line, "%s: %s", where, text)
	}
	return nil, false
}

// delayed says that some retry waits.
func delayed(spec retry.Spec, policy retry.Policy) bool {
	waits := func(seconds retry.Seconds) bool { return seconds > 0 }
	return spec.RetryDelay != nil && waits(*spec.RetryDelay) || policy.Strategy != nil ||
		spec.RetryDelayByException != nil || spec.RetryDelayFromArg != nil ||
		slices.ContainsFunc(policy.Backoff, func(d time.Duration) bool { return d > 0 }) ||
		slices.ContainsFunc(spec.RetryExceptions, func(e retry.ExceptionDelays) bool { return slices.ContainsFunc(e.Delays, waits) })
}

func flatten(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// lastLine is where the last of some keys stands: with it the conflict begins.
func lastLine(entries []entry, names []string) int {
	line := 0
	for _, e := range entries {
		for _, name := range names {
			if e.name == name {
				line = max(line, e.line)
			}
		}
	}
	return line
}

package schedulefile

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"example.com/understudy/internal/yamlfile"
	"example.com/understudy/scheduler"
)

// Finding is one thing that is wrong with a file, or may be meant otherwise.
type Finding struct {
	// File is the path of the file.
	File string
	// Line counts from 1; 0: the file as a whole.
	Line int
	// Name is the entry's. "": it is about none.
	Name string
	// Text says what it is, and what to write instead.
	Text string
}

// String is the line that tells of it: file:line: name: text.
func (f Finding) String() string {
	text := f.File
	if f.Line > 0 {
		text += fmt.Sprintf(":%d", f.Line)
	}
	if f.Name != "" {
		text += ": " + f.Name
	}
	return text + ": " + f.Text
}

// FaultsError is everything that is wrong with a file.
type FaultsError struct {
	// Faults stand in the order of the lines.
	Faults []Finding
}

func (e *FaultsError) Error() string {
	texts := make([]string, 0, len(e.Faults))
	for _, f := range e.Faults {
		texts = append(texts, f.String())
	}
	return strings.Join(texts, "\n")
}

// Circumstances are where a schedule is to be used.
type Circumstances struct {
	// Now is when it is loaded.
	Now time.Time
	// Env is the environment. "": there is none.
	Env string
	// QueueOf answers the queue of a class; "": it has none. nil: no class has one.
	QueueOf func(class string) string
}

// Warnings says what may be meant otherwise where the schedule is used like this,
// what the file itself gives cause for included, in the order of the lines.
func (c Circumstances) Warnings(f *File) []Finding {
	all := slices.Clone(f.Warnings)
	for _, e := range f.Entries {
		warn := func(format string, args ...any) {
			all = append(all, Finding{f.Path, e.Line, e.Name, fmt.Sprintf(format, args...)})
		}
		switch {
		case e.Job.Within(c.Env):
		case c.Env == "":
			warn("is only for %q, and never fires without an environment: give one", e.Job.Env)
		default:
			warn("is only for %q, and never fires in %q", e.Job.Env, c.Env)
		}
		if e.Job.Queue == "" && (c.QueueOf == nil || c.QueueOf(e.Job.Class) == "") {
			warn("has no queue, and its class %s has none here, so that its jobs go to the failed ones: write one, such as queue: low", e.Job.Class)
		}
		timing, err := e.Job.Timing(c.Now)
		if err == nil && timing.Planned().IsZero() && (e.Job.Cron != "" || e.Job.Every != "") && e.Job.Times >= 0 {
			warn("never fires again after %s", c.Now.Format("2006-01-02 15:04:05 -0700"))
		}
	}
	sortFindings(all)
	return all
}

func sortFindings(list []Finding) {
	slices.SortStableFunc(list, func(a, b Finding) int { return a.Line - b.Line })
}

// told is what was said of a node, which aliases show many times.
type told struct {
	node *yaml.Node
	text string
}

func (p *parser) once(node *yaml.Node, line int, format string, args ...any) {
	if key := (told{node, format}); !p.told[key] {
		p.told[key] = true
		p.fail(line, format, args...)
	}
}

func (p *parser) warnOnce(node *yaml.Node, line int, format string, args ...any) {
	if key := (told{node, format}); !p.told[key] {
		p.told[key] = true
		p.warn(line, "", format, args...)
	}
}

func (p *parser) fail(line int, format string, args ...any) {
	p.problems = append(p.problems, Finding{p.file.Path, min(line, p.lines), p.name, fmt.Sprintf(format, args...)})
}

func (p *parser) warn(line int, field, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if field != "" {
		text = field + " " + text
	}
	p.file.Warnings = append(p.file.Warnings, Finding{p.file.Path, min(line, p.lines), p.name, text})
}

// add takes what the reader of YAML says.
func (p *parser) add(err error) {
	if line, ok := errors.AsType[*yamlfile.LineError](err); ok {
		p.problems = append(p.problems, Finding{line.File, line.Line, "", line.Text})
	}
}

// refused takes what is wrong with an entry.
func (p *parser) refused(err error, where func(key string) int) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			p.refused(err, where)
		}
		return
	}
	field, text := "", err.Error()
	if wrong, ok := errors.AsType[*scheduler.FieldError](err); ok {
		field, text = wrong.Field, strings.TrimSpace(wrong.Field+" "+wrong.Text)
	}
	p.fail(where(field), "%s", text)
}

// faults is the error of everything that is wrong; nil: nothing is.
func (p *parser) faults() error {
	if len(p.problems) == 0 {
		return nil
	}
	sortFindings(p.problems)
	return &FaultsError{p.problems}
}

// lineOf is where a member of an entry stands, or an option behind its time.
func lineOf(members []member, key string, entry int) int {
	for _, m := range members {
		if m.key == key {
			return m.line
		}
	}
	kind, _, _ := strings.Cut(key, "_")
	for _, m := range members {
		if (m.key != "cron" && m.key != "every") || m.node.Kind != yaml.SequenceNode {
			continue
		}
		for _, options := range m.node.Content {
			options = yamlfile.Resolve(options)
			for i := 0; options.Kind == yaml.MappingNode && i+1 < len(options.Content); i += 2 {
				name := strings.TrimPrefix(options.Content[i].Value, ":")
				// first_in may be written as first.
				if name == key || strings.HasPrefix(name, kind) && (kind == "first" || kind == "last") {
					return options.Content[i].Line
				}
			}
		}
	}
	return entry
}

package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"example.com/understudy/compat/ruby"
	"example.com/understudy/internal/redistest"
)

// Suite is a folder of recordings.
type Suite struct {
	files  []*file
	notYet []string
}

// file is one file of recordings.
type file struct {
	name  string
	cases []*testCase
}

// redis says that the file's cases need a server: they have steps and are no
// rows.
func (f *file) redis() bool {
	switch f.cases[0].row.(type) {
	case *scenario, *group:
		return true
	default:
		return false
	}
}

// testCase is one scenario, one group of calls, or one row of a table.
type testCase struct {
	name string
	run  func(ctx context.Context, url, namespace string) (steps int, findings []Finding, err error)
	// row is what the case was made from: a *scenario, a *group, a keyRow, a
	// textRow, a malformedRow.
	row any
}

// kind is what a file's name says about it. The first pattern that matches
// counts.
type kind struct {
	pattern string
	// open reads the file's cases; nil: nothing replays them yet.
	open func(name string, data []byte) (*file, error)
}

func kinds() []kind {
	return []kind{
		{"scenarios*.json", openScenarios},
		{"keys*.json", openKeys},
		{"json*.json", openTexts},
		{"api-schedules*.json", openSchedules},
		{"api*.json", openAPI},
		{"cron*.json", openCrons},
		{"activejob*.json", nil},
	}
}

// Open reads all recordings of a folder. It refuses a file whose kind it doesn't
// know, a field or a step that it doesn't know, and a folder or a file in which
// there is nothing to compare.
func Open(dir string) (*Suite, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("conformance: %w", err)
	}
	s := &Suite{}
	for _, path := range paths {
		if err := s.add(path); err != nil {
			return nil, fmt.Errorf("conformance: %s: %w", path, err)
		}
	}
	if len(s.files) == 0 {
		return nil, fmt.Errorf("conformance: %s: no recordings that can be compared", dir)
	}
	return s, nil
}

func (s *Suite) add(path string) error {
	name := filepath.Base(path)
	k, err := kindOfFile(name)
	if err != nil {
		return err
	}
	if k.open == nil {
		s.notYet = append(s.notYet, name)
		return nil
	}
	data, err := os.ReadFile(path) //nolint:gosec // the path is the caller's
	if err != nil {
		return err
	}
	f, err := k.open(name, data)
	if err != nil {
		return err
	}
	if len(f.cases) == 0 {
		return errors.New("has nothing to compare")
	}
	s.files = append(s.files, f)
	return nil
}

func kindOfFile(name string) (kind, error) {
	for _, k := range kinds() {
		if ok, err := filepath.Match(k.pattern, name); ok || err != nil {
			return k, err
		}
	}
	return kind{}, errors.New("is of no kind that is known here")
}

func openScenarios(name string, data []byte) (*file, error) {
	var content scenarioFile
	if err := decodeStrict(data, &content); err != nil {
		return nil, err
	}
	f := &file{name: name}
	for i := range content.Scenarios {
		s := &content.Scenarios[i]
		if err := s.check(); err != nil {
			return nil, fmt.Errorf("scenario %q: %w", s.Name, err)
		}
		run := func(ctx context.Context, url, namespace string) (int, []Finding, error) {
			return replay(ctx, url, namespace, &content, s)
		}
		f.cases = append(f.cases, &testCase{name: s.Name, run: run, row: s})
	}
	return f, nil
}

func openKeys(name string, data []byte) (*file, error) {
	var content keysFile
	if err := decodeStrict(data, &content); err != nil {
		return nil, err
	}
	form := inspectForm(content.RecordedWith["ruby"])
	switch content.Inspect {
	case "3.3":
		form = min(form, ruby.Inspect32)
	case "3.4":
		form = ruby.Inspect34
	default:
		return nil, fmt.Errorf("unknown form of inspect %q", content.Inspect)
	}
	f := &file{name: name}
	for i, row := range content.Rows {
		f.add(fmt.Sprintf("row %d: %s", i+1, row.ArgsJSON), row, func() []difference { return compareKeys(form, row) })
	}
	return f, nil
}

func openTexts(name string, data []byte) (*file, error) {
	var content textFile
	if err := decodeStrict(data, &content); err != nil {
		return nil, err
	}
	f := &file{name: name}
	for i, row := range content.Rows {
		f.add(fmt.Sprintf("row %d: %s", i+1, row.Raw), row, func() []difference { return compareText(row) })
	}
	for i, row := range content.Malformed {
		f.add(fmt.Sprintf("malformed row %d: %s", i+1, row.RawHex), row, func() []difference { return compareMalformed(row) })
	}
	return f, nil
}

// add adds a row that is compared without Redis.
func (f *file) add(name string, row any, compare func() []difference) {
	run := func(context.Context, string, string) (int, []Finding, error) {
		var findings []Finding
		for _, d := range settle(place{row: row}, compare()) {
			findings = append(findings, Finding{Case: name, Field: d.Field, Detail: d.Detail})
		}
		return 1, findings, nil
	}
	f.cases = append(f.cases, &testCase{name: name, run: run, row: row})
}

// Run replays the recordings as subtests, for each kind of server where they
// need one. It says how much of each file was compared.
func (s *Suite) Run(t *testing.T) {
	t.Helper()
	for _, name := range s.notYet {
		t.Logf("%s: not yet", name)
	}
	for _, f := range s.files {
		t.Run(f.name, f.test)
	}
}

func (f *file) test(t *testing.T) {
	if !f.redis() {
		for _, c := range f.cases {
			_, findings, err := c.judge(t.Context(), f.name, "", "")
			report(t, findings, err)
		}
		t.Logf("%s: compared %d rows", f.name, len(f.cases))
		return
	}
	onMini, onReal := tally{what: f.what()}, tally{what: f.what()}
	for _, c := range f.cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, server *redistest.Server) {
				t.Helper()
				steps, findings, err := c.judge(t.Context(), f.name, server.URL(), server.Namespace())
				report(t, findings, err)
				if server.Real() {
					onReal.add(steps)
				} else {
					onMini.add(steps)
				}
			})
		})
	}
	t.Cleanup(func() {
		t.Logf("%s: compared %v on miniredis, %v on redis-server", f.name, &onMini, &onReal)
	})
}

// what are the file's cases.
func (f *file) what() string {
	if _, ok := f.cases[0].row.(*group); ok {
		return "groups"
	}
	return "scenarios"
}

// tally counts what was compared.
type tally struct {
	what         string
	cases, steps atomic.Int64
}

func (n *tally) add(steps int) {
	n.cases.Add(1)
	n.steps.Add(int64(steps))
}

func (n *tally) String() string {
	return fmt.Sprintf("%d %s with %d steps", n.cases.Load(), n.what, n.steps.Load())
}

// Compare replays the recordings one after the other on one server, each
// scenario under a namespace of its own below the one given, and answers every
// difference. Run is the way for tests.
func (s *Suite) Compare(ctx context.Context, url, namespace string) ([]Finding, error) {
	var all []Finding
	for _, f := range s.files {
		for i, c := range f.cases {
			_, findings, err := c.judge(ctx, f.name, url, fmt.Sprintf("%s:%s:%d", namespace, f.name, i))
			all = append(all, findings...)
			if err != nil {
				return all, fmt.Errorf("conformance: %w", err)
			}
		}
	}
	return all, nil
}

func report(t *testing.T, findings []Finding, err error) {
	t.Helper()
	for _, finding := range findings {
		t.Error(finding)
	}
	if err != nil {
		t.Error(err)
	}
}

// judge runs the case.
func (c *testCase) judge(ctx context.Context, name, url, namespace string) (steps int, findings []Finding, err error) {
	steps, found, err := c.run(ctx, url, namespace)
	for i := range found {
		found[i].File = name
	}
	if err != nil {
		return steps, found, fmt.Errorf("%s: %s: %w", name, c.name, err)
	}
	return steps, found, nil
}

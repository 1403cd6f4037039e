package jobsfile_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"example.com/understudy/internal/jobsfile"
)

// FuzzParse: whatever a file holds, it is read, and to the same each time, or
// refused line by line.
func FuzzParse(f *testing.F) {
	f.Add(jobsfile.Example)
	for _, file := range refusedFiles() {
		f.Add(file.text)
	}
	for _, address := range refusedAddresses() {
		f.Add(string(posted(address.lines)))
	}
	for _, option := range []string{
		"timeout: 1h30m", "retry_exceptions: {A: 30, B: [120, 240]}", "backoff_strategy: default", "retry_identifier: {fields: [0, -1], join: ':'}",
		"retry_args: {replace: [1, a]}", "criteria_checks: [{message_includes: again, returns: true}]", "retry_job_delegate: {class: B, queue: c}",
	} {
		f.Add(job(option))
	}
	f.Add("jobs: {A: {http: {url: https://a, headers: {Authorization: 'Bearer ${SMS_TOKEN}'}}}}")
	f.Add("jobs: {A: &a {exec: [sh]}, B: {<<: [*a, {queue: b}]}}")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := jobsfile.Parse("jobs.yml", []byte(text))
		if err != nil {
			checkRefusal(t, err, lines(text))
			return
		}
		again, err := jobsfile.Parse("jobs.yml", []byte(text))
		if err != nil {
			t.Fatalf("the second time: %v", err)
		}
		if first, second := describe(file), describe(again); first != second {
			t.Errorf("first\n%s\nthen\n%s", first, second)
		}
		for _, job := range file.Jobs {
			if job.Class == "" || (len(job.Exec) > 0) == (job.HTTP != nil) || job.Timeout < 0 {
				t.Errorf("a job is %+v", job)
			}
		}
	})
}

// lines counts as YAML does, without what an ended last line is followed by.
func lines(text string) int {
	breaks := regexp.MustCompile("\r\n|[\n\r\u0085\u2028\u2029]").FindAllStringIndex(text, -1)
	if n := len(breaks); n > 0 && breaks[n-1][1] == len(text) {
		return n
	}
	return len(breaks) + 1
}

func checkRefusal(t *testing.T, err error, lines int) {
	t.Helper()
	problems := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		problems = joined.Unwrap()
	}
	last := 1
	if _, text, _ := strings.Cut(err.Error(), ": "); strings.HasPrefix(text, "holds no jobs") {
		last = 0 // the whole file
	}
	for _, problem := range problems {
		line, ok := problem.(*jobsfile.LineError) //nolint:errorlint // nothing may wrap it
		if !ok {
			t.Fatalf("%T: %v", problem, problem)
		}
		if line.File != "jobs.yml" || line.Line < last || line.Line > lines || line.Text == "" {
			t.Errorf("of %d lines: %v", lines, line)
		}
		last = line.Line
	}
}

// describe is all that a file says; of functions, that there is one.
func describe(file *jobsfile.File) string {
	var all strings.Builder
	for _, job := range file.Jobs {
		retry, address := job.Retry, job.HTTP
		job.Retry, job.HTTP = nil, nil
		fmt.Fprintf(&all, "%+v %s", job, addressText(address))
		if retry != nil {
			all.WriteString(regexp.MustCompile("0x[0-9a-f]+").ReplaceAllString(fmt.Sprintf(" %+v", *retry), "set"))
			if retry.Delegate != nil {
				fmt.Fprintf(&all, " %+v", *retry.Delegate)
			}
		}
		all.WriteByte('\n')
	}
	return all.String()
}

package jobsfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"example.com/understudy/internal/jobsfile"
	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

func TestParse(t *testing.T) {
	t.Parallel()
	file, err := jobsfile.Parse("jobs.yml", []byte(`
# ported from Ruby
jobs:
  DeliverSMS:
    queue: mt_messages
    exec: [./deliver-sms, --retries, 5]
    timeout: 0.5
    retry_limit: 10
    retry_delay: 120
    retry_exceptions: {NetworkError: 30, SystemCallError: [120, 240]}
  Billing::Send: &send
    exec:
      - send
    timeout: 1h30m
    backoff_strategy: default
    retry_delay_multiplicand_max: 1.5
    retry_identifier: {fields: [0], join: ":"}
    criteria_checks:
      - {message_includes: again, returns: true}
  Billing::Remind:
    <<: *send
    exec: [remind]
  Plain:
    exec: [/bin/true]
`))
	if err != nil {
		t.Fatal(err)
	}
	type job struct {
		class, queue, exec string
		timeout            time.Duration
		retries            bool
	}
	want := []job{
		{"DeliverSMS", "mt_messages", "./deliver-sms --retries 5", 500 * time.Millisecond, true},
		{"Billing::Send", "", "send", 90 * time.Minute, true},
		{"Billing::Remind", "", "remind", 90 * time.Minute, true},
		{"Plain", "", "/bin/true", 0, false},
	}
	var got []job
	for _, j := range file.Jobs {
		got = append(got, job{j.Class, j.Queue, strings.Join(j.Exec, " "), j.Timeout, j.Retry != nil})
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	sms, _ := file.Find("DeliverSMS")
	if sms.Retry.Limit != 10 || len(sms.Retry.On) != 2 {
		t.Errorf("the policy is %+v", sms.Retry)
	}
	if _, found := file.Find("Absent"); found {
		t.Error("an absent class is found")
	}
}

// refused is a file that isn't taken.
type refused struct {
	name, text string
	says       []string // one line each, by its end and its place
}

func refusedFiles() []refused {
	return []refused{
		{"nothing", "", []string{"jobs.yml: holds no jobs: write\njobs:\n  DeliverSMS:"}},
		{"only a comment", "# later\n", []string{"jobs.yml: holds no jobs"}},
		{"another top", "classes: a\n", []string{"jobs.yml:1: unknown key classes: known here are jobs, queues, defaults"}},
		{"queues as a list", "queues: [a]\njobs: {A: {exec: [a]}}\n", []string{"jobs.yml:1: queues is a list: write a queue with its options of retry under it, such as\nqueues:"}},
		{"a queue without a name", "queues: {'': {retry_limit: 1}}\njobs: {A: {exec: [a]}}\n", []string{"jobs.yml:1: a queue without a name under queues"}},
		{"a queue without options", "queues:\n  a:\njobs: {A: {exec: [a]}}\n", []string{"jobs.yml:2: queue a is empty: write options of retry under it"}},
		{"a queue with empty options", "queues:\n  a: {}\njobs: {A: {exec: [a]}}\n", []string{"jobs.yml:2: queue a is empty: write options of retry under it"}},
		{"a queue with a program", "queues:\n  a:\n    exec: [b]\njobs: {A: {exec: [a]}}\n", []string{"jobs.yml:3: queue a: exec belongs to a class, under jobs"}},
		{"a queue with conflicts", "queues:\n  a:\n    retry_waits: [1]\n    retry_limit: 3\njobs: {A: {exec: [a]}}\n", []string{"jobs.yml:4: queue a: retry_waits and retry_limit both say when to try again: leave retry_limit out, or retry_waits"}},
		{"defaults as a number", "defaults: 5\njobs: {A: {exec: [a]}}\n", []string{"jobs.yml:1: defaults is 5: write options of retry under it"}},
		{"defaults with a misspelt key", "defaults: {retry_limt: 5}\njobs: {A: {exec: [a]}}\n", []string{"jobs.yml:1: defaults: unknown key retry_limt: did you mean retry_limit?"}},
		{"a list", "- a\n", []string{"jobs.yml:1: holds a list, not jobs"}},
		{"a text", "hello\n", []string{"jobs.yml:1: holds hello, not jobs"}},
		{"no jobs", "jobs:\n", []string{"jobs.yml:1: jobs is empty: write a class"}},
		{"no jobs in braces", "jobs: {}\n", []string{"jobs.yml:1: jobs is a mapping: write a class"}},
		{"no YAML", "jobs:\n  A:\n   - b\n  c\n", []string{"jobs.yml:4: is no YAML: could not find expected ':'"}},
		{"a tab", "jobs:\n\tA: 1\n", []string{"jobs.yml:2: begins with a tab: indent by blanks"}},
		{"Ruby's @", job("@retry_limit: 5"), []string{"jobs.yml:4: @retry_limit: write the name without @"}},
		{"Ruby's @ and =", job("@retry_limit = 5"), []string{"jobs.yml:4: @retry_limit = 5: write the name without @"}},
		{"Ruby's @, quoted", job("'@retry_limit': 5"), []string{"jobs.yml:4: A: unknown key @retry_limit: did you mean retry_limit?"}},
		{"a backquote", job("`a`: 5"), []string{"jobs.yml:4: is no YAML: found character"}},
		{"a callback", job("give_up_callback: x"), []string{"jobs.yml:4: A: give_up_callback: is code, which needs a worker in Go: retry.Policy.GiveUp"}},
		{"a check in code", job("retry_criteria_check: x"), []string{"jobs.yml:4: A: retry_criteria_check: is code, which needs a worker in Go: retry.Policy.Check, or criteria_checks here"}},
		{"no choice at the deadline", job("at_deadline: retry"), []string{"jobs.yml:4: A: at_deadline is retry: write give_back, fail or drop, such as at_deadline: fail"}},
		{"a list at the deadline", job("at_deadline: [fail]"), []string{"jobs.yml:4: A: at_deadline is a list: write give_back, fail or drop, such as at_deadline: fail"}},
		{"nothing like any key", job("priority: 5"), []string{"jobs.yml:4: A: unknown key priority: known here are queue, exec, http, timeout, at_deadline, backoff_strategy, "}},
		{"unknown anchor", "jobs:\n  A: *b\n", []string{"jobs.yml:2: is no YAML: unknown anchor 'b' referenced"}},
		{"no YAML on line 1", "jobs: a: b\n", []string{"jobs.yml:1: is no YAML: mapping values are not allowed"}},
		{"a brace too many", "jobs:\n  A: {exec: [a]}}\n", []string{"jobs.yml:2: is no YAML: did not find expected key"}},
		{"a brace too few", "jobs:\n  A: {exec: [a]\n  B: {exec: [a]}\n", []string{"jobs.yml:2: is no YAML: did not find expected ',' or '}'"}},
		{"a bracket too few at the end", "jobs: [", []string{"jobs.yml:1: is no YAML: did not find expected node content"}},
		{"a wrong indent", "jobs:\n    A:\n        exec: [a]\n      queue: b\n", []string{"jobs.yml:2: is no YAML: did not find expected key"}}, // of the mapping that begins there
		{"invalid UTF-8", "jobs:\n  # a\n  A: \xff\n", []string{"jobs.yml:3: is no YAML: invalid leading UTF-8 octet"}},
		{"a control character", "jobs:\n  A: b\x00\n", []string{"jobs.yml:2: is no YAML: control characters are not allowed"}},
		{"nothing but a document", "---", []string{"jobs.yml:1: holds empty, not jobs: write"}},
		{"two documents", "jobs: {A: {exec: [a]}}\n---\njobs: {}\n", []string{"jobs.yml:2: a second document begins here"}},
		{"a class without options", "jobs:\n  A:\n", []string{"jobs.yml:2: A is empty: write its options under it"}},
		{"a class twice", "jobs:\n  A: {exec: [a]}\n  A: {exec: [b]}\n", []string{"jobs.yml:3: A stands here for the second time (line 2)"}},
		{"a key twice", "jobs:\n  A:\n    exec: [a]\n    exec: [b]\n", []string{"jobs.yml:4: exec stands here for the second time (line 3)"}},
		{"a list as a key", "jobs:\n  [a]: {}\n", []string{"jobs.yml:2: a list stands where a name belongs"}},
		{"an empty class", "jobs:\n  \"\": {exec: [a]}\n", []string{"jobs.yml:2: a class without a name"}},
		{"a merge of nothing", "jobs:\n  A:\n    <<: 5\n    exec: [a]\n", []string{"jobs.yml:3: << takes a mapping"}},

		{"no program", "jobs:\n  A:\n    queue: b\n", []string{"jobs.yml:2: A has nothing that performs it: name a program, such as exec: [./deliver-sms], or an address, such as http: https://sms.internal/deliver"}},
		{"program and address", job("http: https://sms.internal/deliver"), []string{"jobs.yml:4: A: exec and http exclude each other: keep the program or the address"}},
		{"address and program", "jobs:\n  A:\n    http: https://a\n    exec: [a]\n", []string{"jobs.yml:4: A: exec and http exclude each other"}},
		{"a program merged in", "jobs:\n  A: &a\n    exec: [a]\n  B:\n    <<: *a\n    http: https://a\n", []string{"jobs.yml:6: B: exec and http exclude each other"}},
		{"a misspelt key", job("retry_limt: 5"), []string{"jobs.yml:4: A: unknown key retry_limt: did you mean retry_limit?"}},
		{"a Go name", job("RetryDelay: 5"), []string{"jobs.yml:4: A: unknown key RetryDelay: did you mean retry_delay?"}},
		{"swapped letters", job("qeuue: a"), []string{"jobs.yml:4: A: unknown key qeuue: did you mean queue?"}},
		{"a nested misspelt key", job("retry_identifier:\n      feilds: [1]"), []string{"jobs.yml:5: A: retry_identifier: unknown key feilds: did you mean fields?"}},
		{"a misspelt key in a list", job("criteria_checks:\n    - {message_includes: a}\n    - {message_include: a}"), []string{"jobs.yml:6: A: criteria_checks: unknown key message_include: did you mean message_includes?"}},
		{"a misspelt key of the other class", job("retry_job_delegate: {class: B, queue: c, retry_limt: 1}"), []string{"jobs.yml:4: A: retry_job_delegate: unknown key retry_limt: did you mean retry_limit?"}},

		{"exec as a text", "jobs:\n  A:\n    exec: ./a --b\n", []string{"jobs.yml:3: A: exec is ./a --b: write a list of the program and its arguments, such as exec: [./deliver-sms, --fast]"}},
		{"exec empty", "jobs:\n  A:\n    exec: []\n", []string{"jobs.yml:3: A: exec is a list: write a list of"}},
		{"exec without value", "jobs:\n  A:\n    exec:\n", []string{"jobs.yml:3: A: exec is empty: write a list of"}},
		{"exec of an empty name", "jobs:\n  A:\n    exec: [\"\"]\n", []string{"jobs.yml:3: A: exec is a list: write"}},
		{"exec of lists", "jobs:\n  A:\n    exec: [a, [b]]\n", []string{"jobs.yml:3: A: exec is a list: write"}},
		{"queue empty", job("queue:"), []string{"jobs.yml:4: A: queue is empty: write the name of a queue"}},
		{"queue a list", job("queue: [a, b]"), []string{"jobs.yml:4: A: queue is a list: write the name of a queue"}},
		{"timeout", job("timeout: soon"), []string{"jobs.yml:4: A: timeout is soon: write seconds or a time with its unit, such as timeout: 30s"}},
		{"timeout 0", job("timeout: 0"), []string{"jobs.yml:4: A: timeout is 0: write"}},
		{"timeout a list", job("timeout: [5]"), []string{"jobs.yml:4: A: timeout is a list: write"}},
		{"limit", job("retry_limit: often"), []string{"jobs.yml:4: A: retry_limit is often: write a whole number, such as retry_limit: 10"}},
		{"limit with a fraction", job("retry_limit: 1.5"), []string{"jobs.yml:4: A: retry_limit is 1.5: write a whole number"}},
		{"a merge of itself", "jobs:\n  A: &a\n    <<: *a\n    exec: [sh]\n", []string{"jobs.yml:2: << merges this mapping into itself: name another one"}},
		{"limit without value", job("retry_limit:"), []string{"jobs.yml:4: A: retry_limit is empty: write a whole number"}},
		{"delay with a unit", job("retry_delay: 30s"), []string{"jobs.yml:4: A: retry_delay is 30s: write whole seconds, such as retry_delay: 120"}},
		{"delay with a fraction", job("retry_delay: 0.5"), []string{"jobs.yml:4: A: retry_delay is 0.5 (0.5 has a fraction: delays are whole seconds): write whole seconds, such as retry_delay: 120"}},
		{"errors as a text", job("fatal_exceptions: BadRecipient"), []string{"jobs.yml:4: A: fatal_exceptions is BadRecipient: write a list of error classes, such as fatal_exceptions: [BadRecipient]"}},
		{"backoff", job("backoff_strategy: quick"), []string{"jobs.yml:4: A: backoff_strategy is quick: write a list of whole seconds"}},
		{"a delay of an error", job("retry_exceptions: {A: 30s}"), []string{`jobs.yml:4: A: retry_exceptions is a mapping (A: "30s" is no number of seconds): write a list`}},
		{"a number as backoff", job("backoff_strategy: 60"), []string{"jobs.yml:4: A: backoff_strategy is 60: write a list"}},
		{"a number as an error", job("retry_exceptions: [5]"), []string{"jobs.yml:4: A: retry_exceptions is a list: write a list of error classes"}},
		{"a check far down", job("criteria_checks:\n    - message_includes: a\n      returns: maybe"), []string{"jobs.yml:6: A: criteria_checks is a list: write a list of checks"}},

		{
			"a conflict", job("retry_exceptions: [A]\n    retry_limit: 1\n    fatal_exceptions: [B]"),
			[]string{"jobs.yml:6: A: retry_exceptions and fatal_exceptions exclude each other"},
		},
		{
			"a conflict with what is merged in", "jobs:\n  A: &a\n    exec: [a]\n    fatal_exceptions: [X]\n  B:\n    retry_exceptions: [Y]\n    <<: *a\n",
			[]string{"jobs.yml:6: B: retry_exceptions and fatal_exceptions exclude each other"},
		},
		{"a conflict of one key", job("retry_args: {}"), []string{"jobs.yml:4: A: retry_args takes exactly one of"}},
		{"multiplicands", job("backoff_strategy: [1]\n    retry_delay_multiplicand_min: 2.0"), []string{"jobs.yml:5: A: retry_delay_multiplicand_min"}},
		{
			"everything at once", "jobs:\n  A:\n    retry_limt: 1\n    timeout: x\n  B:\n    exec: [b]\n    queue: []\n  C: {}\n",
			[]string{"jobs.yml:2: A has nothing", "jobs.yml:3: A: unknown key", "jobs.yml:4: A: timeout is x", "jobs.yml:7: B: queue is a list", "jobs.yml:8: C has nothing"},
		},
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range refusedFiles() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := jobsfile.Parse("jobs.yml", []byte(tt.text))
			if err == nil {
				t.Fatal("accepted")
			}
			problems := []error{err}
			if joined, ok := err.(interface{ Unwrap() []error }); ok {
				problems = joined.Unwrap()
			}
			if len(problems) != len(tt.says) {
				t.Fatalf("got %v\nwant %d problems", err, len(tt.says))
			}
			for i, says := range tt.says {
				if !strings.HasPrefix(problems[i].Error(), says) {
					t.Errorf("got  %v\nwant %s", problems[i], says)
				}
			}
		})
	}
}

// job is a file in which line 4 is free.
func job(line string) string { return "jobs:\n  A:\n    exec: [a]\n    " + line + "\n" }

func TestEveryOptionSaysWhatToWrite(t *testing.T) {
	t.Parallel()
	for _, field := range reflect.VisibleFields(reflect.TypeFor[retry.Spec]()) {
		key, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		_, err := jobsfile.Parse("jobs.yml", []byte(job(key+":")))
		if err == nil || !strings.HasPrefix(err.Error(), "jobs.yml:4: A: "+key+" is empty: write ") {
			t.Errorf("%s: %v", key, err)
			continue
		}
		_, example, ok := strings.Cut(err.Error(), "such as "+key+": ")
		if !ok {
			t.Errorf("%v holds no example", err)
			continue
		}
		example, _, _ = strings.Cut(strings.ReplaceAll(example, ", or ", " # "), " (")
		if _, err := jobsfile.Parse("jobs.yml", []byte(job(key+": "+example))); err != nil && !strings.Contains(err.Error(), "belong together") {
			t.Errorf("the example for %s: %v", key, err)
		}
	}
}

// TestMergesOfMerges: what is merged in a billion times is read once.
func TestMergesOfMerges(t *testing.T) {
	t.Parallel()
	text := "jobs:\n  A0: &a0 {exec: [a], queue: q}\n"
	for i := range 30 {
		text += fmt.Sprintf("  A%[2]d: &a%[2]d {<<: [*a%[1]d, *a%[1]d, *a%[1]d]}\n", i, i+1)
	}
	file, err := jobsfile.Parse("jobs.yml", []byte(text))
	if err != nil || len(file.Jobs) != 31 || file.Jobs[30].Queue != "q" {
		t.Errorf("got %+v, %v", file, err)
	}
	_, err = jobsfile.Parse("jobs.yml", []byte(strings.Replace(text, "queue: q", "queue: q, queue: r", 1)))
	if err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("a problem is told more than once: %v", err)
	}
}

func TestExampleIsAFile(t *testing.T) {
	t.Parallel()
	if _, err := jobsfile.Parse("jobs.yml", []byte(jobsfile.Example)); err != nil {
		t.Error(err)
	}
}

func TestPoliciesAreThoseOfTheFile(t *testing.T) {
	t.Parallel()
	file, err := jobsfile.Parse("jobs.yml", []byte(job("retry_queue: low\n    retry_limit: 0")))
	if err != nil {
		t.Fatal(err)
	}
	policy := file.Jobs[0].Retry
	if policy.Limit != retry.Never || policy.Queue(&resque.Job{}, nil) != "low" {
		t.Errorf("got %+v", policy)
	}
}

func TestQueuesAndDefaults(t *testing.T) {
	t.Parallel()
	file, err := jobsfile.Parse("jobs.yml", []byte(`
queues:
  mails: {retry_waits: [10, 60], max_attempts: 5}
  plain: {plugin: none}
defaults: &all
  retry_waits: default
jobs:
  Own: {exec: [a], retry_limit: 3}
  None: {exec: [a], plugin: none}
  Any: {exec: [a]}
  Same: {exec: [a], <<: *all}
`))
	if err != nil {
		t.Fatal(err)
	}
	waits := func(p *retry.Policy) string {
		if p == nil {
			return "none"
		}
		return fmt.Sprintf("%+v", p.Strategy)
	}
	got := []string{waits(file.Default), waits(file.Queues["mails"]), waits(file.Queues["plain"])}
	for _, job := range file.Jobs {
		got = append(got, fmt.Sprintf("%s: policy %v, no retry %v", job.Class, job.Retry != nil, job.NoRetry))
	}
	want := []string{
		"{MaxAttempts:0 Waits:[]}", "{MaxAttempts:5 Waits:[10s 1m0s]}", "none",
		"Own: policy true, no retry false", "None: policy false, no retry true", "Any: policy false, no retry false", "Same: policy true, no retry false",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if policy, ok := file.Queues["plain"]; !ok || policy != nil || !file.Delayed() {
		t.Errorf("the queue without retries: %v %v; delayed: %v", policy, ok, file.Delayed())
	}
}

func TestDelayed(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"queue: a": false, "retry_limit: 3": false, "retry_delay: 0": false, "retry_delay: 5": true,
		"backoff_strategy: [0]": false, "backoff_strategy: default": true, "plugin: exponential_backoff": true, "retry_delay_multiplicand_max: 2.0": true,
		"retry_exceptions: [A]": false, "retry_exceptions: {A: [0, 5]}": true, "retry_delay_from_arg: 0": true, "retry_delay_by_exception: {A: 5}": true,
	} {
		file, err := jobsfile.Parse("jobs.yml", []byte(job(line)))
		if err != nil {
			t.Fatal(err)
		}
		if got := file.Delayed(); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "jobs.yml")
	if _, err := jobsfile.Read(path); err == nil || !strings.Contains(err.Error(), "can't read the jobs file") {
		t.Errorf("a missing file: %v", err)
	}
	if err := os.WriteFile(path, []byte(jobsfile.Example), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := jobsfile.Read(path)
	if err != nil || file.Path != path || len(file.Jobs) != 1 {
		t.Errorf("got %+v, %v", file, err)
	}
}

func TestLocate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "good"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "plain"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ program, want, says string }{
		{"./good", filepath.Join(dir, "good"), ""},
		{filepath.Join(dir, "good"), filepath.Join(dir, "good"), ""},
		{"./sub/../good", filepath.Join(dir, "good"), ""},
		{"./missing", "", "jobs.yml:3: A: exec: no program at " + filepath.Join(dir, "missing") + " (paths begin at the folder of this file)"},
		{"./plain", "", "can't be executed: chmod +x " + filepath.Join(dir, "plain")},
		{"./", "", "is a folder: write the program in it"},
		{"no-such-program-anywhere", "", "no program no-such-program-anywhere in PATH: install it, or write its path, such as ./no-such-program-anywhere"},
	}
	for _, tt := range tests {
		t.Run(tt.program, func(t *testing.T) {
			t.Parallel()
			file, err := jobsfile.Parse(filepath.Join(dir, "jobs.yml"), []byte("jobs:\n  A:\n    exec: [\""+tt.program+"\", arg]\n"))
			if err != nil {
				t.Fatal(err)
			}
			err = file.Resolve(noEnv)
			if tt.says == "" {
				if got := strings.Join(file.Jobs[0].Exec, " "); err != nil || got != tt.want+" arg" {
					t.Errorf("got %s, %v", got, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want it to say %s", err, tt.says)
			}
		})
	}
}

func TestLocateInPath(t *testing.T) {
	t.Parallel()
	file, err := jobsfile.Parse("jobs.yml", []byte("jobs: {A: {exec: [sh]}}"))
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Resolve(noEnv); err != nil || !filepath.IsAbs(file.Jobs[0].Exec[0]) {
		t.Errorf("got %v, %v", file.Jobs[0].Exec, err)
	}
}

func noEnv(string) (string, bool) { return "", false }

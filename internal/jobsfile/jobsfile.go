// Package jobsfile reads jobs.yml, which says how to perform jobs with programs
// and endpoints, and when to try them again.
package jobsfile

import (
	"fmt"
	"slices"
	"time"

	"example.com/understudy/internal/yamlfile"
	"example.com/understudy/resque"
	"example.com/understudy/retry"
)

// Example is a whole file, for refusals and help.
const Example = `jobs:
  DeliverSMS:
    queue: mt_messages
    exec: [./deliver-sms]
    retry_limit: 3
    retry_delay: 60`

// File is a jobs file.
type File struct {
	// Path is its path, as it was given.
	Path string
	// Jobs stand in the order of the file.
	Jobs []Job
	// Queues are the policies by queue, for classes without one of their own;
	// a nil policy: no retry.
	Queues map[string]*retry.Policy
	// Default is the policy of all other classes. nil: no retry.
	Default *retry.Policy

	delayed bool // a policy of a queue, or the default one, may wait
}

// Delayed says that some retry may wait, for which a scheduler is needed.
func (f *File) Delayed() bool {
	return f.delayed || slices.ContainsFunc(f.Jobs, func(j Job) bool { return j.delayed })
}

// Job is how to perform the jobs of a class.
type Job struct {
	// Class is the class's name, as Ruby has it.
	Class string
	// Queue is the class's own queue; "" where it has none.
	Queue string
	// Exec is the program and its arguments; empty where HTTP isn't nil. A
	// program with a slash is relative to the folder of the file until Resolve.
	Exec []string
	// HTTP is the address that the jobs are posted to; nil where Exec isn't empty.
	HTTP *Address
	// Timeout is how long a run may take; 0: any time.
	Timeout time.Duration
	// AtDeadline is what becomes of a job that a stop cancels.
	AtDeadline resque.AtDeadline
	// Retry is the policy of its own. nil: that of its queue, or the default one.
	Retry *retry.Policy
	// NoRetry keeps those from it.
	NoRetry bool

	delayed bool // a retry of its own policy may wait
	line    int  // of exec or http
}

// LineError is one thing that is wrong with a file.
type LineError = yamlfile.LineError

// Read reads a file. Everything that is wrong with it is told at once, as
// *LineError joined in the order of the lines.
func Read(path string) (*File, error) {
	text, err := yamlfile.Read(path)
	if err != nil {
		return nil, fmt.Errorf("can't read the jobs file: %w", err)
	}
	return Parse(path, text)
}

// Find gives the job of a class.
func (f *File) Find(class string) (Job, bool) {
	i := slices.IndexFunc(f.Jobs, func(j Job) bool { return j.Class == class })
	if i < 0 {
		return Job{}, false
	}
	return f.Jobs[i], true
}

package retry

import (
	"encoding/json"

	"example.com/understudy/compat/ruby"
	"example.com/understudy/resque"
)

// Arguments takes a job's arguments apart for an ArgsFunc; each keeps its bytes:
//
//	Args: func(job *resque.Job, err error) ([]any, error) {
//		return append(retry.Arguments(job), err.Error()), nil
//	}
func Arguments(job *resque.Job) []any {
	elements, err := ruby.Elements(job.Args)
	if err != nil {
		return nil // not for the arguments of a job that is running
	}
	args := make([]any, len(elements))
	for i, element := range elements {
		args[i] = json.RawMessage(element)
	}
	return args
}

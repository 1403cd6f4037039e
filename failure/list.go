package failure

import "example.com/understudy/resque"

const (
	keyFailed       = "failed"
	keyFailedQueues = "failed_queues"
	suffixFailed    = "_failed"

	keyRetriedAt = "retried_at"
)

// List records every failure in the list failed, which resque-web shows (Ruby:
// Resque::Failure::Redis).
type List struct{}

// Writes appends the record.
func (List) Writes(f *resque.Failure) ([]resque.Write, error) {
	return []resque.Write{push(keyFailed, f)}, nil
}

// ListPerQueue records the failures of each queue in a list of its own,
// <queue>_failed, and lists these in failed_queues (Ruby:
// Resque::Failure::RedisMultiQueue).
type ListPerQueue struct{}

// Writes appends the record.
func (ListPerQueue) Writes(f *resque.Failure) ([]resque.Write, error) {
	queue := ""
	if f.Job != nil {
		queue = f.Job.Queue
	}
	list := queue + suffixFailed
	return []resque.Write{
		{Command: "SADD", Key: keyFailedQueues, Args: []string{list}},
		push(list, f),
	}, nil
}

func push(list string, f *resque.Failure) resque.Write {
	return resque.Write{Command: "RPUSH", Key: list, Args: []string{string(f.Record(true))}}
}

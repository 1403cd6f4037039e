package retry

import (
	"context"
	"log/slog"

	"example.com/understudy/resque"
)

// The keys of the log lines.
const (
	logClass   = "class"
	logQueue   = "queue"
	logAttempt = "attempt"
	logError   = "error"
	logDelay   = "delay"
	logTo      = "to_queue"
	logAs      = "as_class"
)

func (r *retrier) debug(message string, f *failed) {
	r.log(slog.LevelDebug, message, f.job, f.job.Attempt, f.err)
}

func (r *retrier) warn(message string, job *resque.Job, attempt int64, err error) {
	r.log(slog.LevelWarn, message, job, attempt, err)
}

func (r *retrier) debugRetry(f *failed, retry *resque.Retry) {
	r.log(slog.LevelDebug, "the retry is on its way", f.job, f.job.Attempt, f.err,
		slog.Duration(logDelay, retry.Delay), slog.String(logTo, retry.Queue), slog.String(logAs, retry.Class))
}

func (r *retrier) log(level slog.Level, message string, job *resque.Job, attempt int64, err error, more ...slog.Attr) {
	ctx := context.Background()
	if r.Logger == nil || !r.Logger.Enabled(ctx, level) {
		return
	}
	attrs := append([]slog.Attr{
		slog.String(logClass, job.Class), slog.String(logQueue, job.Queue),
		slog.Int64(logAttempt, attempt), slog.Any(logError, err),
	}, more...)
	r.Logger.LogAttrs(ctx, level, message, attrs...) //nolint:sloglint // constant at each caller
}

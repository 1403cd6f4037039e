package cli

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"example.com/understudy/internal/jobsfile"
	"example.com/understudy/resque"
	"example.com/understudy/scheduler"
)

// announcement is what a worker says of itself before it works.
type announcement struct {
	client     *resque.Client
	log        *slog.Logger
	lockPrefix string
}

// announce warns, once, that delays need a scheduler where none runs, and tells
// what is performed.
func (a announcement) announce(ctx context.Context, queues resque.QueueList, jobs *jobsfile.File) {
	var classes, hosts []string
	for _, job := range jobs.Jobs {
		classes = append(classes, job.Class)
		if job.HTTP != nil && !slices.Contains(hosts, job.HTTP.URL.Host) {
			hosts = append(hosts, job.HTTP.URL.Host)
		}
	}
	if jobs.Delayed() {
		a.lookForScheduler(ctx)
	}
	told := []any{"classes", strings.Join(classes, ","), "queues", queues.IDText()}
	if len(hosts) > 0 {
		told = append(told, "hosts", strings.Join(hosts, ","))
	}
	a.log.InfoContext(ctx, "performing", told...)
}

func (a announcement) lookForScheduler(ctx context.Context) {
	locked := false
	mover, err := scheduler.New(a.client, scheduler.Config{LockPrefix: a.lockPrefix})
	if err == nil {
		locked, err = mover.Locked(ctx)
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		a.log.WarnContext(ctx, "could not look for a scheduler", "error", err)
	case !locked:
		a.log.WarnContext(ctx, "no scheduler runs here: retries with a delay wait until one does (understudy scheduler, or Ruby's)")
	}
}

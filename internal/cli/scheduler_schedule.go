package cli

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"time"

	"example.com/understudy/scheduler"
	"example.com/understudy/scheduler/schedulefile"
)

// schedulePlan is the schedule of a running scheduler.
type schedulePlan struct {
	a     *app
	log   *slog.Logger
	path  string // of the file; "": there is none
	where circumstances

	scheduler *scheduler.Scheduler
	schedules *scheduler.Schedules // nil: it has delayed jobs only
}

// read reads the file. Its warnings are logged, its faults are the error.
func (p *schedulePlan) read() (map[string]scheduler.Recurring, error) {
	if p.path == "" {
		return nil, nil //nolint:nilnil // no file has no jobs
	}
	if info, err := os.Stat(p.path); err == nil && !info.Mode().IsRegular() {
		return nil, refuse("", "%s is no file that can be read again at USR2: write the schedule to one", p.path)
	}
	p.where.Now = time.Now().In(p.where.zone)
	file, err := p.a.readSchedule(p.path, p.where.zone)
	if _, faulty := errors.AsType[*schedulefile.FaultsError](err); faulty {
		return nil, refuse(binary+" schedule check "+shellWord(p.path), "%v", err)
	}
	if err != nil {
		return nil, err
	}
	for _, warning := range p.where.Warnings(file) {
		p.log.Warn("a recurring job may be meant otherwise", "where", warning.String())
	}
	jobs := make(map[string]scheduler.Recurring, len(file.Entries))
	for _, e := range file.Entries {
		jobs[e.Name] = e.Job
	}
	return jobs, nil
}

// also says what a scheduler does beside moving delayed jobs.
func (p *schedulePlan) also(jobs int) string {
	switch {
	case p.path != "":
		return ", enqueueing " + counted(jobs, "recurring job") + " of " + p.path
	case p.schedules != nil:
		return ", enqueueing the recurring jobs in Redis"
	default:
		return ""
	}
}

// reload reads the schedule anew (Ruby: USR2). A file with faults changes nothing.
func (p *schedulePlan) reload(ctx context.Context) {
	if p.schedules == nil {
		p.a.say("there is no schedule to read anew: start with --schedule FILE or --dynamic")
		return
	}
	if p.path != "" {
		jobs, err := p.read()
		if err == nil {
			err = p.schedules.SetAll(ctx, jobs)
		}
		if err != nil {
			for fault := range strings.Lines(err.Error()) {
				p.log.ErrorContext(ctx, "the schedule stays as it was", "error", strings.TrimSpace(fault))
			}
			return
		}
	}
	p.scheduler.Reload()
	p.a.say("read the schedule anew")
}

// print prints the schedule with its next times (Ruby: USR1).
func (p *schedulePlan) print(ctx context.Context) {
	if p.schedules == nil {
		p.a.say("there is no schedule: start with --schedule FILE or --dynamic")
		return
	}
	all, err := p.schedules.All(ctx)
	if err != nil {
		p.a.say("the schedule can't be read: %v", withoutPrefix(err))
		return
	}
	planned := p.scheduler.Planned()
	if !p.scheduler.Master() {
		p.a.say("%s in the schedule; another scheduler is the master and enqueues them", counted(len(all), "recurring job"))
	} else {
		p.a.say("%s in the schedule", counted(len(all), "recurring job"))
	}
	const most = 40
	t := newTable(p.a.stderr, p.a.width(), column{title: "NAME", most: most}, column{title: "QUEUE", most: most},
		column{title: "CLASS", most: most}, column{title: "TIMES", most: most}, column{title: "NEXT"})
	for _, job := range all {
		next := "never"
		if at, ok := planned[job.Name]; ok && !at.IsZero() {
			next = shownTime(at.In(p.where.zone))
		} else if !p.scheduler.Master() {
			next = "as the master plans it"
		}
		times := strings.TrimSpace(job.Cron + " " + job.Every)
		if job.Err != nil {
			next, times = "never: "+withoutPrefix(job.Err), ""
		}
		if err := t.row(job.Name, job.Queue, job.Class, times, next); err != nil {
			return
		}
	}
	_ = t.end() // nobody reads it
}

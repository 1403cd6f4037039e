package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/urfave/cli/v2"

	"example.com/understudy/internal/jobsfile"
	"example.com/understudy/scheduler/schedulefile"
)

const scheduleHelp = `The schedule of recurring jobs, a file in resque-scheduler's own form:

   clear_caches:
     cron: "30 6 * * * Europe/Stockholm"
     class: ClearCaches
     queue: low

docs/schedules.md has every key of it, examples/scheduler one to begin with.

Examples:
   understudy schedule check schedule.yml
   understudy schedule next schedule.yml --to 48h
   understudy scheduler --schedule schedule.yml`

// schedule is the group of commands about files of recurring jobs.
func (a *app) schedule() *cli.Command {
	return &cli.Command{
		Name:        "schedule",
		Usage:       "check a file of recurring jobs, see when they fire",
		UsageText:   binary + " schedule COMMAND FILE [options]",
		Description: scheduleHelp,
		Subcommands: []*cli.Command{a.scheduleCheck(), a.scheduleNext()},
	}
}

// scheduleFlags say where a schedule is to be used.
func scheduleFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "env", Usage: "`NAME` of the environment, for jobs that are for some only [$RAILS_ENV]"},
		&cli.StringFlag{Name: "tz", Usage: "time `ZONE` of whatever names none, such as Europe/Stockholm (default: the machine's)"},
		&cli.StringFlag{Name: "jobs", Usage: "jobs `FILE` that knows the queues of classes, for jobs that name none"},
	}
}

const checkHelp = `Says of each line what is wrong with it, and what may be meant otherwise: jobs that
never fire, 1h30 (which is an hour and 30 seconds), classes without a queue. It
ends with 1 where something is wrong, with 0 where there are only warnings.

Examples:
   understudy schedule check schedule.yml
   understudy schedule check schedule.yml --env production --jobs jobs.yml
   erb schedule.yml.erb | understudy schedule check -`

func (a *app) scheduleCheck() *cli.Command {
	return &cli.Command{
		Name:        "check",
		Usage:       "say what is wrong with files of recurring jobs",
		UsageText:   binary + " schedule check FILE... [options]",
		Description: checkHelp,
		Flags:       append(scheduleFlags(), outputFlag()),
		Action:      func(c *cli.Context) error { return unlessUnread(a.runScheduleCheck(a.settings(c))) },
	}
}

// standardInput is how - is called.
const standardInput = "standard input"

// findingJSON is a finding as --output json shows it.
type findingJSON struct {
	File string `json:"file"`
	Line int    `json:"line"` // 0: the file as a whole
	Name string `json:"name"`
	Kind string `json:"kind"` // fault or warning
	Text string `json:"text"`
}

func (a *app) runScheduleCheck(s settings) error {
	files := s.c.Args().Slice()
	if len(files) == 0 {
		return refuse(s.line(""), "which file? Name it, or - for standard input")
	}
	asJSON, err := s.json()
	if err != nil {
		return err
	}
	where, err := s.circumstances(time.Now())
	if err != nil {
		return err
	}
	encoder := jsonLines(a.stdout)
	tell := func(kind string, findings []schedulefile.Finding) error {
		for _, f := range findings {
			if asJSON {
				err = encoder.Encode(findingJSON{f.File, f.Line, f.Name, kind, f.Text})
			} else {
				_, err = fmt.Fprintf(a.stdout, "%s: %s\n", kind, f)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	total := 0
	for _, path := range files {
		faults, warnings, jobs, err := a.checkFile(path, where)
		if err != nil {
			return err
		}
		if err := errors.Join(tell("fault", faults), tell("warning", warnings)); err != nil {
			return err
		}
		total += len(faults)
		if path == "-" {
			path = standardInput
		}
		if !asJSON && len(faults) == 0 {
			if _, err := fmt.Fprintf(a.stdout, "%s: %s, no fault, %s\n", path, counted(jobs, "job"), counted(len(warnings), "warning")); err != nil {
				return err
			}
		}
	}
	if total > 0 {
		return fmt.Errorf("%s: a scheduler would not start with that", counted(total, "fault"))
	}
	return nil
}

// counted is a number of things: 1 job, 2 jobs.
func counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// circumstances are where a schedule is to be used, and in which time zone.
type circumstances struct {
	schedulefile.Circumstances

	zone *time.Location
}

func (s settings) circumstances(now time.Time) (where circumstances, err error) {
	where.Env, _ = s.text("env", "RAILS_ENV")
	if where.zone, err = s.zone(); err != nil {
		return where, err
	}
	where.Now = now.In(where.zone)
	where.QueueOf, err = s.queuesOfClasses()
	return where, err
}

// zone is the time zone that was asked for.
func (s settings) zone() (*time.Location, error) {
	name, source := s.text("tz")
	if source == "" {
		return time.Local, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" {
		return nil, refuse(s.line("--tz Europe/Stockholm"), "%s: %q is no time zone: write a name such as Europe/Stockholm or UTC", source, name)
	}
	return zone, nil
}

// queuesOfClasses knows the queues of classes by the jobs file; nil: there is none.
func (s settings) queuesOfClasses() (func(class string) string, error) {
	path, _ := s.text("jobs")
	if path == "" {
		return func(string) string { return "" }, nil
	}
	file, err := jobsfile.Read(path)
	if err != nil {
		return nil, refuse("", "%v", err)
	}
	return func(class string) string {
		job, _ := file.Find(class)
		return job.Queue
	}, nil
}

// checkFile reads one file; "-" is standard input. Its faults are none of err.
func (a *app) checkFile(path string, where circumstances) (faults, warnings []schedulefile.Finding, jobs int, err error) {
	file, err := a.readSchedule(path, where.zone)
	if wrong, ok := errors.AsType[*schedulefile.FaultsError](err); ok {
		return wrong.Faults, nil, 0, nil
	}
	if err != nil {
		return nil, nil, 0, err
	}
	return nil, where.Warnings(file), len(file.Entries), nil
}

func (a *app) readSchedule(path string, zone *time.Location) (file *schedulefile.File, err error) {
	if path == "-" {
		return schedulefile.ReadFrom(standardInput, a.stdin, zone)
	}
	file, err = schedulefile.Read(path, zone)
	switch _, faulty := errors.AsType[*schedulefile.FaultsError](err); {
	case err == nil || faulty:
		return file, err
	case errors.Is(err, fs.ErrNotExist):
		return nil, refuse("", "there is no file %s: write it, such as\n%s", path, schedulefile.Example)
	default:
		return nil, refuse("", "can't read the schedule: %v", err)
	}
}

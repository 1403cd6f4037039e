package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"example.com/understudy/compat/ruby"
	"example.com/understudy/internal/jobsfile"
	"example.com/understudy/resque"
)

const enqueueHelp = `Puts a job into a queue, as Resque.enqueue does in Ruby. Each argument is JSON
where it reads as JSON, else text; --args takes all of them as one JSON array.

Examples:
   understudy enqueue DeliverSMS 7 +4912345 'hello, you' --queue mt_messages
   understudy enqueue DeliverSMS '{"id":7}' null true --queue mt_messages
   understudy enqueue DeliverSMS '"7"' --queue mt_messages        the text 7
   understudy enqueue DeliverSMS --args '[7,"hello"]' --jobs jobs.yml
   understudy enqueue DeliverSMS 7 --queue mt_messages --in 10m
   understudy enqueue DeliverSMS 7 --queue mt_messages --at '2026-12-31 23:59'
   understudy enqueue DeliverSMS --queue mt_messages -- --not-an-option

Delayed jobs need a scheduler: understudy scheduler, or Ruby's.`

func (a *app) enqueue() *cli.Command {
	return &cli.Command{
		Name:        "enqueue",
		Usage:       "put a job into a queue",
		UsageText:   binary + " enqueue CLASS [ARGUMENT…] [options]",
		Description: enqueueHelp,
		Flags: append(redisFlags(),
			&cli.StringFlag{Name: "queue", Usage: "`NAME` of the queue (default: that of the class in the jobs file)"},
			&cli.StringFlag{Name: "jobs", Usage: "jobs `FILE` that knows the class's queue"},
			&cli.StringFlag{Name: "args", Usage: "all arguments as a JSON `ARRAY`"},
			&cli.StringFlag{Name: "in", Usage: "`TIME` to wait: 5, 0.5, 30s, 1h30m"},
			&cli.StringFlag{Name: "at", Usage: "`MOMENT` to wait for: 2026-12-31T23:59:00Z, '2026-12-31 23:59' (of this machine), or seconds since 1970"},
			&cli.BoolFlag{Name: "front", Usage: "before the other jobs of the queue"},
		),
		Action: func(c *cli.Context) error { return a.runEnqueue(c.Context, a.settings(c)) },
	}
}

func (a *app) runEnqueue(ctx context.Context, s settings) (err error) {
	job, err := s.newJob(time.Now())
	if err != nil {
		return err
	}
	client, err := a.connect(ctx, s, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	if _, err := client.EnqueueMany(ctx, job); err != nil {
		if invalid, ok := errors.AsType[*resque.InvalidJobError](err); ok {
			return refuse(s.line(""), "this job can't be enqueued: %v", invalid.Err)
		}
		return err
	}
	text := fmt.Sprintf("%s is in queue %s\n", job.Class, job.Queue)
	if !job.At.IsZero() && job.At.After(time.Now()) {
		text = fmt.Sprintf("%s goes to queue %s at %s, if a scheduler runs then\n", job.Class, job.Queue, job.At.Format(time.RFC3339))
	}
	_, err = fmt.Fprint(a.stdout, text)
	return err
}

// newJob reads the job from the command line.
func (s settings) newJob(now time.Time) (job resque.NewJob, err error) {
	words := s.c.Args().Slice()
	if len(words) == 0 || words[0] == "" {
		return job, refuse(s.line(""), "no class: name the job's class, as Ruby has it")
	}
	job = resque.NewJob{Class: words[0], Front: s.on("front")}
	if job.Args, err = s.arguments(words[1:]); err != nil {
		return job, err
	}
	if job.At, err = s.moment(now); err != nil {
		return job, err
	}
	if job.Front && !job.At.IsZero() {
		return job, refuse(s.line("--front"), "--front has no meaning for a job that waits: leave out one of --front and --in, --at")
	}
	job.Queue, err = s.queueOf(job.Class)
	return job, err
}

func (s settings) arguments(words []string) ([]any, error) {
	if !s.c.IsSet("args") {
		args := make([]any, len(words))
		for i, word := range words {
			args[i] = argument(word)
		}
		return args, nil
	}
	if len(words) > 0 {
		return nil, refuse(s.line(""), "arguments come from --args or from behind the class, not from both: got %q too", words[0])
	}
	text := []byte(s.c.String("args"))
	if err := ruby.Check(text); err != nil || ruby.KindOf(text) != ruby.Array {
		return nil, refuse(binary+` enqueue DeliverSMS --args '[7,"hello"]' --queue mt_messages`, "--args is %s: write a JSON array", text)
	}
	elements, err := ruby.Elements(text)
	if err != nil {
		return nil, err
	}
	args := make([]any, len(elements))
	for i, element := range elements {
		args[i] = json.RawMessage(element)
	}
	return args, nil
}

// argument is JSON where the word reads as JSON, else text.
func argument(word string) any {
	if text := bytes.TrimSpace([]byte(word)); json.Valid(text) && ruby.Check(text) == nil {
		return json.RawMessage(text)
	}
	return word
}

// moment is when the job is due; zero: at once.
func (s settings) moment(now time.Time) (time.Time, error) {
	if s.c.IsSet("in") && s.c.IsSet("at") {
		return time.Time{}, refuse(s.line("--in 10m"), "--in and --at both say when: leave one of them out")
	}
	if s.c.IsSet("at") {
		text := s.c.String("at")
		at, ok := readMoment(text)
		if !ok {
			return at, refuse(s.line("--at "+shellWord(now.Add(time.Hour).Format("2006-01-02 15:04"))),
				"--at: %q is no moment: write it as 2026-12-31T23:59:00Z, 2026-12-31 23:59 or in seconds since 1970", text)
		}
		return at, nil
	}
	d, set, err := s.duration("in")
	if err != nil || !set {
		return time.Time{}, err
	}
	return now.Add(d), nil
}

// readMoment reads a moment; without a zone it is that of this machine.
func readMoment(text string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05 MST"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, zoneKnown(at)
		}
	}
	for _, layout := range []string{"2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return at, true
		}
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	return time.Unix(seconds, 0), err == nil && seconds > 0
}

// enqueueLine is the line that was given, with a queue.
func (s settings) enqueueLine() string {
	options := []string{"--queue", "mt_messages"}
	for _, name := range []string{"args", "in", "at", "namespace"} {
		if s.c.IsSet(name) {
			options = append(options, "--"+name, shellWord(s.c.String(name)))
		}
	}
	if s.on("front") {
		options = append(options, "--front")
	}
	words := s.c.Args().Slice()
	likeOptions := slices.ContainsFunc(words, isOption)
	for i := range words {
		words[i] = shellWord(words[i])
	}
	line := slices.Concat(words, options)
	if likeOptions {
		line = slices.Concat(options, []string{"--"}, words)
	}
	return binary + " enqueue " + strings.Join(line, " ")
}

// zoneKnown says that the moment's zone is no abbreviation that Go made up a zone
// of UTC's time for, as it does for all but the machine's own.
func zoneKnown(at time.Time) bool {
	name, offset := at.Zone()
	return offset != 0 || name == "" || name == "UTC" || name == "GMT"
}

// queueOf is the queue of the command line, else that of the jobs file.
func (s settings) queueOf(class string) (string, error) {
	if queue, _ := s.text("queue"); queue != "" {
		return queue, nil
	}
	path, _ := s.text("jobs")
	if path == "" {
		return "", refuse(s.enqueueLine(), "no queue for %s: name it by --queue, or a jobs file that knows it by --jobs", class)
	}
	file, err := jobsfile.Read(path)
	if err != nil {
		return "", refuse(s.enqueueLine(), "%v", err)
	}
	job, known := file.Find(class)
	switch {
	case !known:
		return "", refuse(s.enqueueLine(), "%s knows no class %s: name its queue by --queue", path, class)
	case job.Queue == "":
		return "", refuse(s.enqueueLine(), "%s gives %s no queue: write it there, or name it by --queue", path, class)
	}
	return job.Queue, nil
}

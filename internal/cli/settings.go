package cli

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"example.com/understudy/internal/duration"
	"example.com/understudy/resque"
)

// settings reads a command's settings: an option, else the first variable that
// isn't empty, else the default.
type settings struct {
	c         *cli.Context
	lookupEnv func(string) (string, bool)
}

func (a *app) settings(c *cli.Context) settings { return settings{c: c, lookupEnv: a.lookupEnv} }

// text answers a setting's value and where it was written; "" where it wasn't.
func (s settings) text(option string, variables ...string) (value, source string) {
	if s.c.IsSet(option) {
		return s.c.String(option), "--" + option
	}
	for _, name := range variables {
		if value := s.env(name); value != "" {
			return value, name
		}
	}
	return "", ""
}

// env is a variable's value; an empty variable is none.
func (s settings) env(name string) string {
	value, _ := s.lookupEnv(name)
	return value
}

// on is an option without value; Ruby's variables are true when not empty.
func (s settings) on(option string, variables ...string) bool {
	if s.c.IsSet(option) {
		return s.c.Bool(option)
	}
	for _, name := range variables {
		if s.env(name) != "" {
			return true
		}
	}
	return false
}

// duration is 0 where nothing is set.
func (s settings) duration(option string, variables ...string) (d time.Duration, set bool, err error) {
	text, source := s.text(option, variables...)
	if source == "" {
		return 0, false, nil
	}
	d, err = duration.Parse(text)
	if err != nil {
		return 0, true, refuse(s.line("--"+option+" 5"), "%s: %v", source, err)
	}
	return d, true, nil
}

// count is a number of at least 1; 0 where nothing is set.
func (s settings) count(option string, variables ...string) (int, error) {
	text, source := s.text(option, variables...)
	if source == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 1 || n > maxCount {
		return 0, refuse(s.line("--"+option+" 5"), "%s: %q is no number from 1 to %d", source, text, maxCount)
	}
	return n, nil
}

const maxCount = 10_000

// line is a line that works: this command with an option.
func (s settings) line(options string) string {
	line := binary + " " + s.c.Command.Name
	switch s.c.Command.Name {
	case "work":
		line = workLine(s.queuesOr("high,low"), s.jobsOr("jobs.yml"))
	case "schedule check", "schedule next":
		line += " " + shellWord(cmp.Or(s.c.Args().First(), "schedule.yml"))
	case "enqueue":
		line += " DeliverSMS 7 --queue mt_messages"
	}
	return strings.TrimSpace(line + " " + options)
}

// queuesOr are the queues that were asked for, if they are any.
func (s settings) queuesOr(standard string) string {
	text, _ := s.text("queues", "QUEUES", "QUEUE")
	if _, err := resque.ParseQueueList(text); err != nil {
		return standard
	}
	return strings.TrimSpace(text)
}

func (s settings) jobsOr(standard string) string {
	if text, _ := s.text("jobs"); text != "" {
		return text
	}
	return standard
}

func workLine(queues, jobs string) string {
	return binary + " work --queues " + shellWord(queues) + " --jobs " + shellWord(jobs)
}

// shellWord quotes a word where a shell would read more into it.
func shellWord(text string) string {
	if text != "" && strings.Trim(text, plainLetters) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

const plainLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%"

// Package cli is the command understudy: one command a file. It is the only
// place where the packages of the library meet, and where signals and the
// environment are read.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/urfave/cli/v2"
)

// Environment is what a run of the command sees of the world.
type Environment struct {
	// Args are the arguments, without the program's name.
	Args []string
	// Stdin is where answers to questions come from. nil: there are none.
	Stdin io.Reader
	// Stdout gets results, Stderr everything else.
	Stdout, Stderr io.Writer
	// LookupEnv reads an environment variable. nil: there is none.
	LookupEnv func(name string) (value string, ok bool)
	// Notify relays signals, as signal.Notify does; stop ends that. nil: those
	// of the process.
	Notify func(to chan<- os.Signal, signals ...os.Signal) (stop func())
}

// The numbers that the command ends with.
const (
	exitOK      = 0
	exitFailed  = 1 // it was tried, and went wrong
	exitRefused = 2 // it was not tried: the command line, the environment or a file is wrong
)

// Main runs the command and answers the number to exit with.
func Main(ctx context.Context, env Environment) int {
	var mu sync.Mutex
	a := &app{
		stdout: &lockedWriter{mu: &mu, to: env.Stdout}, stderr: &lockedWriter{mu: &mu, to: env.Stderr},
		stdin: env.Stdin, screen: isTerminal(env.Stdout), errScreen: isTerminal(env.Stderr), lookupEnv: env.LookupEnv, notify: env.Notify,
	}
	a.asks = a.errScreen && isTerminal(env.Stdin)
	if a.lookupEnv == nil {
		a.lookupEnv = func(string) (string, bool) { return "", false }
	}
	if a.notify == nil {
		// A log whose reader is gone must not end the jobs. Relayed rather than
		// ignored, the signal still has its meaning in the programs of jobs.
		gone := make(chan os.Signal, 1)
		signal.Notify(gone, syscall.SIGPIPE)
		defer signal.Stop(gone)
		a.notify = func(to chan<- os.Signal, signals ...os.Signal) func() {
			signal.Notify(to, signals...)
			return func() { signal.Stop(to) }
		}
	}
	return a.exit(a.run(ctx, env.Args))
}

type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	screen         bool // stdout is a terminal
	errScreen      bool // stderr is one
	asks           bool // somebody sees questions and can answer
	lookupEnv      func(string) (string, bool)
	notify         func(chan<- os.Signal, ...os.Signal) func()
}

func (a *app) run(ctx context.Context, args []string) error {
	commands := a.commands()
	argv, err := arrange(args, commands)
	if err != nil {
		return err
	}
	flags := []cli.Flag{helpFlag()}
	main := &cli.App{
		Name:            binary,
		Commands:        commands,
		Flags:           flags,
		HideHelp:        true,
		HideHelpCommand: true,
		HideVersion:     true,
		Writer:          a.stdout,
		ErrWriter:       a.stderr,
		ExitErrHandler:  func(*cli.Context, error) {},
		OnUsageError:    func(_ *cli.Context, err error, _ bool) error { return refuse(binary+" --help", "%v", err) },
		CustomAppHelpTemplate: helpText(binary+" - work the queues of Ruby's Resque in Go, with resque-retry's retries",
			binary+" COMMAND [arguments] [options]", appHelp, commandsOf(commands, ""), flags),
	}
	return main.RunContext(ctx, append([]string{binary}, argv...))
}

func (a *app) commands() []*cli.Command {
	list := flat([]*cli.Command{a.work(), a.enqueue(), a.scheduler(), a.schedule(), a.delayed(), a.demo(), a.version()})
	for _, c := range list {
		c.HideHelp, c.HideHelpCommand = true, true
		c.Flags = append(c.Flags, helpFlag())
		c.CustomHelpTemplate = helpText(binary+" "+c.Name+" - "+c.Usage, c.UsageText, c.Description, commandsOf(list, c.Name), c.Flags)
		c.OnUsageError = func(_ *cli.Context, err error, _ bool) error {
			return refuse(binary+" "+c.Name+" --help", "%v", err)
		}
	}
	return list
}

// helpFlag is one of our own: the parser's is shared by all its users, who write
// to it.
func helpFlag() cli.Flag {
	return &cli.BoolFlag{Name: "help", Aliases: []string{"h"}, Usage: "tell about this command"}
}

const binary = "understudy"

const appHelp = `See it at work:        understudy demo
Work with programs:    understudy work --queues mt_messages --jobs jobs.yml
Enqueue a job:         understudy enqueue DeliverSMS 7 hello --queue mt_messages
Move delayed jobs:     understudy scheduler
And recurring ones:    understudy scheduler --schedule schedule.yml
Look at them:          understudy delayed ls
More about a command:  understudy work --help

Options may stand anywhere, -- ends them. Ruby's variables (REDIS_URL, QUEUES,
COUNT, INTERVAL, …) are read where no option is given.`

// refusal is a command line that isn't tried.
type refusal struct {
	reason string
	try    string // a line that works; "": the reason says what to write in a file
}

func (r *refusal) Error() string { return r.reason }

// refuse makes a refusal; try is a line that works, or "".
func refuse(try, format string, args ...any) error {
	return &refusal{reason: fmt.Sprintf(format, args...), try: try}
}

// exit tells of an error and answers the number to exit with.
func (a *app) exit(err error) int {
	if err == nil {
		return exitOK
	}
	text := binary + ": " + strings.ReplaceAll(withoutPrefix(err), "\nresque: ", "\n") + "\n"
	number := exitFailed
	if r, ok := errors.AsType[*refusal](err); ok {
		number = exitRefused
		if r.try != "" {
			text += "try: " + r.try + "\n"
		}
	}
	_, _ = io.WriteString(a.stderr, text) // there is no other place to complain at
	return number
}

// lockedWriter keeps the writes of several goroutines apart.
type lockedWriter struct {
	mu *sync.Mutex
	to io.Writer
}

func (w *lockedWriter) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(data)
}

// isTerminal says whether a stream is one that people look at, as far as it says
// of itself what it is.
func isTerminal(stream any) bool {
	file, ok := stream.(interface{ Stat() (os.FileInfo, error) })
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

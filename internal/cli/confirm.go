package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
)

// changeFlags are those of commands that change many things at once.
func changeFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "all", Usage: "all of them, where no filter is given"},
		&cli.BoolFlag{Name: "dry-run", Usage: "change nothing, say how many it would be"},
		&cli.BoolFlag{Name: "yes", Usage: "don't ask; needed where there is no terminal to ask at"},
	}
}

// errDeclined says that somebody was asked and said no.
var errDeclined = errors.New("nothing was changed")

// canConfirm refuses where there is nobody to ask, with the line that doesn't ask.
func (a *app) canConfirm(s settings) error {
	if s.on("yes") || a.asks {
		return nil
	}
	return nobodyToAsk(s)
}

func nobodyToAsk(s settings) error {
	return refuse(s.again("--yes"), "there is no terminal to ask at whether this is meant: say --yes, or see by --dry-run how many it would be")
}

// confirm asks, unless --yes was given.
func (a *app) confirm(s settings, question string) error {
	if s.on("yes") {
		return nil
	}
	_, _ = fmt.Fprint(a.stderr, question+" [y/N] ") // who doesn't see it says nothing
	answer, err := bufio.NewReader(io.LimitReader(a.stdin, maxAnswer)).ReadString('\n')
	if err != nil && answer == "" {
		_, _ = fmt.Fprintln(a.stderr)
		return nobodyToAsk(s)
	}
	if !slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer))) {
		return errDeclined
	}
	return nil
}

// maxAnswer is how much of an answer is read.
const maxAnswer = 1000

// again is the line that was given, with another option. An address may hold a
// password and is left out then.
func (s settings) again(option string) string {
	line := []string{binary, s.c.Command.Name}
	for _, f := range s.c.Command.Flags {
		name := f.Names()[0]
		if !s.c.IsSet(name) {
			continue
		}
		if documented, ok := f.(cli.DocGenerationFlag); ok && !documented.TakesValue() {
			line = append(line, "--"+name)
		} else if value := s.c.String(name); name != "redis" || shownURL(value) == value {
			line = append(line, "--"+name, shellWord(value))
		}
	}
	return strings.Join(append(line, option), " ")
}

// progress tells how far long work is: on a terminal in one line that changes,
// elsewhere in a line now and then.
type progress struct {
	to     io.Writer
	screen bool
	now    func() time.Time
	told   time.Time
	shown  bool // a line stands there that is to be cleared
}

const (
	// progressOnScreen and progressElsewhere are the times between two tellings.
	progressOnScreen  = 200 * time.Millisecond
	progressElsewhere = 10 * time.Second
)

func newProgress(to io.Writer, screen bool, now func() time.Time) *progress {
	return &progress{to: to, screen: screen, now: now, told: now()}
}

// tell tells where it is time to.
func (p *progress) tell(format string, args ...any) {
	every, begin, end := progressElsewhere, "", "\n"
	if p.screen {
		every, begin, end = progressOnScreen, "\r", "\x1b[K"
	}
	now := p.now()
	if now.Sub(p.told) < every {
		return
	}
	p.told, p.shown = now, p.screen
	_, _ = fmt.Fprintf(p.to, begin+format+end, args...) // nobody looks
}

// end clears the line.
func (p *progress) end() {
	if p.shown {
		_, _ = io.WriteString(p.to, "\r\x1b[K")
	}
}

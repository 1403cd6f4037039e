package cli

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"example.com/understudy/internal/spelling"
)

// arrange puts a command line in the order that the parser wants: the command,
// its options, "--", its arguments. Options may come in any order, before the
// command too; -- ends them; a number with a minus is an argument. A command of a
// group is one word for the parser: "delayed ls".
func arrange(args []string, commands []*cli.Command) ([]string, error) {
	a := arranger{commands: commands, args: args}
	if len(args) > 0 && args[0] == "help" {
		a.args, a.options = args[1:], []string{"--help"}
	}
	for len(a.args) > 0 {
		if err := a.next(); err != nil {
			return nil, err
		}
	}
	return a.line()
}

type arranger struct {
	commands  []*cli.Command
	args      []string // what is left
	words     []string // the command and its arguments
	options   []string
	mentioned []string // the names of the options
}

func (a *arranger) next() error {
	arg := a.args[0]
	a.args = a.args[1:]
	switch {
	case arg == "--":
		a.words = append(a.words, a.args...)
		a.args = nil
		return nil
	case !isOption(arg):
		a.words = append(a.words, arg)
		return nil
	}
	name, _, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	a.mentioned = append(a.mentioned, name)
	a.options = append(a.options, arg)
	if hasValue || !a.takesValue(name) {
		return nil
	}
	if len(a.args) == 0 || a.isKnown(a.args[0]) {
		return refuse(binary+" "+a.command()+" --help", "--%s needs a value behind it", name)
	}
	a.options = append(a.options, a.args[0])
	a.args = a.args[1:]
	return nil
}

// isOption tells an option from an argument: -5 and - are arguments.
func isOption(arg string) bool {
	return len(arg) > 1 && arg[0] == '-' && !strings.ContainsRune("0123456789.", rune(arg[1]))
}

// command is the command's name as far as it is known yet.
func (a *arranger) command() string {
	if len(a.words) == 0 {
		return "work"
	}
	if c, _ := find(a.commands, a.words); c != nil {
		return c.Name
	}
	return a.words[0]
}

// isKnown tells whether a text is an option of some command.
func (a *arranger) isKnown(text string) bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(text, "--"), "=")
	return strings.HasPrefix(text, "--") && slices.Contains(optionNames(a.commands), name)
}

func (a *arranger) takesValue(name string) bool {
	for _, c := range a.commands {
		for _, f := range c.Flags {
			if documented, ok := f.(cli.DocGenerationFlag); ok && slices.Contains(f.Names(), name) {
				return documented.TakesValue()
			}
		}
	}
	return false
}

// optionNames lists the options of some commands.
func optionNames(commands []*cli.Command) []string {
	names := []string{}
	if len(commands) > 1 {
		names = append(names, "version") // of no command
	}
	for _, c := range commands {
		for _, f := range c.Flags {
			names = append(names, f.Names()...)
		}
	}
	return names
}

// line is the command line in its new order; what doesn't fit is refused.
func (a *arranger) line() ([]string, error) {
	if len(a.words) == 0 {
		if slices.Contains(a.mentioned, "version") {
			return []string{"version"}, nil
		}
		if err := a.checkOptions(binary, a.commands); err != nil {
			return nil, err
		}
		return []string{"--help"}, nil
	}
	c, used := find(a.commands, a.words)
	if c == nil {
		return nil, a.unknown("", a.words[0])
	}
	if verbs := verbsOf(a.commands, c.Name); len(verbs) > 0 {
		return a.groupLine(c, verbs)
	}
	if err := a.checkOptions(binary+" "+c.Name, []*cli.Command{c}); err != nil {
		return nil, err
	}
	line := append([]string{c.Name}, a.options...)
	return append(append(line, "--"), a.words[used:]...), nil
}

// groupLine is the line of a group whose command isn't known: its help, where
// nothing else was asked for.
func (a *arranger) groupLine(group *cli.Command, verbs []string) ([]string, error) {
	if len(a.words) > 1 {
		return nil, a.unknown(group.Name+" ", a.words[1])
	}
	if slices.ContainsFunc(a.mentioned, func(name string) bool { return name != "help" && name != "h" }) {
		return nil, refuse(binary+" "+group.Name+" "+verbs[0], "%s needs a command behind it: %s", group.Name, strings.Join(verbs, ", "))
	}
	return []string{group.Name, "--help"}, nil
}

// unknown refuses a word that is no command; before is "", or the words before it
// and a blank.
func (a *arranger) unknown(before, word string) error {
	// What looks like the command may be the value of a misspelt option.
	if err := a.checkOptions(strings.TrimSpace(binary+" "+before), a.commands); err != nil {
		return err
	}
	names := verbsOf(a.commands, strings.TrimSpace(before))
	near := spelling.Nearest(word, names)
	if near == "" {
		return refuse(binary+" "+before+"--help", "unknown command %s: the commands are %s", before+word, strings.Join(names, ", "))
	}
	return refuse(binary+" "+before+near+" --help", "unknown command %s: did you mean %s?", before+word, before+near)
}

func (a *arranger) checkOptions(command string, commands []*cli.Command) error {
	known := slices.DeleteFunc(optionNames(commands), func(name string) bool { return len(name) == 1 }) // -h
	slices.Sort(known)
	known = slices.Compact(known)
	for _, name := range a.mentioned {
		if slices.Contains(known, name) || name == "h" {
			continue
		}
		hint := "those known here are --" + strings.Join(known, ", --")
		if near := spelling.Nearest(name, known); near != "" {
			hint = "did you mean --" + near + "?"
		}
		return refuse(command+" --help", "unknown option --%s: %s (What begins with - but is an argument goes behind --.)", name, hint)
	}
	return nil
}

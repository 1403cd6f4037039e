package cli

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// flat puts the commands of groups (Subcommands) beside the groups. Each is named
// by both words, "delayed ls", its aliases too: the parser, whose own groups want
// options in their places, sees plain commands only.
func flat(tree []*cli.Command) []*cli.Command {
	var list []*cli.Command
	for _, group := range tree {
		list = append(list, group)
		for _, c := range group.Subcommands {
			c.Name = group.Name + " " + c.Name
			for i, alias := range c.Aliases {
				c.Aliases[i] = group.Name + " " + alias
			}
			list = append(list, c)
		}
		group.Subcommands = nil
	}
	return list
}

// find answers the command that some words begin with, and how many of them name
// it: nil where none does, a group where its command isn't known.
func find(commands []*cli.Command, words []string) (c *cli.Command, used int) {
	for used = min(2, len(words)); used > 0; used-- {
		name := strings.Join(words[:used], " ")
		if i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(name) }); i >= 0 {
			return commands[i], used
		}
	}
	return nil, 0
}

// verbsOf are the names of a group's commands without that of the group; "" is
// the group of all commands. A command that is no group has none.
func verbsOf(commands []*cli.Command, group string) []string {
	var names []string
	for _, c := range commandsOf(commands, group) {
		names = append(names, strings.TrimPrefix(strings.TrimPrefix(c.Name, group), " "))
	}
	return names
}

// commandsOf are the commands of a group; "" is the group of all commands.
func commandsOf(commands []*cli.Command, group string) []*cli.Command {
	var list []*cli.Command
	for _, c := range commands {
		before, _, second := strings.Cut(c.Name, " ")
		if second && before == group || !second && group == "" {
			list = append(list, c)
		}
	}
	return list
}

package cli

import (
	"strings"

	"github.com/urfave/cli/v2"
)

// helpWidth is what every terminal shows of a line.
const helpWidth = 80

// helpText is the help of a command, or of all of them. The parser's own neither
// keeps to a width nor leaves the default of a switch unsaid.
func helpText(title, usage, about string, commands []*cli.Command, flags []cli.Flag) string {
	var text strings.Builder
	text.WriteString(title + "\n\nUsage: " + usage + "\n")
	if about != "" {
		text.WriteString("\n" + about + "\n")
	}
	var rows [][2]string
	for _, c := range commands {
		rows = append(rows, [2]string{strings.Join(verbs(c), ", "), c.Usage})
	}
	writeRows(&text, "Commands", rows)
	rows = nil
	for _, f := range flags {
		rows = append(rows, optionRow(f))
	}
	writeRows(&text, "Options", rows)
	return text.String()
}

// verbs are the names of a command without that of its group.
func verbs(c *cli.Command) []string {
	names := c.Names()
	for i, name := range names {
		names[i] = name[strings.LastIndex(name, " ")+1:]
	}
	return names
}

// optionRow is an option with its value, and what it does. The word between
// backquotes in its text stands for the value.
func optionRow(f cli.Flag) [2]string {
	var names []string
	for _, name := range f.Names() {
		dashes := "--"
		if len(name) == 1 {
			dashes = "-"
		}
		names = append(names, dashes+name)
	}
	label, usage := strings.Join(names, ", "), ""
	if documented, ok := f.(cli.DocGenerationFlag); ok {
		usage = documented.GetUsage()
		if _, rest, quoted := strings.Cut(usage, "`"); quoted {
			value, _, _ := strings.Cut(rest, "`")
			label += " " + value
		}
	}
	return [2]string{label, strings.ReplaceAll(usage, "`", "")}
}

// writeRows writes two columns, the second one wrapped.
func writeRows(text *strings.Builder, title string, rows [][2]string) {
	if len(rows) == 0 {
		return
	}
	const indent, gap = 2, 2
	left := 0
	for _, row := range rows {
		left = max(left, len(row[0]))
	}
	text.WriteString("\n" + title + ":\n")
	for _, row := range rows {
		label := row[0]
		for _, line := range wrapped(row[1], helpWidth-indent-left-gap) {
			text.WriteString(strings.TrimRight(strings.Repeat(" ", indent)+label+strings.Repeat(" ", left-len(label)+gap)+line, " ") + "\n")
			label = ""
		}
	}
}

// wrapped breaks a text between words; a longer word has a line of its own.
func wrapped(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case len([]rune(line+" "+word)) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}

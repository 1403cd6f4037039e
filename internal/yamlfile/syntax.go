package yamlfile

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// syntax is an error of the YAML parser, "yaml: line 3: …". What it says of tabs
// and of Ruby's @ is for those who know its grammar.
func (f file) syntax(err error, source string) error {
	line, text := CutLine(strings.TrimPrefix(err.Error(), "yaml: "))
	if strings.Contains(text, "cannot start any token") {
		if problem := f.strangeStart(source); problem != nil {
			return problem
		}
	}
	if at := lineOf(text, source); at > 0 {
		line = at
	} else if line == 0 || ofGrammar(text) {
		line++ // the parser leaves out the first one, and counts these from 0
	}
	return f.problem(line, "is no YAML: "+text)
}

// strangeStart finds a line that begins with a tab or with Ruby's @.
func (f file) strangeStart(source string) error {
	number := 0
	for written := range strings.Lines(source) {
		number++
		key := strings.TrimLeft(written, " \t")
		if strings.Contains(written[:len(written)-len(key)], "\t") {
			return f.problem(number, "begins with a tab: indent by blanks")
		}
		if name, ok := strings.CutPrefix(key, "@"); ok {
			name, _, _ = strings.Cut(name, ":")
			return f.problem(number, "@"+strings.TrimSpace(name)+": write the name without @, and a colon behind it")
		}
	}
	return nil
}

// CutLine takes "line 3: " off the front of a text.
func CutLine(text string) (line int, rest string) {
	after, ok := strings.CutPrefix(text, "line ")
	if !ok {
		return 0, text
	}
	number, rest, ok := strings.Cut(after, ": ")
	line, err := strconv.Atoi(number)
	if !ok || err != nil {
		return 0, text
	}
	return line, rest
}

// ofGrammar says that an error is one of tokens in a wrong order.
func ofGrammar(text string) bool {
	return slices.ContainsFunc([]string{
		"did not find expected key", "did not find expected '", "did not find expected node content", "did not find expected <",
		"found undefined tag handle", "found duplicate %", "found incompatible YAML document",
	}, func(start string) bool { return strings.HasPrefix(text, start) })
}

// lineOf finds what some errors name without its line; 0: it isn't one of them.
func lineOf(text, source string) int {
	if name, ok := strings.CutPrefix(text, "unknown anchor '"); ok {
		name, _, _ = strings.Cut(name, "'")
		return lineAt(source, strings.Index(source, "*"+name))
	}
	if strings.Contains(text, "UTF-") || strings.Contains(text, "Unicode") || strings.Contains(text, "control characters") {
		return lineAt(source, unreadable(source))
	}
	return 0
}

// lineAt is the line of a place; the first, where it is none.
func lineAt(source string, place int) int { return 1 + strings.Count(source[:max(place, 0)], "\n") }

// unreadable finds the first character that YAML doesn't allow; -1: there is none.
func unreadable(source string) int {
	for i, r := range source {
		_, size := utf8.DecodeRuneInString(source[i:])
		if r == utf8.RuneError && size == 1 || unicode.IsControl(r) && !strings.ContainsRune("\t\n\r\u0085", r) || r == 0xFFFE || r == 0xFFFF {
			return i
		}
	}
	return -1
}

// lineCount counts lines as YAML does.
func countLines(text string) int {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n").Replace(text)
	return max(1, strings.Count(strings.TrimSuffix(text, "\n"), "\n")+1)
}

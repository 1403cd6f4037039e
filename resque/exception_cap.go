package resque

import (
	"strings"
	"unicode/utf8"

	"example.com/understudy/compat/ruby"
)

// maxErrorText bounds an error's message and backtrace together, in bytes of
// JSON text: an error that carries a whole answer or file would bloat Redis.
const maxErrorText = 256_000

// backtraceShare of it is the backtrace's even when the message could fill it
// all.
const backtraceShare = maxErrorText / 4

// maxClassName bounds the name of an error's class in the same way.
const maxClassName = 1000

// capClassName makes a name valid UTF-8 and cuts it.
func capClassName(name string) string {
	cut, _ := cutJSON(name, maxClassName)
	return cut
}

// capErrorText makes both valid UTF-8 and cuts them, the message on a rune
// boundary and the backtrace after its innermost lines. It looks at no more of
// them than it keeps.
func capErrorText(message string, backtrace []string) (text string, lines []string) {
	const quotes, brackets, quotesAndComma = 2, 2, 3
	reserved := 0
	for _, line := range backtrace {
		if reserved += len(line) + quotesAndComma; reserved >= backtraceShare {
			reserved = backtraceShare
			break
		}
	}
	left := maxErrorText - quotes - brackets
	text, used := cutJSON(message, left-reserved)
	left -= used
	lines = []string{}
	for _, line := range backtrace {
		cut, used := cutJSON(line, left-quotesAndComma)
		if left -= used + quotesAndComma; left < 0 || used == 0 && line != "" {
			break
		}
		lines = append(lines, cut)
	}
	return text, lines
}

// cutJSON is the beginning of s, as valid UTF-8, that takes at most budget bytes
// inside a JSON string, and how many it takes.
func cutJSON(s string, budget int) (cut string, used int) {
	valid, end := true, 0
	for end < len(s) {
		r, size := utf8.DecodeRuneInString(s[end:])
		cost := jsonCost(r, size)
		if used+cost > budget {
			break
		}
		valid = valid && (r != utf8.RuneError || size > 1)
		used += cost
		end += size
	}
	cut = s[:end]
	if !valid {
		cut = ruby.Scrub(cut)
	}
	if end < len(s) {
		cut = strings.Clone(cut) // or the whole text would live as long
	}
	return cut, used
}

// jsonCost is how many bytes a rune takes inside a JSON string.
func jsonCost(r rune, size int) int {
	const pair, unicodeEscape = 2, 6
	switch {
	case r == '"', r == '\\', r == '\n', r == '\r', r == '\t', r == '\b', r == '\f':
		return pair
	case r < ' ':
		return unicodeEscape
	case r == utf8.RuneError:
		return utf8.RuneLen(utf8.RuneError)
	default:
		return size
	}
}

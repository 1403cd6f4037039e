package ruby

import (
	"strings"
	"unicode/utf8"
)

// Scrub is String#scrub: every piece that is not UTF-8 becomes one U+FFFD. A piece is the longest start of a character
// that breaks off ("\xE2\x82" is one, "\xFF\xFF" are two), where Go's own replacements count bytes.
func Scrub(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			n = brokenLen(s)
		}
		b.WriteRune(r)
		s = s[n:]
	}
	return b.String()
}

// brokenLen is the length of the broken character at the start of s: its first byte and those after it that could
// still have become a character.
func brokenLen(s string) int {
	lo, hi, want := secondByte(s[0])
	if want == 0 || len(s) < 2 || s[1] < lo || s[1] > hi {
		return 1
	}
	n := 2
	for n < want-1 && n < len(s) && s[n]&0xC0 == 0x80 {
		n++
	}
	return n
}

// secondByte says which bytes may follow a first one, and how many make the whole character; 0 for a byte that
// begins none.
func secondByte(first byte) (lo, hi byte, want int) {
	switch {
	case first < 0xC2 || first > 0xF4:
		return 0, 0, 0
	case first < 0xE0:
		return 0x80, 0xBF, 2
	case first == 0xE0:
		return 0xA0, 0xBF, 3
	case first == 0xED:
		return 0x80, 0x9F, 3
	case first < 0xF0:
		return 0x80, 0xBF, 3
	case first == 0xF0:
		return 0x90, 0xBF, 4
	case first == 0xF4:
		return 0x80, 0x8F, 4
	default:
		return 0x80, 0xBF, 4
	}
}

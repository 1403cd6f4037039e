package ruby

import (
	"strings"
	"unicode/utf8"
)

// IsPattern tells whether a worker's queue name is a pattern for Resque: whether one of * ? [ ] { } is in it. Braces
// make a pattern though Fnmatch takes them as plain text.
func IsPattern(queue string) bool {
	return strings.ContainsAny(queue, "*?[]{}")
}

// Fnmatch is File.fnmatch?(pattern, name) without flags: * takes any text, / too; ? and [...] take one character;
// a backslash takes the special meaning from what follows; a dot at the start of the name is matched only by a dot.
// It goes back to the last star only, so it never takes longer than the product of the two lengths.
//
// Ruby raises an error for a NUL byte and for some texts that are not UTF-8; here they just don't match by a range,
// and NUL is a character like any other.
func Fnmatch(pattern, name string) bool {
	if strings.HasPrefix(name, ".") && !strings.HasPrefix(unescaped(pattern), ".") {
		return false
	}
	m := matcher{pattern: pattern, name: name}
	for {
		done, ok := m.step()
		if done {
			return ok
		}
		if !ok && !m.retry() {
			return false
		}
	}
}

// matcher holds what is left of both texts, and where to go on from when the text after the last star doesn't fit.
type matcher struct {
	pattern, name         string
	afterStar, nameAtStar string
	starred               bool
}

// step matches one piece of the pattern. done with ok ends the whole; not ok without done means that it doesn't fit
// here.
func (m *matcher) step() (done, ok bool) {
	if m.pattern != "" {
		switch m.pattern[0] {
		case '*':
			return m.star()
		case '?':
			return m.one(m.pattern[1:])
		case '[':
			if m.name == "" {
				return true, false
			}
			rest, ok := bracket(m.pattern[1:], m.name)
			if !ok {
				return false, false
			}
			return m.one(rest)
		}
	}
	return m.plain()
}

// star remembers the place after the stars. A pattern that ends there takes all the rest.
func (m *matcher) star() (done, ok bool) {
	m.pattern = strings.TrimLeft(m.pattern, "*")
	if unescaped(m.pattern) == "" {
		return true, true
	}
	if m.name == "" {
		return true, false
	}
	m.afterStar, m.nameAtStar, m.starred = m.pattern, m.name, true
	return false, true
}

// one takes any one character of the name.
func (m *matcher) one(rest string) (done, ok bool) {
	if m.name == "" {
		return true, false
	}
	m.pattern, m.name = rest, m.name[charLen(m.name):]
	return false, true
}

// plain matches one character with itself, and ends both.
func (m *matcher) plain() (done, ok bool) {
	p := unescaped(m.pattern)
	if m.name == "" {
		return true, p == ""
	}
	n := charLen(p)
	if p == "" || !validChar(p) || !strings.HasPrefix(m.name, p[:n]) {
		return false, false
	}
	m.pattern, m.name = p[n:], m.name[n:]
	return false, true
}

// retry lets the last star take one character more.
func (m *matcher) retry() bool {
	if !m.starred || m.nameAtStar == "" {
		return false
	}
	m.nameAtStar = m.nameAtStar[charLen(m.nameAtStar):]
	m.pattern, m.name = m.afterStar, m.nameAtStar
	return true
}

// bracket matches the first character of name with a set whose text begins after the opening bracket, and gives the
// pattern after the set. A set without end matches nothing.
func bracket(p, name string) (rest string, ok bool) {
	negated := strings.HasPrefix(p, "!") || strings.HasPrefix(p, "^")
	if negated {
		p = p[1:]
	}
	for found := false; p != ""; {
		if p[0] == ']' {
			return p[1:], found != negated
		}
		var hit bool
		if p, hit, ok = setItem(p, name); !ok {
			return "", false
		}
		found = found || hit
	}
	return "", false
}

// setItem takes one character or range of a set. ok is false when the set has no end.
func setItem(p, name string) (rest string, hit, ok bool) {
	from := unescaped(p)
	if from == "" {
		return "", false, false
	}
	n := charLen(from)
	rest = from[n:]
	from = from[:n]
	if rest == "" {
		return "", false, false
	}
	hit = strings.HasPrefix(name, from)
	if rest[0] != '-' || strings.HasPrefix(rest, "-]") {
		return rest, hit, true
	}
	to := unescaped(rest[1:])
	if to == "" {
		return "", false, false
	}
	n = charLen(to)
	return to[n:], hit || strings.HasPrefix(name, to[:n]) || inRange(name, from, to[:n]), true
}

// inRange tells whether the first character of name lies between two others by code point.
func inRange(name, from, to string) bool {
	if !validChar(name) || !validChar(from) || !validChar(to) {
		return false
	}
	c, _ := utf8.DecodeRuneInString(name)
	lo, _ := utf8.DecodeRuneInString(from)
	hi, _ := utf8.DecodeRuneInString(to)
	return lo <= c && c <= hi
}

// unescaped drops a backslash at the start of a pattern, also one that stands alone.
func unescaped(pattern string) string {
	return strings.TrimPrefix(pattern, `\`)
}

// charLen is the length of the first character; a byte that is not UTF-8 is a character of its own.
func charLen(s string) int {
	_, n := utf8.DecodeRuneInString(s)
	return n
}

func validChar(s string) bool {
	r, n := utf8.DecodeRuneInString(s)
	return r != utf8.RuneError || n > 1
}

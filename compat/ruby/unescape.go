package ruby

import (
	"bytes"
	"unicode/utf8"
)

// String gives the bytes that a JSON string stands for, as JSON.parse does. Bytes that are not UTF-8 are kept, and a
// lone second half of a surrogate pair becomes the three bytes that Ruby makes of it, which are not UTF-8 either.
//
// A first half ("\ud83d") that no second \u escape follows becomes "?" and swallows the byte after it; with fewer
// than six bytes after it the text is refused. Whatever \u escape follows counts as the second half.
func String(raw []byte) (string, error) {
	s := scanner{src: raw}
	if err := s.blank(); err != nil {
		return "", err
	}
	if s.peek() != '"' {
		return "", s.fail("no string")
	}
	start := s.pos
	if err := s.str(); err != nil {
		return "", err
	}
	end := s.pos
	if err := s.end(); err != nil {
		return "", err
	}
	return unquote(raw[start:end]), nil
}

// unquote decodes a string that has been scanned, quotes included.
func unquote(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	return string(appendUnquoted(make([]byte, 0, len(quoted)), quoted))
}

// appendUnquoted appends the decoded bytes of a string that has been scanned, quotes included.
func appendUnquoted(dst, quoted []byte) []byte {
	dst, _ = unescape(dst, quoted[1:len(quoted)-1])
	return dst
}

// unescape appends the decoded bytes of a string's body. bad is the offset of the escape that the gem refuses, −1
// for none.
func unescape(dst, body []byte) (text []byte, bad int) {
	for i := 0; i < len(body); {
		run := bytes.IndexByte(body[i:], '\\')
		if run < 0 {
			return append(dst, body[i:]...), -1
		}
		dst = append(dst, body[i:i+run]...)
		i += run
		var n int
		if dst, n = unescapeOne(dst, body[i:]); n == 0 {
			return dst, i
		}
		i += n
	}
	return dst, -1
}

// unescapeOne appends what the escape at the start of b stands for and gives its length; 0 means refused.
func unescapeOne(dst, b []byte) (text []byte, n int) {
	if len(b) < 2 {
		// Only after a swallowed backslash: the gem then takes the closing quote for the escaped byte.
		return append(dst, '"'), 1
	}
	switch b[1] {
	case 'b':
		return append(dst, '\b'), 2
	case 'f':
		return append(dst, '\f'), 2
	case 'n':
		return append(dst, '\n'), 2
	case 'r':
		return append(dst, '\r'), 2
	case 't':
		return append(dst, '\t'), 2
	case 'u':
		return unescapeUnicode(dst, b)
	default:
		return append(dst, b[1]), 2
	}
}

// unescapeUnicode handles \uXXXX and the pairs of them that stand for one character.
func unescapeUnicode(dst, b []byte) (text []byte, n int) {
	if len(b) < 5 {
		return dst, 0
	}
	ch := codeUnit(b[2:])
	if ch&0xFC00 != 0xD800 {
		return appendRune(dst, ch), min(6, len(b))
	}
	const one = len(`\uXXXX`)
	switch {
	case len(b) < 2*one:
		return dst, 0
	case b[one] == '\\' && b[one+1] == 'u':
		low := codeUnit(b[one+2:])
		return appendRune(dst, 0x10000+(ch&0x3FF)<<10|low&0x3FF), 2 * one
	default:
		return append(dst, '?'), one + 1
	}
}

// codeUnit reads four hexadecimal digits. Others can stand there only after a swallowed backslash; the gem then takes
// U+FFFD.
func codeUnit(b []byte) rune {
	if len(b) < 4 {
		return utf8.RuneError
	}
	if ch := hex4(b); ch >= 0 {
		return ch
	}
	return utf8.RuneError
}

// appendRune is utf8.AppendRune, except that a lone half of a surrogate pair gets the three bytes of its number.
func appendRune(dst []byte, r rune) []byte {
	if r&^0x7FF == 0xD800 {
		return append(dst, 0xED, 0x80|byte(r>>6&0x3F), 0x80|byte(r&0x3F))
	}
	return utf8.AppendRune(dst, r)
}

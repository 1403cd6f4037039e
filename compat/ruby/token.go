package ruby

import "bytes"

// comment takes one comment. A line comment must be ended by a newline: at the very end of a text the gem refuses it.
func (s *scanner) comment() error {
	rest := s.src[s.pos+1:]
	switch {
	case bytes.HasPrefix(rest, []byte("*")):
		return s.commentUntil(rest[1:], "*/")
	case bytes.HasPrefix(rest, []byte("/")):
		return s.commentUntil(rest[1:], "\n")
	default:
		return s.fail("a slash that begins no comment")
	}
}

func (s *scanner) commentUntil(body []byte, mark string) error {
	end := bytes.Index(body, []byte(mark))
	if end < 0 {
		return s.fail("a comment without end")
	}
	s.pos += len("//") + end + len(mark)
	return nil
}

// number takes a number in the standard's own form: the gem knows no other.
func (s *scanner) number() error {
	start := s.pos
	if s.peek() == '-' {
		s.pos++
	}
	if s.peek() == '0' {
		s.pos++
	} else if !s.digits() {
		return s.failAt(start, "no number")
	}
	if s.peek() == '.' {
		if s.pos++; !s.digits() {
			return s.failAt(start, "no digit after the decimal point")
		}
	}
	return s.exponent(start)
}

func (s *scanner) exponent(start int) error {
	if c := s.peek(); c != 'e' && c != 'E' {
		return nil
	}
	s.pos++
	if c := s.peek(); c == '+' || c == '-' {
		s.pos++
	}
	if !s.digits() {
		return s.failAt(start, "no digit in the exponent")
	}
	return nil
}

// digits takes a run of digits and tells whether there was one.
func (s *scanner) digits() bool {
	start := s.pos
	for s.pos < len(s.src) && isDigit(s.src[s.pos]) {
		s.pos++
	}
	return s.pos > start
}

func isDigit(c byte) bool { return c-'0' < 10 }

// str takes a string, its quotes included. Bytes of 0x80 and above are taken as they are.
func (s *scanner) str() error {
	start, i, half := s.pos, s.pos+1, false
	for i < len(s.src) {
		switch c := s.src[i]; {
		case c == '"':
			s.pos = i + 1
			return s.halves(half, start)
		case c == '\\':
			n := escapeLen(s.src[i:])
			if n == 0 {
				return s.failAt(i, "a broken escape")
			}
			half = half || n == len(`\uXXXX`) && isHigh(s.src[i+2], s.src[i+3])
			i += n
		case c < 0x20:
			return s.failAt(i, "a raw control character in a string")
		default:
			i = plainEnd(s.src, i+1)
		}
	}
	return s.failAt(len(s.src), "a string without end")
}

// plainEnd skips the bytes that mean nothing to the scanner, which are most of a payload.
func plainEnd(src []byte, i int) int {
	for i < len(src) && src[i] >= 0x20 && src[i] != '"' && src[i] != '\\' {
		i++
	}
	return i
}

// halves refuses what the gem refuses only while it decodes: a first half of a surrogate pair with too little after
// it. Strings without such an escape, nearly all, are not decoded.
func (s *scanner) halves(half bool, start int) error {
	if !half {
		return nil
	}
	if _, bad := unescape(nil, s.src[start+1:s.pos-1]); bad >= 0 {
		return s.failAt(start+1+bad, "an incomplete surrogate pair")
	}
	return nil
}

// escapeLen gives the length of the escape at the start of b, 0 for a broken one.
func escapeLen(b []byte) int {
	switch {
	case len(b) < 2 || b[1] < 0x20:
		return 0
	case b[1] != 'u':
		return 2
	case len(b) < 6 || hex4(b[2:]) < 0:
		return 0
	default:
		return 6
	}
}

// isHigh tells whether the first two hexadecimal digits are those of a first half (U+D800 to U+DBFF).
func isHigh(d1, d2 byte) bool {
	return d1|0x20 == 'd' && (d2 == '8' || d2 == '9' || d2|0x20 == 'a' || d2|0x20 == 'b')
}

// hex4 reads four hexadecimal digits; −1 where there are none.
func hex4(b []byte) rune {
	var r rune
	for _, c := range b[:4] {
		d := hexDigit(c)
		if d < 0 {
			return -1
		}
		r = r<<4 | d
	}
	return r
}

func hexDigit(c byte) rune {
	switch {
	case isDigit(c):
		return rune(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10
	default:
		return -1
	}
}

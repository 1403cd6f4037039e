package ruby

import "unicode/utf8"

// AppendInspect appends String#inspect of a UTF-8 string, quotes included: control characters, characters that the
// Ruby of that form can't print and single bytes that are not UTF-8 are escaped, and # where it would begin an
// interpolation.
func AppendInspect(dst []byte, s string, form InspectForm) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			dst = appendASCII(dst, c, s[i+1:])
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			dst = append(dst, '\\', 'x', upperHex(rune(s[i]>>4)), upperHex(rune(s[i])))
		case printable(r, form):
			dst = append(dst, s[i:i+size]...)
		default:
			dst = appendCodePoint(dst, r)
		}
		i += size
	}
	return append(dst, '"')
}

// appendASCII appends one ASCII character, rest is what follows it.
func appendASCII(dst []byte, c byte, rest string) []byte {
	if short := shortEscape(c); short != 0 {
		return append(dst, '\\', short)
	}
	switch {
	case c == '"' || c == '\\' || c == '#' && interpolates(rest):
		return append(dst, '\\', c)
	case c < ' ' || c == 0x7F:
		return appendCodePoint(dst, rune(c))
	default:
		return append(dst, c)
	}
}

// shortEscape gives the letter of the control characters that have one.
func shortEscape(c byte) byte {
	switch c {
	case '\a', '\b', '\t', '\n', '\v', '\f', '\r':
		return "abtnvfr"[c-'\a']
	case 0x1B:
		return 'e'
	default:
		return 0
	}
}

// interpolates tells whether a # before this text would begin an interpolation in Ruby source.
func interpolates(rest string) bool {
	return rest != "" && (rest[0] == '{' || rest[0] == '$' || rest[0] == '@')
}

// appendCodePoint appends \uXXXX or \u{XXXXX}.
func appendCodePoint(dst []byte, r rune) []byte {
	if r < 0x10000 {
		return append(dst, '\\', 'u', upperHex(r>>12), upperHex(r>>8), upperHex(r>>4), upperHex(r))
	}
	dst = append(dst, `\u{`...)
	if r > 0xFFFFF {
		dst = append(dst, '1')
	}
	for shift := 16; shift >= 0; shift -= 4 {
		dst = append(dst, upperHex(r>>shift))
	}
	return append(dst, '}')
}

// upperHex is the last hexadecimal digit of r.
func upperHex(r rune) byte { return "0123456789ABCDEF"[r&0xF] }

package ruby

import (
	"bytes"
	"strconv"
)

// AppendFloat appends a float as Ruby's Float#to_s: the shortest digits that give the same number back, always with
// a decimal point. Infinity and NaN are written as Ruby's words, which are no JSON.
func AppendFloat(dst []byte, f float64) []byte {
	return appendFloat(dst, f, 64)
}

func appendFloat(dst []byte, f float64, bits int) []byte {
	var buf [32]byte
	text := strconv.AppendFloat(buf[:0], f, 'e', -1, bits)
	if text[0] == '-' {
		dst, text = append(dst, '-'), text[1:]
	}
	mark := bytes.IndexByte(text, 'e')
	if mark < 0 {
		return appendSpecial(dst, text)
	}
	exp, _ := strconv.Atoi(string(text[mark+1:]))
	digits := text[:1]
	if mark > 2 {
		// The bytes are d.ddd: moving the first over the point leaves the digits in one piece.
		text[1] = text[0]
		digits = text[1:mark]
	}
	return layFloat(dst, digits, exp+1)
}

func appendSpecial(dst, text []byte) []byte {
	if string(text) == "NaN" {
		return append(dst, "NaN"...)
	}
	return append(dst, "Infinity"...)
}

// maxPadded is the widest integer part that Ruby pads with zeros; above it the exponent form begins.
const maxPadded = 15

// layFloat lays the digits out around the decimal point, which stands after digit number point.
func layFloat(dst, digits []byte, point int) []byte {
	switch {
	case 0 < point && point < len(digits):
		dst = append(dst, digits[:point]...)
		dst = append(dst, '.')
		return append(dst, digits[point:]...)
	case 0 < point && point <= maxPadded:
		dst = append(dst, digits...)
		dst = appendZeros(dst, point-len(digits))
		return append(dst, ".0"...)
	case -4 < point && point <= 0:
		dst = append(dst, "0."...)
		dst = appendZeros(dst, -point)
		return append(dst, digits...)
	default:
		return layExponent(dst, digits, point-1)
	}
}

func layExponent(dst, digits []byte, exp int) []byte {
	dst = append(dst, digits[0], '.')
	if len(digits) > 1 {
		dst = append(dst, digits[1:]...)
	} else {
		dst = append(dst, '0')
	}
	dst = append(dst, 'e')
	if exp < 0 {
		dst, exp = append(dst, '-'), -exp
	} else {
		dst = append(dst, '+')
	}
	if exp < 10 {
		dst = append(dst, '0')
	}
	return strconv.AppendInt(dst, int64(exp), 10)
}

func appendZeros(dst []byte, n int) []byte {
	for range n {
		dst = append(dst, '0')
	}
	return dst
}

// appendNumber appends a JSON number as to_s of what JSON.parse makes of it: a Float if it has a point or an
// exponent, else an Integer of any size.
func appendNumber(dst, raw []byte) []byte {
	if isFloat(raw) {
		return AppendFloat(dst, parseFloat(raw))
	}
	if string(raw) == "-0" {
		return append(dst, '0')
	}
	return append(dst, raw...)
}

func isFloat(number []byte) bool {
	return bytes.ContainsAny(number, ".eE")
}

// parseFloat reads a scanned number. One that is too large is an infinity, in Ruby as here.
func parseFloat(number []byte) float64 {
	f, _ := strconv.ParseFloat(string(number), 64)
	return f
}

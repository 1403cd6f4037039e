package ruby

import "fmt"

// maxNesting is the json gem's max_nesting: the hundredth array or object inside one another is accepted, the next
// is a NestingError.
const maxNesting = 100

// SyntaxError says why Ruby's parser refuses a JSON text, and where.
type SyntaxError struct {
	// Offset is the byte of the text at which the parser stops, counted from 0.
	Offset int
	// Msg says what is wrong there.
	Msg string
}

// Error gives the reason with its place.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("json: %s at byte %d", e.Msg, e.Offset)
}

// Check tells whether Ruby's JSON.parse accepts the text; nil means yes. It allocates nothing for a good text.
//
// Ruby's parser takes more than the standard allows: comments (/* … */ and // … to the end of a line) wherever white
// space may stand, unknown escapes ("\q" is "q"), half surrogates in places, bytes that are not UTF-8 inside strings.
// It refuses NaN, Infinity, a byte order mark, raw control characters in strings and more than 100 levels.
func Check(raw []byte) error {
	s := scanner{src: raw}
	return s.document()
}

// scanner walks over one JSON text by the json gem's rules.
type scanner struct {
	src   []byte
	pos   int
	depth int // how many arrays and objects are open
}

// document takes one value with blanks around it and nothing else.
func (s *scanner) document() error {
	if err := s.blank(); err != nil {
		return err
	}
	if err := s.value(); err != nil {
		return err
	}
	return s.end()
}

// end takes the blanks after the outermost value.
func (s *scanner) end() error {
	if err := s.blank(); err != nil {
		return err
	}
	if s.pos < len(s.src) {
		return s.fail("text after the value")
	}
	return nil
}

func (s *scanner) fail(msg string) error {
	return s.failAt(s.pos, msg)
}

func (s *scanner) failAt(pos int, msg string) error {
	if pos >= len(s.src) {
		msg = "unexpected end of text (" + msg + ")"
	}
	return &SyntaxError{Offset: pos, Msg: msg}
}

// peek gives the byte at the position, 0 at the end: a raw NUL is refused wherever a byte is peeked at.
func (s *scanner) peek() byte {
	if s.pos < len(s.src) {
		return s.src[s.pos]
	}
	return 0
}

// blank skips white space and comments, which the gem ignores in the same places.
func (s *scanner) blank() error {
	for s.pos < len(s.src) {
		switch s.src[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		case '/':
			if err := s.comment(); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

// value takes one value of any kind.
func (s *scanner) value() error {
	switch c := s.peek(); {
	case c == '"':
		return s.str()
	case c == '{':
		return s.object(nil)
	case c == '[':
		return s.array(nil)
	case c == '-' || isDigit(c):
		return s.number()
	case c == 'n':
		return s.literal("null")
	case c == 't':
		return s.literal("true")
	case c == 'f':
		return s.literal("false")
	default:
		return s.fail("no JSON value")
	}
}

func (s *scanner) literal(word string) error {
	end := s.pos + len(word)
	if end > len(s.src) || string(s.src[s.pos:end]) != word {
		return s.fail("no JSON value")
	}
	s.pos = end
	return nil
}

// open enters an array or object.
func (s *scanner) open() error {
	if s.depth++; s.depth > maxNesting {
		return s.fail("nesting of 101 is too deep")
	}
	s.pos++
	return s.blank()
}

func (s *scanner) shut() {
	s.depth--
	s.pos++
}

// array takes an array and shows each element's place; visit may be nil.
func (s *scanner) array(visit func(start, end int)) error {
	if err := s.open(); err != nil {
		return err
	}
	if s.peek() == ']' {
		s.shut()
		return nil
	}
	for {
		start := s.pos
		if err := s.value(); err != nil {
			return err
		}
		if visit != nil {
			visit(start, s.pos)
		}
		if done, err := s.next(']'); done || err != nil {
			return err
		}
	}
}

// next takes what stands between two elements, or the end of the array or object.
func (s *scanner) next(closing byte) (done bool, err error) {
	if err := s.blank(); err != nil {
		return false, err
	}
	switch s.peek() {
	case closing:
		s.shut()
		return true, nil
	case ',':
		s.pos++
		return false, s.blank()
	default:
		return false, s.fail("neither a comma nor the end of the " + containerName(closing))
	}
}

func containerName(closing byte) string {
	if closing == ']' {
		return "array"
	}
	return "object"
}

// pair is the place of one key and its value.
type pair struct{ key, keyEnd, value, valueEnd int }

// object takes an object and shows each pair's place; visit may be nil.
func (s *scanner) object(visit func(pair)) error {
	if err := s.open(); err != nil {
		return err
	}
	if s.peek() == '}' {
		s.shut()
		return nil
	}
	for {
		p, err := s.pair()
		if err != nil {
			return err
		}
		if visit != nil {
			visit(p)
		}
		if done, err := s.next('}'); done || err != nil {
			return err
		}
	}
}

func (s *scanner) pair() (pair, error) {
	p := pair{key: s.pos}
	if s.peek() != '"' {
		return p, s.fail("no key in quotes")
	}
	if err := s.str(); err != nil {
		return p, err
	}
	p.keyEnd = s.pos
	if err := s.colon(); err != nil {
		return p, err
	}
	p.value = s.pos
	err := s.value()
	p.valueEnd = s.pos
	return p, err
}

func (s *scanner) colon() error {
	if err := s.blank(); err != nil {
		return err
	}
	if s.peek() != ':' {
		return s.fail("no colon after the key")
	}
	s.pos++
	return s.blank()
}

package ruby

// Kind is the kind of a JSON value.
type Kind uint8

// The kinds of JSON values.
const (
	// Invalid is no JSON value at all.
	Invalid Kind = iota
	// Null is Ruby's nil.
	Null
	// Bool is true or false.
	Bool
	// Number is an Integer or a Float.
	Number
	// Text is a String.
	Text
	// Array is an Array.
	Array
	// Object is a Hash.
	Object
)

// KindOf tells a value's kind by its first byte, blanks and comments before it skipped. It does not check the rest.
func KindOf(raw []byte) Kind {
	s := scanner{src: raw}
	if s.blank() != nil {
		return Invalid
	}
	switch c := s.peek(); {
	case c == '{':
		return Object
	case c == '[':
		return Array
	case c == '"':
		return Text
	case c == '-' || isDigit(c):
		return Number
	case c == 't' || c == 'f':
		return Bool
	case c == 'n':
		return Null
	default:
		return Invalid
	}
}

// Member is one key of an object with its value.
type Member struct {
	// Key is the decoded key.
	Key string
	// RawKey is the key as it stands in the text, with its quotes.
	RawKey []byte
	// Value is the value as it stands in the text, without blanks around it.
	Value []byte
}

// Members lists an object's members as they come out of a Ruby Hash: a key that stands there twice keeps its first
// place and takes its last value. The slices share the text's bytes.
func Members(raw []byte) ([]Member, error) {
	s := scanner{src: raw}
	if err := s.blank(); err != nil {
		return nil, err
	}
	if s.peek() != '{' {
		return nil, s.fail("no object")
	}
	h, err := s.gather()
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return nil, err
	}
	return h.members, nil
}

// hash keeps members in the order of a Ruby Hash.
type hash struct {
	members []Member
	index   map[string]int // only once there are many members
}

// manyMembers is where looking a key up by going through all of them would begin to cost.
const manyMembers = 16

func (h *hash) set(m Member) {
	if i := h.find(m.Key); i >= 0 {
		h.members[i].Value = m.Value
		return
	}
	if h.index != nil {
		h.index[m.Key] = len(h.members)
	}
	h.members = append(h.members, m)
}

func (h *hash) find(key string) int {
	if h.index == nil && len(h.members) >= manyMembers {
		h.index = make(map[string]int, 2*manyMembers)
		for i := range h.members {
			h.index[h.members[i].Key] = i
		}
	}
	if h.index != nil {
		if i, ok := h.index[key]; ok {
			return i
		}
		return -1
	}
	for i := range h.members {
		if h.members[i].Key == key {
			return i
		}
	}
	return -1
}

// Elements lists an array's elements as they stand in the text, without blanks around them. The slices share the
// text's bytes.
func Elements(raw []byte) ([][]byte, error) {
	s := scanner{src: raw}
	if err := s.blank(); err != nil {
		return nil, err
	}
	if s.peek() != '[' {
		return nil, s.fail("no array")
	}
	elements := [][]byte{}
	err := s.array(func(start, end int) { elements = append(elements, raw[start:end:end]) })
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return nil, err
	}
	return elements, nil
}

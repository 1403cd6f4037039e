package ruby

// SetMember gives the object's text with one member set as a Ruby Hash sets it: in
// its place where the key is there already, else as the last one. All other bytes
// stay as they are, blanks and comments included. Where the key stands several
// times, each of them takes the value. value is written as it is.
func SetMember(object []byte, key string, value []byte) ([]byte, error) {
	s := scanner{src: object}
	if err := s.blank(); err != nil {
		return nil, err
	}
	if s.peek() != '{' {
		return nil, s.fail("no object")
	}
	spliced := make([]byte, 0, len(object)+len(key)+len(value)+len(`,"":`))
	kept, found := 0, false
	last := pair{valueEnd: s.pos + 1}
	err := s.object(func(p pair) {
		last = p
		if unquote(object[p.key:p.keyEnd]) == key {
			spliced = append(append(spliced, object[kept:p.value]...), value...)
			kept, found = p.valueEnd, true
		}
	})
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return nil, err
	}
	if !found {
		spliced = append(spliced, object[:last.valueEnd]...)
		if last.key > 0 {
			spliced = append(spliced, ',')
		}
		spliced = append(append(AppendString(spliced, key), ':'), value...)
		kept = last.valueEnd
	}
	return append(spliced, object[kept:]...), nil
}

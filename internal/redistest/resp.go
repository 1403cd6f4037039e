package redistest

import (
	"bufio"
	"errors"
	"io"
	"strconv"
)

var errProtocol = errors.New("redistest: not the protocol of Redis")

// readLine reads a line with its end.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return nil, errProtocol
	}
	return line, nil
}

// lineNumber is the number of a line such as "*3\r\n".
func lineNumber(line []byte) (int, error) { return strconv.Atoi(string(line[1 : len(line)-2])) }

// readCommand reads a client's command: its bytes and its words.
func readCommand(r *bufio.Reader) (raw []byte, words []string, err error) {
	line, err := readLine(r)
	if err != nil {
		return nil, nil, err
	}
	count, err := lineNumber(line)
	if err != nil || line[0] != '*' || count < 1 {
		return nil, nil, errProtocol
	}
	raw = line
	for range count {
		bulk, body, err := readBulk(r)
		if err != nil {
			return nil, nil, err
		}
		raw = append(raw, bulk...)
		words = append(words, string(body))
	}
	return raw, words, nil
}

func readBulk(r *bufio.Reader) (raw, body []byte, err error) {
	line, err := readLine(r)
	if err != nil {
		return nil, nil, err
	}
	size, err := lineNumber(line)
	if err != nil || line[0] != '$' {
		return nil, nil, errProtocol
	}
	if size < 0 {
		return line, nil, nil
	}
	rest := make([]byte, size+2)
	if _, err := io.ReadFull(r, rest); err != nil {
		return nil, nil, err
	}
	return append(line, rest...), rest[:size], nil
}

// reply is a reply's bytes, and of a list the first text in it, by which
// messages to a subscriber are told from replies.
type reply struct {
	raw   []byte
	first string
}

func readReply(r *bufio.Reader) (reply, error) {
	kind, err := r.Peek(1)
	if err != nil {
		return reply{}, err
	}
	switch kind[0] {
	case '$':
		raw, body, err := readBulk(r)
		return reply{raw: raw, first: string(body)}, err
	case '*':
		return readList(r)
	case '+', '-', ':':
		raw, err := readLine(r)
		return reply{raw: raw}, err
	default:
		return reply{}, errProtocol
	}
}

func readList(r *bufio.Reader) (reply, error) {
	line, err := readLine(r)
	if err != nil {
		return reply{}, err
	}
	count, err := lineNumber(line)
	if err != nil {
		return reply{}, errProtocol
	}
	whole := reply{raw: line}
	for i := range count {
		element, err := readReply(r)
		if err != nil {
			return reply{}, err
		}
		whole.raw = append(whole.raw, element.raw...)
		if i == 0 {
			whole.first = element.first
		}
	}
	return whole, nil
}

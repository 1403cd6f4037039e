package program

import (
	"bytes"
	"strings"

	"example.com/understudy/internal/foreign"
)

// lineKeeper keeps the last line that isn't blank, the start of it where it is
// very long, of any amount of output.
type lineKeeper struct {
	kept, current []byte
}

func (k *lineKeeper) Write(data []byte) (int, error) {
	n := len(data)
	for {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			k.add(data)
			return n, nil
		}
		k.add(data[:end])
		k.endLine()
		data = data[end+1:]
	}
}

func (k *lineKeeper) add(data []byte) {
	if room := foreign.Limit - len(k.current); len(data) > room {
		data = data[:room]
	}
	k.current = append(k.current, data...)
}

func (k *lineKeeper) endLine() {
	if len(bytes.TrimSpace(k.current)) > 0 {
		k.kept, k.current = k.current, k.kept
	}
	k.current = k.current[:0]
}

// last is that line, without white space around it and as valid UTF-8.
func (k *lineKeeper) last() string {
	k.endLine()
	return strings.ToValidUTF8(string(bytes.TrimSpace(k.kept)), "\uFFFD")
}

package program

import (
	"bytes"
	"io"
	"strings"
)

// lineLimit is how much of one line is kept: more than the worker records of an
// error.
const lineLimit = 256 << 10

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
	if room := lineLimit - len(k.current); len(data) > room {
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

// lineWriter passes lines on, each in one call and with a prefix. A line longer
// than lineLimit comes in pieces.
type lineWriter struct {
	to     io.Writer
	prefix string
	line   []byte
}

func (w *lineWriter) Write(data []byte) (int, error) {
	n := len(data)
	for len(data) > 0 {
		if len(w.line) == 0 {
			w.line = append(w.line, w.prefix...)
		}
		end := bytes.IndexByte(data, '\n') + 1
		if end == 0 {
			end = len(data)
		}
		end = min(end, lineLimit)
		w.line = append(w.line, data[:end]...)
		data = data[end:]
		if w.line[len(w.line)-1] == '\n' || len(w.line) >= lineLimit {
			w.flush()
		}
	}
	return n, nil
}

func (w *lineWriter) flush() {
	if len(w.line) == 0 {
		return
	}
	if w.line[len(w.line)-1] != '\n' {
		w.line = append(w.line, '\n')
	}
	_, _ = w.to.Write(w.line) // a log that is gone must not end the job
	w.line = w.line[:0]
}

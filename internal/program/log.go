package program

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"unicode/utf8"
)

// The bounds of what a run may log, in bytes.
const (
	shownOfLine = 4 << 10
	shownOfRun  = 64 << 10
)

// runLog passes the lines of one run on, each in one call and with a prefix, and
// no more of them than the bounds allow. The streams of a program share it.
type runLog struct {
	to     io.Writer
	prefix string

	mu    sync.Mutex
	shown int
	full  bool // some line was too much; those behind it are left out, too
	left  int  // bytes left out
}

// line passes a line on. cut is how many bytes of it are missing, end how many
// stood for its end.
func (l *runLog) line(text []byte, cut, end int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.full = l.full || l.shown+len(text)+end > shownOfRun
	if l.full {
		l.left += len(text) + cut + end
		return
	}
	l.shown += len(text) + end
	l.left += cut
	mark := ""
	if cut > 0 {
		mark = " …"
	}
	l.say(string(text) + mark)
}

// end says how much was left out.
func (l *runLog) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left > 0 {
		l.say(fmt.Sprintf("(%d bytes of output left out)", l.left))
	}
}

func (l *runLog) say(text string) {
	_, _ = io.WriteString(l.to, l.prefix+text+"\n") // a log that is gone must not end the job
}

// lineWriter takes one stream apart into lines.
type lineWriter struct {
	log  *runLog
	line []byte
	cut  int // bytes of the line that didn't fit
}

func (w *lineWriter) Write(data []byte) (int, error) {
	n := len(data)
	for {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			w.add(data)
			return n, nil
		}
		w.add(data[:end])
		w.pass(1)
		data = data[end+1:]
	}
}

func (w *lineWriter) add(data []byte) {
	room := min(shownOfLine-len(w.line), len(data))
	w.line = append(w.line, data[:room]...)
	w.cut += len(data) - room
}

func (w *lineWriter) pass(end int) {
	if w.cut > 0 {
		whole := wholeRunes(w.line)
		w.cut += len(w.line) - whole
		w.line = w.line[:whole]
	}
	w.log.line(w.line, w.cut, end)
	w.line, w.cut = w.line[:0], 0
}

// flush passes on what stands there without the end of a line.
func (w *lineWriter) flush() {
	if len(w.line) > 0 {
		w.pass(0)
	}
}

// wholeRunes is the length of text without a character that was cut at its end.
func wholeRunes(text []byte) int {
	for i := len(text) - 1; i >= max(0, len(text)-utf8.UTFMax); i-- {
		if utf8.RuneStart(text[i]) {
			if utf8.FullRune(text[i:]) {
				break
			}
			return i
		}
	}
	return len(text)
}

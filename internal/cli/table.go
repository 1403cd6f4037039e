package cli

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// column is one of a table.
type column struct {
	title string
	// most is how wide it gets where rows are wider; 0: as wide as they are.
	most int
	// right: its texts stand at its right end.
	right bool
}

// table writes rows as they come: the first ones decide how wide the columns are.
// The last column takes what is left of the line, and is cut there.
type table struct {
	to      *bufio.Writer
	columns []column
	width   int // of a line; 0: whatever it takes
	widths  []int
	kept    [][]string // the rows before the widths are known
}

// tableSample is how many rows decide about the widths.
const tableSample = 200

func newTable(to io.Writer, width int, columns ...column) *table {
	return &table{to: bufio.NewWriter(to), columns: columns, width: width}
}

// row writes a row, whose texts may be anything: what a terminal would obey is
// shown by its escape.
func (t *table) row(cells ...string) error {
	for i := range cells {
		most := t.columns[i].most
		if i == len(cells)-1 {
			most = t.width
		}
		cells[i] = visible(cells[i], most)
	}
	if t.widths != nil {
		return t.write(cells)
	}
	t.kept = append(t.kept, cells)
	if len(t.kept) < tableSample {
		return nil
	}
	return t.begin()
}

// end writes what is still kept. A table without rows is nothing.
func (t *table) end() error {
	if t.widths == nil && len(t.kept) > 0 {
		if err := t.begin(); err != nil {
			return err
		}
	}
	return t.to.Flush()
}

// begin writes the head and the rows that were kept.
func (t *table) begin() error {
	head := make([]string, len(t.columns))
	t.widths = make([]int, len(t.columns))
	for i, c := range t.columns {
		head[i] = c.title
		t.widths[i] = shownWidth(c.title)
		for _, row := range t.kept {
			t.widths[i] = max(t.widths[i], shownWidth(row[i]))
		}
	}
	if err := t.write(head); err != nil {
		return err
	}
	for _, row := range t.kept {
		if err := t.write(row); err != nil {
			return err
		}
	}
	t.kept = nil
	return t.to.Flush()
}

func (t *table) write(cells []string) error {
	const gap = "  "
	var line strings.Builder
	used := 0
	for i, cell := range cells {
		last := i == len(cells)-1
		if last && t.width > 0 {
			cell = visible(cell, max(t.width-used, minCell))
		}
		blanks := strings.Repeat(" ", max(0, t.widths[i]-shownWidth(cell)))
		switch {
		case t.columns[i].right:
			line.WriteString(blanks + cell)
		case last:
			line.WriteString(cell)
		default:
			line.WriteString(cell + blanks)
		}
		if !last {
			line.WriteString(gap)
		}
		used += max(t.widths[i], shownWidth(cell)) + len(gap)
	}
	_, err := fmt.Fprintln(t.to, strings.TrimRight(line.String(), " "))
	return err
}

// minCell is what the last column has at least.
const minCell = 10

// visible is a text in one line without anything that a terminal would obey, or
// that isn't to be seen; where it is wider than most, it ends with "…". 0: it may
// be as wide as it is.
func visible(text string, most int) string {
	var out strings.Builder
	width, room := 0, most-1 // for the "…"
	fits := 0                // how much of out leaves room for it
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		shown := text[:size]
		switch {
		case r == utf8.RuneError && size == 1:
			shown = fmt.Sprintf(`\x%02x`, text[0])
		case !strconv.IsPrint(r):
			shown = strings.Trim(strconv.QuoteRune(r), "'")
		}
		text = text[size:]
		width += shownWidth(shown)
		if most > 0 && width > most {
			return out.String()[:fits] + "…"
		}
		out.WriteString(shown)
		if width <= room {
			fits = out.Len()
		}
	}
	return out.String()
}

// shownWidth is how many columns of a terminal a text takes, about.
func shownWidth(text string) int {
	width := 0
	for _, r := range text {
		width++
		if r >= 0x1100 && (unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana) ||
			r >= 0xFF01 && r <= 0xFF60 || r >= 0x1F300 && r <= 0x1FAFF) {
			width++
		}
	}
	return width
}

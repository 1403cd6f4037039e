package cli

import (
	"io"
	"time"

	"github.com/urfave/cli/v2"
)

// Commands are the real commands.
func Commands() []*cli.Command { return (&app{}).commands() }

// Arrange is arrange for the real commands.
func Arrange(args []string) ([]string, error) { return arrange(args, (&app{}).commands()) }

// ReadMoment is readMoment.
var ReadMoment = readMoment

// VersionOf is versionOf.
var VersionOf = versionOf

// Board is the demo's view.
type Board = board

// NewBoard makes a view.
func NewBoard(out io.Writer, screen bool) *Board { return newBoard(out, screen) }

// The methods of the view.
var (
	BoardTitle  = (*board).title
	BoardBegin  = (*board).begin
	BoardWatch  = (*board).watch
	BoardFailed = (*board).failed
	BoardDraw   = func(b *board, now time.Time) { b.draw(now) }
	BoardRemark = (*board).remark
	BoardEnd    = (*board).end
)

// Visible is visible.
var Visible = visible

// InHow is inHow.
var InHow = inHow

// The methods of progress.
var (
	NewProgress  = newProgress
	ProgressTell = (*progress).tell
	ProgressEnd  = (*progress).end
)

// Column is a column of a table.
type Column = column

// NewColumn makes a column.
func NewColumn(title string, most int, right bool) Column {
	return column{title: title, most: most, right: right}
}

// The methods of tables.
var (
	NewTable = newTable
	TableRow = (*table).row
	TableEnd = (*table).end
)

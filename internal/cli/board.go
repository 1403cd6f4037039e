package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"example.com/understudy/resque"
)

// board shows what becomes of the demo's jobs: on a terminal as a table that
// changes, elsewhere a line for each event.
type board struct {
	out    io.Writer
	screen bool
	began  time.Time

	mu      sync.Mutex
	rows    []*row
	open    int           // rows whose job isn't through
	allDone chan struct{} // closed when there are none
	drawn   int           // lines of the table on the screen
	remarks []string      // below it
	totals  struct{ jobs, runs, succeeded, retried, failed int }
}

// row is one job.
type row struct {
	class   string
	state   string
	note    string
	until   time.Time // when a waiting job is due
	runs    int
	through bool
}

func newBoard(out io.Writer, screen bool) *board {
	return &board{out: out, screen: screen, began: time.Now(), allDone: make(chan struct{})}
}

func (b *board) title(where string, once bool) {
	text := "A worker with 3 slots and a scheduler at work."
	if !once {
		text += " Ctrl-C ends it."
	}
	b.print("%s\n%s\n\n", text, where)
}

// remark stands below the table from now on.
func (b *board) remark(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.remarks = strings.Split(fmt.Sprintf(format, args...), "; ")
}

// begin starts a round.
func (b *board) begin(jobs []resque.NewJob) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rows, b.open, b.allDone = nil, len(jobs), make(chan struct{})
	b.totals.jobs += len(jobs)
	for _, job := range jobs {
		b.rows = append(b.rows, &row{class: job.Class, state: "waits", note: "in queue " + job.Queue})
	}
}

// through is closed when all jobs of the round are.
func (b *board) through() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.allDone
}

// watch is the middleware that sees each run begin and succeed.
func (b *board) watch(next resque.Handler) resque.Handler {
	return resque.HandlerFunc(func(ctx context.Context, job *resque.Job) error {
		b.started(job)
		err := next.Perform(ctx, job)
		if err == nil {
			b.succeeded(job)
		}
		return err
	})
}

func (b *board) started(job *resque.Job) {
	b.change(job.Class, func(r *row) string {
		r.runs++
		b.totals.runs++
		r.state, r.until = "runs", time.Time{}
		r.note = ""
		if job.Attempt > 0 {
			r.note = fmt.Sprintf("retry %d", job.Attempt)
		}
		return strings.TrimSpace("runs " + parenthesis(r.note))
	})
}

func (b *board) succeeded(job *resque.Job) {
	b.change(job.Class, func(r *row) string {
		r.state, r.note = "succeeded", "at the first try"
		b.totals.succeeded++
		if r.runs > 1 {
			r.note = fmt.Sprintf("at try %d", r.runs)
			b.totals.retried++
		}
		b.close(r)
		return "succeeds " + r.note
	})
}

// failed is the failure backend that sees each failure once it is recorded.
func (b *board) failed(_ context.Context, f *resque.Failure) error {
	b.change(f.Job.Class, func(r *row) string {
		what := f.Exception + ": " + f.Message
		if f.RetryPending {
			due := f.FailedAt.Add(f.RetryDelay).Truncate(time.Second) // Ruby's schedule knows whole seconds
			r.state, r.note, r.until = "waits", what, due
			return fmt.Sprintf("fails with %s; again in %.1f s", what, max(time.Until(due), 0).Seconds())
		}
		r.state, r.note = "failed", what
		b.totals.failed++
		b.close(r)
		return "fails for good with " + what
	})
	return nil
}

// close notes that a job is through.
func (b *board) close(r *row) {
	if r.through {
		return
	}
	r.through = true
	if b.open--; b.open == 0 {
		close(b.allDone)
	}
}

// change changes the row of a class; the text that it gives is the event's line.
func (b *board) change(class string, how func(*row) string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.rows {
		if r.class != class {
			continue
		}
		if text := how(r); !b.screen {
			b.print("%5.1f s  %-12s %s\n", time.Since(b.began).Seconds(), class, text)
		}
	}
}

func parenthesis(text string) string {
	if text == "" {
		return ""
	}
	return "(" + text + ")"
}

// boardTick is how often the table is drawn.
const boardTick = 100 * time.Millisecond

// show draws the table until ctx ends.
func (b *board) show(ctx context.Context) {
	if !b.screen {
		return
	}
	ticker := time.NewTicker(boardTick)
	defer ticker.Stop()
	for {
		b.draw(time.Now())
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// draw writes the table over the one before it.
func (b *board) draw(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	lines := b.table(now)
	var text strings.Builder
	text.WriteString("\x1b[?7l\r") // a narrow terminal cuts lines; a ^C may stand in this one
	if b.drawn > 0 {
		fmt.Fprintf(&text, "\x1b[%dA", b.drawn) // up
	}
	for _, line := range lines {
		text.WriteString(line + "\x1b[K\n") // and clear what was there
	}
	text.WriteString("\x1b[J\x1b[?7h")
	b.drawn = len(lines)
	b.print("%s", text.String())
}

func (b *board) table(now time.Time) []string {
	var lines []string
	for _, r := range b.rows {
		line := fmt.Sprintf("  %s %-12s %-10s %s", mark(r.state), r.class, r.state, r.note)
		if !r.until.IsZero() {
			left := max(r.until.Sub(now), 0).Seconds()
			line = fmt.Sprintf("%s; again in %.1f s", cut(line, lineWidth-len("; again in 60.0 s")), left)
		}
		lines = append(lines, cut(line, lineWidth))
	}
	last := fmt.Sprintf("  %.0f s, %d runs", now.Sub(b.began).Seconds(), b.totals.runs)
	lines = append(lines, "", last)
	for _, text := range b.remarks {
		lines = append(lines, cut("  "+text, lineWidth))
	}
	return lines
}

func mark(state string) string {
	return map[string]string{"waits": "…", "runs": "▸", "succeeded": "✓", "failed": "✗"}[state]
}

// lineWidth keeps lines from wrapping, which would spoil the drawing.
const lineWidth = 78

func cut(line string, width int) string {
	runes := []rune(line)
	if len(runes) <= width {
		return line
	}
	return string(runes[:width-1]) + "…"
}

// end says what happened in the end.
func (b *board) end(text string) {
	if b.screen {
		b.draw(time.Now())
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.totals
	b.print("\n%d jobs in %d runs: %d succeeded, %d of them after retries; %d failed for good.\n%s\n",
		t.jobs, t.runs, t.succeeded, t.retried, t.failed, text)
}

func (b *board) print(format string, args ...any) {
	_, _ = fmt.Fprintf(b.out, format, args...) // nobody looks any more
}

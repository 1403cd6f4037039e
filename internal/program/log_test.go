package program_test

import (
	"fmt"
	"strings"
	"testing"
)

// What a run logs is bounded; the error that it ends with isn't.
func TestProgramOutputIsBounded(t *testing.T) {
	t.Parallel()
	const (
		ofLine = 4 << 10
		ofRun  = 64 << 10
	)
	left := func(n int) string { return fmt.Sprintf("DeliverSMS: (%d bytes of output left out)\n", n) }
	letters := func(n int) string { return fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x", n) }
	const line16 = "0123456789abcde\n"
	tests := []struct{ name, script, want string }{
		{"nothing", "exit 0", ""},
		{"an empty line", "echo", "DeliverSMS: \n"},
		{"the longest line", letters(ofLine) + "; echo; echo next", "DeliverSMS: " + strings.Repeat("x", ofLine) + "\nDeliverSMS: next\n"},
		{
			"a longer line", letters(ofLine+10) + "; echo; echo next",
			"DeliverSMS: " + strings.Repeat("x", ofLine) + " …\nDeliverSMS: next\n" + left(10),
		},
		{"a longer line without end", letters(ofLine + 10), "DeliverSMS: " + strings.Repeat("x", ofLine) + " …\n" + left(10)},
		{
			"a character across the bound", letters(ofLine-1) + "; printf '\\303\\244z'",
			"DeliverSMS: " + strings.Repeat("x", ofLine-1) + " …\n" + left(3),
		},
		{"as much as may be", fmt.Sprintf("yes 0123456789abcde | head -n %d", ofRun/16), strings.Repeat("DeliverSMS: "+line16, ofRun/16)},
		{"a line more", fmt.Sprintf("yes 0123456789abcde | head -n %d", ofRun/16+1), strings.Repeat("DeliverSMS: "+line16, ofRun/16) + left(16)},
		{
			"what fits again stays out", fmt.Sprintf("yes 0123456789abcde | head -n %d; echo 0123456789abcde0; echo", ofRun/16-1),
			strings.Repeat("DeliverSMS: "+line16, ofRun/16-1) + left(18),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for stream, ending := range map[string]string{"stdout": "", "stderr": " >&2"} {
				out := newCollector()
				handler := shell("{ " + tt.script + "; }" + ending)
				handler.Output = out
				if err := handler.Perform(t.Context(), job("")); err != nil {
					t.Fatal(err)
				}
				if got := out.text.String(); got != tt.want {
					t.Errorf("%s: %d bytes, want %d; they end in %.200q", stream, len(got), len(tt.want), got[max(0, len(got)-200):])
				}
			}
		})
	}
}

func TestProgramErrorIsNotBoundedWithItsOutput(t *testing.T) {
	t.Parallel()
	out := newCollector()
	const lines, length = 2000, 100_000
	handler := shell(fmt.Sprintf(`yes 0123456789abcdef0123456789abcde | head -n %d; yes 0123456789abcdef0123456789abcde | head -n %d >&2
		head -c %d /dev/zero | tr '\0' x >&2; exit 1`, lines, lines, length))
	handler.Output = out
	if err := handler.Perform(t.Context(), job("")); err == nil || err.Error() != strings.Repeat("x", length) {
		t.Errorf("got %.200v", err)
	}
	shown, left := 0, 0
	for line := range strings.Lines(out.text.String()) {
		if n, _ := fmt.Sscanf(line, "DeliverSMS: (%d bytes of output left out)", &left); n == 0 {
			shown += len(line) - len("DeliverSMS: ")
		}
	}
	if total := 2*lines*32 + length; shown+left != total || shown > 64<<10 || shown < 60<<10 {
		t.Errorf("%d bytes shown and %d left out of %d", shown, left, total)
	}
}

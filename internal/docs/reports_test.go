package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

// Every report in CONTRIBUTING.md names a test that is there, and that names the
// report.
func TestReportsHaveTests(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`^\[(Test\w+)\]\(([\w/]+_test\.go)\)$`)
	table := rows(t, read(t, "CONTRIBUTING.md"), "| report | what broke | test |\n")
	seen := map[string]bool{}
	for _, row := range table {
		if len(row) != 3 {
			t.Fatalf("a row without three cells: %v", row)
		}
		number, _, _ := strings.Cut(row[0], " ")
		if seen[number] {
			t.Errorf("%s stands there twice", number)
		}
		seen[number] = true
		m := link.FindStringSubmatch(row[2])
		if m == nil {
			t.Errorf("%s has no link to a test: %s", number, row[2])
			continue
		}
		before, _, ok := strings.Cut(read(t, m[2]), "\nfunc "+m[1]+"(t *testing.T) {\n")
		comment := before[strings.LastIndex(before, "\n\n")+1:]
		if !ok || !regexp.MustCompile("// "+number+"[ :]").MatchString(comment) {
			t.Errorf("%s has no %s whose comment begins with %s", m[2], m[1], number)
		}
	}
}

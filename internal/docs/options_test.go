package docs_test

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/understudy/internal/jobsfile"
	"example.com/understudy/retry"
)

// rows are the cells of the table whose head begins with these words.
func rows(t *testing.T, document, head string) [][]string {
	t.Helper()
	_, table, ok := strings.Cut(document, "\n"+head)
	if !ok {
		t.Fatalf("no table begins with %s", head)
	}
	var found [][]string
	for line := range strings.Lines(table) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" && len(found) > 0:
			return found
		case strings.HasPrefix(line, "| ") && strings.HasSuffix(line, " |"):
			found = append(found, strings.Split(strings.Trim(line, "| "), " | "))
		}
	}
	return found
}

// codes are the words between backquotes.
func codes(cell string) (words []string) {
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
		words = append(words, m[1])
	}
	return words
}

// knownKeys asks the jobs file itself which keys a class may have.
func knownKeys(t *testing.T) []string {
	t.Helper()
	_, err := jobsfile.Parse("jobs.yml", []byte("jobs: {X: {exec: [a], zzzzzzzz: 1}}"))
	if err == nil {
		t.Fatal("an unknown key is accepted")
	}
	_, list, ok := strings.Cut(err.Error(), "known here are ")
	if !ok {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(list), ", ")
}

func policyFields() (names []string) {
	for _, field := range reflect.VisibleFields(reflect.TypeFor[retry.Policy]()) {
		if field.IsExported() {
			names = append(names, field.Name)
		}
	}
	return names
}

const optionsHead = "| in Ruby | in Go | in jobs.yml | example |\n"

// The table of options in the README names only what the code has, and all of it.
func TestOptionsAreThoseOfTheCode(t *testing.T) {
	t.Parallel()
	table := rows(t, read(t, "README.md"), optionsHead)
	fields, keys := policyFields(), knownKeys(t)
	inGo, inFile := map[string]bool{}, map[string]bool{}
	for _, row := range table {
		if len(row) != 4 {
			t.Fatalf("a row without four cells: %v", row)
		}
		for _, name := range codes(row[1]) {
			inGo[name] = true
			if exported(t, name); !strings.Contains(name, ".") && !slices.Contains(fields, name) {
				t.Errorf("retry.Policy has no field %s", name)
			}
		}
		for _, code := range codes(row[2]) {
			key, _, _ := strings.Cut(code, ":")
			inFile[key] = true
			if !strings.HasPrefix(key, "--") && !slices.Contains(keys, key) && key != "append_exception" {
				t.Errorf("jobs.yml has no key %s", key)
			}
		}
	}
	for _, field := range fields {
		if !inGo[field] {
			t.Errorf("the table lacks the field %s", field)
		}
	}
	for _, key := range keys {
		if !inFile[key] {
			t.Errorf("the table lacks the key %s", key)
		}
	}
}

// exported looks for a name such as retry.Match.Wait in the package's sources.
func exported(t *testing.T, name string) {
	t.Helper()
	parts := strings.Split(name, ".")
	if len(parts) == 1 || parts[1] == "Policy{}" {
		return
	}
	last := regexp.QuoteMeta(parts[len(parts)-1])
	pattern := `(?m)^(func|type) ` + last + `\b`
	if len(parts) == 3 { // a method, or a field
		pattern = `(?m)^func \(\w+ \*?` + parts[1] + `\) ` + last + `\(|^type ` + parts[1] + ` struct {[^}]*\b` + last + `\b`
	}
	for _, file := range goFiles(t) {
		if strings.HasPrefix(file, parts[0]+"/") && regexp.MustCompile(pattern).MatchString(read(t, file)) {
			return
		}
	}
	t.Errorf("there is no %s", name)
}

// Each option has an example that prints what comes of it.
func TestOptionsHaveExamples(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`^\[(Example\w*)\]\(([\w/]+_test\.go)\)$`)
	for _, row := range rows(t, read(t, "README.md"), optionsHead) {
		m := link.FindStringSubmatch(row[3])
		if m == nil {
			t.Errorf("%s has no link to an example: %s", row[0], row[3])
			continue
		}
		_, body, ok := strings.Cut(read(t, m[2]), "\nfunc "+m[1]+"() {\n")
		body, _, _ = strings.Cut(body, "\n}\n")
		if !ok || !strings.Contains(body, "// Output:\n") {
			t.Errorf("%s has no example %s with an output", m[2], m[1])
		}
	}
}

// The table of attempts in docs/jobs.md is what the zero Waits does.
func TestTableOfAttempts(t *testing.T) {
	t.Parallel()
	start := time.Unix(0, 0)
	now := start
	table := rows(t, read(t, "docs/jobs.md"), "| attempt | wait | after |\n")
	for i := 1; i < len(table); i++ {
		next, again := retry.Waits{}.Next(retry.Failed{Attempts: i, Now: now})
		want := []string{strconv.Itoa(i + 1), fmt.Sprintf("%d s", next.Sub(now)/time.Second), next.Sub(start).String()}
		if now = next; !again || !slices.Equal(table[i], want) {
			t.Errorf("the table says %v, and the attempts are %v, %v", table[i], again, want)
		}
	}
	if _, again := (retry.Waits{}).Next(retry.Failed{Attempts: len(table), Now: now}); again {
		t.Errorf("the table ends at %d attempts", len(table))
	}
}

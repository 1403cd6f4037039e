package conformance_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"example.com/understudy/compat/conformance"
	"example.com/understudy/internal/redistest"
)

var fixtures = flag.String("fixtures", "testdata/ruby", "the folder of recordings, absolute or relative to the module's root")

func TestMain(m *testing.M) { redistest.Main(m) }

func TestConformance(t *testing.T) {
	t.Parallel()
	dir := *fixtures
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(root(t), dir)
	}
	suite, err := conformance.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	suite.Run(t)
}

// Recordings beside those of testdata/ruby.
func TestMoreRecordings(t *testing.T) {
	t.Parallel()
	suite, err := conformance.Open(filepath.Join("testdata", "more"))
	if err != nil {
		t.Fatal(err)
	}
	suite.Run(t)
}

// A deviation that no recording shows can't be told from a mistake.
func TestEveryDeviationShows(t *testing.T) {
	t.Parallel()
	shown := map[string]int{}
	for _, dir := range []string{filepath.Join(root(t), "testdata", "ruby"), filepath.Join("testdata", "more")} {
		suite, err := conformance.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		for what, places := range suite.Deviations() {
			shown[what] += places
		}
	}
	for what, places := range shown {
		if places == 0 {
			t.Errorf("no recording shows: %s", what)
		}
	}
}

// root is the module's.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if filepath.Dir(dir) == dir {
			t.Fatal("no go.mod above the test's folder")
		}
		dir = filepath.Dir(dir)
	}
}

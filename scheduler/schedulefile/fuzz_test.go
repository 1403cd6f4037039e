package schedulefile_test

import (
	"testing"

	"example.com/understudy/compat/ruby"
	"example.com/understudy/scheduler/schedulefile"
)

// FuzzParse wants of every text: an answer, a place for each fault, and
// configurations that are JSON.
func FuzzParse(f *testing.F) {
	f.Add(schedulefile.Example)
	f.Add("a: &a\n  :every: [1h, {:first_in: :now}]\n  args: [010, 12:30, 2026-01-02]\nb:\n  <<: *a\n")
	f.Add("&a {<<: *a}")
	f.Add("a: {every: <%= 1 %>}")
	f.Add("? [a]\n: !ruby/object:X {a: .inf}")
	f.Add("a: &x [*x, !!binary aGk=, !!omap [a: 1]]")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := schedulefile.Parse("s.yml", []byte(text), nil)
		if err != nil {
			faults := faults(err)
			if len(faults) == 0 {
				t.Fatalf("nothing is told of: %v", err)
			}
			for i, fault := range faults {
				if fault.Text == "" || fault.Line < 0 || i > 0 && fault.Line < faults[i-1].Line {
					t.Errorf("%v is out of place", fault)
				}
			}
			return
		}
		for _, e := range file.Entries {
			config, err := e.Job.Config()
			if err != nil || ruby.Check(config) != nil {
				t.Errorf("%q is kept as %s, %v", e.Name, config, err)
			}
		}
	})
}

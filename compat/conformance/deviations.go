package conformance

// deviation is a difference from Ruby that is meant.
type deviation struct {
	// what names it.
	what string
	// reason says why it is better so.
	reason string
	// field is where it shows.
	field string
	// applies says in which cases it has to show: a case to which it applies and
	// that doesn't differ there fails as one that differs elsewhere.
	applies func(c *testCase) bool
}

// deviations is the whole list. What a recording calls an error of a definition
// is compared by whether the definition is refused, not by the error's class and
// text: those are Ruby's own there, and Go's here.
func deviations() []deviation {
	return []deviation{
		{
			what: "JSON that Ruby decodes, but that is no object with a text as its class, is no job",
			reason: "in Ruby null vanishes from its queue, [] and a text stay in the worker's hand and break resque-web's pages, " +
				"and a class that is no text fails on its way; here all of them go to the failed jobs, from where they can be brought back",
			field: fieldJob,
			applies: func(c *testCase) bool {
				row, ok := c.row.(malformedRow)
				return ok && row.Decoded != nil && string(row.Decoded) != notUTF8 && !decodedJob(row.Decoded)
			},
		},
	}
}

// settle takes out what is meant to differ, and adds what no longer does.
func settle(c *testCase, name string, findings []Finding) []Finding {
	for _, d := range deviations() {
		if !d.applies(c) {
			continue
		}
		var kept []Finding
		for _, f := range findings {
			if f.Field != d.field {
				kept = append(kept, f)
			}
		}
		if len(kept) == len(findings) {
			kept = append(kept, Finding{
				File: name, Case: c.name, Field: d.field,
				Detail: "is as in Ruby, although deviations.go says: " + d.what + "; take the entry out",
			})
		}
		findings = kept
	}
	return findings
}

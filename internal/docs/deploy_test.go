package docs_test

import (
	"regexp"
	"strconv"
	"testing"
	"time"
)

// The patience of the examples' supervisors is longer than a stop takes, by the
// waits that the examples themselves name.
func TestSupervisorsWaitForTheStop(t *testing.T) {
	t.Parallel()
	for path, key := range map[string]string{
		"examples/deploy/understudy-work.service": `(?m)^TimeoutStopSec=(\d+)$`,
		"examples/deploy/kubernetes.yaml":         `(?m)^ +terminationGracePeriodSeconds: (\d+)$`,
	} {
		text := read(t, path)
		found := regexp.MustCompile(key).FindStringSubmatch(text)
		if found == nil {
			t.Fatalf("%s has no %s", path, key)
		}
		// A comment may break between number and option.
		waits := regexp.MustCompile(`(\d+) s[\s#]*\(--(?:shutdown|cancel|release)-timeout\)`).FindAllStringSubmatch(text, -1)
		total := time.Duration(0)
		for _, wait := range waits {
			n, _ := strconv.Atoi(wait[1])
			total += time.Duration(n) * time.Second
		}
		patience, _ := strconv.Atoi(found[1])
		if len(waits) != 3 || time.Duration(patience)*time.Second <= total {
			t.Errorf("%s waits %d s for a stop of up to %v (%d waits)", path, patience, total, len(waits))
		}
	}
}

package resque_test

import (
	"testing"
	"time"

	"example.com/understudy/resque"
)

func TestBackoff(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for _, test := range []struct {
		first, most time.Duration
		failed      int
		random      float64
		want        time.Duration
	}{
		{0, 0, 1, 0, 100 * ms},
		{0, 0, 0, 0, 100 * ms},
		{0, 0, 2, 0, 200 * ms},
		{0, 0, 6, 0, 3200 * ms},
		{0, 0, 7, 0, 5000 * ms},
		{0, 0, 1 << 40, 0, 5000 * ms},
		{0, 0, 1, 0.5, 87500 * time.Microsecond},
		{0, 0, 7, 1, 3750 * ms},
		{10 * ms, 25 * ms, 2, 0, 20 * ms},
		{10 * ms, 25 * ms, 3, 0, 25 * ms},
		{50 * ms, 25 * ms, 1, 0, 25 * ms},
	} {
		if got := resque.BackoffForTest(test.first, test.most, test.failed, test.random); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
}

// Package duration reads times as people write them on a command line and in
// Ruby's environment variables.
package duration

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Parse reads seconds (5, 0.5) or numbers with units (30s, 1h30m, 250ms). What
// is negative or longer than a century is refused.
func Parse(text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	d, err := time.ParseDuration(text)
	if err != nil {
		d, err = seconds(text)
	}
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is no duration: write seconds, such as 5 or 0.5, or a unit, such as 30s or 1h30m", text)
	case d < 0:
		return 0, fmt.Errorf("%q is negative: write seconds, such as 5", text)
	}
	return d, nil
}

const century = 100 * 365 * 24 * 3600 // seconds

func seconds(text string) (time.Duration, error) {
	if strings.Trim(text, "0123456789.-+") != "" { // no 1e9, 0x10, Inf
		return 0, strconv.ErrSyntax
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f > century {
		return 0, strconv.ErrSyntax
	}
	return time.Duration(f * float64(time.Second)), nil
}

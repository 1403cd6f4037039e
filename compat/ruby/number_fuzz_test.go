package ruby_test

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"testing"

	"example.com/understudy/compat/ruby"
)

// FuzzFloat writes any number as Float#to_s does: JSON, always with a point, with
// an exponent below 1e-4 and for whole numbers from 1e15 on, and the same number
// when it is read.
func FuzzFloat(f *testing.F) {
	for _, x := range []float64{0, math.Copysign(0, -1), 1, 1.5, 1e15, 1e16, 123456789012345680, 1e-4, 1e-5, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Pi} {
		f.Add(x)
	}
	plain := regexp.MustCompile(`^-?\d+\.\d+$`)
	exponent := regexp.MustCompile(`^-?\d\.\d+e[+-]\d\d+$`)
	f.Fuzz(func(t *testing.T, x float64) {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return
		}
		text := string(ruby.AppendFloat(nil, x))
		back, err := strconv.ParseFloat(text, 64)
		if err != nil || math.Float64bits(back) != math.Float64bits(x) || !json.Valid([]byte(text)) {
			t.Fatalf("%v is written as %s", x, text)
		}
		form := plain
		if size := math.Abs(x); size != 0 && (size < 1e-4 || size >= 1e15 && size == math.Trunc(size)) {
			form = exponent
		}
		if !form.MatchString(text) {
			t.Fatalf("%v has the form %s", x, text)
		}
		if again, err := ruby.Reencode([]byte(text)); err != nil || string(again) != text {
			t.Fatalf("%s is written again as %s, %v", text, again, err)
		}
	})
}

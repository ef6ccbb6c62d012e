package saturating

import (
	"math"
	"testing"
)

func TestLimits(t *testing.T) {
	for _, c := range [][3]int64{{1, 2, 3}, {math.MaxInt64, 1, math.MaxInt64}, {math.MinInt64, -1, math.MinInt64}, {5, 0, 5}} {
		if got := Add(c[0], c[1]); got != c[2] {
			t.Errorf("%d + %d = %d", c[0], c[1], got)
		}
	}
	for _, c := range [][3]int64{{2, 1000, 2000}, {math.MaxInt64, 1000, math.MaxInt64}, {math.MinInt64, 1000, math.MinInt64}, {0, 7, 0}} {
		if got := Mul(c[0], c[1]); got != c[2] {
			t.Errorf("%d * %d = %d", c[0], c[1], got)
		}
	}
}

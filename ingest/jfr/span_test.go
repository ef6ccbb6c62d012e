package jfr

import (
	"math"
	"testing"
)

func TestSpan(t *testing.T) {
	for _, c := range []struct{ rate, ticks, want int64 }{
		{1e9, 1700000000123456789, 1700000000123456789},
		{1e9, -1700000000123456789, -1700000000123456789},
		{3e9, 5100000000370370367, 1700000000123456789},
		{2_400_000_000, 7, 2},
		{2_400_000_000, -7, -2},
		{1e7, 9007199254740993, 900719925474099300},
		{1e6, 538064947, 538064947000},
		{1, 1 << 40, math.MaxInt64},
	} {
		if got := (&chunk{header: header{rate: c.rate}}).span(c.ticks); got != c.want {
			t.Errorf("%d ticks of %d Hz: %d, want %d", c.ticks, c.rate, got, c.want)
		}
	}
}

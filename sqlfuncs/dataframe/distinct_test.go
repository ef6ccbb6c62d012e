package dataframe

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Numbers close together and far apart are counted by different ways.
func TestCountDistinct(t *testing.T) {
	for _, far := range []int64{1, 1 << 40} {
		for _, among := range []int{1, 2, 100, 100_000} {
			sample, times := make([]int64, 2000), map[int64]int{}
			for i := range sample {
				sample[i] = (int64(rand.N(among)) - int64(among/2)) * far
				times[sample[i]]++
			}
			wantOnce := 0
			for _, n := range times {
				if n == 1 {
					wantOnce++
				}
			}
			if all, once := countDistinct(sample); all != len(times) || once != wantOnce {
				t.Errorf("%d numbers %d apart: %d different and %d once, want %d and %d", among, far, all, once, len(times), wantOnce)
			}
		}
	}
}

func TestEstimateDistinct(t *testing.T) {
	for _, c := range []struct {
		sample []int64
		total  int
		want   uint32
	}{
		{nil, 0, 0},
		{[]int64{7, 7, 7, 7}, 1000, 1},                   // one number, again and again
		{[]int64{1, 2, 3, 4}, 1000, 1000},                // all are once
		{[]int64{1, 1, 2, 2}, 4, 2},                      // the sample is all
		{[]int64{math.MinInt64, 0, math.MaxInt64}, 3, 3}, // the widest range
		{[]int64{1, 1, 2, 3}, 8, 4},                      // 3 * 4 / (2 + 2*4/8)
	} {
		if got := estimateDistinct(c.sample, c.total); got != c.want {
			t.Errorf("%v of %d: %d, want %d", c.sample, c.total, got, c.want)
		}
	}
}

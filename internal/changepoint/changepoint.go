// Package changepoint finds where the values of a series change, by E-divisive: D. S. Matteson and N. A. James, "A Nonparametric Approach
// for Multiple Change Point Analysis of Multivariate Data", Journal of the American Statistical Association 109 (2014).
package changepoint

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
)

// Point is a place in a series where its values change.
type Point struct {
	At            int     // index of the first value after the change
	Before, After float64 // medians of the values up to the change before it, and to the one after it
	P             float64 // probability that values in random order divide so well
}

// least is the number of values on either side of a change: one alone is an outlier.
const least = 2

// Find returns the change points of a series of finite values, in their order. The series is divided where that separates the values best,
// as long as the probability of such a division by chance is at most level. Equal series have equal change points. It takes time that
// grows with the square of the length. The error is that of ctx.
func Find(ctx context.Context, series []float64, level float64) ([]Point, error) {
	found := newFinder(series, level, least).find(ctx)
	return found, ctx.Err()
}

// find returns what it found until ctx is done.
func (f *finder) find(ctx context.Context) (found []Point) {
	series := f.series
	for {
		at, q := f.best(series)
		if q <= 0 {
			break
		}
		p := f.test(ctx, q)
		if p > f.level {
			break
		}
		found = append(found, Point{At: at, P: p})
		f.bounds = append(f.bounds, at)
		slices.Sort(f.bounds)
	}
	slices.SortFunc(found, func(a, b Point) int { return a.At - b.At })
	for i := range found {
		found[i].Before, found[i].After = median(series[f.bounds[i]:f.bounds[i+1]]), median(series[f.bounds[i+1]:f.bounds[i+2]])
	}
	return found
}

// finder divides a series.
type finder struct {
	series       []float64
	level        float64
	least        int   // values on either side of a change
	bounds       []int // of the parts of the series, from 0 to its length
	permutations int   // of a test
	most         int   // of them may divide as well as the series, or else its division is chance
	random       *rand.Rand

	shuffled, inverse, head, tail []float64
}

func newFinder(series []float64, level float64, least int) *finder {
	// More than the level needs at least, so that no single one decides.
	permutations := int(math.Ceil(5/level)) - 1
	n := len(series)
	f := &finder{series: series, level: level, least: least, bounds: []int{0, n}, permutations: permutations, most: int(level*float64(permutations+1)) - 1,
		shuffled: make([]float64, n), inverse: make([]float64, n+1), head: make([]float64, n), tail: make([]float64, n)}
	for i := range f.inverse {
		f.inverse[i] = 1 / max(float64(i), 1)
	}
	h := fnv.New64a()
	for _, v := range series {
		h.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)))
	}
	f.random = rand.New(rand.NewPCG(h.Sum64(), uint64(n)))
	return f
}

// best returns the best place to divide a part of values that have the bounds of the series, and how well that separates them.
func (f *finder) best(values []float64) (at int, q float64) {
	for i, to := range f.bounds[1:] {
		from := f.bounds[i]
		if t, v := f.divide(values[from:to]); v > q {
			at, q = from+t, v
		}
	}
	return at, q
}

// divide returns the t for which the paper's statistic Q of z[:t] and z[t:k] is greatest, for any k: the mean distance between two values on
// different sides, less those between two on the same side, all by the number of values.
func (f *finder) divide(z []float64) (at int, greatest float64) {
	head, tail := f.head[:len(z)], f.tail[:len(z)] // sums of the distances within z[:i+1], and within z[i:k]
	for last := range z {
		sum := 0.0
		tail[last] = 0
		for i := last - 1; i >= 0; i-- {
			sum += math.Abs(z[i] - z[last])
			tail[i] += sum
		}
		head[last] = tail[0]
		for t := f.least; t <= last+1-f.least; t++ {
			n, m := t, last+1-t
			q := head[last] - head[t-1] - tail[t] - float64(m)*f.inverse[n-1]*head[t-1] - float64(n)*f.inverse[m-1]*tail[t]
			if q *= 2 * f.inverse[n+m]; q > greatest {
				at, greatest = t, q
			}
		}
	}
	return at, greatest
}

// test returns the probability that parts whose values are in random order divide as well as q, or 1 as soon as it is above the level or
// ctx is done.
func (f *finder) test(ctx context.Context, q float64) float64 {
	q *= 1 - 1e-12 // sums in another order differ
	copy(f.shuffled, f.series)
	asWell := 0
	for range f.permutations {
		if ctx.Err() != nil {
			return 1
		}
		for i, to := range f.bounds[1:] {
			part := f.shuffled[f.bounds[i]:to]
			f.random.Shuffle(len(part), func(a, b int) { part[a], part[b] = part[b], part[a] })
		}
		if _, other := f.best(f.shuffled); other >= q {
			if asWell++; asWell > f.most {
				return 1
			}
		}
	}
	return float64(asWell+1) / float64(f.permutations+1)
}

// LeastP returns the least probability that a change in a series of n values can have, up to the precision of the test: that of all small
// values before all large ones, or after them.
func LeastP(n int) float64 {
	ways := 1.0 // to take half of them
	for i := range n / 2 {
		ways *= float64(n-i) / float64(i+1)
	}
	return min(1, 2/ways)
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

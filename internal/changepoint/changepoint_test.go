package changepoint

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// Where one value may be a part, as in Apache Otava, the same changes are found as there: short series of its tests have the statistics and
// change points that its compute_change_points_orig, at commit 1ceb1537, gives with 199 permutations and the seeds 1 to 3.
func TestOtava(t *testing.T) {
	for _, test := range []struct {
		series []float64
		level  float64
		at     int
		q      float64
		want   []int
	}{
		{[]float64{0.3, 2.4, 1.5, -0.9, -0.5, 99.7, 98.3, 99.1, 149.0, 149.7, 149.5, 149.1, 148.8, 150.0}, 0.05, 5, 761.282143, []int{5, 8}},
		{[]float64{1.02, 0.95, 0.99, 1.00, 1.12, 1.00, 1.01, 0.98, 1.01, 0.96, 0.50, 0.51, 0.48, 0.48, 0.55, 0.50, 0.49, 0.51, 0.50, 0.49}, 0.01, 10, 4.682222, []int{10}},
		{[]float64{1.02, 0.95, 0.99, 1.00, 1.12, 0.90, 0.50, 0.51, 0.48, 0.48, 0.55}, 0.05, 6, 2.354545, []int{6}},
		{[]float64{2.02, 2.03, 2.01, 2.04, 1.82, 1.85, 1.79, 1.81, 1.80, 1.76, 1.78}, 0.05, 4, 1.006061, []int{4}},
		{[]float64{154023, 138455, 143112, 149190, 132098, 151344, 155145, 148889, 149466, 148209}, 0.05, 0, 0, nil},
		{[]float64{10.43, 10.23, 10.29, 10.91, 10.34, 10.69, 9.23, 9.11, 9.13, 9.03}, 0.05, 6, 5.5136, []int{6}},
	} {
		var got []int
		for _, p := range newFinder(test.series, test.level, 1).find(t.Context()) {
			got = append(got, p.At)
			if p.P > test.level || p.P <= 0 {
				t.Errorf("the change at %d has the probability %g", p.At, p.P)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%v changes at %v, want %v", test.series, got, test.want)
		}
		if at, q := newFinder(test.series, test.level, 1).divide(test.series); test.at > 0 && (at != test.at || math.Abs(q/test.q-1) > 1e-6) {
			t.Errorf("%v divides at %d by %g, want %d, %g", test.series, at, q, test.at, test.q)
		}
	}
}

// A series divides as the definition of the paper says.
func TestDivide(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	distance := func(a, b []float64) (sum float64) {
		for _, x := range a {
			for _, y := range b {
				sum += math.Abs(x - y)
			}
		}
		return sum / float64(len(a)*len(b))
	}
	within := func(a []float64) float64 { // of two different values
		if len(a) == 1 {
			return 0
		}
		return distance(a, a) * float64(len(a)) / float64(len(a)-1)
	}
	for range 200 {
		z := make([]float64, 2+r.IntN(20))
		for i := range z {
			z[i] = math.Round(10*r.NormFloat64()) + float64(i/8)
		}
		at, greatest := 0, 0.0
		for s := 1; s < len(z); s++ {
			for k := s + 1; k <= len(z); k++ {
				a, b := z[:s], z[s:k]
				q := float64(s*(k-s)) / float64(k) * (2*distance(a, b) - within(a) - within(b))
				if q > greatest+1e-9 {
					at, greatest = s, q
				}
			}
		}
		if got, q := newFinder(z, 0.05, 1).divide(z); got != at || math.Abs(q-greatest) > 1e-9*max(1, greatest) {
			t.Errorf("%v divides at %d by %g, want %d, %g", z, got, q, at, greatest)
		}
	}
}

// noise returns values around 100.
func noise(seed, n int) []float64 {
	r := rand.New(rand.NewPCG(uint64(seed), 3))
	z := make([]float64, n)
	for i := range z {
		z[i] = 100 + r.NormFloat64()
	}
	return z
}

// Noise has changes as often as the level says.
func TestLevel(t *testing.T) {
	found := 0
	for seed := range 400 {
		if len(find(t, noise(seed, 40), 0.05)) > 0 {
			found++
		}
	}
	if found < 8 || found > 32 { // 20, and 2.8 standard deviations
		t.Errorf("%d of 400 series of noise change at the level 0.05", found)
	}
}

// Changes of eight standard deviations are found where they are, also beside an outlier, and what is before and after them is measured.
func TestFind(t *testing.T) {
	seeds := 20
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		z := noise(seed, 90)
		for i := range z[30:60] {
			z[30+i] += 8
		}
		z[seed*4+2] += 30
		got := find(t, z, 0.005)
		if len(got) != 2 || got[0].At != 30 || got[1].At != 60 {
			t.Fatalf("seed %d: %+v", seed, got)
		}
		if math.Abs(got[0].Before-100) > 1 || math.Abs(got[0].After-108) > 1 || got[1].Before != got[0].After || math.Abs(got[1].After-100) > 1 {
			t.Errorf("seed %d: %+v", seed, got)
		}
		if again := find(t, z, 0.005); !slices.Equal(got, again) {
			t.Errorf("seed %d: %+v, then %+v", seed, got, again)
		}
	}
}

// One value that differs is no change, and neither are values that are all the same, or too few.
func TestNoChange(t *testing.T) {
	outlier := noise(1, 60)
	outlier[20] = 1000
	last := noise(2, 60)
	last[59] = 1000
	for _, z := range [][]float64{nil, {1}, {1, 2}, make([]float64, 50), {1, 1, 1, 2, 2, 2}, outlier, last} {
		if got := find(t, z, 0.01); got != nil {
			t.Errorf("%v: %+v", z, got)
		}
	}
	before := slices.Repeat([]float64{7}, 10)
	if got := find(t, slices.Concat(before, []float64{8, 8, 8, 8, 8, 8}), 0.01); len(got) != 1 || got[0].At != 10 || got[0].Before != 7 || got[0].After != 8 {
		t.Errorf("a step: %+v", got)
	}
}

// No change of so few values can be less probable than LeastP, which one that is as clear as can be has.
func TestLeastP(t *testing.T) {
	for n, want := range map[int]float64{0: 1, 1: 1, 2: 1, 8: 2.0 / 70, 10: 2.0 / 252} {
		if got := LeastP(n); math.Abs(got-want) > 1e-12 {
			t.Errorf("%d values: %g, want %g", n, got, want)
		}
	}
	z := []float64{1, 2, 3, 4, 1001, 1002, 1003, 1004}
	if got := find(t, z, 0.025); got != nil {
		t.Errorf("%+v", got)
	}
	if got := find(t, z, 0.05); len(got) != 1 || got[0].At != 4 || got[0].P < 0.02 || got[0].P > 0.04 {
		t.Errorf("%+v", got)
	}
}

func find(t *testing.T, series []float64, level float64) []Point {
	t.Helper()
	points, err := Find(t.Context(), series, level)
	if err != nil {
		t.Fatal(err)
	}
	return points
}

// A test of years ends with its context.
func TestCancel(t *testing.T) {
	z := slices.Concat(make([]float64, 500), slices.Repeat([]float64{1}, 500))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begun := time.Now()
	if points, err := Find(ctx, z, 1e-9); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) > time.Minute {
		t.Errorf("%v, %v after %s", points, err, time.Since(begun))
	}
}

package changepoint

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Where one value may be a part, as in Apache Otava, the same changes are found as there. The series of Otava's tests (tests/change_point_divisive_test.py, analysis_test.py, series_test.py, tigerbeetle_test.py and
// resources/sample.csv) have the statistics and change points that its compute_change_points_orig, at commit 1ceb1537, gives with 199
// permutations and the seeds 1 to 3; for the last one with 100 and the seeds 1 and 2.
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
		{tigerbeetle, 0.01, 71, 396851.079056, []int{15, 71, 95, 131, 192}},
	} {
		var got []int
		for _, p := range newFinder(test.series, test.level, 1).find() {
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

// With at least two values in each part there are more changes. Otava's own test expects all of them, and others, of its default, which tests
// parts of the series by their means, at the level 0.001.
func TestOtavaDefault(t *testing.T) {
	expected := []int{15, 61, 71, 95, 117, 131, 142, 148, 192, 212, 260} // test_tb_magnitude0_p001
	var got []int
	for _, p := range Find(tigerbeetle, 0.01) {
		got = append(got, p.At)
		if !slices.Contains(expected, p.At) {
			t.Errorf("Otava expects no change at %d", p.At)
		}
	}
	if want := []int{15, 61, 71, 95, 131, 192, 260}; !slices.Equal(got, want) {
		t.Errorf("changes at %v, want %v", got, want)
	}
}

// Throughput of TigerBeetle's benchmark, as in Otava's tests.
var tigerbeetle = []float64{
	26705, 26475, 26641, 26806, 26835, 26911, 26564, 26812, 26874, 26682, 15672, 26745, 26460, 26977, 26851, 23412, 23547, 23674, 23519,
	23670, 23662, 23462, 23750, 23717, 23524, 23588, 23687, 23793, 23937, 23715, 23570, 23730, 23690, 23699, 23670, 23860, 23988, 23652,
	23681, 23798, 23728, 23604, 23523, 23412, 23685, 23773, 23771, 23718, 23409, 23739, 23674, 23597, 23682, 23680, 23711, 23660, 23990,
	23938, 23742, 23703, 23536, 24363, 24414, 24483, 24509, 24944, 24235, 24560, 24236, 24667, 24730, 28346, 28437, 28436, 28057, 28217,
	28456, 28427, 28398, 28250, 28331, 28222, 28726, 28578, 28345, 28274, 28514, 28590, 28449, 28305, 28411, 28788, 28404, 28821, 28580,
	27483, 26805, 27487, 27124, 26898, 27295, 26951, 27312, 27660, 27154, 27050, 26989, 27193, 27503, 27326, 27375, 27513, 27057, 27421,
	27574, 27609, 27123, 27824, 27644, 27394, 27836, 27949, 27702, 27457, 27272, 28207, 27802, 27516, 27586, 28005, 27768, 28543, 28237,
	27915, 28437, 28342, 27733, 28296, 28524, 28687, 28258, 28611, 29360, 28590, 29641, 28965, 29474, 29256, 28611, 28205, 28539, 27962,
	28398, 28509, 28240, 28592, 28102, 28461, 28578, 28669, 28507, 28535, 28226, 28536, 28561, 28087, 27953, 28398, 28007, 28518, 28337,
	28242, 28607, 28545, 28514, 28377, 28010, 28412, 28633, 28576, 28195, 28637, 28724, 28466, 28287, 28719, 28425, 28860, 28842, 28604,
	28327, 28216, 28946, 28918, 29287, 28725, 29148, 29541, 29137, 29628, 29087, 28612, 29154, 29108, 28884, 29234, 28695, 28969, 28809,
	28695, 28634, 28916, 29852, 29389, 29757, 29531, 29363, 29251, 29552, 29561, 29046, 29795, 29022, 29395, 28921, 29739, 29257, 29455,
	29376, 29528, 28909, 29492, 28984, 29621, 29026, 29457, 29102, 29114, 28924, 29162, 29259, 29554, 29616, 29211, 29367, 29460, 28836,
	29645, 29586, 28848, 29324, 28969, 29150, 29243, 29081, 29312, 28923, 29272, 29117, 29072, 29529, 29737, 29652, 29612, 29856, 29012,
	30402, 29969, 29309, 29439, 29285, 29421, 29023, 28772, 29692, 29416, 29267, 29542, 29904, 30045, 29739, 29945, 29141, 29163, 29765,
	29197, 29441, 28910, 29504, 29614, 29643, 29506, 29420, 29672, 29432, 29784, 29888, 29309, 29247, 29816, 29254, 29813, 29451, 29382,
	29618, 28558, 29845, 29499, 29283, 29184, 29246, 28790, 29952, 29145, 29415, 30437, 29227, 29605, 29859, 29156, 29807, 29406, 29734,
	29861, 29140, 29983, 29832, 29919, 29896, 29991, 29266, 29001, 29459, 29548, 29310, 29042, 29303, 29894, 29091, 29018, 29537, 29614,
	29180, 29736, 29500, 29218, 29581, 28906, 28542, 29306, 28987, 29878, 28865, 30272, 29707, 29662, 29815, 30492, 29347, 30096, 29054,
	30238, 28813, 31895, 28915,
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
		if len(Find(noise(seed, 40), 0.05)) > 0 {
			found++
		}
	}
	if found < 8 || found > 32 { // 20, and 2.8 standard deviations
		t.Errorf("%d of 400 series of noise change at the level 0.05", found)
	}
}

// Changes of eight standard deviations are found where they are, also beside an outlier, and what is before and after them is measured.
func TestFind(t *testing.T) {
	for seed := range 20 {
		z := noise(seed, 90)
		for i := range z[30:60] {
			z[30+i] += 8
		}
		z[seed*4+2] += 30
		got := Find(z, 0.005)
		if len(got) != 2 || got[0].At != 30 || got[1].At != 60 {
			t.Fatalf("seed %d: %+v", seed, got)
		}
		if math.Abs(got[0].Before-100) > 1 || math.Abs(got[0].After-108) > 1 || got[1].Before != got[0].After || math.Abs(got[1].After-100) > 1 {
			t.Errorf("seed %d: %+v", seed, got)
		}
		if again := Find(z, 0.005); !slices.Equal(got, again) {
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
		if got := Find(z, 0.01); got != nil {
			t.Errorf("%v: %+v", z, got)
		}
	}
	before := slices.Repeat([]float64{7}, 10)
	if got := Find(slices.Concat(before, []float64{8, 8, 8, 8, 8, 8}), 0.01); len(got) != 1 || got[0].At != 10 || got[0].Before != 7 || got[0].After != 8 {
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
	if got := Find(z, 0.025); got != nil {
		t.Errorf("%+v", got)
	}
	if got := Find(z, 0.05); len(got) != 1 || got[0].At != 4 || got[0].P < 0.02 || got[0].P > 0.04 {
		t.Errorf("%+v", got)
	}
}

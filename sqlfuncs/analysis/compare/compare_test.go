package compare

import (
	"math"
	"testing"
)

// Numbers of scipy 1.17.1: mannwhitneyu(a, b) with method "exact" and, for ties, PermutationMethod(n_resamples=inf), which tries
// all permutations; "asymptotic" for large samples. The effect is 2 U / (n m) - 1, where U is that of b.
func TestAgainstSciPy(t *testing.T) {
	for _, c := range []struct {
		how           string
		before, after []float64
		p, effect     float64
	}{
		{"exact", []float64{1, 2, 3}, []float64{4, 5, 6}, 0.1, 1.0},
		{"exact", []float64{1, 2, 3, 4, 5}, []float64{3.5, 6, 7, 8}, 0.06349206349206349, 0.8},
		{"exact", []float64{3, 8, 12, 13, 14, 16, 10, 15, 1, 6}, []float64{20.5, 3.25, 17.5, 18.25, 30, 31, 2.5, 40, 41, 12.75}, 0.028805559765312086, 0.58},
		{"exact", []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, []float64{20, 21, 22, 23, 24, 25, 26, 27, 28, 29}, 1.082508822446903e-05, 1.0},
		{"ties", []float64{0, 0, 0, 0, 1, 1}, []float64{0, 1, 1, 2, 2, 3}, 0.08008658008658008, 0.6666666666666667},
		{"ties", []float64{5, 5, 5, 5, 5}, []float64{5, 5, 5, 5, 6}, 1.0, 0.2},
		{"ties", []float64{1, 1, 2, 2, 3, 3, 4}, []float64{2, 3, 3, 4, 4, 5, 5}, 0.06177156177156177, 0.6326530612244898},
		{"ties", []float64{0, 0, 0, 0, 0, 0, 0, 0}, []float64{0, 0, 0, 0, 0, 0, 1, 1}, 0.4666666666666667, 0.25},
		{"asymptotic", []float64{99.7, 107, 86.6, 95.4, 81, 87.1, 81.6, 97.6, 87.3, 102.7, 101.6, 98.1, 74.8, 94.6, 99.5, 101.1, 84.7, 95.2, 90.2, 91.9, 110.6, 91.9, 99.7, 108.8, 94.2, 98.9, 101.1, 100.6, 87.7, 100.8, 113.6, 84.5, 108.6, 101.2, 93.6, 120, 107.6, 88, 100.7, 105.8, 98.1, 106.8, 99.3, 106.7, 114.4, 93.2, 102, 95.4, 101.3, 88.1, 94.2, 98, 109, 111.5, 86.8, 92.1, 106.5, 80.1, 95.4, 99}, []float64{118.6, 112.9, 102.7, 102.3, 103.5, 121.2, 101.7, 103, 109.5, 104.8, 104, 94.9, 105.9, 101.6, 117.7, 112.5, 105.8, 112.7, 102.6, 116.5, 105.9, 111.8, 93.1, 109.5, 89.1, 85.6, 103, 97, 107.6, 128.4, 97.7, 99.8, 108.1, 110.9, 104.2, 103.9, 113, 111.2, 95.7, 105.2, 106.4, 95.5, 108.6, 97.4, 115.7, 107.9, 106.9, 100.1, 104.8, 86, 94.7, 109.6, 84.7, 114.5, 88.5, 113.6, 97.5, 113.8, 107.3, 90.6}, 4.963507624435749e-05, 0.4297222222222221},
	} {
		p, effect := test(c.before, c.after)
		if math.Abs(p-c.p) > 1e-9*c.p || math.Abs(effect-c.effect) > 1e-12 {
			t.Errorf("%s: p %v, effect %v, want %v, %v", c.how, p, effect, c.p, c.effect)
		}
		if q, opposite := test(c.after, c.before); math.Abs(q-p) > 1e-12 || opposite != -effect {
			t.Errorf("%s: p %v, effect %v the other way", c.how, q, opposite)
		}
	}
	if p, effect := test([]float64{2, 2}, []float64{2, 2}); p != 1 || effect != 0 {
		t.Errorf("equal samples: p %v, effect %v", p, effect)
	}
}

// Numbers of statsmodels 0.15.0: multipletests(p, method="holm").
func TestCorrection(t *testing.T) {
	var r Result
	for _, p := range []float64{0.01, 0.04, 0.03, 0.005, math.NaN(), 0.2, 0.005, 0.9} {
		r.Rows = append(r.Rows, Row{P: p})
	}
	r.correct()
	for i, want := range []float64{0.05, 0.12, 0.12, 0.035, math.NaN(), 0.4, 0.035, 0.9} {
		if got := r.Rows[i].P; math.Abs(got-want) > 1e-12 || math.IsNaN(got) != math.IsNaN(want) {
			t.Errorf("p %d is %v, want %v", i, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	group, err := ParseGroup(`$1 of a widget=^widget-\d+\.(\w+)$`)
	if err != nil {
		t.Fatal(err)
	}
	g := groups{all: []Group{group}}
	for name, want := range map[string]string{
		"widget-12.draw": "draw of a widget", "widget-12.draw.more": "widget-#.draw.more", "Frame 17 of 200": "Frame # of #",
		"at 0x7F00ab": "at #", "id 7f8a9b0c1d2e3f40": "id #", "deadbeef": "deadbeef", "": "", "x": "x",
	} {
		if got := g.of(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
	if got := g.function("sha256.block2"); got != "sha256.block2" {
		t.Errorf("function %q", got)
	}
	exact := groups{exact: true}
	if got := exact.of("Frame 17"); got != "Frame 17" {
		t.Errorf("exact %q", got)
	}
	for _, bad := range []string{"", "x", "=a", "x=("} {
		if _, err := ParseGroup(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestConditions(t *testing.T) {
	row := Row{Key: Key{Kind: kindSlice, Name: "draw", Process: "app"}, Before: 100, After: 120, P: 0.005, Effect: 1,
		Was: Values{Total: 200, Count: 0, P50: math.NaN()}, Is: Values{Total: 220, Count: 3, P50: 5}}
	for text, want := range map[string]bool{
		"slice.total > 1.05 && p < 0.01": true, "slice.total > 1.2": false, "cpu.total > 1": false, "total > 1.05": true, "p < 0.001": false,
		"!(p > 0.01)": true, "cpu.total > 1 || slice.total > 1.05": true, "cpu.total > 1 || slice.total > 2": false, "diff >= 20": true,
		"diff > 10 * 2 - 1 && -effect <= -1": true, `name == "draw" && kind != "cpu" && process == "app" && thread == ""`: true,
		"count > 1000": true, "p50 > 1": false, "p50 != 1": false, "total / 2 < 0.6": true,
	} {
		c, err := ParseCondition(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := c.Holds(&row); got != want || err != nil {
			t.Errorf("%s is %v, %v", text, got, err)
		}
	}
	for _, bad := range []string{"", "p <", "p", "1", "x > 1", "slices.total > 1", "slice.x > 1", "p < 'a'", `name < "a"`, "f(p) > 1", "p[1] > 2", "p && true",
		"slice.total.x > 1", "!p", "-name == 1", "p < 0.01; p > 1", "func() {}", "p % 2 > 1", "1 << 2 > p"} {
		if _, err := ParseCondition(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

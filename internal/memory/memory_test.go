package memory

import "testing"

// The heap grows by more if collecting takes much time, and by little if it takes none.
func TestCollecting(t *testing.T) {
	const live, target, small = 200 << 20, 176 << 20, 24 << 20
	for _, test := range []struct {
		share float64 // of collections that grow by 6 %
		want  int     // growth in the end, percent
	}{{0.01, 6}, {0.12, 6}, {0.20, 11}, {0.60, mostForPointers}} {
		var c collecting
		growth, gc, user := leastGrowth, 0.0, 0.0
		for range 50 { // collections; the time of each is the same, and between them it is as long as the heap takes to grow
			gc += test.share
			user += (1 - test.share) * float64(growth) / leastGrowth
			growth = growthFor(live, target, small, c.growth(growth, gc, user))
			if again := c.growth(growth, gc, user); again != c.growth(leastGrowth, gc, user) {
				t.Fatalf("between collections the growth changes to %d", again)
			}
		}
		if growth != test.want {
			t.Errorf("%v of the time: growth %d, want %d", test.share, growth, test.want)
		}
	}
}

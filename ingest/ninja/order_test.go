package ninja

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSortJobs(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	inputs := map[string]func(i, n int) int{
		"random":     func(i, n int) int { return rng.IntN(n) },
		"few starts": func(i, n int) int { return rng.IntN(5) },
		"equal":      func(i, n int) int { return 7 },
		"ordered":    func(i, n int) int { return i },
		"reversed":   func(i, n int) int { return n - i },
		"nearly":     func(i, n int) int { return i ^ rng.IntN(20)/19 },
		"pipe":       func(i, n int) int { return min(i, n-i) },
		"saw":        func(i, n int) int { return i % 100 },
	}
	for name, start := range inputs {
		for _, n := range []int{0, 1, 2, 3, 5, 6, 23, 24, 25, 128, 129, 1000, 100_000} {
			jobs := make([]job, n)
			for i := range jobs {
				jobs[i] = job{start: int64(start(i, n)), end: int64(i)}
			}
			// Whatever the order of jobs that start together, nothing else may move.
			want := slices.Clone(jobs)
			slices.SortStableFunc(want, byStart)
			sortJobs(jobs)
			if !slices.IsSortedFunc(jobs, byStart) {
				t.Fatalf("%s, %d jobs: not sorted", name, n)
			}
			if n < fewJobs && !slices.EqualFunc(jobs, want, func(a, b job) bool { return a.end == b.end }) {
				t.Errorf("%s, %d jobs: %v, want %v", name, n, jobs, want)
			}
			slices.SortFunc(jobs, func(a, b job) int { return int(a.end - b.end) })
			for i := range jobs {
				if jobs[i].end != int64(i) {
					t.Fatalf("%s, %d jobs: job %d is gone", name, n, i)
				}
			}
		}
	}
}

// Twelve jobs that start at 1, then twelve that start at 0. The median of the
// first, the 13th and the last is the last, which swaps places with the first. No
// job is less than it, so the others are already in their part, where insertion
// moves all that start at 0 before those that start at 1.
func TestOrderOfEqualJobs(t *testing.T) {
	jobs := make([]job, fewJobs)
	for i := range jobs {
		jobs[i] = job{start: int64(1 - i/12), end: int64(i)}
	}
	sortJobs(jobs)
	var ends []int64
	for _, j := range jobs {
		ends = append(ends, j.end)
	}
	want := "[23 12 13 14 15 16 17 18 19 20 21 22 1 2 3 4 5 6 7 8 9 10 11 0]"
	if got := fmt.Sprint(ends); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

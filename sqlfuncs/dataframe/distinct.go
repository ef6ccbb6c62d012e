package dataframe

import "slices"

// estimateDistinct returns how many different numbers there may be in a total of them, by those that are once in a sample. It changes the
// order of the sample, which has at most 65,535 numbers.
func estimateDistinct(sample []int64, total int) uint32 {
	if len(sample) == 0 {
		return 0
	}
	n := len(sample)
	all, once := countDistinct(sample)
	estimate := float64(all)
	if below := float64(n-once) + float64(once)*float64(n)/float64(total); below > 0 {
		estimate *= float64(n) / below
	}
	return uint32(min(max(int(estimate+0.5), all), total))
}

// countDistinct returns how many different numbers there are, and how many that are there once.
func countDistinct(numbers []int64) (all, once int) {
	least := slices.Min(numbers)
	if width := uint64(slices.Max(numbers) - least); width < uint64(8*len(numbers)) {
		times := make([]uint16, width+1)
		for _, x := range numbers {
			switch times[x-least]++; times[x-least] {
			case 1:
				all, once = all+1, once+1
			case 2:
				once--
			}
		}
		return all, once
	}
	slices.Sort(numbers)
	for i := 0; i < len(numbers); {
		begin := i
		for i++; i < len(numbers) && numbers[i] == numbers[begin]; i++ {
		}
		all++
		if i == begin+1 {
			once++
		}
	}
	return all, once
}

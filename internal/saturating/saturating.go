// Package saturating calculates with times that may be out of range: a result that
// does not fit is the largest or smallest number instead.
package saturating

import "math"

// Add is a + b.
func Add(a, b int64) int64 {
	sum := a + b
	if (sum > a) == (b > 0) {
		return sum
	}
	if b > 0 {
		return math.MaxInt64
	}
	return math.MinInt64
}

// Mul is a * b.
func Mul(a, b int64) int64 {
	if a == 0 || b == 0 {
		return 0
	}
	product := a * b
	if product/b == a {
		return product
	}
	if (a < 0) == (b < 0) {
		return math.MaxInt64
	}
	return math.MinInt64
}

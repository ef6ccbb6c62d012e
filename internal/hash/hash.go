// Package hash mixes numbers into hashes, which are the same in every run.
package hash

import "math/bits"

// Mix folds b into the hash a.
func Mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0x9e3779b97f4a7c15, b^0xd6e8feb86659fd93)
	return hi ^ lo ^ bits.RotateLeft64(a, 23)
}

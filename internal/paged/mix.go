package paged

import "math/bits"

// Mix makes a key of several numbers: it folds b into the key a. Keys are the same in every run.
func Mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0x9e3779b97f4a7c15, b^0xd6e8feb86659fd93)
	return hi ^ lo ^ bits.RotateLeft64(a, 23)
}

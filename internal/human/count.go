// Package human formats numbers for people.
package human

import "strconv"

// Count formats a number with its digits in groups of three: 1,234,567.
func Count[N int | int64](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

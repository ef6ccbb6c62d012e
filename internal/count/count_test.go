package count

import "testing"

func TestString(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567", -123: "-123"} {
		if got := String(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

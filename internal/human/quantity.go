package human

import (
	"fmt"
	"math"
	"strconv"
)

// Quantity formats a value with a unit that suits its size.
func Quantity(v float64, unit string) string {
	switch {
	case math.IsNaN(v):
		return ""
	case unit == "ns":
		for _, u := range []struct {
			name string
			ns   float64
		}{{"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}} {
			if math.Abs(v) >= u.ns {
				return fmt.Sprintf("%.4g %s", v/u.ns, u.name)
			}
		}
		return fmt.Sprintf("%.4g ns", v)
	case unit == "bytes" && math.Abs(v) < math.MaxInt64:
		if v < 0 {
			return "-" + Bytes(int64(-v))
		}
		return Bytes(int64(v))
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

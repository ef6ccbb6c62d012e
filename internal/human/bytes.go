package human

import (
	"strconv"
	"strings"
)

// Bytes formats a number of bytes: 1.5 MiB.
func Bytes(n int64) string {
	const units = "KMGTPE"
	if n < 1<<10 {
		return strconv.FormatInt(n, 10) + " B"
	}
	v, unit := float64(n)/(1<<10), 0
	for ; v >= 999.95 && unit < len(units)-1; unit++ {
		v /= 1 << 10
	}
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0") + " " + units[unit:unit+1] + "iB"
}

package parquet

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/apache/arrow-go/v18/parquet/metadata"

	"github.com/tpconvert/tpconvert/export/encoding"
	"github.com/tpconvert/tpconvert/model/table"
)

// Bounds are the least and greatest of some values, in the format of statistics: PLAIN, but text without its
// length. Both are nil if there are no values.
type Bounds struct {
	Least, Greatest []byte
}

// statistics returns the bounds in the format of Parquet's metadata.
func (b Bounds) statistics(nulls int) metadata.EncodedStatistics {
	some := b.Least != nil
	return metadata.EncodedStatistics{HasMin: some, Min: b.Least, HasMax: some, Max: b.Greatest, HasNullCount: true, NullCount: int64(nulls)}
}

// maxBound is the maximum length of a value in statistics.
const maxBound = 4096

// precedes compares two values, by type.
var precedes = [...]func(a, b []byte) bool{
	table.TypeInt64: func(a, b []byte) bool {
		return int64(binary.LittleEndian.Uint64(a)) < int64(binary.LittleEndian.Uint64(b))
	},
	table.TypeInt32: func(a, b []byte) bool {
		return int32(binary.LittleEndian.Uint32(a)) < int32(binary.LittleEndian.Uint32(b))
	},
	table.TypeFloat64: func(a, b []byte) bool { return float64At(a) < float64At(b) },
	table.TypeBool:    func(a, b []byte) bool { return a[0] < b[0] },
	table.TypeString:  precedesText,
	table.TypeBytes:   precedesText,
}

func precedesText(a, b []byte) bool { return bytes.Compare(a, b) < 0 }

func float64At(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }

// Add widens b to include other.
func (b *Bounds) Add(other Bounds, t table.Type) {
	switch {
	case other.Least == nil:
		return
	case b.Least == nil:
		*b = other
		return
	}
	if precedes[t](other.Least, b.Least) {
		b.Least = other.Least
	}
	if precedes[t](b.Greatest, other.Greatest) {
		b.Greatest = other.Greatest
	}
}

func integerBounds[T encoding.Integer](values []T) Bounds {
	if len(values) == 0 {
		return Bounds{}
	}
	least, greatest := values[0], values[0]
	for _, v := range values {
		least, greatest = min(least, v), max(greatest, v)
	}
	return Bounds{plainInteger(least), plainInteger(greatest)}
}

func plainInteger[T encoding.Integer](v T) []byte {
	if v, ok := any(v).(int32); ok {
		return binary.LittleEndian.AppendUint32(nil, uint32(v))
	}
	return binary.LittleEndian.AppendUint64(nil, uint64(v))
}

// floatBounds takes doubles as their bits and ignores NaN. The format requires a zero to be stored as -0 for
// the least value and as +0 for the greatest.
func floatBounds(words []int64) Bounds {
	least, greatest := math.Inf(1), math.Inf(-1)
	for _, word := range words {
		v := math.Float64frombits(uint64(word))
		if v < least {
			least = v
		}
		if v > greatest {
			greatest = v
		}
	}
	if least > greatest {
		return Bounds{}
	}
	if least == 0 {
		least = math.Copysign(0, -1)
	}
	if greatest == 0 {
		greatest = 0
	}
	return Bounds{plainInteger(int64(math.Float64bits(least))), plainInteger(int64(math.Float64bits(greatest)))}
}

func boolBounds(values []bool) Bounds {
	if len(values) == 0 {
		return Bounds{}
	}
	b := Bounds{[]byte{1}, []byte{0}}
	for _, v := range values {
		if v {
			b.Greatest[0] = 1
		} else {
			b.Least[0] = 0
		}
	}
	return b
}

func textBounds(words []table.StringID, view table.StringView) Bounds {
	if len(words) == 0 {
		return Bounds{}
	}
	// This much of a text is enough to see whether it is a bound, or too long for one.
	text := func(word table.StringID) string { return view.Prefix(word, maxBound+1) }
	least, greatest := text(words[0]), text(words[0])
	for _, word := range words {
		text := text(word)
		least, greatest = min(least, text), max(greatest, text)
	}
	if max(len(least), len(greatest)) > maxBound {
		return Bounds{}
	}
	return Bounds{append([]byte{}, least...), append([]byte{}, greatest...)}
}

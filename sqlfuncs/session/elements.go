package session

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
)

// elementsFunction is the name of elementsJSON in SQL.
const elementsFunction = "_elements_json"

// elementFormats has the size of an element of a primitive Java array, in bytes, and how it is written in JSON, by type.
var elementFormats = map[string]struct {
	size  int
	write func(to, b []byte) []byte
}{
	"boolean": {1, func(to, b []byte) []byte { return strconv.AppendBool(to, b[0] != 0) }},
	"byte":    {1, func(to, b []byte) []byte { return strconv.AppendInt(to, int64(int8(b[0])), 10) }},
	"char":    {2, func(to, b []byte) []byte { return strconv.AppendUint(to, uint64(binary.LittleEndian.Uint16(b)), 10) }},
	"short": {2, func(to, b []byte) []byte {
		return strconv.AppendInt(to, int64(int16(binary.LittleEndian.Uint16(b))), 10)
	}},
	"int": {4, func(to, b []byte) []byte {
		return strconv.AppendInt(to, int64(int32(binary.LittleEndian.Uint32(b))), 10)
	}},
	"long": {8, func(to, b []byte) []byte { // as text, because JavaScript's numbers are doubles
		return strconv.AppendQuote(to, strconv.FormatInt(int64(binary.LittleEndian.Uint64(b)), 10))
	}},
	"float": {4, func(to, b []byte) []byte {
		return appendReal(to, float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))
	}},
	"double": {8, func(to, b []byte) []byte { return appendReal(to, math.Float64frombits(binary.LittleEndian.Uint64(b))) }},
}

// elementsJSON returns the elements of a primitive Java array, little-endian, as a JSON array, as Trace Processor writes it.
func elementsJSON(kind string, data []byte) (string, error) {
	format, ok := elementFormats[kind]
	if !ok || len(data)%format.size != 0 {
		return "", fmt.Errorf("%d bytes are no array of %q", len(data), kind)
	}
	text := []byte("[")
	for i := 0; i < len(data); i += format.size {
		if i > 0 {
			text = append(text, ',')
		}
		text = format.write(text, data[i:])
	}
	return string(append(text, ']')), nil
}

// appendReal appends a number with 16 digits, or as text if JSON has no such number.
func appendReal(to []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(to, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(to, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(to, `"-Infinity"`...)
	}
	return strconv.AppendFloat(to, v, 'g', 16, 64)
}

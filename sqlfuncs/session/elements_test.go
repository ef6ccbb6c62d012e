package session

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"
)

// The texts are those of Trace Processor v58.
func TestElementsJSON(t *testing.T) {
	for _, c := range []struct {
		kind  string
		array any
		want  string
	}{
		{"boolean", []bool{true, false, true}, `[true,false,true]`},
		{"byte", []int8{-1, 1}, `[-1,1]`},
		{"char", []uint16{'é', 'x'}, `[233,120]`},
		{"short", []int16{-2, 1}, `[-2,1]`},
		{"int", []int32{math.MinInt32, 7}, `[-2147483648,7]`},
		{"long", []int64{math.MinInt64}, `["-9223372036854775808"]`},
		{"float", []float32{0.1, float32(math.NaN()), -1e20, float32(math.Copysign(0, -1)), float32(math.Inf(-1))},
			`[0.1000000014901161,"NaN",-1.000000020040877e+20,-0,"-Infinity"]`},
		{"double", []float64{0.1, 1e100, math.Inf(1)}, `[0.1,1e+100,"Infinity"]`},
	} {
		data, err := binary.Append(nil, binary.LittleEndian, c.array)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := elementsJSON(c.kind, data); got != c.want || err != nil {
			t.Errorf("%s: %s, %v, want %s", c.kind, got, err, c.want)
		}
	}
	for kind, data := range map[string]string{"int": "abc", "object": "abcd", "": ""} {
		if got, err := elementsJSON(kind, []byte(data)); err == nil || !strings.Contains(err.Error(), "are no array of") {
			t.Errorf("%s: %s, %v", kind, got, err)
		}
	}
}

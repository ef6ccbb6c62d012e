package arrow

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tpconvert/tpconvert/export/encoding"
	"github.com/tpconvert/tpconvert/model/table"
)

// wrap returns an array of n values that have Arrow's memory layout already.
// bits may be nil if no value is NULL.
func wrap(t arrow.DataType, n, nulls int, bits, values []byte) arrow.Array {
	buffers := []*memory.Buffer{nil, memory.NewBufferBytes(values)}
	if nulls > 0 {
		buffers[0] = memory.NewBufferBytes(bits)
	}
	data := array.NewData(t, n, buffers, nil, nulls, 0)
	defer data.Release()
	return array.MakeFromData(data)
}

// dictionary returns an array of the strings.
func dictionary(ids []table.StringID, view table.StringView) (arrow.Array, error) {
	size, err := encoding.TextBytes(ids, view)
	if err != nil {
		return nil, err
	}
	offsets := make([]int32, 1, len(ids)+1)
	bytes := make([]byte, 0, size)
	for _, id := range ids {
		bytes = view.Append(bytes, id)
		offsets = append(offsets, int32(len(bytes)))
	}
	data := array.NewData(arrow.BinaryTypes.String, len(ids), []*memory.Buffer{
		nil, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(offsets)), memory.NewBufferBytes(bytes),
	}, nil, 0, 0)
	defer data.Release()
	return array.NewStringData(data), nil
}

package functions

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions/define"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

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
		return appendJSONReal(to, float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))
	}},
	"double": {8, func(to, b []byte) []byte {
		return appendJSONReal(to, math.Float64frombits(binary.LittleEndian.Uint64(b)))
	}},
}

// elementsJSON returns the elements of a primitive Java array, little-endian, as a JSON array.
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
		if len(text) > define.MaxResult {
			return "", errors.New("the result is too long")
		}
	}
	return string(append(text, ']')), nil
}

// elementTypes are the types of arrays' elements by array_data_id.
type elementTypes map[int64]string

func readElementTypes(tables dataframe.Source) (*elementTypes, error) {
	var id, kind dataframe.Reader
	f, err := define.Columns(tables, "heap_graph_object_data", define.Readers{"array_data_id": &id, "array_element_type": &kind})
	if err != nil {
		return nil, err
	}
	types := elementTypes{}
	for row := range f.Rows {
		if !id.IsNull(row) {
			types[id.Int(row)] = kind.Text(row)
		}
	}
	return &types, nil
}

// missing is the error for an array that the table of objects names, but whose elements are not there: the dataset has no such
// table, or is of an earlier version.
func missing(load func() (*elementTypes, error), id int64) error {
	types, err := load()
	if err != nil {
		return err
	}
	if _, ok := (*types)[id]; ok {
		return errors.New("the dataset has no table heap_graph_array: convert the trace again")
	}
	return nil
}

func defineArrays(d *define.Definer, arrays Arrays) {
	load := define.Once(func() (*elementTypes, error) { return readElementTypes(d.Tables) })
	define := func(name string, result func(c sqlite.Context, id int64, data []byte) error) {
		d.Scalar(name, 1, func(c sqlite.Context, args []sqlite.Value) error {
			if args[0].IsNull() || arrays == nil {
				return nil
			}
			if args[0].Type() != sqlite.Integer {
				return errors.New(name + ": array_data_id must be an integer")
			}
			id := args[0].Int()
			data, err := arrays.Array(id)
			if data == nil && err == nil {
				err = missing(load, id)
			} else if err == nil {
				err = result(c, id, data)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return nil
		})
	}
	define("__intrinsic_heap_graph_array", func(c sqlite.Context, _ int64, data []byte) error {
		c.Blob(data)
		return nil
	})
	define("__intrinsic_heap_graph_array_json", func(c sqlite.Context, id int64, data []byte) error {
		types, err := load()
		if err != nil {
			return err
		}
		text, err := elementsJSON((*types)[id], data)
		if err == nil {
			c.Text(text)
		}
		return err
	})
}

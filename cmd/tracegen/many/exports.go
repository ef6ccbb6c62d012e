package many

import (
	"archive/tar"
	"bytes"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Exports of Trace Processor: archives of Arrow files.
var exports = []Format{
	exportOf("export-slices", func(n int) []arrowTable {
		return []arrowTable{slicesOf(n, nil), oneTrack("t"), machine}
	}),
	exportOf("export-nested", func(n int) []arrowTable {
		return []arrowTable{slicesOf(n, rising), oneTrack("t"), machine}
	}),
	exportOf("export-tracks", func(n int) []arrowTable {
		return []arrowTable{{"track", n, []arrowColumn{{name: "type", text: same("t")}, {name: "name", text: named("track ")}, {name: "machine_id"}}}, machine}
	}),
	exportOf("export-args", func(n int) []arrowTable {
		return []arrowTable{argsOf(n, rising), slicesOf(n, nil, arrowColumn{name: "arg_set_id", number: rising}), oneTrack("gpu_render_stage"), machine}
	}),
	exportOf("export-same-args", func(n int) []arrowTable {
		return []arrowTable{argsOf(n, nil), slicesOf(n, nil, arrowColumn{name: "arg_set_id"}), oneTrack("gpu_render_stage"), machine}
	}),
}

// arrowTable is a table with n rows.
type arrowTable struct {
	name    string
	n       int
	columns []arrowColumn
}

// arrowColumn has a text or a number in each row, which is 0 without a function, or a real.
type arrowColumn struct {
	name   string
	number func(i int) int64
	text   func(i int) string
	real   bool
}

func rising(i int) int64 { return int64(i) }

func same(text string) func(int) string { return func(int) string { return text } }

func named(prefix string) func(int) string {
	return func(i int) string { return prefix + strconv.Itoa(i) }
}

var machine = arrowTable{"machine", 1, []arrowColumn{{name: "raw_id"}}}

func oneTrack(kind string) arrowTable {
	return arrowTable{"track", 1, []arrowColumn{{name: "type", text: same(kind)}, {name: "machine_id"}}}
}

func slicesOf(n int, depth func(i int) int64, more ...arrowColumn) arrowTable {
	columns := []arrowColumn{{name: "ts", number: rising}, {name: "dur"}, {name: "track_id"}, {name: "name", text: named("n")}, {name: "depth", number: depth}}
	return arrowTable{"slice", n, append(columns, more...)}
}

func argsOf(n int, set func(i int) int64) arrowTable {
	return arrowTable{"args", n, []arrowColumn{{name: "arg_set_id", number: set}, {name: "flat_key", text: same("k")}, {name: "key", text: named("k")}, {name: "int_value", number: rising},
		{name: "string_value", text: same("")}, {name: "real_value", real: true}, {name: "value_type", text: same("int")}}}
}

// values returns the values of n rows.
func (c *arrowColumn) values(n int) arrow.Array {
	switch {
	case c.text != nil:
		kind := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
		b := array.NewDictionaryBuilder(memory.DefaultAllocator, kind).(*array.BinaryDictionaryBuilder)
		for i := range n {
			_ = b.AppendString(c.text(i))
		}
		return b.NewArray()
	case c.real:
		b := array.NewFloat64Builder(memory.DefaultAllocator)
		b.AppendValues(make([]float64, n), nil)
		return b.NewArray()
	}
	b := array.NewInt64Builder(memory.DefaultAllocator)
	for i := range n {
		if c.number == nil {
			b.Append(0)
		} else {
			b.Append(c.number(i))
		}
	}
	return b.NewArray()
}

func exportOf(name string, tables func(n int) []arrowTable) Format {
	return Format{Name: name, whole: func(_ []byte, n int) []byte {
		var b bytes.Buffer
		archive := tar.NewWriter(&b)
		for _, t := range tables(n) {
			var fields []arrow.Field
			var columns []arrow.Array
			for _, c := range slices.Concat([]arrowColumn{{name: "id", number: rising}}, t.columns) {
				values := c.values(t.n)
				fields, columns = append(fields, arrow.Field{Name: c.name, Type: values.DataType()}), append(columns, values)
			}
			schema := arrow.NewSchema(fields, nil)
			var file bytes.Buffer
			w, err := ipc.NewFileWriter(&file, ipc.WithSchema(schema))
			if err == nil {
				err = w.Write(array.NewRecordBatch(schema, columns, int64(t.n)))
			}
			if err == nil {
				err = w.Close()
			}
			if err != nil {
				panic(err)
			}
			archive.WriteHeader(&tar.Header{Name: "__intrinsic_" + t.name + ".arrow", Size: int64(file.Len()), Mode: 0o644})
			archive.Write(file.Bytes())
		}
		archive.Close()
		return b.Bytes()
	}}
}

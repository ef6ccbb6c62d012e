package many

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tpconvert/tpconvert/cmd/tracegen/template"
)

// Files in other files, and exports of Trace Processor, which are archives of Arrow files.
var archives = []Format{
	{Name: "tar-members", whole: func(n int) []byte {
		return archive(n, func(i int) (string, []byte) { return "a" + strconv.Itoa(i), tinyTrace })
	}},
	{Name: "zip-members", whole: func(n int) []byte {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for i := range n {
			member, _ := w.Create("a" + strconv.Itoa(i))
			member.Write(tinyTrace)
		}
		w.Close()
		return b.Bytes()
	}},
	{Name: "gzip-members", head: string(zipped("# ninja log v5\n")), each: func(b []byte, i, n int) []byte {
		return append(b, zipped(string(ninjaLine(nil, i, n)))...)
	}},
	export("export-slices", sliceTable+"depth=0", trackTable+"type:text=t"),
	export("export-nested", sliceTable+"depth=$i", trackTable+"type:text=t"),
	export("export-tracks", "track type:text=t name:text=track$i machine_id=0"),
	export("export-args", argTable+"arg_set_id=$i", sliceTable+"depth=0 arg_set_id=$i", trackTable+"type:text=gpu_render_stage"),
	export("export-same-args", argTable+"arg_set_id=0", sliceTable+"depth=0 arg_set_id=0", trackTable+"type:text=gpu_render_stage"),
}

// A log of ninja, and a line of another.
var (
	tinyTrace = []byte("# ninja log v5\n0\t5\t0\tj\t1\n")
	ninjaLine = template.Text("$i\t$(i+1)\t0\tj\t1\n")
)

// archive is a tar archive of n members.
func archive(n int, member func(i int) (name string, data []byte)) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := range n {
		name, data := member(i)
		w.WriteHeader(&tar.Header{Name: name, Size: int64(len(data)), Mode: 0o644})
		w.Write(data)
	}
	w.Close()
	return b.Bytes()
}

func zipped(text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(text))
	w.Close()
	return b.Bytes()
}

// Tables of exports: the name, and columns with their values.
const (
	sliceTable = "slice ts=$i dur=0 track_id=0 name:text=n$i "
	argTable   = "args flat_key:text=k key:text=k$i int_value=$i string_value:text= real_value:real=0 value_type:text=int "
	trackTable = "track/1 machine_id=0 "
)

// export is tables with a row for each thing, or one row, and that of machines.
func export(name string, tables ...string) Format {
	tables = append(tables, "machine/1 raw_id=0")
	return Format{Name: name, whole: func(n int) []byte {
		return archive(len(tables), func(i int) (string, []byte) {
			columns := strings.Split(tables[i], " ")
			table, one := strings.CutSuffix(columns[0], "/1")
			rows := n
			if one {
				rows = 1
			}
			return "__intrinsic_" + table + ".arrow", arrowFile(rows, append([]string{"id=$i"}, columns[1:]...))
		})
	}}
}

// arrowFile is an Arrow file with columns NAME[:TYPE]=TEMPLATE.
func arrowFile(rows int, columns []string) []byte {
	types := map[string]arrow.DataType{
		"":     arrow.PrimitiveTypes.Int64,
		"real": arrow.PrimitiveTypes.Float64,
		"text": &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String},
	}
	var fields []arrow.Field
	var values []arrow.Array
	for _, column := range columns {
		head, value, _ := strings.Cut(column, "=")
		name, kind, _ := strings.Cut(head, ":")
		fields = append(fields, arrow.Field{Name: name, Type: types[kind]})
		b, text := array.NewBuilder(memory.DefaultAllocator, types[kind]), template.Text(value)
		for i := range rows {
			_ = b.AppendValueFromString(string(text(nil, i, rows)))
		}
		values = append(values, b.NewArray())
	}
	schema := arrow.NewSchema(fields, nil)
	var file bytes.Buffer
	w, err := ipc.NewFileWriter(&file, ipc.WithSchema(schema))
	if err == nil {
		err = errors.Join(w.Write(array.NewRecordBatch(schema, values, int64(rows))), w.Close())
	}
	if err != nil {
		panic(err)
	}
	return file.Bytes()
}

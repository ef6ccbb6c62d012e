package arrowtar_test

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/ulikunitz/xz"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
	"github.com/tpconvert/tpconvert/model/schema"
)

// export is what Trace Processor v58.2 exported of testdata/app.ftrace.
func export(t testing.TB) []byte {
	t.Helper()
	file, err := os.ReadFile("testdata/app.tar.xz")
	if err != nil {
		t.Fatal(err)
	}
	r, err := xz.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// names are the dataset's names of the export's tables, and columns of its columns, where they differ.
var (
	names   = map[string]string{"_linux_interrupt_mapping": "linux_interrupt_mapping", "logs": "android_logs", "trace_import_logs": "import_log"}
	columns = map[string]string{"track.type": "classification", "metadata.trace_id": "local_trace_id", "flow.trace_id": "local_trace_id"}
)

// elsewhere are tables whose rows are not copied one to one, and columns that the dataset numbers otherwise.
var elsewhere = []string{"stats", "trace_file", "build_flags", "modules", "ftrace_event.id", "metadata.id", "metadata.trace_id"}

// Arrow's own reader finds the same values in the export as the tables have.
func TestTablesAreThoseOfTheExport(t *testing.T) {
	data := export(t)
	tables := ingesttest.MustRead(t, "app.tar", data)
	compared := 0
	for archive := tar.NewReader(bytes.NewReader(data)); ; {
		header, err := archive.Next()
		if err == io.EOF {
			break
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		from := strings.TrimPrefix(strings.TrimSuffix(header.Name, ".arrow"), "__intrinsic_")
		if slices.Contains(elsewhere, from) {
			continue
		}
		name := from
		if n, ok := names[from]; ok {
			name = n
		}
		file, err := ipc.NewFileReader(bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		batch, err := file.RecordBatch(0)
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range batch.Schema().Fields() {
			column := f.Name
			if c, ok := columns[from+"."+column]; ok {
				column = c
			}
			if batch.NumRows() == 0 || slices.Contains(elsewhere, from+"."+f.Name) {
				continue
			}
			want := texts(batch.Column(i), name == "cpu", batch.Column(1))
			got := tables.Rows(name, column)
			if name == "metadata" {
				got = got[:len(want)]
			}
			if !slices.Equal(flags(got), want) {
				t.Errorf("%s.%s:\n%.2000q\nwant:\n%.2000q", name, column, got, want)
			}
			compared += len(want)
		}
	}
	if compared < 900 {
		t.Errorf("only %d values compared", compared)
	}
}

// texts are the values of a column, or those of the rows in which another column has values.
func texts(c arrow.Array, some bool, other arrow.Array) []string {
	var all []string
	for i := range c.Len() {
		switch d, ok := c.(*array.Dictionary); {
		case some && other.IsNull(i):
		case c.IsNull(i):
			all = append(all, "NULL")
		case ok:
			all = append(all, d.Dictionary().ValueStr(d.GetValueIndex(i)))
		default:
			all = append(all, c.ValueStr(i))
		}
	}
	return all
}

// flags writes booleans as the export does.
func flags(values []string) []string {
	for i, v := range values {
		switch v {
		case "true":
			values[i] = "1"
		case "false":
			values[i] = "0"
		}
	}
	return values
}

// microseconds rounds times and durations to those that the text has. Trace Processor reads them by floating point, so that some are
// 1 ns too low.
func microseconds(columns, rows []string) []string {
	for i, row := range rows {
		cells := strings.Split(row, "|")
		for c, name := range columns {
			if n, err := strconv.ParseInt(cells[c], 10, 64); err == nil && (name == "ts" || name == "dur" || strings.HasSuffix(name, "_ts")) {
				cells[c] = strconv.FormatInt((n+500)/1000*1000, 10)
			}
		}
		rows[i] = strings.Join(cells, "|")
	}
	return rows
}

// The columns that Trace Processor lacks are those of the trace itself.
func TestRowsAreThoseOfTheTrace(t *testing.T) {
	trace, err := os.ReadFile("../../testdata/app.ftrace")
	if err != nil {
		t.Fatal(err)
	}
	exported, direct := ingesttest.MustRead(t, "app.tar", export(t)), ingesttest.MustRead(t, "app.ftrace", trace)
	compared := 0
	for _, s := range schema.All() {
		var columns []string
		for _, c := range s.Columns {
			if !strings.HasSuffix(c.Name, "arg_set_id") && c.Ref != "trace_file" { // numbered otherwise
				columns = append(columns, c.Name)
			}
		}
		switch s.Name {
		case "args", "trace_file", "stats", "metadata", "import_log":
			continue
		}
		a, b := microseconds(columns, exported.Rows(s.Name, columns...)), microseconds(columns, direct.Rows(s.Name, columns...))
		if !slices.Equal(a, b) {
			t.Errorf("%s:\n%s\nwant:\n%s", s.Name, strings.Join(a, "\n"), strings.Join(b, "\n"))
		}
		compared += len(b)
	}
	if compared < 60 {
		t.Errorf("only %d rows compared", compared)
	}
	exported.Want(t, "trace_file", "id|parent_id|trace_type|is_container", "0|NULL|arrow_tar|true", "1|0|systrace|false")
}

func TestDamage(t *testing.T) {
	data := export(t)
	if n := ingesttest.Cuts(t, data, "sched_slice"); n == 0 {
		t.Error("no rows before the end is cut off")
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		damaged := bytes.Clone(data)
		for range 1 + random.IntN(8) {
			damaged[random.IntN(len(damaged))] = byte(random.Uint32())
		}
		ingesttest.MayFail(t, damaged)
	}
}

// A table whose rows must refer to one that is missing is left out, and that is counted.
func TestMissingTable(t *testing.T) {
	data := export(t)
	data = bytes.Replace(data, []byte("__intrinsic_track.arrow"), []byte("__intrinsic_truck.arrow"), 1)
	at := bytes.Index(data, []byte("__intrinsic_truck.arrow"))
	sum := 0
	for i, b := range data[at : at+512] {
		if i >= 148 && i < 156 {
			b = ' '
		}
		sum += int(b)
	}
	copy(data[at+148:], fmt.Sprintf("%06o\x00 ", sum))
	tables := ingesttest.MustRead(t, "app.tar", data)
	tables.Want(t, "slice", "id")
	tables.Want(t, "counter", "id")
	if got := tables.Rows("stats", "name", "value", "effect"); !slices.Contains(got, "arrow_tar_parse_errors|2|lost") {
		t.Errorf("stats: %q", got)
	}
}

func FuzzArrowTar(f *testing.F) { ingesttest.Fuzz(f, "arrow_tar", export(f)) }

// crafted returns an archive of tables. A column has numbers or texts.
func crafted(t testing.TB, tables map[string]map[string]any) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		var fields []arrow.Field
		var columns []arrow.Array
		for _, column := range slices.Sorted(maps.Keys(tables[name])) {
			var values arrow.Array
			switch v := tables[name][column].(type) {
			case []int64:
				ints := array.NewInt64Builder(memory.DefaultAllocator)
				ints.AppendValues(v, nil)
				values = ints.NewArray()
			case []float64:
				reals := array.NewFloat64Builder(memory.DefaultAllocator)
				reals.AppendValues(v, nil)
				values = reals.NewArray()
			case []string:
				texts := array.NewDictionaryBuilder(memory.DefaultAllocator, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}).(*array.BinaryDictionaryBuilder)
				for _, text := range v {
					if err := texts.AppendString(text); err != nil {
						t.Fatal(err)
					}
				}
				values = texts.NewArray()
			}
			fields = append(fields, arrow.Field{Name: column, Type: values.DataType(), Nullable: true})
			columns = append(columns, values)
		}
		var file bytes.Buffer
		schema := arrow.NewSchema(fields, nil)
		out, err := ipc.NewFileWriter(&file, ipc.WithSchema(schema))
		rows := int64(-1)
		if len(columns) == 0 {
			rows = 1 << 31
		}
		if err == nil {
			err = errors.Join(out.Write(array.NewRecordBatch(schema, columns, rows)), out.Close())
		}
		if err == nil {
			err = w.WriteHeader(&tar.Header{Name: "__intrinsic_" + name + ".arrow", Size: int64(file.Len()), Mode: 0o644})
		}
		if err != nil {
			t.Fatal(err)
		}
		w.Write(file.Bytes())
	}
	w.Close()
	return b.Bytes()
}

// TestAttacks reads tables that are small, but name many or large things.
func TestAttacks(t *testing.T) {
	const n = 40_000
	rising := make([]int64, n)
	for i := range rising {
		rising[i] = int64(i)
	}
	// All slices have the same args, and a depth that makes no sense.
	shared := func(n int) time.Duration {
		same, rising := make([]int64, n), rising[:n]
		begun := time.Now()
		tables := ingesttest.MustRead(t, "app.tar", crafted(t, map[string]map[string]any{
			"slice":   {"id": rising, "ts": rising, "dur": same, "track_id": same, "depth": slices.Repeat([]int64{-1}, n), "arg_set_id": same},
			"track":   {"id": []int64{0}, "type": []string{"gpu_render_stage"}, "machine_id": []int64{0}},
			"machine": {"id": []int64{0}, "raw_id": []int64{0}},
			"args": {"id": rising, "arg_set_id": same, "flat_key": slices.Repeat([]string{"k"}, n), "key": slices.Repeat([]string{"k"}, n), "int_value": rising,
				"string_value": slices.Repeat([]string{""}, n), "real_value": make([]float64, n), "value_type": slices.Repeat([]string{"int"}, n)},
		}))
		if got := len(tables.Rows("slice", "id")); got != n {
			t.Errorf("%d slices", got)
		}
		return time.Since(begun)
	}
	few, many := shared(n/10), shared(n)
	if many > 40*few {
		t.Errorf("10 times the slices and args take %v after %v", many, few)
	}
	// Texts that overlap.
	const large = 1_000_000
	names := []string{strings.Repeat("a", large)}
	offsets := []uint32{0, large}
	for i := range n {
		names = append(names, strconv.Itoa(i))
		offsets = append(offsets, offsets[i+1]+uint32(len(names[i+1])))
	}
	encode := func() []byte {
		var b []byte
		for _, o := range offsets {
			b = binary.LittleEndian.AppendUint32(b, o)
		}
		return b
	}
	data, right := crafted(t, map[string]map[string]any{"android_dumpstate": {"id": rising, "line": names[:n]}}), encode()[:4*n]
	for i := range offsets {
		offsets[i] = uint32(i % 2 * large)
	}
	if !bytes.Contains(data, right) {
		t.Fatal("no offsets")
	}
	if _, err := ingesttest.Read(t, ingesttest.File{Name: "app.tar", Reader: bytes.NewReader(bytes.Replace(data, right, encode()[:4*n], 1))}); !errors.Is(err, format.ErrCorrupt) {
		t.Error(err)
	}
	// Rows without columns.
	tables, err := ingesttest.Read(t, ingesttest.File{Name: "app.tar", Reader: bytes.NewReader(crafted(t, map[string]map[string]any{"android_dumpstate": nil, "machine": {"id": []int64{0}, "raw_id": []int64{0}}}))})
	if err != nil || len(tables.Rows("android_dumpstate", "id")) > 0 {
		t.Error(err)
	}
}

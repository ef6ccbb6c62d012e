package arrowtar_test

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/ulikunitz/xz"

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
		a, b := exported.Rows(s.Name, columns...), direct.Rows(s.Name, columns...)
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

package families_test

import (
	"archive/tar"
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/tracecase"
	"github.com/tpconvert/tpconvert/internal/wire"
)

// r8Names are the names of the case obfuscation as R8 writes them.
const r8Names = `# compiler: R8
com.example.New -> a:
    int field -> x
    void run() -> f
    void other.Class.merged() -> f
    3:5:void inner():70:70 -> g
    3:5:void outer() -> g
    6:9:void elsewhere() -> g
    1:5:void only() -> h
`

// archive returns a tar archive of named files.
func archive(t *testing.T, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		err := w.WriteHeader(&tar.Header{Name: files[i], Mode: 0o666, Size: int64(len(files[i+1]))})
		if err == nil {
			_, err = w.Write([]byte(files[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestNamesBesideTrace checks that names before obfuscation apply to a trace in another file as they do in
// the trace itself, whether they are packets or R8's text.
func TestNamesBesideTrace(t *testing.T) {
	text, err := os.ReadFile("../../../testdata/cases/perfetto/obfuscation.txtar")
	if err != nil {
		t.Fatal(err)
	}
	_, whole, err := tracecase.Trace(&txtar.Parse(text).Files[0])
	if err != nil {
		t.Fatal(err)
	}
	var trace, names []byte
	for rest := whole; len(rest) > 0; {
		packets := wire.Read(rest)
		if !packets.Next() {
			t.Fatal("not a trace")
		}
		end := bytes.Index(rest, packets.Bytes()) + len(packets.Bytes())
		if packet := wire.Read(packets.Bytes()); packet.Next() && packet.Number == pb.TracePacket_DeobfuscationMapping {
			names = append(names, rest[:end]...)
		} else {
			trace = append(trace, rest[:end]...)
		}
		rest = rest[end:]
	}
	rows := func(tables *ingesttest.Tables) (all []string) {
		all = tables.Rows("stack_profile_frame", "name", "deobfuscated_name", "symbol_set_id")
		all = append(all, tables.Rows("stack_profile_symbol", "symbol_set_id", "name", "line_number", "inlined")...)
		all = append(all, tables.Rows("heap_graph_class", "name", "deobfuscated_name")...)
		return append(all, tables.Rows("heap_graph_reference", "field_name", "deobfuscated_field_name")...)
	}
	want := rows(ingesttest.MustRead(t, "trace.pftrace", whole))
	if all := strings.Join(want, "\n"); !strings.Contains(all, "com.example.New.inner") || !strings.Contains(all, "com.example.New.field") {
		t.Fatalf("no names in\n%s", all)
	}
	for name, files := range map[string][]string{
		"packets, read first": {"a.pb", string(names), "b.pftrace", string(trace)},
		"packets, read last":  {"a.pftrace", string(trace), "b.pb", string(names)},
		"text":                {"com.example.txt", r8Names, "trace.pftrace", string(trace)},
		"text in a folder":    {"com.example/mapping.txt", r8Names, "trace.pftrace", string(trace)},
	} {
		if got := rows(ingesttest.MustRead(t, "all.tar", archive(t, files...))); !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}

	// Without a package, names are only those of fields, and of classes in processes without one, as in
	// Trace Processor. Damage is counted.
	tables := ingesttest.MustRead(t, "all.tar", archive(t, "mapping.txt", r8Names+"nonsense\n", "trace.pftrace", string(trace)))
	tables.Want(t, "trace_file", "trace_type", "tar", "r8_mapping", "proto")
	if frames := tables.Rows("stack_profile_frame", "deobfuscated_name"); slices.ContainsFunc(frames, func(name string) bool { return name != "NULL" }) {
		t.Error(frames)
	}
	tables.Want(t, "heap_graph_reference", "field_name|deobfuscated_field_name", "a.x|com.example.New.field", "a.y|NULL")
	for _, stat := range []string{"r8_mapping_parse_errors", "unread_fact"} {
		if !slices.Contains(tables.Rows("stats", "name"), stat) {
			t.Errorf("no %s", stat)
		}
	}
}

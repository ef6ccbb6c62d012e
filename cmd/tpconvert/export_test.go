//go:build cgo

package main

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/coder/websocket"

	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
)

// arrowTable is the content of an Arrow file.
type arrowTable struct {
	columns []string // names, types and whether values can be NULL
	rows    []string
	batches int
}

func readArrow(t *testing.T, file []byte) arrowTable {
	t.Helper()
	r, err := ipc.NewFileReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	all := arrowTable{batches: r.NumRecords()}
	for _, f := range r.Schema().Fields() {
		if d, ok := f.Type.(*arrow.DictionaryType); ok { // a reader sees the texts
			f.Type = d.ValueType
		}
		all.columns = append(all.columns, fmt.Sprintf("%s %s null=%t", f.Name, f.Type, f.Nullable))
	}
	for i := range all.batches {
		batch, err := r.RecordBatch(i)
		if err != nil {
			t.Fatal(err)
		}
		for row := range int(batch.NumRows()) {
			var cells strings.Builder
			for _, c := range batch.Columns() {
				if c.IsNull(row) {
					cells.WriteString("NULL")
				} else {
					cells.WriteString(c.ValueStr(row))
				}
				cells.WriteByte(0)
			}
			all.rows = append(all.rows, cells.String())
		}
	}
	return all
}

// readArchive returns the tables of an exported archive.
func readArchive(t *testing.T, archive []byte) map[string]arrowTable {
	t.Helper()
	all := map[string]arrowTable{}
	for members := tar.NewReader(bytes.NewReader(archive)); ; {
		head, err := members.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		file, err := io.ReadAll(members)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(head.Name, ".arrow")] = readArrow(t, file)
	}
}

// exportArgs encodes ExportArgs.
func exportArgs(format int) []byte { return protoField(pb.ExportArgs_Format, format) }

// largeTrace has slices for more than one batch by rows, and by bytes of text.
func largeTrace() string {
	var b strings.Builder
	b.WriteString("[")
	for i := range 66_000 {
		fmt.Fprintf(&b, `{"ph":"X","pid":1,"tid":%d,"ts":%d,"dur":1,"name":"slice %d"},`+"\n", 2+i%3, i, i%1000)
	}
	fmt.Fprintf(&b, `{"ph":"X","pid":1,"tid":2,"ts":80000,"dur":5,"name":"args","args":{"i":-1,"r":0.1,"t":"é","b":true}},`+"\n")
	long := strings.Repeat("x", 1<<20)
	for i := range 20 {
		fmt.Fprintf(&b, `{"ph":"X","pid":1,"tid":2,"ts":%d,"dur":2,"name":"%d %s"},`+"\n", 90_000+i, i%2, long)
	}
	b.WriteString(`{"ph":"C","pid":1,"ts":1,"name":"memory","args":{"bytes":1.5}}]`)
	return b.String()
}

// TestServeExport compares exports with the dataset that the same trace becomes in Arrow's format.
func TestServeExport(t *testing.T) {
	scratch := t.TempDir()
	t.Setenv("TMPDIR", scratch)
	trace := largeTrace()
	dir := dataset(t, trace)
	tpconvert(t, dir, "-q", "--format", "arrow", "a.json", "arrow").expect(t, exitDone, "")
	tpconvert(t, dir, "register", "--materialize", "out", "t.duckdb").expect(t, exitDone, "")
	want := map[string]arrowTable{}
	for _, name := range names(t, dir, "arrow") {
		table, ok := strings.CutSuffix(name, ".arrow")
		if !ok {
			continue
		}
		file, err := os.ReadFile(filepath.Join(dir, "arrow", name))
		if err != nil {
			t.Fatal(err)
		}
		if rows := readArrow(t, file); len(rows.rows) > 0 {
			want[table] = rows
		}
	}
	if len(want["slice"].rows) != 66_021 || len(want["args"].rows) != 81 || len(want["counter"].rows) != 1 {
		t.Fatalf("the dataset has %d slices, %d args and %d counters", len(want["slice"].rows), len(want["args"].rows), len(want["counter"].rows))
	}
	sent := serveInput(t, "")
	post(t, sent+"/parse", []byte(trace))
	post(t, sent+"/notify_eof", nil)
	folder := serveInput(t, filepath.Join(dir, "out"))
	// Statements that clients have run do not change what is exported.
	if got := ask(t, folder, "CREATE OR REPLACE PERFETTO VIEW slice AS SELECT 1 AS id; DROP VIEW thread; CREATE PERFETTO TABLE thread AS SELECT 1 AS id"); got.failed != "" {
		t.Fatal(got.failed)
	}
	for input, url := range map[string]string{"folder": folder, "DuckDB file": serveInput(t, filepath.Join(dir, "t.duckdb")), "sent trace": sent} {
		archive := post(t, url+"/export", exportArgs(pb.ExportArgs_Format_ArrowTar))
		got := readArchive(t, archive)
		if len(got) != len(want) {
			t.Errorf("%s: %d tables, want %d", input, len(got), len(want))
		}
		if n := got["slice"].batches; n != 4 { // the first ends by rows, the second and third by text
			t.Errorf("%s: slices are in %d batches", input, n)
		}
		for name, table := range want {
			if !slices.Equal(got[name].columns, table.columns) {
				t.Errorf("%s: %s has the columns\n%q, want\n%q", input, name, got[name].columns, table.columns)
			}
			if input == "sent trace" && (name == "trace_file" || name == "metadata" || name == "trace") {
				continue // they have the file's name, or when it was converted
			}
			if !slices.Equal(got[name].rows, table.rows) {
				t.Errorf("%s: %d rows of %s differ from the %d of the dataset", input, len(got[name].rows), name, len(table.rows))
			}
		}
		if input != "folder" {
			continue
		}
		if parts := exportByStream(t, url); !bytes.Equal(parts, archive) {
			t.Errorf("the stream has %d bytes, HTTP %d", len(parts), len(archive))
		}
	}
	if files := filesBelow(t, scratch); files != "" {
		t.Errorf("left are %s", files)
	}
}

const (
	tpmExport    = pb.TraceProcessorRpc_TraceProcessorMethod_TpmExport
	exportNumber = pb.TraceProcessorRpc_ExportArgs
)

// exportByStream returns an archive that a websocket sends in parts.
func exportByStream(t *testing.T, url string) []byte {
	t.Helper()
	conn := connect(t, url)
	if err := conn.Write(t.Context(), websocket.MessageBinary, call(0, tpmExport, exportNumber, exportArgs(pb.ExportArgs_Format_ArrowTar))); err != nil {
		t.Fatal(err)
	}
	var archive []byte
	for {
		_, reply, err := conn.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		rpc := protoFields(t, protoFields(t, reply)[pb.TraceProcessorRpcStream_Msg][0])
		result := protoFields(t, rpc[pb.TraceProcessorRpc_ExportResult][0])
		if result[pb.ExportResult_Error] != nil {
			t.Fatalf("the stream: %q", result[pb.ExportResult_Error])
		}
		part := bytes.Join(result[pb.ExportResult_Data], nil)
		archive = append(archive, part...)
		if more := result[pb.ExportResult_HasMore][0][0] == 1; more != (len(part) > 0) || len(part) > 1<<20 {
			t.Fatalf("a part of %d bytes has more: %t", len(part), more)
		} else if !more {
			return archive
		}
	}
}

func TestServeExportFails(t *testing.T) {
	t.Parallel()
	url := serveInput(t, filepath.Join(dataset(t, goodTrace), "out"))
	half := serveInput(t, "")
	post(t, half+"/parse", []byte(goodTrace[:20]))
	for _, c := range []struct {
		url    string
		args   []byte
		status int
		failed string
	}{
		{url, nil, http.StatusBadRequest, "format is required"},
		{url, exportArgs(pb.ExportArgs_Format_Perfetto), http.StatusBadRequest, "only ARROW_TAR"},
		{url, exportArgs(pb.ExportArgs_Format_Sqlite), http.StatusBadRequest, "only ARROW_TAR"},
		{url, []byte("\xff"), http.StatusBadRequest, "cannot be read"},
		{half, exportArgs(pb.ExportArgs_Format_ArrowTar), http.StatusInternalServerError, "has not come"},
	} {
		r, err := http.Post(c.url+"/export", "", bytes.NewReader(c.args))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r.Body)
		r.Body.Close()
		if r.StatusCode != c.status || !strings.Contains(string(body), c.failed) {
			t.Errorf("%q: %s, %q, want %q", c.args, r.Status, body, c.failed)
		}
		// A failure in an export is visible to a client that ignores the status.
		if incomplete := errors.Is(err, io.ErrUnexpectedEOF); incomplete != (c.status == http.StatusInternalServerError) {
			t.Errorf("%q: the body ends with %v", c.args, err)
		}
		reply := exchange(t, connect(t, c.url), call(0, tpmExport, exportNumber, c.args))
		result := protoFields(t, reply[pb.TraceProcessorRpc_ExportResult][0])
		if failed := result[pb.ExportResult_Error]; len(failed) != 1 || !strings.Contains(string(failed[0]), c.failed) || result[pb.ExportResult_HasMore][0][0] != 0 {
			t.Errorf("%q: the stream says %q, want %q", c.args, result, c.failed)
		}
	}
}

// TestServeExportStops checks that an export ends when its client disconnects, so that another can ask.
func TestServeExportStops(t *testing.T) {
	t.Parallel()
	url := serveInput(t, filepath.Join(dataset(t, largeTrace()), "out"))
	args := exportArgs(pb.ExportArgs_Format_ArrowTar)
	answers := func(after string) {
		t.Helper()
		if got := ask(t, url, "SELECT 1 AS n"); !slices.Equal(got.rows, []string{"1"}) {
			t.Errorf("after %s: %+v", after, got)
		}
	}
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "POST", url+"/export", bytes.NewReader(args))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(answer.Body, make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	leave()
	answer.Body.Close()
	answers("/export")
	conn := connect(t, url)
	if err := conn.Write(t.Context(), websocket.MessageBinary, call(0, tpmExport, exportNumber, args)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := conn.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	conn.CloseNow()
	answers("TPM_EXPORT")
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tpconvert/tpconvert/cmd/tpconvert/console"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/inputs"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/serve"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/rpc"
)

// serveInput starts a server for an input, or without input for "".
func serveInput(t *testing.T, input string) string {
	t.Helper()
	return serveWith(t, serve.Options{Origins: []string{"http://example.test:8080"}}, input)
}

func serveWith(t *testing.T, o serve.Options, input string) string {
	t.Helper()
	var args []string
	if input != "" {
		args = []string{input}
	}
	var ui console.UI
	handler, err := o.Server(t.Context(), inputs.Opener{UI: ui.Printer(newRootCommand(&ui))}, args)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.Close()
		if err := handler.Close(); err != nil {
			t.Error(err)
		}
	})
	return server.URL
}

// serveCommand starts serve on an input, and returns its address, its process, and a function that ends it with SIGTERM and returns how long
// that took.
func serveCommand(t *testing.T, dir string, args ...string) (url string, server *os.Process, end func() time.Duration) {
	t.Helper()
	cmd := command(t, dir, append([]string{"serve", "--json", "--port", "0"}, args...)...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var at struct{ URL string }
	if err := json.NewDecoder(stdout).Decode(&at); err != nil {
		t.Fatal(err, cmd.Wait())
	}
	return at.URL, cmd.Process, func() time.Duration {
		begun := time.Now()
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		return time.Since(begun)
	}
}

// post sends a body and returns the body of the reply.
func post(t *testing.T, url string, body []byte) []byte {
	t.Helper()
	r, err := http.Post(url, "", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	answer, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, r.Status, err)
	}
	return answer
}

// protoField encodes a field of a message; v is bytes, text or a number.
func protoField(number protowire.Number, v any) []byte {
	switch v := v.(type) {
	case string:
		return protowire.AppendString(protowire.AppendTag(nil, number, protowire.BytesType), v)
	case []byte:
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), v)
	case int:
		return protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.VarintType), uint64(v))
	}
	panic(v)
}

// protoFields returns the fields of a message by number, as bytes or, for numbers, as 8 bytes.
func protoFields(t *testing.T, message []byte) map[protowire.Number][][]byte {
	t.Helper()
	all := map[protowire.Number][][]byte{}
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			t.Fatalf("malformed: %q", message)
		}
		message = message[n:]
		var value []byte
		switch kind {
		case protowire.BytesType:
			value, n = protowire.ConsumeBytes(message)
		case protowire.VarintType:
			var v uint64
			v, n = protowire.ConsumeVarint(message)
			value = binary.LittleEndian.AppendUint64(nil, v)
		case protowire.Fixed64Type:
			value, n = message[:8], 8
		default:
			t.Fatalf("type %d", kind)
		}
		all[number] = append(all[number], value)
		message = message[n:]
	}
	return all
}

// answer is the result of a query.
type answer struct {
	columns []string
	rows    []string // cells separated by commas
	failed  string
	batches int
}

// readAnswer reads concatenated QueryResult messages.
func readAnswer(t *testing.T, messages []byte) answer {
	t.Helper()
	all := protoFields(t, messages)
	a := answer{failed: string(bytes.Join(all[pb.QueryResult_Error], nil)), batches: len(all[pb.QueryResult_Batch])}
	for _, name := range all[pb.QueryResult_ColumnNames] {
		a.columns = append(a.columns, string(name))
	}
	for i, encoded := range all[pb.QueryResult_Batch] {
		batch := protoFields(t, encoded)
		if last := batch[pb.QueryResult_CellsBatch_IsLastBatch] != nil; last != (i == a.batches-1) {
			t.Errorf("batch %d of %d: last %t", i, a.batches, last)
		}
		a.rows = append(a.rows, readBatch(batch, len(a.columns))...)
	}
	return a
}

func readBatch(batch map[protowire.Number][][]byte, columns int) []string {
	packed := func(number protowire.Number) []byte { return bytes.Join(batch[number], nil) }
	integers, reals := packed(pb.QueryResult_CellsBatch_VarintCells), packed(pb.QueryResult_CellsBatch_Float64Cells)
	texts := strings.Split(string(packed(pb.QueryResult_CellsBatch_StringCells)), "\x00")
	blobs := batch[pb.QueryResult_CellsBatch_BlobCells]
	var rows, row []string
	for _, cell := range packed(pb.QueryResult_CellsBatch_Cells) {
		switch cell {
		case pb.QueryResult_CellsBatch_CellType_CellNull:
			row = append(row, "NULL")
		case pb.QueryResult_CellsBatch_CellType_CellVarint:
			v, n := protowire.ConsumeVarint(integers)
			row, integers = append(row, fmt.Sprint(int64(v))), integers[n:]
		case pb.QueryResult_CellsBatch_CellType_CellFloat64:
			row, reals = append(row, fmt.Sprintf("%g real", math.Float64frombits(binary.LittleEndian.Uint64(reals)))), reals[8:]
		case pb.QueryResult_CellsBatch_CellType_CellString:
			row, texts = append(row, fmt.Sprintf("%q", texts[0])), texts[1:]
		case pb.QueryResult_CellsBatch_CellType_CellBlob:
			row, blobs = append(row, fmt.Sprintf("%x bytes", blobs[0])), blobs[1:]
		}
		if len(row) == columns {
			rows, row = append(rows, strings.Join(row, ",")), nil
		}
	}
	return rows
}

func ask(t *testing.T, url, sql string) answer {
	t.Helper()
	return readAnswer(t, post(t, url+"/query", protoField(pb.QueryArgs_SQLQuery, sql)))
}

// sqlArgs encodes QueryArgs.
func sqlArgs(sql string) []byte { return protoField(pb.QueryArgs_SQLQuery, sql) }

func TestServeQuery(t *testing.T) {
	t.Parallel()
	url := serveInput(t, filepath.Join(dataset(t, goodTrace), "out"))
	for sql, want := range map[string]answer{
		"SELECT 1 AS a, -1.5 AS b, 'é' AS c, NULL AS d, x'00ff' AS e, 1 < 2 AS f UNION ALL SELECT NULL, NULL, NULL, 5, NULL, NULL": {
			columns: []string{"a", "b", "c", "d", "e", "f"},
			rows:    []string{`1,-1.5 real,"é",NULL,00ff bytes,1`, "NULL,NULL,NULL,5,NULL,NULL"},
		},
		"SELECT name, ts, dur, demangle('_Z3foov') AS f FROM slice ORDER BY id LIMIT 1": {
			columns: []string{"name", "ts", "dur", "f"}, rows: []string{`"work",10000,5000,"foo()"`}},
		"CREATE PERFETTO TABLE t AS SELECT 7 AS n; SELECT 1; SELECT n FROM t": {columns: []string{"n"}, rows: []string{"7"}},
		"CREATE TABLE plain AS SELECT 7 AS n":                                 {},
		"SELECT 1 AS n WHERE 0":                                               {columns: []string{"n"}},
		"":                                                                    {failed: "there is no SQL to run"},
		"SELECT 1 AS a; SELECT durr FROM slice":                               {failed: "durr FROM slice\n" + strings.Repeat(" ", len("line 1: SELECT 1 AS a; SELECT ")) + "^"},
		"SELECT n / (n - 5) FROM (SELECT 1 AS n)":                             {columns: []string{"(n / (n - 5))"}, rows: []string{"0"}},
	} {
		got := ask(t, url, sql)
		if !slices.Equal(got.rows, want.rows) || want.failed == "" && got.failed != "" || !strings.Contains(got.failed, want.failed) ||
			len(got.columns) != len(want.columns) {
			t.Errorf("%s: got %+v, want %+v", sql, got, want)
		}
	}
	many := ask(t, url, "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 499) SELECT a.i * 500 + b.i AS i, 'text' FROM n AS a, n AS b")
	if len(many.rows) != 250_000 || many.batches < 10 || many.failed != "" {
		t.Errorf("%d rows in %d batches, %s", len(many.rows), many.batches, many.failed)
	}
	post(t, url+"/restore_initial_tables", nil)
	if got := ask(t, url, "SELECT n FROM t"); !strings.Contains(got.failed, "no such table: t") {
		t.Errorf("after a restoration: %+v", got)
	}
	if got := protoFields(t, post(t, url+"/compute_metric", nil))[pb.ComputeMetricResult_Error]; len(got) != 1 || !strings.Contains(string(got[0]), "metrics of version 1 need") {
		t.Errorf("/compute_metric: %q", got)
	}
}

// TestServeOnlyReads checks that a client can neither change the data nor use other files.
func TestServeOnlyReads(t *testing.T) {
	t.Parallel()
	dir := dataset(t, goodTrace)
	other := filepath.Join(dir, "other.csv")
	if err := os.WriteFile(other, []byte("a\n7\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	servers := []string{serveInput(t, filepath.Join(dir, "out")), serveInput(t, "")}
	post(t, servers[1]+"/parse", []byte(goodTrace))
	post(t, servers[1]+"/notify_eof", nil)
	before := filesBelow(t, dir)
	for _, url := range servers {
		for _, sql := range []string{
			"COPY slice TO '" + filepath.Join(dir, "new.csv") + "'", "COPY (SELECT 1) TO '" + other + "'",
			"ATTACH '" + filepath.Join(dir, "new.db") + "'", "ATTACH '" + filepath.Join(dir, "new.db") + "' AS x", "INSTALL httpfs", "LOAD httpfs",
			"EXPORT DATABASE '" + dir + "'", "SET enable_external_access = true", "PRAGMA enable_external_access = true",
			"SELECT * FROM read_csv('" + other + "')", "SELECT * FROM '" + other + "'", "SELECT content FROM read_text('" + other + "')",
			"CREATE PERFETTO TABLE x AS SELECT * FROM read_csv('" + other + "')", "SELECT * FROM glob('/*')",
			"DELETE FROM slice", "UPDATE slice SET dur = 1", "INSERT INTO slice SELECT * FROM slice", "DROP TABLE slice", "DROP VIEW dataset.slice",
			"DETACH dataset", "DETACH DATABASE dataset",
		} {
			if got := ask(t, url, sql); got.failed == "" {
				t.Errorf("%s: %+v", sql, got)
			}
		}
		if got := ask(t, url, "SELECT count(*) FROM slice"); !slices.Equal(got.rows, []string{"2"}) {
			t.Errorf("slices are %+v", got)
		}
	}
	if after := filesBelow(t, dir); after != before {
		t.Errorf("files were\n%s\nand are\n%s", before, after)
	}
}

// TestServeRefuses checks that other web pages get no data.
func TestServeRefuses(t *testing.T) {
	t.Parallel()
	url := serveInput(t, filepath.Join(dataset(t, goodTrace), "out"))
	for _, path := range []string{"/", "/status", "/query", "/parse", "/notify_eof", "/rpc", "/websocket", "/restore_initial_tables", "/export"} {
		for _, c := range []struct{ name, value string }{
			{"Origin", "https://example.com"}, {"Origin", "null"}, {"Origin", "https://ui.perfetto.dev.example.com"},
			{"Host", "example.com"}, {"Host", "localhost.example.com:9001"}, {"Sec-Fetch-Site", "cross-site"},
		} {
			for _, method := range []string{"GET", "POST", "OPTIONS"} {
				r, err := http.NewRequestWithContext(t.Context(), method, url+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set(c.name, c.value)
				if c.name == "Host" {
					r.Host = c.value
				}
				answer, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				answer.Body.Close()
				if answer.StatusCode != http.StatusForbidden || answer.Header.Get("Access-Control-Allow-Origin") != "" {
					t.Errorf("%s %s with %s %s: %s, %v", method, path, c.name, c.value, answer.Status, answer.Header)
				}
			}
		}
	}
	for _, origin := range []string{"https://ui.perfetto.dev", "http://localhost:10000", "http://example.test:8080"} {
		r, err := http.NewRequestWithContext(t.Context(), "OPTIONS", url+"/status", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Origin", origin)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusNoContent || answer.Header.Get("Access-Control-Allow-Origin") != origin {
			t.Errorf("%s: %s, %v", origin, answer.Status, answer.Header)
		}
	}
}

// call encodes a TraceProcessorRpcStream with one call.
func call(seq, method int, number protowire.Number, args []byte) []byte {
	m := slices.Concat(protoField(pb.TraceProcessorRpc_Seq, seq), protoField(pb.TraceProcessorRpc_Request, method))
	if number != 0 {
		m = append(m, protoField(number, args)...)
	}
	return protoField(pb.TraceProcessorRpcStream_Msg, m)
}

const (
	queryStreaming = pb.TraceProcessorRpc_TraceProcessorMethod_TpmQueryStreaming
	queryArgs      = pb.TraceProcessorRpc_QueryArgs
)

func connect(t *testing.T, url string) *websocket.Conn {
	t.Helper()
	header := http.Header{"Origin": {"https://ui.perfetto.dev"}}
	conn, _, err := websocket.Dial(t.Context(), url+"/websocket", &websocket.DialOptions{HTTPHeader: header})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.CloseNow() })
	conn.SetReadLimit(-1)
	return conn
}

func exchange(t *testing.T, conn *websocket.Conn, message []byte) map[protowire.Number][][]byte {
	t.Helper()
	if err := conn.Write(t.Context(), websocket.MessageBinary, message); err != nil {
		t.Fatal(err)
	}
	_, reply, err := conn.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return protoFields(t, protoFields(t, reply)[pb.TraceProcessorRpcStream_Msg][0])
}

func TestServeWebsocket(t *testing.T) {
	t.Parallel()
	url := serveInput(t, filepath.Join(dataset(t, goodTrace), "out"))
	conn := connect(t, url)
	sql := protoField(pb.QueryArgs_SQLQuery, "SELECT count(*) AS n FROM slice")
	whole := call(0, queryStreaming, queryArgs, sql)
	if err := conn.Write(t.Context(), websocket.MessageBinary, whole[:5]); err != nil { // the rest comes later
		t.Fatal(err)
	}
	reply := exchange(t, conn, whole[5:])
	if got := readAnswer(t, reply[pb.TraceProcessorRpc_QueryResult][0]); !slices.Equal(got.rows, []string{"2"}) {
		t.Errorf("got %+v", got)
	}
	module := slices.Concat(protoField(pb.RegisterSqlPackageArgs_PackageName, "org.ours"), protoField(pb.RegisterSqlPackageArgs_Modules,
		slices.Concat(protoField(pb.RegisterSqlPackageArgs_Module_Name, "org.ours.a.b"), protoField(pb.RegisterSqlPackageArgs_Module_SQL, "CREATE PERFETTO TABLE c AS SELECT 3 AS n"))))
	reply = exchange(t, conn, call(1, pb.TraceProcessorRpc_TraceProcessorMethod_TpmRegisterSQLPackage, pb.TraceProcessorRpc_RegisterSQLPackageArgs, module))
	if failed := reply[pb.TraceProcessorRpc_RegisterSQLPackageResult]; len(failed) != 1 || len(failed[0]) != 0 {
		t.Errorf("a package: %q", reply)
	}
	for i, override := range []int{0, 1} {
		again := slices.Concat(module, protoField(pb.RegisterSqlPackageArgs_AllowOverride, override))
		reply = exchange(t, conn, call(2+i, pb.TraceProcessorRpc_TraceProcessorMethod_TpmRegisterSQLPackage, pb.TraceProcessorRpc_RegisterSQLPackageArgs, again))
		if failed := reply[pb.TraceProcessorRpc_RegisterSQLPackageResult]; len(failed) != 1 || (len(failed[0]) != 0) == (override != 0) {
			t.Errorf("a package again, override %d: %q", override, reply)
		}
	}
	statements := `INCLUDE PERFETTO MODULE org.ours.a.b; SELECT n FROM c;
		SELECT package || ' has ' || qualified_name FROM __intrinsic_stdlib_objects WHERE package = 'org.ours'; -- the end`
	offset, seq := 0, 4
	var rows []string
	for {
		args := slices.Concat(protoField(pb.StatementArgs_SQL, statements), protoField(pb.StatementArgs_StartOffset, offset))
		reply = exchange(t, conn, call(seq, pb.TraceProcessorRpc_TraceProcessorMethod_TpmStatementStreaming, pb.TraceProcessorRpc_StatementArgs, args))
		result := protoFields(t, reply[pb.TraceProcessorRpc_StatementResult][0])
		got := readAnswer(t, result[pb.StatementResult_Result][0])
		if got.failed != "" {
			t.Fatal(got.failed)
		}
		if result[pb.StatementResult_StatementExecuted][0][0] == 0 {
			break
		}
		rows = append(rows, got.rows...)
		offset, seq = int(binary.LittleEndian.Uint64(result[pb.StatementResult_TailOffset][0])), seq+1
	}
	if want := []string{"3", `"org.ours has org.ours.a.b"`, `"org.ours has org.ours.a.b.c"`}; seq != 7 || !slices.Equal(rows, want) {
		t.Errorf("statement by statement: %q after %d calls", rows, seq)
	}
	reply = exchange(t, conn, call(seq+1, pb.TraceProcessorRpc_TraceProcessorMethod_TpmRestoreInitialTables, 0, nil))
	if len(reply[pb.TraceProcessorRpc_Response]) != 1 {
		t.Errorf("a restoration: %q", reply)
	}
	reply = exchange(t, conn, call(seq+2, 99, 0, nil))
	if len(reply[pb.TraceProcessorRpc_InvalidRequest]) != 1 {
		t.Errorf("an unknown method: %q", reply)
	}
	reply = exchange(t, conn, call(seq+9, 99, 0, nil))
	if got := reply[pb.TraceProcessorRpc_FatalError]; len(got) != 1 || !strings.Contains(string(got[0]), "out of order") {
		t.Errorf("a wrong number: %q", reply)
	}
	if _, _, err := conn.Read(t.Context()); err == nil {
		t.Error("the stream goes on")
	}
}

func TestServeBadMessages(t *testing.T) {
	t.Parallel()
	url := serveInput(t, filepath.Join(dataset(t, goodTrace), "out"))
	for _, message := range []string{"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "\x0f", "\x0a\x02\x12\x7f", "\x12\x01a", "\x0a\xff\xff\xff\x7f", strings.Repeat("\xff", 20)} {
		reply := exchange(t, connect(t, url), []byte(message))
		if got := reply[pb.TraceProcessorRpc_FatalError]; len(got) != 1 {
			t.Errorf("websocket %q: %q", message, reply)
		}
		messages := protoFields(t, post(t, url+"/rpc", []byte(message)))[pb.TraceProcessorRpcStream_Msg]
		if len(messages) != 1 || len(protoFields(t, messages[0])[pb.TraceProcessorRpc_FatalError]) != 1 {
			t.Errorf("/rpc %q: %q", message, messages)
		}
	}
	for _, message := range []string{"\x0a\x05SEL", "\xff", "\x0f"} {
		if got := readAnswer(t, post(t, url+"/query", []byte(message))); !strings.Contains(got.failed, "cannot be read") {
			t.Errorf("/query %q: %+v", message, got)
		}
	}
	if got := ask(t, url, "SELECT "+strings.Repeat("1", rpc.MaxQuery+1)); !strings.Contains(got.failed, "bytes") {
		t.Errorf("a query that is too long: %.200q", got.failed)
	}
	if got := ask(t, url, "SELECT "+strings.Repeat("1+", 500_000)+"1"); !strings.Contains(got.failed, "Expression tree is too large") {
		t.Errorf("a long sum is %q", got.rows)
	}
	if got := ask(t, url, "SELECT 1 AS n"); !slices.Equal(got.rows, []string{"1"}) {
		t.Errorf("after all: %+v", got)
	}
}

// TestServeLargeMessages checks that a client is told which message is too large, before its connection ends.
func TestServeLargeMessages(t *testing.T) {
	t.Parallel()
	url := serveInput(t, filepath.Join(dataset(t, goodTrace), "out"))
	head := protowire.AppendVarint(protowire.AppendTag(nil, pb.TraceProcessorRpcStream_Msg, protowire.BytesType), 65<<20)
	for name, message := range map[string][]byte{"a message": append(head, make([]byte, 65<<20)...), "the begin of a call": head} {
		conn := connect(t, url)
		reply := exchange(t, conn, message)
		if got := reply[pb.TraceProcessorRpc_FatalError]; len(got) != 1 || string(got[0]) != "a call has more than 67108864 bytes" {
			t.Errorf("%s: %q", name, reply)
		}
		if _, _, err := conn.Read(t.Context()); err == nil || name == "a message" && websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
			t.Errorf("%s: the connection ends with %v", name, err)
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), "POST", url+"/query", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Body, r.ContentLength = io.NopCloser(neverRead{}), 99e9
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("99 GB: %s", answer.Status)
	}
}

// neverRead is a body that never comes.
type neverRead struct{}

func (neverRead) Read([]byte) (int, error) {
	time.Sleep(10 * time.Millisecond)
	return 0, nil
}

// TestServeMetatrace checks that a client is told why there is no metatrace.
func TestServeMetatrace(t *testing.T) {
	t.Parallel()
	conn := connect(t, serveInput(t, filepath.Join(dataset(t, goodTrace), "out")))
	if reply := exchange(t, conn, call(0, pb.TraceProcessorRpc_TraceProcessorMethod_TpmEnableMetatrace, 0, nil)); len(reply[pb.TraceProcessorRpc_Response]) != 1 {
		t.Errorf("its begin: %q", reply)
	}
	reply := exchange(t, conn, call(1, pb.TraceProcessorRpc_TraceProcessorMethod_TpmDisableAndReadMetatrace, 0, nil))
	if got := reply[pb.TraceProcessorRpc_Metatrace]; len(got) != 1 || !strings.Contains(string(got[0]), "metatrace is not supported: tpconvert does not trace itself") {
		t.Errorf("its end: %q", reply)
	}
}

// TestServeStops checks that a query ends when its client disconnects, so that another can run.
func TestServeStops(t *testing.T) {
	t.Parallel()
	url := serveInput(t, filepath.Join(dataset(t, goodTrace), "out"))
	for _, sql := range []string{endless + "SELECT count(*) FROM n", endless + "SELECT i, i, i FROM n"} {
		args := protoField(pb.QueryArgs_SQLQuery, sql)
		ctx, leave := context.WithTimeout(t.Context(), 300*time.Millisecond)
		r, err := http.NewRequestWithContext(ctx, "POST", url+"/query", bytes.NewReader(args))
		if err != nil {
			t.Fatal(err)
		}
		if answer, err := http.DefaultClient.Do(r); err == nil {
			_, _ = io.ReadFull(answer.Body, make([]byte, 1<<20))
			answer.Body.Close()
		}
		leave()
		if got := ask(t, url, "SELECT 1 AS n"); !slices.Equal(got.rows, []string{"1"}) {
			t.Errorf("after %s: %+v", sql, got)
		}
		conn := connect(t, url)
		if err := conn.Write(t.Context(), websocket.MessageBinary, call(0, queryStreaming, queryArgs, args)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		conn.CloseNow()
		if got := ask(t, url, "SELECT 1 AS n"); !slices.Equal(got.rows, []string{"1"}) {
			t.Errorf("after %s: %+v", sql, got)
		}
	}
}

// endless is the beginning of a statement that does not end by itself.
const endless = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) "

// TestServeNeighbours checks that no client waits for one with a stream of its own, and that each stream has its own tables.
func TestServeNeighbours(t *testing.T) {
	t.Parallel()
	url := serveInput(t, filepath.Join(dataset(t, goodTrace), "out"))
	for _, sql := range []string{ // who waits for one of them waits for ever
		endless + "SELECT count(*) FROM n", endless + "SELECT i FROM n", // nobody reads the answer of the second
		"SELECT printf('%.100000000c', 'a') LIKE '%' || printf('%.30000c', 'a') || 'b%'",
	} {
		greedy := connect(t, url)
		if err := greedy.Write(t.Context(), websocket.MessageBinary, call(0, queryStreaming, queryArgs, protoField(pb.QueryArgs_SQLQuery, sql))); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(300 * time.Millisecond)
	count := "SELECT count(*) FROM slice"
	if got := ask(t, url, count); !slices.Equal(got.rows, []string{"2"}) {
		t.Errorf("a request: %+v", got)
	}
	other := connect(t, url)
	for i, sql := range []string{count, "CREATE PERFETTO TABLE mine AS SELECT 1 AS a", "SELECT count(*) + 1 FROM mine"} {
		reply := exchange(t, other, call(i, queryStreaming, queryArgs, protoField(pb.QueryArgs_SQLQuery, sql)))
		if got := readAnswer(t, reply[pb.TraceProcessorRpc_QueryResult][0]); got.failed != "" || i != 1 && !slices.Equal(got.rows, []string{"2"}) {
			t.Errorf("a stream: %s: %+v", sql, got)
		}
	}
	if got := ask(t, url, "SELECT * FROM mine"); !strings.Contains(got.failed, "no such table") {
		t.Errorf("a request sees the table of a stream: %+v", got)
	}
}

// TestServePlain checks that requests outside of streams see each other's tables, and that queries which need none of them do not
// wait for a greedy one.
func TestServePlain(t *testing.T) {
	t.Parallel()
	url := serveInput(t, filepath.Join(dataset(t, goodTrace), "out"))
	for _, sql := range []string{endless + "SELECT count(*) FROM n", endless + "SELECT i FROM n"} {
		ctx, leave := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, "POST", url+"/query", bytes.NewReader(sqlArgs(sql)))
		if err != nil {
			t.Fatal(err)
		}
		left := make(chan bool)
		go func() {
			defer close(left)
			if answer, err := http.DefaultClient.Do(r); err == nil {
				<-ctx.Done() // the answer is not read
				answer.Body.Close()
			}
		}()
		defer func() { leave(); <-left }()
	}
	time.Sleep(300 * time.Millisecond)
	for _, c := range []struct{ sql, rows, failed string }{
		{"SELECT count(*) FROM slice", "2", ""},
		{"CREATE PERFETTO TABLE mine AS SELECT 7 AS n", "", ""},
		{"SELECT n FROM mine", "7", ""},
		{"SELECT n + count(*) FROM \"MINE\", slice", "9", ""},
		{"CREATE PERFETTO FUNCTION twice(n LONG) RETURNS LONG AS SELECT 2 * $n", "", ""},
		{"SELECT twice(4)", "8", ""},
		{"CREATE PERFETTO MACRO tripled(n Expr) RETURNS Expr AS 3 * $n", "", ""},
		{"SELECT tripled!(4)", "12", ""},
		{"INCLUDE PERFETTO MODULE intervals.overlap; SELECT 1", "1", ""},
		{"CREATE PERFETTO TABLE mine AS SELECT 8 AS n", "", "mine"},
		{"CREATE OR REPLACE PERFETTO TABLE mine AS SELECT 8 AS n", "", ""},
		{"SELECT n FROM mine", "8", ""},
		{"DROP TABLE mine", "", ""},
		{"SELECT n FROM mine", "", "no such table"},
		{"CREATE TEMP TABLE slice AS SELECT 1 AS a", "", ""},
		{"SELECT count(*) FROM slice", "1", ""},
	} {
		got := ask(t, url, c.sql)
		if strings.Contains(got.failed, "--stdlib") {
			continue // the modules of Perfetto are not here
		}
		if strings.Join(got.rows, " ") != c.rows || !strings.Contains(got.failed, c.failed) || c.failed == "" && got.failed != "" {
			t.Errorf("%s: %+v", c.sql, got)
		}
	}
	post(t, url+"/restore_initial_tables", nil)
	if got := ask(t, url, "SELECT count(*) FROM slice"); !slices.Equal(got.rows, []string{"2"}) {
		t.Errorf("after a restoration: %+v", got)
	}
}

// TestServeGET checks that requests which any web page can send have no effect.
func TestServeGET(t *testing.T) {
	t.Parallel()
	url := serveInput(t, filepath.Join(dataset(t, goodTrace), "out"))
	if got := ask(t, url, "CREATE PERFETTO TABLE mine AS SELECT 1 AS a"); got.failed != "" {
		t.Fatal(got.failed)
	}
	for _, path := range []string{"parse", "notify_eof", "restore_initial_tables", "query", "rpc", "compute_metric", "trace_summary", "export"} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", url+"/"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Sec-Fetch-Site", "none") // as of an address that somebody has opened
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("GET /%s: %s", path, answer.Status)
		}
	}
	if got := ask(t, url, "SELECT a FROM mine, slice"); !slices.Equal(got.rows, []string{"1", "1"}) {
		t.Errorf("after all: %+v", got)
	}
}

// TestServeTakesTraces sends traces to a server, as Perfetto's Python package does.
func TestServeTakesTraces(t *testing.T) {
	scratch := t.TempDir()
	t.Setenv("TMPDIR", scratch)
	url := serveInput(t, "")
	if got := ask(t, url, "SELECT count(*) AS n FROM slice"); !slices.Equal(got.rows, []string{"0"}) {
		t.Errorf("without a trace: %+v", got)
	}
	for _, c := range []struct{ trace, rows, failed string }{
		{goodTrace, "2", ""}, {"no trace", "", "unknown format"}, {goodTrace, "2", ""}, {"", "0", ""},
	} {
		half := len(c.trace) / 2
		post(t, url+"/parse", []byte(c.trace[:half]))
		if got := ask(t, url, "SELECT 1"); !strings.Contains(got.failed, "has not come") {
			t.Errorf("in the middle of a trace: %+v", got)
		}
		post(t, url+"/parse", []byte(c.trace[half:]))
		post(t, url+"/notify_eof", nil)
		got := ask(t, url, "SELECT count(*) AS n FROM slice")
		if strings.Join(got.rows, "") != c.rows || !strings.Contains(got.failed, c.failed) || c.failed == "" && got.failed != "" {
			t.Errorf("%s: %+v", c.trace, got)
		}
		if files := filesBelow(t, scratch); c.failed == "" && files != "" {
			t.Errorf("left are %s", files)
		}
	}
}

// TestServeUnix asks over a Unix socket, whose file a killed server has left behind.
func TestServeUnix(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.sock")
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	left.Close()
	o := serve.Options{Unix: path}
	var ui console.UI
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	trace := inputs.Opener{UI: ui.Printer(newRootCommand(&ui))}
	go func() { ended <- o.Run(ctx, trace, []string{filepath.Join(dataset(t, goodTrace), "out")}) }()
	var conn net.Conn
	for conn == nil {
		select {
		case err := <-ended:
			t.Fatal(err)
		case <-time.After(10 * time.Millisecond):
			conn, _ = net.Dial("unix", path)
		}
	}
	defer conn.Close()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := o.Run(ctx, trace, nil); err == nil || !strings.Contains(err.Error(), "another server listens at") {
		t.Errorf("%v", err)
	}
	replies := bufio.NewReader(conn)
	ask := func(seq int, sql string) answer {
		if _, err := conn.Write(call(seq, queryStreaming, queryArgs, protoField(pb.QueryArgs_SQLQuery, sql))); err != nil {
			t.Fatal(err)
		}
		if b, err := replies.ReadByte(); err != nil || b != byte(pb.TraceProcessorRpcStream_Msg<<3|int(protowire.BytesType)) {
			t.Fatalf("%#x, %v", b, err)
		}
		size, err := binary.ReadUvarint(replies)
		if err != nil {
			t.Fatal(err)
		}
		reply := make([]byte, size)
		if _, err := io.ReadFull(replies, reply); err != nil {
			t.Fatal(err)
		}
		return readAnswer(t, protoFields(t, reply)[pb.TraceProcessorRpc_QueryResult][0])
	}
	if got := ask(0, "SELECT count(*) AS n FROM slice"); !slices.Equal(got.rows, []string{"2"}) {
		t.Errorf("got %+v", got)
	}
	if got := ask(1, "SELECT count(*) AS n FROM nothing"); got.failed == "" {
		t.Errorf("got %+v", got)
	}
	stop() // while the client is connected
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is left behind: %v", err)
	}
}

func TestSocketPath(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", dir)
	for name, want := range map[string]string{
		"/a/b": "/a/b", "c.sock": "c.sock", "mine": filepath.Join(dir, "perfetto", "mine.sock"),
		"a/b": "", "-x": "", "localhost:9001": "", strings.Repeat("a", 65): "",
	} {
		got, err := serve.SocketPath(name)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "perfetto")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
}

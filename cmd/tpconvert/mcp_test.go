package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// agent is a client of the command.
type agent struct {
	*testing.T
	*sdk.ClientSession
}

// newAgent starts the command in a folder, with its protocol on the standard streams.
func newAgent(t *testing.T, dir string, args ...string) agent {
	t.Helper()
	cmd := command(t, dir, append([]string{"mcp"}, args...)...)
	cmd.Stderr = os.Stderr
	return connected(t, &sdk.CommandTransport{Command: cmd})
}

func connected(t *testing.T, to sdk.Transport) agent {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), to, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	return agent{t, session}
}

// call calls a tool, whose arguments are JSON, and returns its answer.
func (a agent) call(tool, arguments string) (text string, ok bool) {
	a.Helper()
	result, err := a.CallTool(context.Background(), &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		a.Fatalf("%s %s: %v", tool, arguments, err)
	}
	for _, c := range result.Content {
		text += c.(*sdk.TextContent).Text
	}
	// The longest answer below has 2,053 tokens, by the tokenizers that mcp.TestTokens names. No answer with more than 200 characters has
	// more than 0.5 tokens for one, except dense numbers.
	if len(text) > 8000 {
		a.Errorf("%s %s: the answer has %d characters", tool, arguments, len(text))
	}
	return text, !result.IsError
}

// wants calls a tool whose answer matches a pattern.
func (a agent) wants(tool, arguments, pattern string) {
	a.Helper()
	text, ok := a.call(tool, arguments)
	if !ok || !regexp.MustCompile(pattern).MatchString(text) {
		a.Errorf("%s %s: ok %v, want %s in\n%s", tool, arguments, ok, pattern, text)
	}
}

// fails calls a tool whose error matches a pattern.
func (a agent) fails(tool, arguments, pattern string) {
	a.Helper()
	text, ok := a.call(tool, arguments)
	if ok || !regexp.MustCompile(pattern).MatchString(text) {
		a.Errorf("%s %s: ok %v, want an error %s, not\n%s", tool, arguments, ok, pattern, text)
	}
}

// asJSON encodes the arguments of a tool.
func asJSON(all map[string]any) string {
	text, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// An agent asks about traces of five formats. What it should hear was found with tpconvert query, jq and go tool pprof.
func TestMCP(t *testing.T) {
	t.Parallel()
	a := newAgent(t, filepath.Join("..", "..", "testdata"))
	tools, err := a.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
		// Of lists, the protocol's inspector and others make an array only if the schema has this type alone.
		schema, err := json.Marshal(tool.InputSchema)
		if err != nil || strings.Contains(string(schema), `"type":[`) {
			t.Errorf("%s: schema %s, %v", tool.Name, schema, err)
		}
		if tool.Annotations == nil || !tool.Annotations.ReadOnlyHint || tool.Annotations.OpenWorldHint == nil || !*tool.Annotations.OpenWorldHint || tool.Description == "" || tool.InputSchema == nil {
			t.Errorf("tool %+v", tool)
		}
	}
	if got := strings.Join(names, " "); got != "alerts compare open query summarize tables top" {
		t.Errorf("tools %s", got)
	}
	for _, question := range []struct{ tool, arguments, want string }{
		{"open", `{"trace": "chromium.json.gz"}`, `(?s)format: gzip/json.*\d\.\d+ s, ts from \d+ to \d+.*slice 6033`},
		{"tables", `{}`, `(?m)^slice\t6033\t\S`},
		{"tables", `{"names": ["slice", "thread"]}`, `(?s)^slice: .*  dur .*\n.*thread: .*  utid `},
		{"tables", `{"search": "jank"}`, `(?m)^actual_frame_timeline_slice.jank_type\tcolumn\t`},
		{"query", `{"sql": "SELECT count(*) AS n, sum(dur) AS dur FROM slice"}`, `^n\tdur\n6033\t15336626985\n$`},
		{"query", `{"sql": "SELECT id FROM slice", "limit": 3}`, `^id\n0\n1\n2\n\(the first 3 rows; there are more: .*\)\n$`},
		{"query", `{"sql": "SELECT id, name FROM slice", "limit": 5000}`, `(?s)\(the first \d+ rows; there are more`},
		{"query", `{"sql": "SELECT printf('%.*c', 1000, 'x') AS x"}`, `^x\nx{300}…\n\(1 long values end with …`},
		{"query", `{"sql": "CREATE PERFETTO TABLE t AS SELECT 1 AS a; SELECT a FROM t; SELECT NULL AS b, '' AS c"}`, `^a\n1\n\nb\tc\n\t''\n$`},
		{"query", `{"sql": "SELECT 1 AS a WHERE 0"}`, `^a\n\(no rows\)\n$`},
		{"summarize", `{"specs": ["slices"]}`, `(?m)^slices\nname\tcount\t`},
		{"query", `{"sql": "SELECT id % 10, id % 9, id % 8, id % 7 FROM slice", "limit": 500}`, `\n\(cut at 3\d\d\d characters: ask for less\)\n$`}, // each is a token
		{"alerts", `{}`, `^level\tname\t`},
		{"open", `{"trace": "go_cpu.pb.gz"}`, `(?s)format: gzip/pprof.*aggregate_sample \d+`},
		{"top", `{"trace": "go_cpu.pb.gz"}`, `(?s)metric cpu \(nanoseconds\), total \d+.*shown: .*metric cpu\nself\tself_percent`},
		{"top", `{"trace": "go_cpu.pb.gz", "metric": "samples", "by": "total", "limit": 2}`, `(?s)metric samples\n.*\(2 rows of \d+`},
		{"top", `{"trace": "perf.data"}`, `(?s)linux.perf, metric samples.*\nself\t`},
		{"summarize", `{"trace": "app.ftrace", "specs": ["cpu"]}`, `(?m)^cpu_by_thread\nprocess_name\tthread_name\trunning_dur\n`},
		{"summarize", `{"trace": "frames.pftrace"}`, `(?s)frames\nprocess_name\tjank_type\tcount.*without rows: .*startup`},
		{"alerts", `{"trace": "frames.pftrace"}`, `^level\tname\t`},
		{"query", `{"trace": "frames.pftrace", "sql": "SELECT DISTINCT jank_type FROM actual_frame_timeline_slice ORDER BY 1"}`, `App Deadline Missed`},
	} {
		a.wants(question.tool, question.arguments, question.want)
	}
	recordings := filepath.ToSlash(filepath.Join("..", "cmd", "tpconvert", "testdata", "compare", "slices"))
	a.wants("compare", asJSON(map[string]any{"before": []string{recordings + "/before"}, "after": []string{recordings + "/after"}, "kinds": []string{"slice"}}),
		`(?s)^before\tafter.*?\n143.7 ms\t251.3 ms\t.*\tslice\tself\tchecksum\t.*10 traces before, 10 after`)
	a.fails("compare", `{"before": [], "after": []}`, `at least one`)
	a.fails("compare", `{"before": ["app.ftrace"], "after": ["app.ftrace"], "kinds": ["x"]}`, `want some of slice`)
	a.fails("query", `{"sql": "SELECT 1"}`, `name the trace`) // several are open
	a.fails("query", `{"trace": "app.ftrace", "sql": "SELECT a FROM t"}`, `no such table: t`)
	a.fails("query", `{"trace": "app.ftrace", "sql": " "}`, `no SQL`)
	a.fails("open", `{"trace": "missing.json"}`, `missing.json`)
	a.fails("open", `{"trace": "README.md"}`, `README.md`)
	a.fails("open", `{"trace": "app.ftrace", "trace_id": "t_1"}`, `dataset of many`)
	a.fails("top", `{"trace": "app.ftrace"}`, `no profile`)
	a.fails("summarize", `{"trace": "app.ftrace", "specs": ["x"]}`, `no spec x, only binder`)
	a.fails("tables", `{"trace": "app.ftrace", "names": ["x"]}`, `no table x`)
}

// The analyses that agents are taught run, and give rows for a trace that has what they are about.
func TestMCPSkill(t *testing.T) {
	t.Parallel()
	a := newAgent(t, filepath.Join("..", "..", "testdata"))
	resources, err := a.ListResources(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, r := range resources.Resources {
		read, err := a.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: r.URI})
		if err != nil {
			t.Fatal(err)
		}
		if texts[r.URI] = read.Contents[0].Text; len(texts[r.URI]) > 10_000 {
			t.Errorf("%s has %d characters", r.URI, len(texts[r.URI]))
		}
	}
	if !strings.Contains(texts["tpconvert://cookbook/which-slices-take-long"], "BrowserMainRunnerImpl::Initialize") {
		t.Errorf("resources %v", resources.Resources)
	}
	all := regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(texts["tpconvert://skill"], -1)
	if len(all) != 10 {
		t.Fatalf("%d analyses", len(all))
	}
	for i, analysis := range all {
		trace := "chromium.json.gz"
		switch i + 1 {
		case 4, 5:
			trace = "app.ftrace"
		case 9:
			trace = "chromium.pftrace.gz"
		case 10:
			trace = "frames.pftrace"
		}
		if text, ok := a.call("query", asJSON(map[string]any{"trace": trace, "sql": analysis[1]})); !ok || strings.Contains(text, "(no rows)") {
			t.Errorf("analysis %d: %s", i+1, text)
		}
	}
}

// The top of a profile is that of go tool pprof.
func TestMCPTop(t *testing.T) {
	t.Parallel()
	testdata := filepath.Join("..", "..", "testdata")
	a := newAgent(t, testdata)
	for _, of := range [][3]string{{"go_cpu.pb.gz", "cpu", "ns"}, {"go_heap.pb.gz", "alloc_space", "B"}} {
		profile, metric := of[0], of[1]
		text, _ := a.call("top", asJSON(map[string]any{"trace": profile, "metric": metric, "limit": 40}))
		got := map[string][2]string{}
		for line := range strings.Lines(text) {
			if cells := strings.Split(line, "\t"); len(cells) == 6 {
				got[cells[4]] = [2]string{cells[0], cells[2]}
			}
		}
		cmd := exec.CommandContext(t.Context(), "go", "tool", "pprof", "-top", "-unit="+of[2], "-nodefraction=0", "-nodecount=40", "-sample_index="+metric, profile)
		cmd.Dir = testdata
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		lines := 0
		for _, m := range regexp.MustCompile(`(?m)^ *(\d+)(?:ns|B)? +[\d.]+% +[\d.]+% +(\d+)(?:ns|B)? +[\d.]+%  (.*?)( \(inline\))?$`).FindAllStringSubmatch(string(out), -1) {
			lines++
			if want := [2]string{m[1], m[2]}; m[1] != "0" && got[m[3]] != want {
				t.Errorf("%s: %s has %v, want %v", profile, m[3], got[m[3]], want)
			}
		}
		if lines < 20 {
			t.Errorf("go tool pprof: %s", out)
		}
	}
}

// A trace is converted once, and again only when it has changed. Agents see nothing but the inputs of the command.
func TestMCPFiles(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"outside.json": goodTrace})
	if err := os.Mkdir(filepath.Join(dir, "in"), 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"a.json": goodTrace, "b.json": lossyTrace} {
		if err := os.WriteFile(filepath.Join(dir, "in", name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	tpconvert(t, dir, "-q", "in/a.json", "in/b.json", "in/many").expect(t, exitDone, "")
	tpconvert(t, dir, "-q", "in/a.json", "in/one").expect(t, exitDone, "")
	if err := os.Symlink("../outside.json", filepath.Join(dir, "in", "link.json")); err != nil {
		t.Skip(err)
	}
	a := newAgent(t, dir, "--query-time", "2s", "in")
	const names = `"sql": "SELECT name FROM slice ORDER BY 1"`
	a.wants("query", `{"trace": "in/a.json", `+names+`}`, `^name\npart\nwork\n$`)
	a.wants("query", `{`+names+`}`, `^name\npart\nwork\n$`)
	path := filepath.Join(dir, "in", "a.json")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	same := strings.ReplaceAll(goodTrace, "work", "else") // as long
	if err := os.WriteFile(path, []byte(same), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	a.wants("query", `{"trace": "in/a.json", `+names+`}`, `^name\npart\nwork\n$`) // it was not read again
	if err := os.Chtimes(path, time.Now(), time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	a.wants("query", `{"trace": "in/a.json", `+names+`}`, `^name\nelse\npart\n$`)
	a.wants("query", `{"trace": "in/one", `+names+`}`, `^name\npart\nwork\n$`)
	a.fails("query", `{"trace": "in/many", `+names+`}`, `several traces: b.json \(t_.*a.json.*trace_id`)
	a.wants("query", `{"trace": "in/many", "trace_id": "b.json", `+names+`}`, `^name\nmore\npart\nwork\n$`)
	a.wants("open", `{"trace": "in/many", "trace_id": "b.json"}`, `(?m)^damaged: 1 |^lost: 1 `)
	for _, outside := range []string{"outside.json", "in/../outside.json", "in/link.json", "/etc/passwd", ".", "/proc/self/environ", "none.json", "/none"} {
		a.fails("open", asJSON(map[string]any{"trace": outside}), `is not below in`)
	}
	a.fails("open", `{"trace": "in/none.json"}`, `^in/none.json: no such file or folder$`)
	for i := range 10 { // more than stay open
		name := fmt.Sprintf("in/%d.json", i)
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(strings.ReplaceAll(goodTrace, "work", name)), 0o666); err != nil {
			t.Fatal(err)
		}
		a.wants("query", `{"trace": "`+name+`", `+names+`}`, name)
	}
	a.wants("query", `{"trace": "in/0.json", `+names+`}`, "in/0.json")
	a.fails("compare", `{"before": ["in/one"], "after": ["outside.json"]}`, `is not below in`)
	a.wants("compare", `{"before": ["in/one"], "after": ["in/many"]}`, `1 trace before, 2 after`)
	const endless = `{"trace": "in/one", "sql": "WITH RECURSIVE a(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM a) SELECT count(*) FROM a"}`
	a.fails("query", endless, `takes more than 2s`)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, _ = a.CallTool(ctx, &sdk.CallToolParams{Name: "query", Arguments: json.RawMessage(endless)})
	a.wants("query", `{"trace": "in/one", `+names+`}`, `^name\npart\nwork\n$`)
}

// The same tools answer by HTTP, but not to pages of other sites.
func TestMCPByHTTP(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("has no SIGTERM")
	}
	dir := folder(t, map[string]string{"a.json": goodTrace})
	if got := tpconvert(t, dir, "mcp", "--http", "127.0.0.1:0"); got.code != exitUsage {
		t.Errorf("without INPUT: %+v", got)
	}
	cmd := command(t, dir, "--json", "mcp", "--http", "0.0.0.0:0", "a.json")
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var at mcpServing
	if err := json.NewDecoder(stdout).Decode(&at); err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(strings.TrimPrefix(at.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range addresses(t) {
		url := "http://" + net.JoinHostPort(address, port)
		a := connected(t, &sdk.StreamableClientTransport{Endpoint: url})
		a.wants("query", `{"sql": "SELECT name FROM slice ORDER BY 1"}`, `^name\npart\nwork\n$`)
		for _, header := range [][2]string{{"Origin", "https://example.com"}, {"Host", "example.com"}, {"Sec-Fetch-Site", "cross-site"}} {
			if status := postHeader(t, url, header[0], header[1]); status != 403 {
				t.Errorf("%s, %s: status %d", address, header, status)
			}
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// addresses returns addresses of this machine for IPv4: those of itself, and of a network if there is one.
func addresses(t *testing.T) []string {
	t.Helper()
	all := []string{"127.0.0.1"}
	found, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range found {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			return append(all, n.IP.String())
		}
	}
	return all
}

// postHeader posts a call with a header, and returns the status.
func postHeader(t *testing.T, url, header, value string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	request.Header.Set(header, value)
	if header == "Host" {
		request.Host = value
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode
}

package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// reported returns the page about an input.
func reported(t *testing.T, dir string, args ...string) string {
	t.Helper()
	got := tpconvert(t, dir, append([]string{"-q", "report", "-o", "-"}, args...)...)
	got.expect(t, exitDone, "")
	return got.stdout
}

func sum(values []float64) (s float64) {
	for _, v := range values {
		s += v
	}
	return s
}

// drawn is what the script of a page draws.
type drawn struct {
	Dur, Width int64
	Lanes      []struct {
		Group, Name, Sum string
		Busy             []byte
	}
	Names []string
	Trees []struct {
		Title, Unit           string
		Cut                   int
		Owners                []string
		Parent, Name, Smaller []int
		Self, Value           []float64 // Value is computed: of a node with those below it
	}
}

// unpacked returns what is compressed in an element of a page.
func unpacked(t *testing.T, page, id string) []byte {
	t.Helper()
	text := regexp.MustCompile(`(?s)id="` + id + `">"(.*?)"</script>`).FindStringSubmatch(page)
	if text == nil {
		t.Fatalf("the page has no %s", id)
	}
	r, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(text[1])))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func drawnBy(t *testing.T, page string) (d drawn) {
	t.Helper()
	if err := json.Unmarshal(unpacked(t, page, "data"), &d); err != nil {
		t.Fatal(err)
	}
	for k := range d.Trees {
		tree := &d.Trees[k]
		tree.Value = slices.Clone(tree.Self)
		for i, parent := range slices.Backward(tree.Parent) {
			if parent >= 0 {
				tree.Value[parent] += tree.Value[i]
			}
		}
	}
	return d
}

var (
	scriptOfPage = regexp.MustCompile(`(?s)<script>(.*?)</script>`)
	sqlOfPage    = regexp.MustCompile(`(?s)<pre>(.*?)</pre>`)
	rowOfPage    = regexp.MustCompile(`(?s)<tr[^>]*>(.*?)</tr>`)
	cellOfPage   = regexp.MustCompile(`(?s)<t[dh][^>]*>(?:<svg.*?</svg>)*(?:<span>)?(.*?)(?:</span>)?</t[dh]>`)
)

// rowsOfPage returns the rows of the tables of a page, as text.
func rowsOfPage(page string) (rows []string) {
	for _, row := range rowOfPage.FindAllStringSubmatch(page, -1) {
		var cells []string
		for _, cell := range cellOfPage.FindAllStringSubmatch(row[1], -1) {
			cells = append(cells, html.UnescapeString(cell[1]))
		}
		rows = append(rows, strings.Join(cells, "|"))
	}
	return rows
}

// The rows are those that pandas and Polars give in the cookbook, and the SQL of each figure runs.
func TestReportHasRows(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tpconvert(t, dir, "-q", recorded(t, "chromium.json.gz"), "out").expect(t, exitDone, "")
	page := reported(t, dir, "out")
	rows := strings.Join(rowsOfPage(page), "\n") + "\n"
	for _, want := range []string{
		"\n20|1.525 s|80 ms|100 ms|100 ms|AnimationFrame\n", "\n128.3 ms|940.6 ms|BrowserMainRunnerImpl::Initialize|CrBrowserMain|", // dur, ts
		"\nformat|gzip/json\n", "\n430|373.9 ms|CrRendererMain|", // slices of the thread, time in them
	} {
		if !strings.Contains(rows, want) {
			t.Errorf("no row has %q: %s", want, rows)
		}
	}
	all := sqlOfPage.FindAllStringSubmatch(page, -1)
	if len(all) < 5 {
		t.Errorf("%d figures have SQL", len(all))
	}
	for _, sql := range all {
		got := tpconvert(t, dir, "query", "--perfetto", "--format", "csv", "out", html.UnescapeString(sql[1]))
		got.expect(t, exitDone, "")
		if strings.Count(got.stdout, "\n") < 2 {
			t.Errorf("the SQL of a figure gives no rows: %s", sql[1])
		}
	}
}

// A thread is busy from 0 to 400 ms and from 500 to 600 ms of 1 s. What is nested counts once.
func TestReportOverview(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"t.json": `[
		{"ph": "X", "pid": 1, "tid": 2, "ts": 0, "dur": 400000, "name": "a"}, {"ph": "X", "pid": 1, "tid": 2, "ts": 100, "dur": 300000, "name": "b"},
		{"ph": "X", "pid": 1, "tid": 2, "ts": 500000, "dur": 100000, "name": "c"}, {"ph": "i", "pid": 1, "tid": 2, "ts": 1000000, "name": "end"}]`})
	d := drawnBy(t, reported(t, dir, "t.json"))
	if len(d.Lanes) != 1 || d.Lanes[0].Group != "Threads, in slices" || d.Dur != 1e9 {
		t.Fatalf("%+v", d)
	}
	for i, busy := range d.Lanes[0].Busy {
		from, to := int64(i)*d.Width, int64(i+1)*d.Width
		within := func(a, b int64) int64 { return max(0, min(to, b)-max(from, a)) }
		want := 255 * float64(within(0, 4e8)+within(5e8, 6e8)) / float64(d.Width)
		if diff := float64(busy) - want; diff < 0 || diff > 1 {
			t.Fatalf("bucket %d is %d, want %.1f", i, busy, want)
		}
	}
	tree := d.Trees[0]
	if sum(tree.Self) != 5e8 || len(tree.Value) != 3 || tree.Value[0] != 4e8 || tree.Value[2] != 3e8 || tree.Parent[2] != 0 {
		t.Errorf("%+v", tree)
	}
}

// The flame graph of a profile has the values that pprof's own package reads.
func TestReportProfile(t *testing.T) {
	t.Parallel()
	d := drawnBy(t, reported(t, t.TempDir(), recorded(t, "go_cpu.pb.gz")))
	want, leaves := 0.0, map[string]float64{}
	for _, s := range parsed(t, recorded(t, "go_cpu.pb.gz")).Sample {
		want += float64(s.Value[1])
		outermost := s.Location[len(s.Location)-1]
		leaves[outermost.Line[len(outermost.Line)-1].Function.Name] += float64(s.Value[1])
	}
	tree := d.Trees[0]
	if sum(tree.Self) != want || tree.Unit != "ns" || !strings.HasSuffix(tree.Title, ": cpu") {
		t.Errorf("%s has %g %s, want %g ns", tree.Title, sum(tree.Self), tree.Unit, want)
	}
	got := map[string]float64{}
	for i, parent := range tree.Parent {
		if parent < 0 {
			got[d.Names[tree.Name[i]]] += tree.Value[i]
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(leaves) {
		t.Errorf("the outermost functions are %v, want %v", got, leaves)
	}
}

// Names cannot become part of the page, nor change how others are shown.
func TestReportEscapes(t *testing.T) {
	t.Parallel()
	names := []string{`</script><script>alert(1)</script>`, `<img src=x onerror=alert(1)>`, "\x1b[31mred", "safe\u202egnp.exe", `"><svg onload=alert(1)>`}
	var events []map[string]any
	for i, name := range names {
		events = append(events, map[string]any{"ph": "X", "pid": 1, "tid": i, "ts": i, "dur": 5, "name": name},
			map[string]any{"ph": "M", "pid": 1, "tid": i, "name": "thread_name", "args": map[string]any{"name": name}})
	}
	text, err := json.Marshal(events)
	if err != nil {
		t.Fatal(err)
	}
	dir := folder(t, map[string]string{"<b>.json": string(text), "other.json": goodTrace})
	compared := reported(t, dir, "--compare", "<b>.json", "other.json")
	page := reported(t, dir, "<b>.json")
	for scripts, page := range map[int]string{2: page, 1: compared} {
		all := scriptOfPage.FindAllStringSubmatch(page, -1)
		if len(all) != scripts {
			t.Errorf("the page has %d scripts", len(all))
		}
		policy := html.UnescapeString(regexp.MustCompile(`Policy" content="([^"]*)"`).FindStringSubmatch(page)[1])
		allowed := "; script-src"
		for _, script := range all {
			sum := sha256.Sum256([]byte(script[1]))
			allowed += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		}
		if scripts > 1 { // the library, which the page unpacks
			sum := sha256.Sum256(unpacked(t, page, "library"))
			allowed += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		}
		if !strings.HasPrefix(policy, "default-src 'none';") || !strings.HasSuffix(policy, allowed) {
			t.Errorf("the policy is %s", policy)
		}
		page = scriptOfPage.ReplaceAllLiteralString(page, "")
		for _, bad := range []string{"<script>", "<img", "<svg onload", "<b>", "\x1b", "\u202e", "unsafe", "http:", "https:"} {
			if strings.Contains(page, bad) {
				t.Errorf("the page has %q", bad)
			}
		}
	}
	if d := drawnBy(t, page); len(d.Names) != len(names) || !strings.Contains(strings.Join(d.Names, " "), names[0]) {
		t.Errorf("the functions are %q", d.Names)
	}
}

// A page stays small, and says what it leaves out.
func TestReportIsSmall(t *testing.T) {
	t.Parallel()
	var trace bytes.Buffer
	trace.WriteString("[")
	for i := range 12_000 {
		fmt.Fprintf(&trace, `{"ph":"X","pid":1,"tid":%d,"ts":%d,"dur":%d,"name":"%d %s"},`, i%50, i*10, 5+i%3, i, strings.Repeat("name", 100))
	}
	page := reported(t, folder(t, map[string]string{"t.json": trace.String() + "{}]"}), "t.json")
	if len(page) > 3<<20 {
		t.Errorf("the page has %d bytes", len(page))
	}
	d := drawnBy(t, page)
	if tree := d.Trees[0]; tree.Cut != 0 || len(tree.Value) != 12_000 || len(tree.Smaller) != 0 {
		t.Errorf("%d boxes, %d left out, %d are several", len(tree.Value), tree.Cut, len(tree.Smaller))
	}
}

// Functions that are too many to be kept are one box below their caller, whose own value stays what it is.
func TestReportSmaller(t *testing.T) {
	t.Parallel()
	var folded bytes.Buffer
	for i := range 160_000 {
		fmt.Fprintf(&folded, "main;f%d;work 1\n", i)
	}
	folded.WriteString("main 100\n")
	d := drawnBy(t, reported(t, folder(t, map[string]string{"cut.folded": folded.String()}), "cut.folded"))
	tree := d.Trees[0]
	functions := len(tree.Self)
	for _, several := range tree.Smaller {
		functions += several - 1
	}
	if d.Names[tree.Name[0]] != "main" || tree.Self[0] != 100 || tree.Value[0] != 160_100 || functions != 1+2*160_000 {
		t.Errorf("%s has %g, %g itself, in %d functions", d.Names[tree.Name[0]], tree.Value[0], tree.Self[0], functions)
	}
	rest := 0.0
	for i, parent := range tree.Parent {
		if tree.Name[i] < 0 && parent == 0 {
			rest += tree.Value[i]
		}
	}
	if rest < 1000 {
		t.Errorf("functions that main calls and that are not kept have %g", rest)
	}
}

// The page has the rows of compare.
func TestReportCompares(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("testdata", "compare", "slices")
	sides := []string{"before", "after"}
	for i, side := range sides {
		files, err := filepath.Glob(filepath.Join(dir, side, "*"))
		if err != nil || len(files) == 0 {
			t.Fatal(err)
		}
		sides[i] = filepath.Join(side, filepath.Base(files[0]))
	}
	page := reported(t, dir, append([]string{"--compare"}, sides...)...)
	rows := strings.Join(rowsOfPage(page), "\n") + "\n"
	compared := compared(t, dir, sides...)
	for _, want := range compared {
		if !strings.Contains(rows, "|"+want["name"]+"\n") {
			t.Errorf("no row has %s: %s", want["name"], rows)
		}
	}
	if len(compared) == 0 || !strings.Contains(page, "1 trace before, 1 after") {
		t.Errorf("%d differences; the page does not say how many traces are compared", len(compared))
	}
}

// Of ten traces before and ten after a function became slower, the page names that function first, with a point for each trace. Of
// halves of one side it names nothing.
func TestReportComparesMany(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("testdata", "compare", "slices")
	page := reported(t, dir, "--compare", "before", "after")
	_, first, ok := strings.Cut(page, "<h2>Differences that are not noise: p below 0.01</h2>")
	first, _, _ = strings.Cut(first, "</section>")
	rows := rowOfPage.FindAllString(first, -1)
	if !ok || len(rows) != 2 || !strings.Contains(rows[1], "<span>checksum</span>") {
		t.Fatalf("the differences are %q", rows)
	}
	var points [2][]float64
	for i, side := range []string{"before", "after"} {
		path := regexp.MustCompile(`class="` + side + ` dots" d="([^"]*)"`).FindStringSubmatch(rows[1])
		for _, at := range regexp.MustCompile(`M([0-9.]+) `).FindAllStringSubmatch(path[1], -1) {
			x, err := strconv.ParseFloat(at[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			points[i] = append(points[i], x)
		}
	}
	// Every run after is slower than all before, the slowest is at the right end.
	if len(points[0]) != 10 || len(points[1]) != 10 || points[0][9] >= points[1][0] || points[1][9] != 99 || points[0][0] <= 1 {
		t.Errorf("points at %v", points)
	}
	var halves [2][]string
	for i := range 10 {
		halves[i/5] = append(halves[i/5], filepath.Join("before", fmt.Sprintf("%d.json.gz", i)))
	}
	if page := reported(t, dir, slices.Concat([]string{"--compare"}, halves[0], []string{"--"}, halves[1])...); !strings.Contains(page, "There are none: no difference has p below 0.01.") {
		t.Error("halves of one side differ")
	}
}

// Without --output the page is beside the trace, and a later one takes its place.
func TestReportBeside(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"t.json": goodTrace})
	for range 2 {
		got := tpconvert(t, dir, "-q", "report", "t.json")
		got.expect(t, exitDone, "")
		path := "t.json.report.html"
		if got.stdout != path+"\n" {
			t.Errorf("it says %q", got.stdout)
		}
		if text, err := os.ReadFile(filepath.Join(dir, path)); err != nil || !strings.HasPrefix(string(text), "<!DOCTYPE html>") {
			t.Errorf("%v: %.20s", err, text)
		}
	}
}

// The page of the folder that one is in has its name.
func TestReportOfWorkingDirectory(t *testing.T) {
	t.Parallel()
	dir := dataset(t, goodTrace)
	got := tpconvert(t, filepath.Join(dir, "out"), "-q", "report", ".")
	got.expect(t, exitDone, "")
	if _, err := os.Stat(filepath.Join(dir, "out.report.html")); err != nil {
		t.Error(err)
	}
}

func TestReportRefuses(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"t.json": goodTrace, "there.html": "mine"})
	tpconvert(t, dir, "report", "-").expect(t, exitUsage, "want --output")
	tpconvert(t, dir, "report", "--compare", "t.json", "t.json").expect(t, exitUsage, "want --output")
	tpconvert(t, dir, "report", "-o", "x.html", "--compare", "t.json").expect(t, exitUsage, "BEFORE")
	tpconvert(t, dir, "report", "-o", "there.html", "t.json").expect(t, exitFailure, "there.html exists")
	tpconvert(t, dir, "report", "-o", "x.html", ".").expect(t, exitUsage, ". is a folder of traces")
	tpconvert(t, dir, "report", "-o", "there.html", "--force", "t.json").expect(t, exitDone, "")
	if text, err := os.ReadFile(filepath.Join(dir, "there.html")); err != nil || !strings.HasPrefix(string(text), "<!DOCTYPE html>") {
		t.Errorf("%v: %.20s", err, text)
	}
}

// chromium returns the path of a browser.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatal("there is no chromium, which .ci/run installs")
	}
	t.Skip("!!! NOT RUN: there is no chromium to look at pages with")
	return ""
}

// browse runs a browser without a screen.
func browse(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), chromium(t), append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--enable-logging=stderr",
		"--user-data-dir=" + filepath.Join(dir, "browser"), "--virtual-time-budget=3000"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	if said := regexp.MustCompile(`(?m)^.*CONSOLE.*$`).FindString(stderr.String()); said != "" {
		t.Error(said)
	}
	return out
}

// inBrowser runs a script in a page, with page/testdata/browser.js before it, and returns what it found.
func inBrowser(t *testing.T, page, script string) (found map[string]string) {
	t.Helper()
	library, err := os.ReadFile(filepath.Join("page", "testdata", "browser.js"))
	if err != nil {
		t.Fatal(err)
	}
	script = string(library) + "run(async () => {" + script + "});"
	sum := sha256.Sum256([]byte(script))
	page = strings.Replace(page, "script-src", "script-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'", 1)
	page = strings.Replace(page, "</title>", "</title><script>"+script+"</script>", 1)
	dir := folder(t, map[string]string{"report.html": page})
	dom := browse(t, dir, "--window-size=1200,2000", "--dump-dom", "file://"+filepath.Join(dir, "report.html"))
	text := regexp.MustCompile(`(?s)<pre id="found">(.*?)</pre>`).FindSubmatch(dom)
	if text == nil {
		t.Fatal("the script did not end")
	}
	if err := json.Unmarshal([]byte(html.UnescapeString(string(text[1]))), &found); err != nil {
		t.Fatalf("%v: %s", err, text[1])
	}
	return found
}

// Reports of a notebook share the library of one, whether their cells are frames of one page, as in Jupyter, or each is a page of another
// origin than the notebook's, as in Colab.
func TestReportsInNotebook(t *testing.T) {
	t.Parallel()
	chromium(t)
	page := reported(t, folder(t, map[string]string{"t.json": `[{"ph": "X", "pid": 1, "tid": 2, "ts": 0, "dur": 4, "name": "a"}]`}), "t.json")
	without := regexp.MustCompile(`(id="library">)[^<]*`).ReplaceAllString(page, "$1")
	frame := func(report string) string {
		return `<iframe srcdoc="` + html.EscapeString(report) + `" width="1000" height="800"></iframe>`
	}
	const tell = `<meta charset="utf-8"><script>setInterval(() => {
		for (let i = 0; i < frames.length; i++) try {
			if (frames[i].document.querySelector("canvas")) top.postMessage(location.pathname + i, "*");
		} catch { /* it is of another origin */ }
	}, 100)</script><img src="/slow">`
	serve := func(pages map[string]string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" { // the browser's clock stands still meanwhile
				time.Sleep(time.Second)
			}
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, pages[r.URL.Path])
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	const hear = `<!DOCTYPE html><pre id="drawn"></pre><script>
		const all = new Set(), drawn = document.getElementById("drawn");
		onmessage = e => { all.add(e.data); drawn.textContent = [...all].sort().join(); };</script>`
	for _, c := range []struct {
		colab   bool
		reports []string
		want    string // the frames with a picture
	}{
		{false, []string{page, without, without}, "/0,/1,/2"},
		{true, []string{page, without, without}, "/00,/10,/20"},
		{true, []string{without, page}, "/00,/10"},
		{true, []string{without}, ""},
	} {
		together, apart, cells := tell, "", map[string]string{}
		for i, report := range c.reports {
			together += frame(report)
			cells[fmt.Sprint("/", i)] = tell + frame(report)
		}
		at := serve(cells)
		for i := range c.reports {
			apart += fmt.Sprintf(`<iframe src="%s/%d" sandbox="allow-scripts allow-same-origin"></iframe>`, at, i)
		}
		notebook := together
		if c.colab {
			notebook = apart
		}
		dom := browse(t, t.TempDir(), "--virtual-time-budget=20000", "--dump-dom", serve(map[string]string{"/": hear + notebook}))
		if !strings.Contains(string(dom), `<pre id="drawn">`+c.want+"</pre>") {
			t.Errorf("%d reports, want %q: %.300s", len(c.reports), c.want, dom)
		}
	}
}

// A page as people use it: what they see below the pointer, after they zoomed, searched, and clicked.
func TestReportInBrowser(t *testing.T) {
	t.Parallel()
	chromium(t)
	page := reported(t, folder(t, map[string]string{"t.json": `[
		{"ph": "M", "pid": 1, "tid": 2, "name": "thread_name", "args": {"name": "main"}}, {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "app"}},
		{"ph": "X", "pid": 1, "tid": 2, "ts": 0, "dur": 400000, "name": "a"}, {"ph": "X", "pid": 1, "tid": 2, "ts": 100, "dur": 300000, "name": "b"},
		{"ph": "X", "pid": 1, "tid": 2, "ts": 500000, "dur": 100000, "name": "c"}, {"ph": "i", "pid": 1, "tid": 2, "ts": 1000000, "name": "end"},
		{"ph": "X", "pid": 1, "tid": 3, "ts": 0, "dur": 100000, "name": "</script><img src=x onerror=alert(1)>"}]`}), "t.json")
	got := inBrowser(t, page, `
		const overview = pictureIn(".timeline"), plot = overview.width - 240, lane = 49; // below the axis and a title
		const at = ms => 240 + plot * ms / 1000, near = Math.ceil(1000 / plot);
		const range = () => {
			const ms = x => overview.hover(x, lane).match(/at (.*) (s|ms|µs|ns): /);
			return [ms(240), ms(overview.width - 1)].map(([, n, unit]) => Math.round(n * {s: 100, ms: 0.1}[unit] || 0) * 10).join();
		};
		found("busy", overview.hover(at(200), lane));
		found("idle", overview.hover(at(450), lane).split("\n").at(-1).replace(/at .*:/, ""));
		found("name", overview.hover(20, lane));
		found("colors", [200, 450].map(ms => overview.hue(at(ms), lane)).join());
		overview.drag(at(400), at(600), lane); await frames();
		found("dragged", range());
		found("dragged colors", [300, 500, 700].map(x => overview.hue(at(x), lane)).join());
		overview.key("ArrowRight"); found("moved", range());
		overview.key("0"); found("whole", range());
		overview.key("+"); found("nearer", range());
		document.querySelector(".timeline button").click(); found("button", range());
		found("scrolls", String(overview.wheel(at(250), lane, {deltaY: -100})));
		found("zooms", String(!overview.wheel(at(250), lane, {deltaY: -100, ctrlKey: true})));
		await frames();
		found("wheel", range());
		[...document.querySelectorAll("tr.linked")].find(row => [...row.cells].some(cell => cell.textContent === "c")).click();
		await frames();
		found("row", range());
		found("row colors", [250, 500, 750].map(x => overview.hue(at(x), 31)).join());

		const graph = pictureIn(".flame"), x = part => graph.width * part, y = depth => 19 * depth + 9;
		found("first thread", graph.hover(x(0.3), y(1)));
		const [owners, order] = [() => document.querySelectorAll(".flame select")[1], document.querySelector(".flame select[title]")];
		owners().value = "-1"; owners().dispatchEvent(new Event("change"));
		await frames();
		found("box", graph.hover(x(0.3), y(2)));
		found("parent", graph.hover(x(0.3), y(1)));
		found("nothing", graph.hover(x(0.99), y(2)));
		const [search, threads] = [document.querySelector(".flame input"), owners()];
		const names = () => [0, 1, 2].map(depth => [0.3, 0.65, 0.8, 0.95].map(part => graph.hover(x(part), y(depth)).split("\n")[0]).join()).join(" ");
		const steps = [["boxes", () => {}], ["zoomed", () => graph.click(x(0.3), y(1))], ["around", () => graph.click(x(0.3), y(0))], ["zoomed more", () => graph.click(x(0.3), y(2))],
			["up", () => graph.click(x(0.3), y(2))], ["escaped", () => graph.key("Escape")]];
		for (const [name, act] of steps) { act(); await frames(); found(name, names()); }
		search.value = "B"; search.dispatchEvent(new Event("input"));
		await frames();
		found("share", document.querySelector(".flame .tools .note").textContent);
		found("match colors", [0.3, 0.95].map(part => graph.hue(x(part), y(part < 0.5 ? 2 : 1))).join());
		threads.value = [...threads.options].find(o => o.textContent.includes("3:")).value; threads.dispatchEvent(new Event("change"));
		await frames();
		found("hostile", graph.hover(x(0.5), y(1)).split("\n")[0]);
		found("images", String(document.images.length));
		search.value = ""; search.dispatchEvent(new Event("input"));
		order.selectedIndex = 2; order.dispatchEvent(new Event("change"));
		await frames();
		found("in time", [0.3, 0.45, 0.55].map(part => graph.hover(x(part), y(1))).join());
		graph.click(x(0.05), y(2)); await frames();
		found("zoomed in time", [0, 1, 2].map(depth => graph.hover(x(0.9), y(depth)).split("\n")[0]).join());
		Object.defineProperty(navigator, "clipboard", {value: {writeText: text => found("copied", text)}});
		document.querySelector(".flame button").click();
	`)
	all := "all,all,all,all a,a,c,</script><img src=x onerror=alert(1)> b,,,"
	for name, want := range map[string]string{
		// 500 of the 1,000 ms that are shown; violet where the thread was busy.
		"busy": "main\napp\n500 ms in the trace\nat 199.6 ms: 100 %", "idle": " 0 %", "name": "main\napp\n500 ms in the trace", "colors": "265,",
		"dragged": "400,600", "dragged colors": ",265,265", "moved": "450,650", "whole": "0,1000", "nearer": "250,750", "button": "0,1000",
		// The wheel alone scrolls the page. With Ctrl, 0.72 of the range are left, and 250 ms stay below the pointer.
		"scrolls": "true", "zooms": "true", "wheel": "70,790",
		// c lasts from 500 to 600 ms, and as much is shown on both sides. It is yellow.
		"row": "400,700", "row colors": ",49,",
		"box": "b\n300 ms, 50.0 %\nself 300 ms", "parent": "a\n400 ms, 66.7 %\nself 100 ms", "nothing": "",
		"boxes": all, "zoomed": "all,all,all,all a,a,a,a b,b,,", "around": all, "zoomed more": "all,all,all,all a,a,a,a b,b,b,b",
		"up": "all,all,all,all a,a,a,a b,b,,", "escaped": all,
		"share": "50.0 % of 600 ms match", "match colors": "47,45",
		"hostile": "</script><img src=x onerror=alert(1)>", "images": "0",
		"first thread": "a\n400 ms, 80.0 %\nself 100 ms", "in time": "a\n400 ms, 40.0 %\nat 0 ns,,c\n100 ms, 10.0 %\nat 500 ms",
		"zoomed in time": "app / main,a,b", "copied": "a\nb",
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	if got["error"] != "" {
		t.Error(got["error"])
	}
}

// What takes no time has no duration, and what is on time is not late.
func TestReportOfInstants(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"instants.json": `[{"ph":"i","name":"tick","pid":1,"tid":1,"ts":1},{"ph":"i","name":"tick","pid":1,"tid":1,"ts":5},
		{"ph":"X","name":"work","pid":1,"tid":1,"ts":6,"dur":3}]`})
	if page := visible(reported(t, dir, "instants.json")); strings.Contains(page, "0 ns") || !strings.Contains(page, " 2 tick") {
		t.Error(page)
	}
	if page := visible(reported(t, dir, recorded(t, "arrays.hprof"))); strings.Contains(page, " 1 ns") {
		t.Error(page)
	}
	if page := visible(reported(t, dir, recorded(t, "frames.pftrace"))); !strings.Contains(page, "Frames by jank type: None was on time") || !strings.Contains(page, "2 of 5 frames were late") {
		t.Error(page)
	}
}

var notVisible = regexp.MustCompile(`(?s)<script.*?</script>|<style.*?</style>|<pre.*?</pre>|<[^>]*>`)

// visible returns the text of a page without its SQL.
func visible(page string) string {
	return strings.Join(strings.Fields(html.UnescapeString(notVisible.ReplaceAllString(page, " "))), " ")
}

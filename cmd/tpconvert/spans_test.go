package main

import (
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// cart returns a request that calls a store twice at the same time, of which the second call takes longer or fails, and one call
// that outlasts it. The first 10 ms and the last 10 ms, of 100 ms and what the second call takes longer, are its own.
func cart(later, status string) string {
	return `{"resourceSpans":[
		{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"web"}}]},"scopeSpans":[{"spans":[
			{"traceId":"00000000000000000000000000000001","spanId":"0000000000000001","name":"GET /cart","startTimeUnixNano":"1000000000","endTimeUnixNano":"1` + later + `00000000"}]}]},
		{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"store"}}]},"scopeSpans":[{"spans":[
			{"traceId":"00000000000000000000000000000001","spanId":"0000000000000002","parentSpanId":"0000000000000001","name":"HGET","startTimeUnixNano":"1010000000","endTimeUnixNano":"1050000000"},
			{"traceId":"00000000000000000000000000000001","spanId":"0000000000000003","parentSpanId":"0000000000000001","name":"HGETALL","startTimeUnixNano":"1020000000","endTimeUnixNano":"1` + minus10(later) + `90000000",
				"status":{"code":` + status + `}},
			{"traceId":"00000000000000000000000000000001","spanId":"0000000000000004","parentSpanId":"0000000000000001","name":"log","startTimeUnixNano":"1` + later + `00000000","endTimeUnixNano":"1950000000"}]}]}]}`
}

// minus10 returns the digit before.
func minus10(digit string) string { return string(digit[0] - 1) }

// The self time of a span is the time without any child, in any service: the caller is not blamed for what it calls.
func TestSpansCallTree(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"a.json": cart("1", "0"), "b.json": cart("2", "2")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := tpconvert(t, dir, "-q", "compare", "a.json", "b.json")
	for _, want := range []string{`70 ms +170 ms +\+100 ms .* self +HGETALL `, `20 ms +20 ms +0 ns .* self +GET /cart `, `40 ms +40 ms +0 ns .* self +HGET `} {
		if !regexp.MustCompile(want).MatchString(got.stdout) {
			t.Errorf("compare has no line %q:\n%s", want, got.stdout)
		}
	}

	page := reported(t, dir, "b.json")
	rows := shownRows(page)
	for _, want := range []string{
		"1 0 200 ms 200 ms 200 ms 200 ms 200 ms GET /cart web",   // a request, by its quantiles
		"3 1 170 ms 692 ms 960 ms web store",                     // the calls of a service
		"170 ms 20 ms HGETALL: 170 ms \u2003HGETALL store error", // of the waterfall
	} {
		if !strings.Contains(rows, want+"\n") {
			t.Errorf("the report has no row %q:\n%s", want, rows)
		}
	}
	if want := "log of store itself took 76.5 % of the time of all spans: 750 ms."; !strings.Contains(page, want) {
		t.Errorf("at a glance, the page does not say %q", want)
	}
	self := map[string]float64{}
	d := drawnBy(t, page)
	for _, tree := range d.Trees {
		for i, name := range tree.Name {
			self[d.Names[name]] += tree.Self[i]
		}
	}
	if self["GET /cart"] != 20e6 || self["HGETALL"] != 170e6 || self["log"] != 750e6 {
		t.Errorf("the flame graph has %v", self)
	}
}

var (
	tag   = regexp.MustCompile(`<[^>]*>`)
	space = regexp.MustCompile(` +`)
)

// shownRows returns the rows of a page's tables, a line each.
func shownRows(page string) string {
	var all strings.Builder
	for _, row := range strings.Split(page, "<tr")[1:] {
		row, _, _ = strings.Cut(row, "</tr>")
		_, row, _ = strings.Cut(row, ">")
		all.WriteString(strings.TrimSpace(space.ReplaceAllString(html.UnescapeString(tag.ReplaceAllString(row, " ")), " ")) + "\n")
	}
	return all.String()
}

// A thread that runs or sleeps at the end of the trace does so until then. A bar has the scale of the trace, and all tables of CPU time
// agree.
func TestOpenStates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const text = `# tracer: nop
#
          <idle>-0     [000] d..2   100.000000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=work next_pid=10 next_prio=120
            work-10    [000] d..2   100.001000: sched_switch: prev_comm=work prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
          <idle>-0     [000] d..2   100.900000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=other next_pid=11 next_prio=120
          <idle>-0     [001] d..2   101.000000: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=last next_pid=12 next_prio=120
`
	if err := os.WriteFile(filepath.Join(dir, "open.ftrace"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	page := reported(t, dir, "open.ftrace")
	for _, want := range []string{
		`<rect class="running" x="0.00%" width="0.10%" height="100%"><title>Running: 1 ms</title></rect><rect class="sleeping" x="0.10%" width="99.90%" height="100%"><title>S: 999 ms</title>`,
		`<rect class="running" x="0.00%" width="10.00%" height="100%"><title>Running: 100 ms</title>`,
		`<title>Running: 0 ns</title>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the states have no %s", want)
		}
	}
	rows := shownRows(page)
	for _, want := range []string{"100 ms other", "0 101 ms"} { // by thread, by core
		if !strings.Contains(rows, want+"\n") {
			t.Errorf("the report has no row %q:\n%s", want, rows)
		}
	}
}

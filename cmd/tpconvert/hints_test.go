//go:build cgo

package main

import (
	"strings"
	"testing"
)

// TestDuckDBHints checks errors that say what to do instead, and do not show the insides of macros.
func TestDuckDBHints(t *testing.T) {
	dir := dataset(t, `[{"ph":"X","pid":1,"tid":1,"ts":1,"dur":2,"name":"a"}]`)
	for sql, want := range map[string]string{
		"CREATE PERFETTO TABLE x AS SELECT 1 AS a":                   "This is PerfettoSQL: query --perfetto runs it\nline 1:",
		"INCLUDE PERFETTO MODULE slices.with_context":                "This is PerfettoSQL: query --perfetto runs it\nline 1:",
		"SELECT * FROM _interval_intersect!((a, b), ())":             "_interval_intersect! is a macro of PerfettoSQL: query --perfetto runs it, after INCLUDE PERFETTO MODULE intervals.intersect\n",
		"SELECT twice!(3)":                                           "tpconvert: twice! is a macro of PerfettoSQL: query --perfetto runs it\nline 1:",
		"SELECT twice!(dur) FROM slice":                              "tpconvert: twice! is a macro of PerfettoSQL: query --perfetto runs it\nline 1:",
		"SELECT durr FROM slice":                                     "Candidate bindings: \"dur\"",
		"SELECT * FROM android_startups":                             `tpconvert: android_startups is made by Perfetto's module android.startup.startups, in PerfettoSQL: tpconvert query --perfetto ... "INCLUDE PERFETTO MODULE android.startup.startups; ..."`,
		"SELECT * FROM span_join('slice', 'sched', 'no''ne')":        "tpconvert: Binder Error: the sources have no column no'ne, which is the partition\nline 1:",
		"SELECT * FROM interval_intersect('slice', 'sched', 'none')": "tpconvert: Binder Error: the sources have no column none, which is the partition\nline 1:",
		"SELECT * FROM span_join('slice', 'SELECT 1 AS a', 'utid')":  "tpconvert: Binder Error: a source has no column ts\nline 1:",
		"SELECT * FROM slice WHERE extract_arg(arg_set_id, 'x') > 5": "\nextract_arg gives text: extract_arg_int and extract_arg_real give numbers\nline 1:",
		"SELECT sum(extract_arg(arg_set_id, 'x')) FROM slice":        "explicit type casts.\nextract_arg gives text: extract_arg_int and extract_arg_real give numbers\nline 1:",
	} {
		got := tpconvert(t, dir, "query", "out", sql)
		if got.code == exitDone || !strings.Contains(got.stderr, want) || strings.Contains(got.stderr, "COLUMNS(") {
			t.Errorf("%s: exit code %d, %s\nwant %s", sql, got.code, got.stderr, want)
		}
	}
}

package lake

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/export"
)

// result makes a result of outcomes such as "a=ok:X", for the URL a with the content X. a/2 is the second version of a.
func result(id string, outcomes ...string) task.Result {
	r := task.Result{Task: id, Attempt: "1"}
	for _, text := range outcomes {
		url, rest, _ := strings.Cut(text, "=")
		status, content, _ := strings.Cut(rest, ":")
		url, version, later := strings.Cut(url, "/")
		if !later {
			version = "1"
		}
		read := int64(version[0])
		o := task.Outcome{Trace: task.Trace{URL: url, ETag: version}, Read: &read, Status: status, Version: "v1", SHA256: strings.Repeat(content, 64)}
		if status == task.OK {
			o.TraceID = export.TraceID(o.SHA256)
		}
		r.Traces = append(r.Traces, o)
	}
	for _, table := range []string{"slice", "stats"} {
		r.Files = append(r.Files, task.File{Table: table, URL: table + "/" + id})
	}
	return r
}

func TestChoose(t *testing.T) {
	collides := result("2", "b=ok:B")
	collides.Traces[0].TraceID = export.TraceID(strings.Repeat("A", 64))
	collides.Traces[0].SHA256 = strings.Repeat("A", 16) + strings.Repeat("B", 48)
	for _, test := range []struct {
		name    string
		before  []task.Result // in the ledger
		results []task.Result
		want    string // account
		entries string
		files   int // of the table slice
	}{
		{"lost files", nil, []task.Result{result("lost", "a=ok:A", "b=bad:B"), result("2", "c=ok:C")},
			"ok 1 bad 1 copies 0 known 0 failed 0 again 1", "b=bad c=ok", 1},
		{"new", nil, []task.Result{result("1", "a=ok:A", "b=bad:B", "c=failed:", "d=copy:A")},
			"ok 1 bad 1 copies 1 known 0 failed 1 again 0", "a=ok b=bad d=copy", 1},
		{"repeated", []task.Result{result("1", "a=ok:A", "b=bad:B")}, []task.Result{result("1", "a=ok:A", "b=bad:B")},
			"ok 0 bad 0 copies 0 known 2 failed 0 again 0", "", 0},
		{"two attempts", nil, []task.Result{result("1", "a=ok:A"), result("1", "a=ok:A")},
			"ok 1 bad 0 copies 0 known 1 failed 0 again 0", "a=ok", 1},
		{"the same content elsewhere", []task.Result{result("1", "a=ok:A")}, []task.Result{result("2", "b=ok:A")},
			"ok 0 bad 0 copies 1 known 0 failed 0 again 0", "b=copy", 0},
		{"a task that is in partly", []task.Result{result("1", "a=ok:A")}, []task.Result{result("2", "a=ok:A", "b=ok:B", "c=copy:B", "d=bad:D", "e=ok:A")},
			"ok 0 bad 1 copies 1 known 1 failed 0 again 2", "d=bad e=copy", 0},
		{"a bad one is good now", []task.Result{result("1", "a=bad:A")}, []task.Result{result("2", "a=ok:A")},
			"ok 1 bad 0 copies 0 known 0 failed 0 again 0", "a=ok", 1},
		{"another content with the same id", []task.Result{result("1", "a=ok:A")}, []task.Result{collides},
			"ok 0 bad 1 copies 0 known 0 failed 0 again 0", "b=bad", 0},
		{"a newer version", []task.Result{result("1", "a=ok:A")}, []task.Result{result("2", "a/2=ok:B")},
			"ok 1 bad 0 copies 0 known 0 failed 0 again 0", "a=superseded a=ok", 1},
		{"a newer version of a copy", []task.Result{result("1", "a=ok:A", "b=copy:A")}, []task.Result{result("2", "b/2=ok:B")},
			"ok 1 bad 0 copies 0 known 0 failed 0 again 0", "b=superseded b=ok", 1},
		{"a newer version of what has a copy", []task.Result{result("1", "a=ok:A", "b=copy:A")}, []task.Result{result("2", "a/2=ok:B")},
			"ok 1 bad 0 copies 0 known 0 failed 0 again 0", "a=superseded a=ok", 1},
		{"an older version, late", []task.Result{result("1", "a/2=ok:B")}, []task.Result{result("2", "a=ok:A")},
			"ok 0 bad 0 copies 0 known 1 failed 0 again 0", "", 0},
		{"written again as it was", []task.Result{result("1", "a=ok:A")}, []task.Result{result("2", "a/2=ok:A")},
			"ok 0 bad 0 copies 0 known 1 failed 0 again 0", "", 0},
		{"moved, and another in its place", []task.Result{result("1", "a=ok:A")}, []task.Result{result("2", "b=ok:A"), result("3", "a/2=ok:B")},
			"ok 1 bad 0 copies 1 known 0 failed 0 again 0", "a=superseded a=ok", 1},
		{"moved after another came in its place", []task.Result{result("1", "a=ok:A")}, []task.Result{result("2", "a/2=ok:B", "b=copy:A")},
			"ok 1 bad 0 copies 1 known 0 failed 0 again 0", "a=superseded a=ok", 1},
		{"all bad", nil, []task.Result{result("1", "a=bad:A")},
			"ok 0 bad 1 copies 0 known 0 failed 0 again 0", "a=bad", 0},
	} {
		ledger := newLedger()
		choose(ledger, test.before, nil)
		for _, r := range test.before {
			for _, o := range r.Traces {
				if o.Status == task.Copy {
					ledger.copies[export.TraceID(o.SHA256)] = []task.Trace{o.Trace} // as readCopies does
				}
			}
		}
		c := choose(ledger, test.results, map[string]bool{"lost-1": true})
		a := c.account
		if got := fmt.Sprintf("ok %d bad %d copies %d known %d failed %d again %d", a.OK, a.Bad, a.Copies, a.Known, a.Failed, a.Again); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
		var entries []string
		for _, e := range c.entries {
			entries = append(entries, e.URL+"="+e.Status)
			if (e.TraceID != "") != (e.Status == task.OK || c.gone.Has(e.TraceID, "")) {
				t.Errorf("%s: %s has the id %q", test.name, e.URL, e.TraceID)
			}
		}
		if got := strings.Join(entries, " "); got != test.entries || len(c.files["slice"]) != test.files || len(c.files["stats"]) != test.files {
			t.Errorf("%s: entries %q and files %v, want %q, %d of each table", test.name, got, c.files, test.entries, test.files)
		}
	}
}

package lake

import (
	"fmt"
	"testing"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/batch"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/export"
)

// TestLedgerOfSome reads a ledger for some results: it knows their objects, others with their content, and no more.
func TestLedgerOfSome(t *testing.T) {
	const entries = 10_000
	var all []entry
	for i := range entries {
		content := fmt.Sprintf("%016d%048d", i, 0)
		all = append(all, entry{task: "task", Outcome: task.Outcome{Trace: task.Trace{URL: fmt.Sprint("s3://traces/", i), ETag: "1"}, Status: task.OK, Version: "v1", SHA256: content, TraceID: export.TraceID(content)}})
	}
	all[7].Status, all[7].TraceID = task.Bad, ""
	rows := records(all, false)
	defer rows.Release()
	g := newLedger()
	w := wantedBy([]task.Result{
		{Traces: []task.Outcome{all[3].Outcome, all[7].Outcome}},
		{Traces: []task.Outcome{{Trace: task.Trace{URL: "elsewhere"}, Status: task.Copy, SHA256: all[5].SHA256}}},
	})
	for rows.Next() {
		g.read(batch.Of(rows.RecordBatch()), w)
	}
	if !g.Object(all[3].Trace).Done || g.Object(all[7].Trace) != (Known{Bad: "v1"}) || g.Object(all[8].Trace) != (Known{}) {
		t.Error("the objects that were asked for are not as they were added")
	}
	if len(g.objects) != 3 || len(g.content) != 2 || g.content[all[3].TraceID].task != "task" || g.content[all[5].TraceID].task != "task" {
		t.Errorf("%d objects and %d contents are known, or others", len(g.objects), len(g.content))
	}
}

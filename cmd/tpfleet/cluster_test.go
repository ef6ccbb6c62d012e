package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/apache/iceberg-go"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/lake"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
)

// datedTraces returns traces that began on several days, n a day, interleaved, and those days.
func datedTraces(t *testing.T, days, n int) (files, names []string) {
	t.Helper()
	dir, first := t.TempDir(), time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for i := range days * n {
		day := first.AddDate(0, 0, i%days)
		if i < days {
			names = append(names, day.Format(time.DateOnly))
		}
		file := filepath.Join(dir, fmt.Sprintf("%03d.json", i))
		// A trace of OpenTelemetry has the wall clock.
		text := fmt.Sprintf(`{"resourceSpans":[{"resource":{},"scopeSpans":[{"spans":[{"traceId":"%032x","spanId":"%016x","name":"span %d","startTimeUnixNano":"%d","endTimeUnixNano":"%d"}]}]}]}`,
			i+1, i+1, i, day.UnixNano(), day.UnixNano()+1e6)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files, names
}

// touched returns the number of files of a table that a query of one trace or day opens, by Iceberg's metadata.
func touched(t *testing.T, l *lake.Lake, table string, column, value string) int {
	t.Helper()
	files, err := l.Files(t.Context(), table, iceberg.EqualTo(iceberg.Reference(column), value))
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// After compaction, a query of a trace or of a day opens few files of each table.
func TestClustered(t *testing.T) { everywhere(t, testClustered) }

func testClustered(t *testing.T, f *fleet) {
	const days, perDay = 4, 12
	files, names := datedTraces(t, days, perDay)
	results := tpfleet(t, f.run(t, "", "plan", "--task-traces", "8", f.upload(t, files...)), "work")
	f.run(t, results, "commit") // each task has traces of all days
	l := f.lake(t.Context(), t)
	id := idOf(t, f, "007.json")
	all := func() int { return int(fileCounts(t, f)["slice"]) }
	before := [3]int{all(), touched(t, l, "slice", "trace_id", id), touched(t, l, "slice", "trace_day", names[1])}
	if before[0] != 6 || before[2] != 6 {
		t.Errorf("before: %v", before)
	}
	if n := number(t, database(t), "SELECT count(DISTINCT trace_day) FROM "+f.source(t, l)(task.Ledger)); n != days {
		t.Errorf("the ledger has %d days", n)
	}
	// A target below the size of any file makes several of each day.
	if _, err := l.Compact(t.Context(), lake.CompactOptions{Target: 2 << 10, Files: 2, Jobs: 2}); err != nil {
		t.Fatal(err)
	}
	after := [3]int{all(), touched(t, l, "slice", "trace_id", id), touched(t, l, "slice", "trace_day", names[1])}
	t.Logf("files of slice, with the trace, with the day: %v before, %v after", before, after)
	ofDays := 0
	for _, name := range names {
		ofDays += touched(t, l, "slice", "trace_day", name)
	}
	if after[0] <= 2*days || after[1] > days || ofDays != after[0] {
		t.Errorf("after: %v, %d files of one day", after, ofDays)
	}
	l = f.lake(t.Context(), t)
	if c, err := l.Compact(t.Context(), lake.CompactOptions{Target: 512 << 20, Files: 2, Jobs: 2}); err != nil {
		t.Errorf("%+v, %v", c, err)
	}
	if n := all(); n != days || touched(t, l, "slice", "trace_day", names[1]) != 1 {
		t.Errorf("%d files of %d days", n, days)
	}
	equalTables(t, database(t), converted(t, files...), f.source(t, l))
	if n := number(t, database(t), "SELECT count(*) FROM "+f.source(t, l)("slice")+" s JOIN "+f.source(t, l)(task.Ledger)+" t USING (trace_id, trace_day)"); n != days*perDay {
		t.Errorf("%d rows have the day of their trace", n)
	}
}

// A lake whose tables have no days is read as before, and init and compact give them days.
func TestDaysOfOldTables(t *testing.T) {
	f := newFolder(t)
	files, names := datedTraces(t, 3, 4)
	f.run(t, "", "run", "-j1", "--task-traces", "6", f.upload(t, files...))
	age(t, f, "slice", "trace_day", "")
	converter(t, "query", f.folder, "FROM slice")
	f.run(t, "", "init")
	l := f.lake(t.Context(), t)
	if _, err := l.Compact(t.Context(), lake.CompactOptions{Target: 512 << 20, Files: 2, Jobs: 2}); err != nil {
		t.Fatal(err)
	}
	if n := touched(t, l, "slice", "trace_day", names[2]); n != 1 {
		t.Errorf("%d files have the rows of a day", n)
	}
	if n := number(t, database(t), "SELECT count(*) FROM "+f.source(t, l)("slice")+" s JOIN "+f.source(t, l)(task.Ledger)+" t USING (trace_id, trace_day)"); n != int64(len(files)) {
		t.Errorf("%d rows have the day of their trace", n)
	}
	equalTables(t, database(t), converted(t, files...), f.source(t, l))
}

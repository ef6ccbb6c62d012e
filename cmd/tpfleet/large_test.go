package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// A trace that takes more than a worker may use waits in the ledger, the others of its task are converted, and a run that
// may use more converts it.
func TestLarge(t *testing.T) { everywhere(t, testLarge) }

func testLarge(t *testing.T, f *fleet) {
	large := filepath.Join(t.TempDir(), "large.json")
	file, err := os.Create(large)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(file)
	fmt.Fprint(w, "[")
	for i := range 200_000 {
		fmt.Fprintf(w, `{"ph":"X","name":"a name of its own that is long enough to take memory, number %d","ts":%d,"dur":1,"pid":1,"tid":%d},`, i, i, i%50)
	}
	fmt.Fprint(w, `{"ph":"i","name":"end","ts":300000,"pid":1,"tid":1}]`)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	small := smallTraces(t, 3)
	url := f.upload(t, append(small, large)...)
	run := func(args ...string) string { return f.run(t, "", "run", append(args, "-j1", url)...) }
	if a := account(t, run("--max-memory", "150")); a.Large != 1 || a.OK != len(small) || a.Failed+a.Bad+a.Again != 0 {
		t.Errorf("with little memory: %+v", a)
	}
	if a := account(t, run()); a.Known != len(small)+1 || a.OK+a.Large != 0 {
		t.Errorf("again: %+v", a)
	}
	from := f.source(t, f.lake(t.Context(), t))("trace")
	if n := number(t, database(t), "SELECT count(*) FROM "+from+" WHERE status = 'large' AND trace_id IS NULL AND error = 'it needs more than --max-memory=150 MiB'"); n != 1 {
		t.Errorf("the ledger has %d large traces", n)
	}
	if a := account(t, run("--large", "--max-time", "1ms")); a.Known != len(small)+1 || a.OK != 0 {
		t.Errorf("with little time: %+v", a)
	}
	if a := account(t, run("--large")); a.OK != 1 || a.Known != len(small) {
		t.Errorf("without limits: %+v", a)
	}
	l := f.lake(t.Context(), t)
	if s, err := l.Status(t.Context()); err != nil || s.OK != len(small)+1 || s.Large != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	equalTables(t, database(t), converted(t, append(small, large)...), f.source(t, l))
}

package gotrace_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
	"github.com/tpconvert/tpconvert/internal/fuzz"
	"github.com/tpconvert/tpconvert/internal/tracecase"
)

// caseTrace returns the trace of a case.
func caseTrace(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile("../../testdata/cases/gotrace/" + name + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	_, data, err := tracecase.Trace(&txtar.Parse(text).Files[0])
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func read(t testing.TB, data []byte) (*ingesttest.Tables, error) {
	return ingesttest.Read(t, ingesttest.File{Name: "go.trace", Reader: bytes.NewReader(data)})
}

func TestCutAnywhere(t *testing.T) {
	data := caseTrace(t, "generations")
	second := bytes.Index(data, []byte{1, 2, 0})
	for n := 1; n < len(data); n++ {
		tables, err := read(t, data[:n])
		if err != nil {
			if n >= second || !format.BadInput(err) {
				t.Fatalf("%d bytes: %v", n, err)
			}
			continue
		}
		if n < second {
			continue // the trace may be complete where a table ends
		}
		if got := len(tables.Rows("thread_state", "id")); got < 3 {
			t.Fatalf("%d bytes: %d states of threads", n, got)
		}
		if got := len(tables.Rows("import_log", "name")); n > second && got == 0 {
			t.Fatalf("%d bytes: not logged", n)
		}
	}
}

func TestRefused(t *testing.T) {
	data := caseTrace(t, "events")
	for name, c := range map[string]struct {
		data []byte
		kind error
		text string
	}{
		"nothing but a header": {data[:16], format.ErrNoEvents, "go.trace (go trace): a Go execution trace without events: no trace events"},
		"a version too old":    {bytes.Replace(data, []byte("1.26 trace\x00\x00\x00"), []byte("1.9 trace\x00\x00\x00\x00"), 1), format.ErrUnsupported, "go.trace (go trace) at byte 0: unknown or unsupported trace version go 1.9: not supported"},
		"a version to come":    {bytes.Replace(data, []byte("1.26"), []byte("1.99"), 1), format.ErrUnsupported, "go.trace (go trace) at byte 0: unknown or unsupported trace version go 1.99: not supported"},
		"a cut generation":     {data[:100], format.ErrCorrupt, "go.trace (go trace) at byte 100: failed to read full batch: read 51 but wanted 120: corrupt"},
		"a stack without end":  {bytes.Replace(data, []byte{3, 2, 1, 0x20}, []byte{3, 2, 0x7f, 0x20}, 1), format.ErrCorrupt, ""},
		"a huge batch":         {append(data[:16:16], 1, 1, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f), format.ErrCorrupt, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(t, c.data)
			if !errors.Is(err, c.kind) || c.text != "" && err.Error() != c.text {
				t.Error(err)
			}
		})
	}
}

// TestEndlessGeneration reads batches that never end, which the library would hold
// in memory.
func TestEndlessGeneration(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 256 MiB")
	}
	batch := binary.AppendUvarint([]byte{1, 1, 9, 1}, 60<<10)
	batch = append(batch, make([]byte, 60<<10)...)
	endless := io.MultiReader(bytes.NewReader([]byte("go 1.26 trace\x00\x00\x00")), &repeat{of: batch})
	_, err := ingesttest.Read(t, ingesttest.File{Name: "go.trace", Reader: endless})
	if !format.BadInput(err) {
		t.Error(err)
	}
}

type repeat struct {
	of []byte
	at int
}

func (r *repeat) Read(p []byte) (int, error) {
	n := copy(p, r.of[r.at:])
	r.at = (r.at + n) % len(r.of)
	return n, nil
}

func TestRecordedProgram(t *testing.T) {
	tables := ingesttest.MustRead(t, "go.trace", ingesttest.Recording(t, "go.trace.gz"))
	tables.Want(t, "process", "upid|name", "0|NULL", "1|NULL")
	count := map[string]int{}
	for _, name := range tables.Rows("slice", "category", "name") {
		count[name]++
	}
	for name, want := range map[string]int{"task|build": 1, "task|job": 3, "region|compute": 3, "region|load": 3, "log|name": 3, "runtime|GC concurrent mark phase": 2} {
		if count[name] != want {
			t.Errorf("%d slices %s, want %d", count[name], name, want)
		}
	}
	var running int
	for _, state := range tables.Rows("thread_state", "state") {
		if state == "Running" {
			running++
		}
	}
	if slices := len(tables.Rows("sched_slice", "id")); slices != running {
		t.Errorf("%d slices of Ps, %d of goroutines that run", slices, running)
	}
	if len(tables.Rows("stack_sample", "ts")) != 3 || len(tables.Rows("flow", "id")) != 3 {
		t.Error(tables.Rows("stack_sample", "ts"), tables.Rows("flow", "id"))
	}
}

// TestOldFormat reads the format before Go 1.22.
func TestOldFormat(t *testing.T) {
	data, err := os.ReadFile("../../testdata/go_1.21.trace")
	if err != nil {
		t.Fatal(err)
	}
	tables := ingesttest.MustRead(t, "go.trace", data)
	got := tables.Rows("slice", "category", "name")
	slices.Sort(got)
	if want := []string{"log|step", "region|work", "task|request"}; !slices.Equal(slices.DeleteFunc(got, func(name string) bool { return strings.HasPrefix(name, "runtime|") }), want) {
		t.Errorf("slices %v, want %v", got, want)
	}
	if threads := tables.Rows("thread", "name"); !slices.Contains(threads, "main.main.func1") {
		t.Errorf("goroutines %v", threads)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(caseTrace(f, "events"))
	f.Add(caseTrace(f, "generations"))
	fuzz.Run(f, func(t *testing.T, data []byte) {
		if _, err := read(t, data); err != nil && !format.BadInput(err) {
			t.Error(err)
		}
	})
}

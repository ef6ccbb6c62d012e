package inputs_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/cmd/tpconvert/console"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/inputs"
	"github.com/tpconvert/tpconvert/internal/datasettest"
)

const trace = `[{"ph":"X","pid":1,"tid":2,"ts":10,"dur":5,"name":"work"}]`

func isUsage(err error) bool {
	var usage console.UsageError
	return errors.As(err, &usage)
}

func TestOneTrace(t *testing.T) {
	one, many := datasettest.Convert(t, trace), datasettest.Convert(t, trace, strings.Replace(trace, "work", "rest", 1))
	if got, err := inputs.OneTrace(t.Context(), many, ""); got != many || err != nil {
		t.Errorf("without an id: %s, %v", got, err)
	}
	if got, err := inputs.OneTrace(t.Context(), many, "1"); filepath.Dir(got) != many || err != nil {
		t.Errorf("by its name: %s, %v", got, err)
	}
	for _, input := range []string{one, many} {
		if _, err := inputs.OneTrace(t.Context(), input, "other"); !isUsage(err) {
			t.Errorf("%s: %v", input, err)
		}
	}
}

// Modules are in a checkout of Perfetto, or in a folder of their own.
func TestModules(t *testing.T) {
	checkout := t.TempDir()
	folder := filepath.Join(checkout, "src", "trace_processor", "perfetto_sql", "stdlib")
	if err := os.MkdirAll(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "x.sql"), []byte("SELECT 1"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{checkout, folder} {
		if text, err := fs.ReadFile(inputs.Modules(path), "x.sql"); err != nil || string(text) != "SELECT 1" {
			t.Errorf("%s: %q, %v", path, text, err)
		}
	}
}

func TestReadSpecs(t *testing.T) {
	if s, err := inputs.ReadSpecs(nil); err != nil || len(s.IDs()) == 0 {
		t.Errorf("no metrics without names, %v", err)
	}
	if _, err := inputs.ReadSpecs([]string{"nothing"}); !isUsage(err) {
		t.Errorf("a spec that is not there: %v", err)
	}
}

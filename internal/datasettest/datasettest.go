// Package datasettest makes datasets for tests.
package datasettest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tpconvert/tpconvert"
)

// Convert converts a trace to a dataset, several to a dataset of many, and returns its folder. Each is named by its place: 0, 1 ...
func Convert(t testing.TB, traces ...string) string {
	t.Helper()
	dir := t.TempDir()
	var inputs []string
	for i, trace := range traces {
		path := filepath.Join(dir, string(rune('0'+i)))
		if err := os.WriteFile(path, []byte(trace), 0o666); err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, path)
	}
	out := filepath.Join(dir, "out")
	if _, err := tpconvert.Convert(t.Context(), inputs, out, tpconvert.Options{Compression: "none"}); err != nil {
		t.Fatal(err)
	}
	return out
}

package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkConvert converts each trace of the folder $TRACES with the whole
// command. `make pgo` profiles it.
func BenchmarkConvert(b *testing.B) {
	traces, err := filepath.Glob(filepath.Join(os.Getenv("TRACES"), "*"))
	if os.Getenv("TRACES") == "" || err != nil || len(traces) == 0 {
		b.Skip("there is no folder of $TRACES")
	}
	for _, trace := range traces {
		b.Run(filepath.Base(trace), func(b *testing.B) {
			info, err := os.Stat(trace)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(info.Size())
			for b.Loop() {
				args := []string{"--quiet", trace, filepath.Join(b.TempDir(), "out")}
				if code := execute(context.Background(), args, nil, io.Discard, os.Stderr); code != 0 {
					b.Fatalf("exit code %d", code)
				}
			}
		})
	}
}

// TestDefaultProfile checks what make pgo has recorded, as checks compile without it.
func TestDefaultProfile(t *testing.T) {
	p := parsed(t, "default.pgo")
	ours := 0
	for _, f := range p.Function {
		if strings.HasPrefix(f.Name, "github.com/tpconvert/tpconvert/") {
			ours++
		}
	}
	if len(p.Sample) == 0 || ours < 100 {
		t.Errorf("%d samples of %d functions of ours", len(p.Sample), ours)
	}
}

package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
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

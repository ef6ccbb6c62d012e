package json_test

import (
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
)

func BenchmarkTiny(b *testing.B) {
	for b.Loop() {
		ingesttest.Read(b, ingesttest.File{Name: "a", Reader: strings.NewReader(`[{"ph":"i","name":"a","pid":1,"tid":1,"ts":1}]`)})
	}
}

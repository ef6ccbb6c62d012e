package profiling_test

import (
	"testing"

	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
)

func TestCases(t *testing.T) {
	ingesttest.Cases(t, "perfetto/heap_profiles*", "perfetto/perf_samples", "perfetto/stack_samples")
}

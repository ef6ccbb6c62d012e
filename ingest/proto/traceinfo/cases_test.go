package traceinfo_test

import (
	"testing"

	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
)

func TestCases(t *testing.T) {
	ingesttest.Cases(t, "perfetto/trace_info", "perfetto/trace_diagnostics", "perfetto/triggers", "perfetto/concurrent_sessions", "perfetto/range_of_interest", "perfetto/config_text")
}

package system_test

import (
	"testing"

	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
)

func TestCases(t *testing.T) {
	ingesttest.Cases(t, "perfetto/process_stats", "perfetto/process_tree", "perfetto/sys_stats*", "perfetto/system_info", "perfetto/smaps", "perfetto/cpus_of_machines")
}

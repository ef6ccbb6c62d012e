package gpu_test

import (
	"testing"

	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
)

func TestCases(t *testing.T) { ingesttest.Cases(t, "perfetto/gpu_*", "perfetto/vulkan_memory") }

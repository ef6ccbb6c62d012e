package android_test

import (
	"testing"

	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
)

func TestCases(t *testing.T) {
	ingesttest.Cases(t, "perfetto/android_*", "perfetto/bluetooth", "perfetto/frame_timeline", "perfetto/graphics_frames", "perfetto/cpu_per_uid", "perfetto/journald",
		"perfetto/pixel_modem", "perfetto/statsd_atoms")
}

package args_test

import (
	"testing"

	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
)

func TestCases(t *testing.T) {
	ingesttest.Cases(t, "perfetto/track_event_args", "perfetto/extension_descriptor")
}

package v8profile_test

import (
	"testing"

	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
)

func TestCases(t *testing.T) { ingesttest.Cases(t, "v8/*", "perfetto/track_event_v8_profile") }

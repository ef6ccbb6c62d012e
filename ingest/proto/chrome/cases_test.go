package chrome_test

import (
	"testing"

	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
)

func TestCases(t *testing.T) {
	ingesttest.Cases(t, "perfetto/chrome_metadata", "perfetto/chrome_legacy", "perfetto/chrome_triggers", "perfetto/metatrace")
}

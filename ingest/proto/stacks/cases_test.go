package stacks_test

import (
	"testing"

	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
)

func TestCases(t *testing.T) {
	ingesttest.Cases(t, "perfetto/stack_samples", "perfetto/chrome_samples")
}

package tally_test

import (
	"testing"

	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
)

const trace = "# tally\n2000 500 second\n1000 500 first\nno number\n"

func TestWorkBecomesSlices(t *testing.T) {
	tables := ingesttest.MustRead(t, "work.tally", []byte(trace))
	tables.Want(t, "slice", "ts|dur|name", "1000|500|first", "2000|500|second")
	tables.Want(t, "stats", "name|value", "tally_parse_errors|1")
}

func FuzzTally(f *testing.F) { ingesttest.Fuzz(f, "tally", []byte(trace)) }

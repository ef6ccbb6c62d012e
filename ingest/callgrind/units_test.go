package callgrind_test

import (
	"testing"

	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
)

// TestUnits reads costs as Xdebug writes them: in units, and below 0 if more memory was freed than allocated.
func TestUnits(t *testing.T) {
	tables := ingesttest.MustRead(t, "cachegrind.out.1", []byte("version: 1\ncreator: xdebug 3.3.1\npositions: line\n\n"+
		"events: Time_(10ns) Memory_(bytes) Time_(µs) Other_(x)\n\nfl=(1) a.php\nfn=(1) f\n1 5 -200 7 3\n\nsummary: 5 -200 7 3\n"))
	tables.Want(t, "aggregate_profile", "sample_type_type|sample_type_unit|is_default", "Time|nanoseconds|true", "Memory|bytes|false",
		"Time|microseconds|false", "Other_(x)|count|false", "calls|count|false")
	tables.Want(t, "aggregate_sample", "aggregate_profile_id|value", "0|50", "1|-200", "2|7", "3|3")
	tables.Want(t, "stats", "name")
}

package callgrind_test

import (
	"strings"
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

// TestUnitsOfPprof reads what go tool pprof -callgrind writes, whose costs are in the unit in parentheses. A number that starts with 0 is
// decimal.
func TestUnitsOfPprof(t *testing.T) {
	tables := ingesttest.MustRead(t, "callgrind.out", []byte("positions: instr line\nevents: cpu(ms) inuse_space(kB) goroutine(count)\n\n"+
		"ob=(1) /bin/a\nfl=(1) a.go\nfn=(1) main.f\n0x40cb8e 036 14340 2 010\n"))
	tables.Want(t, "aggregate_profile", "sample_type_type|sample_type_unit", "cpu|milliseconds", "inuse_space|bytes", "goroutine|count", "calls|count")
	tables.Want(t, "aggregate_sample", "aggregate_profile_id|value", "0|14340", "1|2048", "2|10")
	tables.Want(t, "stack_profile_symbol", "name|line_number", "main.f|36")
	tables.Want(t, "stats", "name")
}

// TestUnitsOfSystemCalls reads what valgrind --tool=callgrind --collect-systime=nsec writes.
func TestUnitsOfSystemCalls(t *testing.T) {
	tables := ingesttest.MustRead(t, "callgrind.out", []byte("# callgrind format\nversion: 1\ncreator: callgrind-3.19.0\npositions: line\n"+
		"event: sysTime : sysTime (elapsed ns)\nevent: sysCpuTime : sysCpuTime (system cpu ns)\nevent: Sum = Ir + 10 sysCount : A sum (of both)\n"+
		"events: Ir sysCount sysTime sysCpuTime\n\nfl=(1) a.c\nfn=(1) f\n16 400 1 162809687 90304602\n\ntotals: 400 1 162809687 90304602\n"))
	tables.Want(t, "aggregate_profile", "sample_type_type|sample_type_unit", "Ir|count", "sysCount|count", "sysTime|nanoseconds", "sysCpuTime|nanoseconds", "calls|count")
	tables.Want(t, "stats", "name")
}

// TestNamesOfUnits reads what pyprof2calltree and ruby-prof write.
func TestNamesOfUnits(t *testing.T) {
	tables := ingesttest.MustRead(t, "callgrind.out", []byte("event: ns : Nanoseconds\nevent: size : Size (MB)\nevents: ns size wall_time process_time\n"+
		"fl=a.py\nfn=f\n2 63058 2 7 9\n"))
	tables.Want(t, "aggregate_profile", "sample_type_type|sample_type_unit", "ns|nanoseconds", "size|count", "wall_time|microseconds",
		"process_time|count", "calls|count")
	tables.Want(t, "aggregate_sample", "aggregate_profile_id|value", "0|63058", "1|2", "2|7", "3|9")
	tables.Want(t, "stats", "name")
}

// TestXdebug2 reads what Xdebug wrote before 3.0: microseconds and bytes, without units.
func TestXdebug2(t *testing.T) {
	tables := ingesttest.MustRead(t, "cachegrind.out.1", []byte("version: 1\ncreator: xdebug 2.9.8 (PHP 7.4.3)\ncmd: a.php\npart: 1\npositions: line\n\n"+
		"events: Time Memory\n\nfl=(1) a.php\nfn=(1) f\n3 500120 -64\n\n"))
	tables.Want(t, "aggregate_profile", "name|sample_type_unit", "callgrind Time|microseconds", "callgrind Memory|bytes", "callgrind calls|count")
	tables.Want(t, "aggregate_sample", "aggregate_profile_id|value", "0|500120", "1|-64")
}

// TestYappi reads what yappi writes: ticks of 1 µs, and no end of the last line, which a notice names.
func TestYappi(t *testing.T) {
	const text = "version: 1\ncreator: yappi\npid: 7\ncmd:  app.py\npart: 1\n\nevents: Ticks\n\nfl=(1) app.py\nfl=(2) app.py\n\n" +
		"fn=(1) work app.py:15\nfn=(2) spin app.py:2\n\nfl=(1)\nfn=(1)\n15 130\ncfl=(2)\ncfn=(2)\ncalls=2 0\n0 1319712\n\nfl=(2)\nfn=(2)\n2 1319712"
	tables := ingesttest.MustRead(t, "ya.callgrind", []byte(text))
	tables.Want(t, "aggregate_profile", "sample_type_type|sample_type_unit|is_default", "Ticks|microseconds|true", "calls|count|false")
	tables.Want(t, "aggregate_sample", "aggregate_profile_id|value", "0|130", "1|2", "0|1.319712e+06")
	tables.Want(t, "stats", "name|effect|value", "unread_fact|not_read|1", "unended_line|notice|1")
	other := strings.Replace(text, "yappi", "qcachegrind", 1)
	ingesttest.MustRead(t, "x.callgrind", []byte(other)).Want(t, "stats", "name|effect|value", "truncated_input|damaged|1", "unread_fact|not_read|1")
}

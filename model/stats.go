package model

import (
	"cmp"
	"maps"
	"slices"
)

// Stat is a count in the stats table.
type Stat int

// Severity says how serious a count is.
type Severity uint8

// The severities: a diagnostic count, a condition worth knowing, data lost although
// everything works as designed, and a fault.
const (
	Info Severity = iota
	Notice
	DataLoss
	Error
)

var severities = [...]string{"info", "notice", "data_loss", "error"}

func (s Severity) String() string { return severities[s] }

// Provenance says what counted: the recorder or the conversion.
type Provenance uint8

// Where counts come from.
const (
	FromTrace Provenance = iota
	FromAnalysis
)

var provenances = [...]string{"trace", "analysis"}

func (p Provenance) String() string { return provenances[p] }

type statInfo struct {
	name     string
	indexed  bool
	severity Severity
	source   Provenance
}

// The conversion's own stats, which Trace Processor does not have.
const (
	// StatInvalidUTF8 counts texts that were not UTF-8 and were repaired.
	StatInvalidUTF8 = Stat(1000 + iota)
	// StatUnsupportedEmbeddedFormat counts parts of a trace whose format cannot be read
	// inside another.
	StatUnsupportedEmbeddedFormat
	// StatTruncatedInput counts traces whose end is missing.
	StatTruncatedInput
	// StatUnsupportedPacket counts protobuf packets of unsupported kinds, by field
	// number.
	StatUnsupportedPacket
	// StatUnreadEvent counts events that are recognized but make no rows, by kind.
	StatUnreadEvent
	// StatPprofParseErrors counts parts of a pprof profile that are damaged or refer to
	// missing parts.
	StatPprofParseErrors
	// StatTrailingGarbage counts compressed files followed by other data.
	StatTrailingGarbage
	// StatCorruptPacket counts protobuf packets that could not be decoded.
	StatCorruptPacket
	// StatFuchsiaSkippedRecord counts records that make no rows, by type.
	StatFuchsiaSkippedRecord
	// StatFuchsiaBufferFull counts how often a provider reports that it had no room for
	// records.
	StatFuchsiaBufferFull
	// StatSliceEndWithoutBegin counts ends of slices whose begin was before the trace
	// or is missing.
	StatSliceEndWithoutBegin
	// StatJSONTrailingData counts JSON traces followed by other data, which is ignored.
	StatJSONTrailingData
	// StatPerfTextParseErrors counts invalid lines of perf script output.
	StatPerfTextParseErrors
	// StatCollapsedStackParseErrors counts lines that are not folded stacks.
	StatCollapsedStackParseErrors
	// StatARTMethodParseErrors counts invalid methods, threads and records in ART
	// method traces.
	StatARTMethodParseErrors
	// StatGeckoParseErrors counts invalid threads, stacks, samples and markers in
	// Firefox profiles.
	StatGeckoParseErrors
	// StatUnreadFact counts facts that a trace states about itself, or about how to
	// show it, and that make no rows, by kind.
	StatUnreadFact
	// StatInstrumentsParseErrors counts invalid numbers and rows without a time in
	// Instruments' XML.
	StatInstrumentsParseErrors
	// StatUnreadArchiveMember counts files in archives that cannot be read completely,
	// by trace_file.
	StatUnreadArchiveMember
	// StatBatteryStatsParseErrors counts invalid lines and items in a bug report's
	// battery history.
	StatBatteryStatsParseErrors
	// StatAndroidLogWithoutZone counts messages dropped because too many come before
	// the bug report's time zone.
	StatAndroidLogWithoutZone
	// StatGoTraceParseErrors counts Go execution traces whose reading stopped at an
	// error.
	StatGoTraceParseErrors
	// StatTraceCmdParseErrors counts invalid CPUs, pages and events in trace-cmd files.
	StatTraceCmdParseErrors
	// StatR8MappingParseErrors counts lines of R8's or ProGuard's text that name nothing.
	StatR8MappingParseErrors
)

var ownStats = [...]statInfo{
	{"invalid_utf8", false, DataLoss, FromAnalysis},
	{"unsupported_embedded_format", false, DataLoss, FromAnalysis},
	{"truncated_input", false, DataLoss, FromAnalysis},
	{"unsupported_packet", true, DataLoss, FromAnalysis},
	{"unread_event", true, DataLoss, FromAnalysis},
	{"pprof_parse_errors", false, DataLoss, FromAnalysis},
	{"trailing_garbage", false, Notice, FromAnalysis},
	{"corrupt_packet", false, Error, FromAnalysis},
	{"fuchsia_skipped_record", true, DataLoss, FromAnalysis},
	{"fuchsia_buffer_full", false, DataLoss, FromTrace},
	{"slice_end_without_begin", false, Info, FromAnalysis},
	{"json_trailing_data", false, DataLoss, FromAnalysis},
	{"perf_text_parse_errors", false, DataLoss, FromAnalysis},
	{"collapsed_stack_parse_errors", false, DataLoss, FromAnalysis},
	{"art_method_parse_errors", false, DataLoss, FromAnalysis},
	{"gecko_parse_errors", false, DataLoss, FromAnalysis},
	{"unread_fact", true, Notice, FromAnalysis},
	{"instruments_parse_errors", false, DataLoss, FromAnalysis},
	{"unread_archive_member", true, DataLoss, FromAnalysis},
	{"battery_stats_parse_errors", false, DataLoss, FromAnalysis},
	{"android_log_without_zone", false, DataLoss, FromAnalysis},
	{"go_trace_parse_errors", false, DataLoss, FromAnalysis},
	{"trace_cmd_parse_errors", false, DataLoss, FromAnalysis},
	{"r8_mapping_parse_errors", false, DataLoss, FromAnalysis},
}

func (s Stat) info() statInfo {
	if s >= StatInvalidUTF8 {
		return ownStats[s-StatInvalidUTF8]
	}
	return stats[s]
}

// String returns the name of the count.
func (s Stat) String() string { return s.info().name }

// Severity returns how serious the count is.
func (s Stat) Severity() Severity { return s.info().severity }

// Source returns what counted: the recorder or the conversion.
func (s Stat) Source() Provenance { return s.info().source }

// UnindexedStats lists Trace Processor's stats that have a single value. Its stats
// table always has all of them; ours has only those that are not zero.
func UnindexedStats() []Stat {
	var all []Stat
	for i, info := range stats {
		if info.name != "" && !info.indexed {
			all = append(all, Stat(i))
		}
	}
	return all
}

type statKey struct {
	stat    Stat
	index   int64
	file    int64
	machine int64
}

type statCounts map[statKey]int64

// StatCount is a count that is not zero.
type StatCount struct {
	Stat  Stat
	Index int64 // None if the stat has no index
	File  int64 // trace_file.id, None for the conversion
	Value int64
}

// Stats returns the nonzero counts so far, in the order of the table.
func (s *Store) Stats() []StatCount {
	var all []StatCount
	for _, key := range s.stats.keys() {
		if v := s.stats[key]; v != 0 {
			all = append(all, StatCount{key.stat, key.index, key.file, v})
		}
	}
	return all
}

func (c statCounts) keys() []statKey {
	return slices.SortedFunc(maps.Keys(c), func(a, b statKey) int {
		return cmp.Or(cmp.Compare(a.stat, b.stat), cmp.Compare(a.file, b.file),
			cmp.Compare(a.machine, b.machine), cmp.Compare(a.index, b.index))
	})
}

func (s *Store) writeStats() {
	if n := s.Strings.Invalid() + s.args.writer.invalidTexts(); n > 0 {
		s.stats[statKey{StatInvalidUTF8, None, None, None}] = n
	}
	t := &s.Tables.Stats
	for _, key := range s.stats.keys() {
		info := key.stat.info()
		row := t.Append()
		t.Name.Set(row, s.Strings.Intern(info.name))
		t.Key.Set(row, int64(key.stat))
		t.Severity.Set(row, s.Strings.Intern(info.severity.String()))
		t.Source.Set(row, s.Strings.Intern(provenances[info.source]))
		t.Value.Set(row, s.stats[key])
		if text := s.statTexts[key]; text != "" {
			t.Description.Set(row, s.Strings.Intern(text))
		}
		if info.indexed {
			t.Idx.Set(row, key.index)
		}
		if key.file != None {
			t.LocalTraceID.Set(row, key.file)
			machine := key.machine
			if machine == None {
				machine = s.files[key.file].machine()
			}
			t.MachineID.Set(row, machine)
		}
	}
}

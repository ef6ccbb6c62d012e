package model

import (
	"cmp"
	"maps"
	"slices"
	"sync"
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
	name        string
	indexed     bool
	severity    Severity
	source      Provenance
	description string
}

// firstOwnStat is the number of the first stat that Trace Processor does not have.
const firstOwnStat Stat = 1000

// The conversion's own stats, which Trace Processor does not have. ownStats describes them.
const (
	StatInvalidUTF8 = firstOwnStat + iota
	StatUnsupportedEmbeddedFormat
	StatTruncatedInput
	StatUnsupportedPacket
	StatUnreadEvent
	StatPprofParseErrors
	StatTrailingGarbage
	StatCorruptPacket
	StatFuchsiaSkippedRecord
	StatFuchsiaBufferFull
	StatSliceEndWithoutBegin
	StatJSONTrailingData
	StatPerfTextParseErrors
	StatCollapsedStackParseErrors
	StatARTMethodParseErrors
	StatGeckoParseErrors
	StatUnreadFact
	StatInstrumentsParseErrors
	StatUnreadArchiveMember
	StatBatteryStatsParseErrors
	StatAndroidLogWithoutZone
	StatGoTraceParseErrors
	StatTraceCmdParseErrors
	StatR8MappingParseErrors
	StatIncompleteFile
	StatTooManyMachines
	StatSQLiteParseErrors
	StatSpanParseErrors
	StatSpanReferenceMissing
	StatSpanPartsDropped
	StatSpeedscopeParseErrors
	StatHeapProfileParseErrors
	StatStackprofParseErrors
	StatJSONRepaired
	StatJFRParseErrors
	StatJFRConstantMissing
	StatNetLogParseErrors
	StatHeapSnapshotParseErrors
	StatNettraceParseErrors
	StatNettraceEventsLost
	StatCallgrindParseErrors
	StatJSONUnescapedBackslash
	StatJSONNotFiniteNumber
	StatCTFParseErrors
	StatCTFEventsDiscarded
	StatCTFPacketsLost
	StatAsyncProfilerParseErrors
	StatArrowTarParseErrors
	StatJSONControlCharacter
	StatJSONLargeInteger
	StatJSONTrailingComma
	StatSystingParseErrors
	StatFtraceEventsLost
	StatUnendedLine
	StatJFRSamplesLost
	StatJFRBytesLost
	StatSpanInvalidEnd
	StatSpanPartsJoined
	StatOTLPProfileErrors
)

var ownStats = [...]statInfo{
	StatInvalidUTF8 - firstOwnStat:               {"invalid_utf8", false, Notice, FromAnalysis, "Texts that were not UTF-8 and were repaired."},
	StatUnsupportedEmbeddedFormat - firstOwnStat: {"unsupported_embedded_format", false, Notice, FromAnalysis, "Parts of a trace whose format cannot be read inside another."},
	StatTruncatedInput - firstOwnStat:            {"truncated_input", false, DataLoss, FromAnalysis, "Traces that end within an event."},
	StatUnsupportedPacket - firstOwnStat:         {"unsupported_packet", true, Notice, FromAnalysis, "Packets of a kind that is not read, by field number."},
	StatUnreadEvent - firstOwnStat:               {"unread_event", true, Notice, FromAnalysis, "Events that are recognised but make no rows, by kind."},
	StatPprofParseErrors - firstOwnStat:          {"pprof_parse_errors", false, DataLoss, FromAnalysis, "Parts of a pprof profile that are damaged or refer to missing parts."},
	StatTrailingGarbage - firstOwnStat:           {"trailing_garbage", false, Notice, FromAnalysis, "Compressed files followed by other data."},
	StatCorruptPacket - firstOwnStat:             {"corrupt_packet", false, Error, FromAnalysis, "Packets that could not be decoded."},
	StatFuchsiaSkippedRecord - firstOwnStat:      {"fuchsia_skipped_record", true, Notice, FromAnalysis, "Records of Fuchsia's format that make no rows, by type."},
	StatFuchsiaBufferFull - firstOwnStat:         {"fuchsia_buffer_full", false, DataLoss, FromTrace, "Times that a provider reports that it had no room for records."},
	StatSliceEndWithoutBegin - firstOwnStat:      {"slice_end_without_begin", false, Info, FromAnalysis, "Ends of slices whose begin was before the trace or is missing."},
	StatJSONTrailingData - firstOwnStat:          {"json_trailing_data", false, DataLoss, FromAnalysis, "JSON traces followed by other data, which is not read."},
	StatPerfTextParseErrors - firstOwnStat:       {"perf_text_parse_errors", false, DataLoss, FromAnalysis, "Lines of perf script that cannot be read."},
	StatCollapsedStackParseErrors - firstOwnStat: {"collapsed_stack_parse_errors", false, DataLoss, FromAnalysis, "Lines that are not folded stacks."},
	StatARTMethodParseErrors - firstOwnStat:      {"art_method_parse_errors", false, DataLoss, FromAnalysis, "Methods, threads and records of ART method traces that cannot be read."},
	StatGeckoParseErrors - firstOwnStat:          {"gecko_parse_errors", false, DataLoss, FromAnalysis, "Threads, stacks, samples and markers of Firefox profiles that cannot be read."},
	StatUnreadFact - firstOwnStat:                {"unread_fact", true, Notice, FromAnalysis, "Facts that a trace states about itself, or about how to show it, and that make no rows, by kind."},
	StatInstrumentsParseErrors - firstOwnStat:    {"instruments_parse_errors", false, DataLoss, FromAnalysis, "Numbers of Instruments' XML that cannot be read, and rows without a time."},
	StatUnreadArchiveMember - firstOwnStat:       {"unread_archive_member", true, DataLoss, FromAnalysis, "Files in archives that cannot be read completely, by trace_file."},
	StatBatteryStatsParseErrors - firstOwnStat:   {"battery_stats_parse_errors", false, DataLoss, FromAnalysis, "Lines and items of a bug report's battery history that cannot be read."},
	StatAndroidLogWithoutZone - firstOwnStat:     {"android_log_without_zone", false, DataLoss, FromAnalysis, "Messages dropped because too many come before the bug report's time zone."},
	StatGoTraceParseErrors - firstOwnStat:        {"go_trace_parse_errors", false, DataLoss, FromAnalysis, "Go execution traces whose reading stopped at an error."},
	StatTraceCmdParseErrors - firstOwnStat:       {"trace_cmd_parse_errors", false, DataLoss, FromAnalysis, "CPUs, pages and events of trace-cmd files that cannot be read."},
	StatR8MappingParseErrors - firstOwnStat:      {"r8_mapping_parse_errors", false, DataLoss, FromAnalysis, "Lines of R8's or ProGuard's text that name nothing."},
	StatIncompleteFile - firstOwnStat:            {"incomplete_file", false, DataLoss, FromAnalysis, "Files in a compressed file or an archive that end too early."},
	StatTooManyMachines - firstOwnStat:           {"too_many_machines", false, DataLoss, FromAnalysis, "Packets of machines beyond the 256 that are read from a trace."},
	StatSQLiteParseErrors - firstOwnStat:         {"sqlite_parse_errors", false, DataLoss, FromAnalysis, "Pages and rows of SQLite files that cannot be read, or lack what they refer to."},
	StatSpanParseErrors - firstOwnStat:           {"span_parse_errors", false, DataLoss, FromAnalysis, "Spans of distributed traces, and parts of them, that cannot be read."},
	StatSpanReferenceMissing - firstOwnStat:      {"span_reference_missing", false, Notice, FromAnalysis, "Parents of spans, and linked spans, that the trace does not have."},
	StatSpanPartsDropped - firstOwnStat:          {"span_parts_dropped", false, DataLoss, FromTrace, "Attributes, events and links that a recorder of spans reports to have dropped."},
	StatSpeedscopeParseErrors - firstOwnStat:     {"speedscope_parse_errors", false, DataLoss, FromAnalysis, "Frames, samples and events of speedscope's files that cannot be read."},
	StatHeapProfileParseErrors - firstOwnStat:    {"heap_profile_parse_errors", false, DataLoss, FromAnalysis, "Nodes of V8's heap profiles that cannot be read."},
	StatStackprofParseErrors - firstOwnStat:      {"stackprof_parse_errors", false, DataLoss, FromAnalysis, "Frames and stacks of stackprof's profiles that cannot be read."},
	StatJSONRepaired - firstOwnStat:              {"json_repaired", false, DataLoss, FromAnalysis, "Events and args of JSON traces with quotes, backslashes or brackets that are not valid JSON, which were read as they seem to be meant."},
	StatJFRParseErrors - firstOwnStat:            {"jfr_parse_errors", false, DataLoss, FromAnalysis, "Chunks, constants and events of JFR recordings that cannot be read."},
	StatJFRConstantMissing - firstOwnStat:        {"jfr_constant_missing", false, Notice, FromAnalysis, "Events of JFR recordings that refer to constants which are not there."},
	StatNetLogParseErrors - firstOwnStat:         {"netlog_parse_errors", false, DataLoss, FromAnalysis, "Events of Chrome's network logs that cannot be read."},
	StatHeapSnapshotParseErrors - firstOwnStat:   {"heap_snapshot_parse_errors", false, DataLoss, FromAnalysis, "Nodes, edges and strings of V8's heap snapshots that cannot be read."},
	StatNettraceParseErrors - firstOwnStat:       {"nettrace_parse_errors", false, DataLoss, FromAnalysis, "Blocks, events and fields of .NET's traces that cannot be read, or refer to missing parts."},
	StatNettraceEventsLost - firstOwnStat:        {"nettrace_events_lost", false, DataLoss, FromTrace, "Events that .NET's runtime dropped, by the numbers missing from those of each thread."},
	StatCallgrindParseErrors - firstOwnStat:      {"callgrind_parse_errors", false, DataLoss, FromAnalysis, "Lines of Callgrind's profiles that cannot be read, and totals that are not the sum of the costs."},
	StatJSONUnescapedBackslash - firstOwnStat:    {"json_unescaped_backslash", false, DataLoss, FromAnalysis, "Events and args of JSON traces with texts whose backslashes are not escapes, as in paths of Windows, and were kept."},
	StatJSONNotFiniteNumber - firstOwnStat:       {"json_not_finite_number", false, Notice, FromAnalysis, "Events and args of JSON traces with NaN, infinity or numbers too large for a double, which JSON does not have."},
	StatCTFParseErrors - firstOwnStat:            {"ctf_parse_errors", false, DataLoss, FromAnalysis, "Packets of CTF traces that cannot be read, or not to their end."},
	StatCTFEventsDiscarded - firstOwnStat:        {"ctf_events_discarded", false, DataLoss, FromTrace, "Events that the recorder of a CTF trace had no room for."},
	StatCTFPacketsLost - firstOwnStat:            {"ctf_packets_lost", false, DataLoss, FromTrace, "Packets that are missing in a CTF trace, by their numbers."},
	StatAsyncProfilerParseErrors - firstOwnStat:  {"async_profiler_parse_errors", false, DataLoss, FromAnalysis, "Frames and names of async-profiler's flame graphs that cannot be read, or are wider than those below them."},
	StatArrowTarParseErrors - firstOwnStat:       {"arrow_tar_parse_errors", false, DataLoss, FromAnalysis, "Tables of Trace Processor's exports, and values in them, that cannot be read."},
	StatJSONControlCharacter - firstOwnStat:      {"json_control_character", false, Notice, FromAnalysis, "Events of JSON traces with control characters in texts, such as line ends, which JSON has only as escapes. They were kept."},
	StatJSONLargeInteger - firstOwnStat:          {"json_large_integer", false, Notice, FromAnalysis, "Events and args of JSON traces with integers that do not fit in 64 bits with their sign. In args they are the nearest real numbers."},
	StatJSONTrailingComma - firstOwnStat:         {"json_trailing_comma", false, Notice, FromAnalysis, "Arrays and objects of JSON traces with a comma after the last element."},
	StatSystingParseErrors - firstOwnStat:        {"systing_parse_errors", false, DataLoss, FromAnalysis, "Rows of systing's tables that cannot be read, and values that refer to missing rows."},
	StatFtraceEventsLost - firstOwnStat:          {"ftrace_events_lost", true, DataLoss, FromTrace, "Events of a CPU that the kernel overwrote before the recorder read them, where the trace says how many."},
	StatUnendedLine - firstOwnStat:               {"unended_line", false, Notice, FromAnalysis, "Texts whose last line has no line end. It was read, but may be cut off."},
	StatJFRSamplesLost - firstOwnStat:            {"jfr_samples_lost", false, DataLoss, FromTrace, "Samples of CPU time that the JVM took but could not keep (jdk.CPUTimeSamplesLost)."},
	StatJFRBytesLost - firstOwnStat:              {"jfr_bytes_lost", false, DataLoss, FromTrace, "Bytes of events that JFR could not copy out of a thread's buffer (jdk.DataLoss)."},
	StatSpanInvalidEnd - firstOwnStat:            {"span_invalid_end", false, DataLoss, FromAnalysis, "Spans of distributed traces that end before they start, or after the year 2116. Their duration is 0."},
	StatSpanPartsJoined - firstOwnStat:           {"span_parts_joined", false, Notice, FromAnalysis, "Spans of distributed traces without a start, joined with the span that has their id."},
	StatOTLPProfileErrors - firstOwnStat:         {"otlp_profile_errors", false, DataLoss, FromAnalysis, "Parts of OpenTelemetry profiles that cannot be read, or that refer to what is not there."},
}

func (s Stat) info() statInfo {
	if s >= firstOwnStat {
		return ownStats[s-firstOwnStat]
	}
	return stats[s]
}

// String returns the name of the count.
func (s Stat) String() string { return s.info().name }

// Severity returns how serious the count is.
func (s Stat) Severity() Severity { return s.info().severity }

// Description says what is counted.
func (s Stat) Description() string { return s.info().description }

// Source returns what counted: the recorder or the conversion.
func (s Stat) Source() Provenance { return s.info().source }

// StatNamed returns the stat with this name.
func StatNamed(name string) (s Stat, ok bool) {
	s, ok = statsByName()[name]
	return s, ok
}

var statsByName = sync.OnceValue(func() map[string]Stat {
	all := map[string]Stat{}
	for i, info := range stats {
		all[info.name] = Stat(i)
	}
	for i, info := range ownStats {
		all[info.name] = firstOwnStat + Stat(i)
	}
	delete(all, "")
	return all
})

// Indexed reports whether the stat has a value for each of several things.
func (s Stat) Indexed() bool { return s.info().indexed }

// SetStat sets a count that an earlier conversion made. index, file and machine are None if there is none.
func (s *Store) SetStat(stat Stat, index int64, file FileID, machine MachineID, value int64) {
	s.stats[statKey{stat, index, file, machine}] = value
}

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
	file    FileID
	machine MachineID
}

type statCounts map[statKey]int64

// StatCount is a count that is not zero.
type StatCount struct {
	Stat  Stat
	Index int64  // None if the stat has no index
	File  FileID // None for the conversion
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
	if n := s.Strings.Invalid() + s.args.Invalid(); n > 0 {
		s.stats[statKey{StatInvalidUTF8, None, None, None}] = n
	}
	if n := s.clocks.Searches; n > 0 {
		s.stats[statKey{StatClockSyncCacheMiss, None, None, None}] = n
	}
	t := &s.Tables.Stats
	for _, key := range s.stats.keys() {
		info := key.stat.info()
		row := t.Append()
		t.Name.Set(row, s.Strings.Intern(info.name))
		t.Key.Set(row, int64(key.stat))
		t.Severity.Set(row, s.Strings.Intern(info.severity.String()))
		t.Effect.Set(row, s.Strings.Intern(key.stat.Effect().String()))
		t.Source.Set(row, s.Strings.Intern(provenances[info.source]))
		t.Value.Set(row, s.stats[key])
		t.Description.Set(row, s.Strings.Intern(cmp.Or(s.statTexts[key], info.description)))
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

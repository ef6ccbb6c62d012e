package model

import (
	"cmp"
	"fmt"
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
	FromAnalysis Provenance = iota
	FromTrace
)

var provenances = [...]string{"analysis", "trace"}

func (p Provenance) String() string { return provenances[p] }

// Effect says what a count means for the dataset.
type Effect uint8

const (
	// NoEffect means that nothing is missing.
	NoEffect Effect = iota
	// Noticed means that nothing is missing, but the reader of the dataset should know.
	Noticed
	// NotRead counts parts of a known kind that no table has.
	NotRead
	// Damaged counts parts that were read in part, or without what they refer to.
	Damaged
	// Lost counts rows of the trace that the dataset does not have, in recording or conversion.
	Lost
)

var effectNames = [...]string{"none", "notice", "not_read", "damaged", "lost"}

func (e Effect) String() string { return effectNames[e] }

// StatInfo describes a stat.
type StatInfo struct {
	Name        string
	Indexed     bool // there is a value for each of several things
	Severity    Severity
	Source      Provenance
	Effect      Effect
	Gap         bool // the value is a number of bytes, times, or gaps of unknown size, not of events
	Description string
}

// firstOwnStat is the key of the first stat that Trace Processor does not have.
const firstOwnStat Stat = 1000

// ownStats describes the conversion's own stats, which Trace Processor does not have.
var ownStats = map[Stat]StatInfo{}

// NewStat declares a stat, in a variable of a package. The key is that of the stat in all datasets: it is never used again,
// and ingest/testdata/stats.txt lists all.
func NewStat(key Stat, info StatInfo) Stat {
	if _, ok := ownStats[key]; ok || key < firstOwnStat {
		panic(fmt.Sprintf("stat %s has key %d, which is taken", info.Name, key))
	}
	ownStats[key] = info
	return key
}

// Stats that several formats share. What one format counts is declared in its folder.
var (
	StatInvalidUTF8 = NewStat(1000, StatInfo{
		Name: "invalid_utf8", Severity: Notice, Effect: Damaged,
		Description: "Texts that were not UTF-8 and were repaired.",
	})
	StatUnsupportedEmbeddedFormat = NewStat(1001, StatInfo{
		Name: "unsupported_embedded_format", Severity: Notice, Effect: NotRead,
		Description: "Parts of a trace whose format cannot be read inside another.",
	})
	StatTruncatedInput = NewStat(1002, StatInfo{
		Name: "truncated_input", Severity: DataLoss, Effect: Damaged,
		Description: "Traces that end within an event.",
	})
	StatUnreadEvent = NewStat(1004, StatInfo{
		Name: "unread_event", Indexed: true, Severity: Notice, Effect: NotRead,
		Description: "Events that are recognised but make no rows, by kind.",
	})
	StatTrailingGarbage = NewStat(1006, StatInfo{
		Name: "trailing_garbage", Severity: Notice, Effect: Noticed,
		Description: "Compressed files followed by other data.",
	})
	StatCorruptPacket = NewStat(1007, StatInfo{
		Name: "corrupt_packet", Severity: Error, Effect: Lost,
		Description: "Packets that could not be decoded.",
	})
	StatSliceEndWithoutBegin = NewStat(1010, StatInfo{
		Name: "slice_end_without_begin", Severity: Info,
		Description: "Ends of slices whose begin was before the trace or is missing.",
	})
	StatJSONTrailingData = NewStat(1011, StatInfo{
		Name: "json_trailing_data", Severity: DataLoss, Effect: Lost, Gap: true,
		Description: "JSON traces followed by other data, which is not read.",
	})
	StatUnreadFact = NewStat(1016, StatInfo{
		Name: "unread_fact", Indexed: true, Severity: Notice, Effect: NotRead,
		Description: "Facts that a trace states about itself, or about how to show it, and that make no rows, by kind.",
	})
	StatUnreadArchiveMember = NewStat(1018, StatInfo{
		Name: "unread_archive_member", Indexed: true, Severity: DataLoss, Effect: Lost, Gap: true,
		Description: "Files in archives that cannot be read completely, by trace_file.",
	})
	StatIncompleteFile = NewStat(1024, StatInfo{
		Name: "incomplete_file", Severity: DataLoss, Effect: Damaged,
		Description: "Files in a compressed file or an archive that end too early.",
	})
	StatUnendedLine = NewStat(1053, StatInfo{
		Name: "unended_line", Severity: Notice, Effect: Noticed,
		Description: "Texts whose last line has no line end. It was read, but may be cut off.",
	})
)

func (s Stat) info() StatInfo {
	if s >= firstOwnStat {
		return ownStats[s]
	}
	return stats[s]
}

// AllStats lists the stats in the order of their keys.
func AllStats() []Stat {
	var all []Stat
	for s := range stats {
		all = append(all, Stat(s))
	}
	return append(all, slices.Sorted(maps.Keys(ownStats))...)
}

// StatNamed returns the stat with this name.
func StatNamed(name string) (s Stat, ok bool) {
	s, ok = statsByName()[name]
	return s, ok
}

var statsByName = sync.OnceValue(func() map[string]Stat {
	all := map[string]Stat{}
	for _, s := range AllStats() {
		all[s.String()] = s
	}
	return all
})

// String returns the name of the count.
func (s Stat) String() string { return s.info().Name }

// Indexed reports whether the stat has a value for each of several things.
func (s Stat) Indexed() bool { return s.info().Indexed }

// Severity returns how serious the count is.
func (s Stat) Severity() Severity { return s.info().Severity }

// Source returns what counted: the recorder or the conversion.
func (s Stat) Source() Provenance { return s.info().Source }

// Effect returns what the count means for the dataset. Trace Processor's severity tells little about that: it calls
// packets that it skipped a notice, and slices that are on another track an error.
func (s Stat) Effect() Effect { return s.info().Effect }

// CountsEvents reports whether the value is a number of events. Other values are bytes, times, or numbers of gaps of
// unknown size.
func (s Stat) CountsEvents() bool { return !s.info().Gap }

// Description says what is counted.
func (s Stat) Description() string { return s.info().Description }

// Own reports whether Trace Processor does not have the stat.
func (s Stat) Own() bool { return s >= firstOwnStat }

type statKey struct {
	stat    Stat
	index   int64
	file    FileID
	machine MachineID
}

type statCounts map[statKey]int64

// SetStat sets a count that an earlier conversion made. index, file and machine are None if there is none.
func (s *Store) SetStat(stat Stat, index int64, file FileID, machine MachineID, value int64) {
	s.stats[statKey{stat, index, file, machine}] = value
}

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
		t.Name.Set(row, s.Strings.Intern(info.Name))
		t.Key.Set(row, int64(key.stat))
		t.Severity.Set(row, s.Strings.Intern(info.Severity.String()))
		t.Effect.Set(row, s.Strings.Intern(info.Effect.String()))
		t.Source.Set(row, s.Strings.Intern(info.Source.String()))
		t.Value.Set(row, s.stats[key])
		description := info.Description
		if !s.terse {
			description = cmp.Or(s.statTexts[key], description)
		}
		t.Description.Set(row, s.Strings.Intern(description))
		if info.Indexed {
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

package perfdata

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/model"
)

// featureFolder is the feature of recordings in folders.
const featureFolder = 24

// featureReaders read the supported features, by number. They return false for
// damaged data.
var featureReaders = map[uint64]func(*tokenizer, *words) bool{
	1:             (*tokenizer).tracingData,
	2:             (*tokenizer).buildIDs,
	3:             (*tokenizer).hostname,
	4:             (*tokenizer).release,
	11:            (*tokenizer).cmdline,
	12:            (*tokenizer).eventDescriptions,
	featureFolder: (*tokenizer).folder,
	17:            func(*tokenizer, *words) bool { return true }, // groups of events
	27:            func(*tokenizer, *words) bool { return true }, // how records are compressed
	29:            (*tokenizer).clockData,
	129:           (*tokenizer).metaInfo,    // simpleperf's
	132:           (*tokenizer).symbolFiles, // simpleperf's
}

// featureNames are the names of unsupported features.
var featureNames = map[uint64]string{
	5: "version", 6: "arch", 7: "nrcpus", 8: "cpudesc", 9: "cpuid", 10: "total_mem",
	13: "cpu_topology", 14: "numa_topology", 15: "branch_stack", 16: "pmu_mappings", 18: "auxtrace", 19: "stat", 20: "cache",
	21: "sample_time", 22: "mem_topology", 23: "clockid", 25: "bpf_prog_info", 26: "bpf_btf",
	28: "cpu_pmu_caps", 30: "hybrid_topology", 31: "pmu_caps",
	// Simpleperf's.
	128: "file", 130: "debug_unwind", 131: "debug_unwind_file", 133: "etm_branch_list", 134: "init_map",
}

// features reads the sections after the records: a table of their positions, then
// the sections.
func (t *tokenizer) features(numbers []uint64) error {
	type feature struct {
		section
		number uint64
	}
	table, err := t.take(int64(16 * len(numbers)))
	if err != nil {
		return err
	}
	w := words{data: table, swapped: t.swapped}
	var sections []feature
	for _, number := range numbers {
		sections = append(sections, feature{w.section(), number})
	}
	slices.SortStableFunc(sections, func(a, b feature) int {
		return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(a.size, b.size))
	})
	for _, s := range sections {
		switch {
		case s.size == 0:
			t.feature(s.number, nil, int64(s.offset))
			continue
		case s.offset < uint64(t.offset) || s.offset > math.MaxInt64-s.size:
			t.badFeature(s.number, t.offset)
			continue
		}
		if err := t.discard(int64(s.offset) - t.offset); err != nil {
			return err
		}
		var data []byte
		at := t.offset
		if featureReaders[s.number] != nil {
			if data, err = t.take(int64(s.size)); err != nil {
				return err
			}
		}
		t.feature(s.number, data, at)
	}
	return nil
}

// feature reads a feature.
func (t *tokenizer) feature(number uint64, data []byte, offset int64) {
	read := featureReaders[number]
	if read == nil {
		noun := cmp.Or(featureNames[number], fmt.Sprintf("number %d", number)) + " feature"
		t.in.File.Unread(model.StatPerfFeaturesSkipped, int64(number), noun).AddAt(offset)
		return
	}
	if len(data) == 0 {
		return
	}
	w := words{data: data, swapped: t.swapped}
	if !read(t, &w) || w.short {
		t.badFeature(number, offset)
	}
}

// badFeature counts a damaged feature.
func (t *tokenizer) badFeature(number uint64, offset int64) {
	t.in.File.Log(model.StatPerfFeaturesSkipped, model.LogEntry{
		Offset: offset, HasOffset: true, Index: int64(number), HasIndex: true})
}

// buildIDs reads the build ids of files. Each is a record.
func (t *tokenizer) buildIDs(w *words) bool {
	for len(w.data) > 0 {
		header := w.take(headerSize)
		if header == nil {
			return false
		}
		rec, size := readHeader(header, t.swapped)
		if size < headerSize {
			return false
		}
		rec.data = w.take(uint64(size - headerSize))
		if !t.buildID(&rec) {
			return false
		}
	}
	return true
}

// buildID reads the build id of a file.
func (t *tokenizer) buildID(rec *record) bool {
	pid := int32(rec.uint32())
	field := rec.take(buildIDFields)
	if rec.short {
		return false
	}
	path, _, _ := bytes.Cut(rec.data, []byte{0})
	size := int(field[maxBuildID])
	if rec.misc&miscBuildIDSized == 0 {
		size = guessBuildID(field[:maxBuildID])
	} else if size > maxBuildID {
		return false
	}
	file := mappedFile{pid, string(path)}
	if _, ok := t.recording.buildIDs[file]; !ok {
		t.recording.buildIDs[file] = string(field[:size])
	}
	return true
}

// guessBuildID returns the size of a build id that simpleperf padded with zeros: a
// SHA-1, an MD5 or 8 bytes.
func guessBuildID(id []byte) int {
	switch n := len(bytes.TrimRight(id, "\x00")); {
	case n > 16:
		return maxBuildID
	case n > 8:
		return 16
	}
	return 8
}

// release reads the kernel version.
func (t *tokenizer) release(w *words) bool { return t.fact(w, "system_release") }

// hostname reads the name of the machine.
func (t *tokenizer) hostname(w *words) bool { return t.fact(w, model.HostName) }

// fact reads a text, which becomes metadata.
func (t *tokenizer) fact(w *words, name string) bool {
	text := w.paddedText()
	if w.short {
		return false
	}
	t.in.Machine.SetMetadata(name, model.StringArg(t.in.Store.Strings.Intern(text)))
	return true
}

// folder reads the version of a recording in a folder.
func (t *tokenizer) folder(w *words) bool {
	if t.in.Parts == nil {
		t.in.File.Unread(model.StatUnreadFact, model.None, "folder").
			Say("other file of the recording is not here: convert the folder that perf record made", "").AddAt(t.offset)
	}
	return w.uint64() == 1
}

// clockData reads how the clock of perf record --clockid relates to the wall clock.
func (t *tokenizer) clockData(w *words) bool {
	const supported = 1
	version := w.uint32()
	id, known := clocks[w.uint32()]
	wall, value := w.uint64(), w.uint64()
	if w.short || version != supported || !known {
		return false
	}
	if id != model.ClockRealtime {
		t.in.Clocks.AddSnapshot([]model.Reading{{Clock: model.Clock{ID: id}, Value: int64(value), Unit: 1},
			{Clock: model.Clock{ID: model.ClockRealtime}, Value: int64(wall), Unit: 1}})
	}
	return true
}

// cmdline reads perf's command line.
func (t *tokenizer) cmdline(w *words) bool {
	var args []string
	for range w.uint32() {
		args = append(args, w.paddedText())
		if w.short {
			return false
		}
	}
	id := t.in.Store.Strings.Intern(strings.Join(args, " "))
	for _, e := range t.recording.events {
		t.in.Store.ProfilerSession.Cmdline.Set(int64(e.session), id)
	}
	return true
}

// eventDescriptions reads the names of the events, in the order of the events. If
// there is only one event, its counters need no ids.
func (t *tokenizer) eventDescriptions(w *words) bool {
	n, attrSize := w.uint32(), w.uint32()
	for i := range n {
		w.take(uint64(attrSize))
		ids := w.uint32()
		name := w.paddedText()
		for range ids {
			if w.short {
				return false
			}
			t.name(w.uint64(), name)
		}
		if w.short {
			return false
		}
		if ids == 0 && int(i) < len(t.recording.events) {
			t.recording.events[i].name = name
		}
	}
	return true
}

// metaInfo reads simpleperf's keys and values about the recording. The value of
// event_type_info has a line for each event.
func (t *tokenizer) metaInfo(w *words) bool {
	t.recording.simpleperf = true
	for len(w.data) > 0 {
		key, _ := w.text()
		value, ok := w.text()
		if !ok {
			return false
		}
		if string(key) == "system_wide_collection" && string(value) == "true" {
			t.recording.allThreads = true
		}
		if string(key) != "event_type_info" {
			continue
		}
		for line := range strings.SplitSeq(string(value), "\n") {
			if line != "" && !t.eventType(strings.Split(line, ",")) {
				return false
			}
		}
	}
	return true
}

// eventType names the events with a type and a configuration.
func (t *tokenizer) eventType(fields []string) bool {
	if len(fields) != 3 {
		return false
	}
	kind, err := strconv.ParseUint(fields[1], 10, 32)
	config, err2 := strconv.ParseUint(fields[2], 10, 64)
	if cmp.Or(err, err2) != nil {
		return false
	}
	for _, e := range t.recording.events {
		if e.kind == uint32(kind) && e.config == config {
			e.name = fields[0]
		}
	}
	return true
}

// symbolFiles reads the symbols that simpleperf collected, one entry per file.
func (t *tokenizer) symbolFiles(w *words) bool {
	t.recording.simpleperf = true
	for len(w.data) > 0 {
		file := w.take(uint64(w.uint32()))
		if w.short || !t.recording.symbols.add(t.in.Store.Strings, file) {
			return false
		}
	}
	return true
}

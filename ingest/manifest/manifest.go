// Package manifest reads Perfetto's manifests: JSON files in an archive that say how
// the traces beside them form one timeline. See docs/reference/perfetto-manifest.md
// in Perfetto's repository.
package manifest

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"slices"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/model"
)

// Format is the format of manifests.
var Format = &format.Format{Name: "perfetto_manifest", Turn: format.TurnManifest, Sniff: sniff, Read: read}

func sniff(head []byte) bool {
	start := bytes.Join(bytes.Fields(head[:min(len(head), 128)]), nil)
	return bytes.HasPrefix(start, []byte(`{"perfetto_manifest"`))
}

// maxBytes is the maximum size of a manifest.
const maxBytes = 16 << 20

func read(in *format.Input) error {
	if in.Overrides.Read {
		return wrong("multiple perfetto_manifest files in archive")
	}
	in.Overrides.Read = true
	text, err := io.ReadAll(io.LimitReader(in, maxBytes+1))
	if err != nil {
		return err
	}
	if len(text) > maxBytes {
		return format.Errorf(format.ErrUnsupported, maxBytes, "a manifest of more than %d bytes", maxBytes)
	}
	m, err := parse(text)
	if err != nil {
		return err
	}
	return m.apply(in)
}

// Paths returns the paths of the files that a manifest names.
func Paths(text []byte) ([]string, error) {
	m, err := parse(text)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, f := range m.files {
		paths = append(paths, f.path)
	}
	return paths, nil
}

// wrong returns the error of an invalid manifest.
func wrong(message string, args ...any) error {
	return format.Errorf(format.ErrManifest, -1, message, args...)
}

// apply sets up machines, clocks and attributes before any trace is read.
func (m *manifest) apply(in *format.Input) error {
	store := in.Store
	for _, a := range m.attributes {
		value := model.IntArg(a.number)
		if a.isText {
			value = model.StringArg(store.Strings.Intern(a.text))
		}
		store.SetMetadata("manifest_attribute."+a.key, value)
	}
	a := application{manifest: m, store: store, machines: map[string]int64{}}
	for _, f := range m.files {
		a.machinesOf(f)
	}
	if err := a.traceTime(in.File); err != nil {
		return err
	}
	for _, f := range m.files {
		if f.clocks != nil {
			if err := a.relate(f); err != nil {
				return err
			}
		}
		in.Overrides.Files[f.path] = &format.Override{
			Machine:    f.machine,
			Machines:   f.remap,
			OneMachine: f.machine != 0 && f.remap == nil,
			OneClock:   f.clocks != nil && f.clocks.own == 0,
			Clocks:     f.clocks != nil,
			Offset:     f.offset,
		}
	}
	return nil
}

// application is the state of applying a manifest.
type application struct {
	*manifest
	store    *model.Store
	machines map[string]int64 // raw ids by name
}

func (a *application) machinesOf(f *file) {
	if f.machineName != "" {
		f.machine = a.machine(f.machineName)
	}
	for _, e := range f.embedded {
		if f.remap == nil {
			f.remap = map[uint32]int64{}
		}
		f.remap[e.id] = a.machine(e.name)
		if e.id == 0 {
			f.machine, f.machineName = f.remap[0], e.name
		}
	}
}

// machine returns the raw id of the named machine.
func (a *application) machine(name string) int64 {
	id, ok := a.machines[name]
	if !ok {
		id = a.store.NameMachine(name)
		a.machines[name] = id
	}
	return id
}

func (a *application) traceTime(own *model.File) error {
	t := a.time
	if t == nil {
		return nil
	}
	raw, err := a.reference("trace_time: file", "trace_time: machine", t.file, t.machine, 0)
	if err != nil {
		return err
	}
	a.store.ClaimTraceClock(own, a.store.MachineClock(raw, t.clock))
	return nil
}

// reference resolves which machine's clock is meant: the machine of a file, or the
// named one if the file has several.
func (a *application) reference(fileLabel, machineLabel, path, machine string, fallback int64) (int64, error) {
	if path == "" {
		if machine != "" {
			return 0, wrong("perfetto_manifest: %s '%s' needs %s too: a machine name alone is ambiguous, because machine ids are those of one trace", machineLabel, machine, fileLabel)
		}
		return fallback, nil
	}
	f := a.file(path)
	switch {
	case f == nil:
		return 0, wrong("perfetto_manifest: %s names unknown file '%s'. It must match the `path` of an entry in the `files` array", fileLabel, path)
	case machine == "" && f.remap != nil:
		return 0, wrong("perfetto_manifest: %s '%s' is a multi-machine trace; also name the machine with %s", fileLabel, path, machineLabel)
	case machine == "":
		return f.machine, nil
	case !f.declares(machine):
		return 0, wrong("perfetto_manifest: %s '%s' is not a machine declared by file '%s'", machineLabel, machine, path)
	}
	return a.machines[machine], nil
}

// relate adds the relation between a file's clock and another file's clock.
func (a *application) relate(f *file) error {
	c := f.clocks
	raw := f.machine
	switch {
	case c.machine == "" && f.remap != nil:
		return wrong("perfetto_manifest: clocks: file '%s' is a multi-machine trace; name which machine the clock is on with clocks: machine", f.path)
	case c.machine != "" && !f.declares(c.machine):
		return wrong("perfetto_manifest: clocks: machine '%s' is not a machine declared by file '%s'", c.machine, f.path)
	case c.machine != "":
		raw = a.machines[c.machine]
	}
	other, err := a.reference("clocks: sync_to.file", "clocks: sync_to.machine", c.toFile, c.toMachine, raw)
	if err != nil {
		return err
	}
	own, err := a.clock(f.path, raw, c.own)
	if err != nil {
		return err
	}
	to, err := a.clock(c.toFile, other, c.toClock)
	if err != nil {
		return err
	}
	// Shift both readings so that neither is negative.
	a.store.RelateClocks(own, max(-c.offset, 0), to, max(c.offset, 0))
	return nil
}

// clock returns a clock of a machine, or the timeline of a file if id is 0.
func (a *application) clock(path string, machine int64, id uint32) (model.Clock, error) {
	if id != 0 {
		return a.store.MachineClock(machine, id), nil
	}
	clock, ok := a.store.Timeline(path, machine)
	if !ok {
		return clock, wrong("perfetto_manifest: clocks: could not resolve file '%s'. It must match the `path` of an entry in the `files` array", path)
	}
	return clock, nil
}

// manifest is a parsed manifest.
type manifest struct {
	time       *traceTime
	files      []*file
	attributes []attribute
}

func (m *manifest) file(path string) *file {
	for _, f := range m.files {
		if f.path == path {
			return f
		}
	}
	return nil
}

type traceTime struct {
	clock         uint32
	file, machine string
}

type attribute struct {
	key    string
	isText bool
	text   string
	number int64
}

// file is an entry for a file in the archive.
type file struct {
	path        string
	machineName string
	embedded    []embedded
	clocks      *clocks
	offset      int64 // ns

	machine int64            // raw id, 0 if none is declared
	remap   map[uint32]int64 // raw ids by the ids in the trace, nil for a single-machine trace
}

// embedded is a machine in a multi-machine trace.
type embedded struct {
	id   uint32
	name string
}

// declares reports whether the manifest declares the machine for this file.
func (f *file) declares(name string) bool {
	if f.machineName == name {
		return true
	}
	for _, e := range f.embedded {
		if e.name == name {
			return true
		}
	}
	return false
}

// clocks relate a clock of a file to a clock of another: where the file's clock
// reads T, the other reads T + offset.
type clocks struct {
	own               uint32 // 0 for the file's timeline
	machine           string
	toFile, toMachine string
	toClock           uint32
	offset            int64 // ns
}

func parse(text []byte) (*manifest, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var whole map[string]any
	if err := d.Decode(&whole); err != nil {
		return nil, wrong("perfetto_manifest: %v", err)
	}
	root, ok := whole["perfetto_manifest"].(map[string]any)
	if !ok {
		return nil, wrong("perfetto_manifest: expected a JSON object with a top-level perfetto_manifest key")
	}
	version, ok := root["version"]
	if !ok {
		return nil, wrong("perfetto_manifest: missing required field: version")
	}
	if n, ok := integer(version); !ok {
		return nil, wrong("perfetto_manifest: version must be an integer")
	} else if n != 1 {
		return nil, wrong("perfetto_manifest: unsupported version: %d. Only version 1 is supported; set \"version\": 1", n)
	}
	m := new(manifest)
	for _, part := range []struct {
		key  string
		read func(any) error
	}{{"trace_time", m.readTraceTime}, {"files", m.readFiles}, {"attributes", m.readAttributes}} {
		if v, ok := root[part.key]; ok {
			if err := part.read(v); err != nil {
				return nil, err
			}
		}
	}
	return m, nil
}

func (m *manifest) readTraceTime(v any) error {
	object, ok := v.(map[string]any)
	if !ok {
		return wrong("perfetto_manifest: trace_time must be an object")
	}
	clock, ok := object["clock"]
	if !ok {
		return wrong("perfetto_manifest: trace_time needs a clock")
	}
	t := new(traceTime)
	var err error
	if t.clock, err = clockNamed(clock); err != nil {
		return err
	}
	if t.file, err = text(object, "trace_time", "file"); err != nil {
		return err
	}
	if t.machine, err = text(object, "trace_time", "machine"); err != nil {
		return err
	}
	m.time = t
	return nil
}

func (m *manifest) readFiles(v any) error {
	all, ok := v.([]any)
	if !ok {
		return wrong("perfetto_manifest: files must be an array")
	}
	for _, v := range all {
		f, err := readFile(v)
		if err != nil {
			return err
		}
		m.files = append(m.files, f)
	}
	return nil
}

func (m *manifest) readAttributes(v any) error {
	object, ok := v.(map[string]any)
	if !ok {
		return wrong("perfetto_manifest: attributes must be an object of string or integer values, e.g. \"attributes\": {\"benchmark\": \"startup\"}")
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		a, v := attribute{key: key}, object[key]
		if key == "" {
			return wrong("perfetto_manifest: attributes: keys must be non-empty")
		}
		if a.text, a.isText = v.(string); !a.isText {
			if a.number, ok = integer(v); !ok {
				return wrong("perfetto_manifest: attributes: '%s' must be a string or an integer", key)
			}
		}
		m.attributes = append(m.attributes, a)
	}
	return nil
}

func readFile(v any) (*file, error) {
	object, _ := v.(map[string]any)
	path, ok := object["path"].(string)
	if !ok {
		return nil, wrong("perfetto_manifest: files entries must be objects with a string path")
	}
	f := &file{path: path}
	if v, ok := object["clocks"]; ok {
		object, ok := v.(map[string]any)
		if !ok {
			return nil, wrong("perfetto_manifest: clocks must be an object")
		}
		var err error
		if f.clocks, err = readClocks(object); err != nil {
			return nil, err
		}
	}
	// This key is an extension: Trace Processor does not know it.
	if v, ok := object["offset_ns"]; ok {
		if f.offset, ok = integer(v); !ok {
			return nil, wrong("perfetto_manifest: files: offset_ns must be an integer")
		}
	}
	machine, one := object["machine"]
	machines, several := object["machines"]
	switch {
	case one && several:
		return nil, wrong("perfetto_manifest: machine and machines are mutually exclusive. Use `machine` for a single-machine file, or `machines` to rename the machines of a multi-machine trace")
	case one:
		object, _ := machine.(map[string]any)
		name, ok := object["name"].(string)
		if !ok {
			return nil, wrong("perfetto_manifest: machine must be an object with a string name, e.g. \"machine\": {\"name\": \"phone\"}")
		}
		if name == "" {
			return nil, wrong("perfetto_manifest: machine: name must be non-empty")
		}
		f.machineName = name
	case several:
		all, ok := machines.([]any)
		if !ok {
			return nil, wrong("perfetto_manifest: machines must be an array")
		}
		for _, v := range all {
			e, err := readMachine(v)
			if err != nil {
				return nil, err
			}
			f.embedded = append(f.embedded, e)
		}
	}
	return f, nil
}

func readMachine(v any) (embedded, error) {
	object, _ := v.(map[string]any)
	_, isNumber := object["id"].(json.Number)
	name, ok := object["name"].(string)
	if !isNumber || !ok {
		return embedded{}, wrong("perfetto_manifest: machines entries need an integer id and a string name, e.g. \"machines\": [{\"id\": 0, \"name\": \"phone\"}]")
	}
	id, ok := integer(object["id"])
	if !ok || id < 0 || id > 1<<32-1 {
		return embedded{}, wrong("perfetto_manifest: machines: id must be in [0, 4294967295]")
	}
	if name == "" {
		return embedded{}, wrong("perfetto_manifest: machines: name must be non-empty")
	}
	return embedded{uint32(id), name}, nil
}

func readClocks(object map[string]any) (*clocks, error) {
	c := new(clocks)
	var err error
	if c.machine, err = text(object, "clocks", "machine"); err != nil {
		return nil, err
	}
	if v, ok := object["clock"]; ok {
		if c.own, err = clockNamed(v); err != nil {
			return nil, err
		}
	}
	v, ok := object["sync_to"]
	if !ok {
		return nil, wrong("perfetto_manifest: clocks: a sync_to block is required. It names the trace that this file's clock relates to, e.g. \"sync_to\": {\"file\": \"other.pb\"}")
	}
	to, ok := v.(map[string]any)
	if !ok {
		return nil, wrong("perfetto_manifest: clocks: sync_to must be an object")
	}
	if c.toFile, ok = to["file"].(string); !ok {
		return nil, wrong("perfetto_manifest: clocks: sync_to.file is required and must be a string")
	}
	if c.toMachine, err = text(to, "clocks: sync_to", "machine"); err != nil {
		return nil, err
	}
	if v, ok := to["clock"]; ok {
		if c.toClock, err = clockNamed(v); err != nil {
			return nil, err
		}
	}
	if v, ok := object["offset_ns"]; ok {
		if c.offset, ok = integer(v); !ok {
			return nil, wrong("perfetto_manifest: clocks: offset_ns must be an integer")
		}
		if c.offset == -1<<63 {
			return nil, wrong("perfetto_manifest: clocks: offset_ns is out of range")
		}
	}
	return c, nil
}

// text returns a string member, or "" if there is none.
func text(object map[string]any, in, key string) (string, error) {
	v, ok := object[key]
	if !ok {
		return "", nil
	}
	s, ok := v.(string)
	if !ok {
		return "", wrong("perfetto_manifest: %s: %s must be a string", in, key)
	}
	return s, nil
}

func integer(v any) (int64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	i, err := n.Int64()
	return i, err == nil
}

func clockNamed(v any) (uint32, error) {
	name, ok := v.(string)
	if !ok {
		return 0, wrong("perfetto_manifest: clock name must be a string")
	}
	id, ok := model.ClockNamed(name)
	if !ok {
		return 0, wrong("perfetto_manifest: unknown clock name: %s. Use one of REALTIME, REALTIME_COARSE, MONOTONIC, MONOTONIC_COARSE, MONOTONIC_RAW, BOOTTIME", name)
	}
	return id, nil
}

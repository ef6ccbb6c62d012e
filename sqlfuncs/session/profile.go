package session

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/pprof/profile"

	"github.com/tpconvert/tpconvert/sqlfuncs"
)

// profileFunction is the name of profiler.profile in SQL.
const profileFunction = "_profile"

// createProfile creates what Trace Processor's aggregate of this name does with a list of samples. The function gets the
// queries for the tables that it needs, so that the tables exist when a statement names it.
var createProfile = "CREATE MACRO experimental_profile(samples) AS " + profileFunction + "([" + strings.Join([]string{
	Quote("SELECT id, parent_id, frame_id FROM dataset.stack_profile_callsite ORDER BY id"),
	Quote("SELECT id, mapping, rel_pc, coalesce(name, ''), deobfuscated_name, symbol_set_id FROM dataset.stack_profile_frame ORDER BY id"),
	Quote(`SELECT id, start, "end", exact_offset, coalesce(build_id, ''), coalesce(name, '') FROM dataset.stack_profile_mapping ORDER BY id`),
	Quote(`SELECT symbol_set_id, coalesce(name, ''), coalesce(source_file, ''), coalesce(line_number, 0)
FROM dataset.stack_profile_symbol ORDER BY id`),
	Quote(`SELECT j.frame_id, 'JS: ' || coalesce(nullif(f.name, ''), '(anonymous)') || ':' || coalesce(f.line, 0) || ':' || coalesce(f.col, 0)
    || ' [' || coalesce(js.tier, '') || ']' AS function, coalesce(s.name, '') AS file, coalesce(f.line, 0) AS line
FROM dataset.jit_frame AS j JOIN dataset.v8_js_code AS js USING (jit_code_id)
JOIN dataset.v8_js_function AS f ON f.id = js.v8_js_function_id LEFT JOIN dataset.v8_js_script AS s ON s.id = f.v8_js_script_id
UNION ALL SELECT frame_id, 'WASM: ' || coalesce(function_name, ''), '', 0 FROM dataset.jit_frame JOIN dataset.v8_wasm_code USING (jit_code_id)
UNION ALL SELECT frame_id, 'REGEXP: ' || coalesce(pattern, ''), '', 0 FROM dataset.jit_frame JOIN dataset.v8_regexp_code USING (jit_code_id)
UNION ALL SELECT frame_id, 'V8: ' || coalesce(function_name, ''), '', 0 FROM dataset.jit_frame JOIN dataset.v8_internal_code USING (jit_code_id)`),
}, ", ") + "], samples)"

// profiler builds profiles in pprof's format.
type profiler struct {
	db *sql.DB

	mu     sync.Mutex
	stacks *stackTables // nil until the first profile
}

// stackTables are the rows of the tables about stacks. The index of a row is its id.
type stackTables struct {
	callsites []callsite
	frames    []stackFrame
	mappings  []stackMapping
	symbols   map[int64][]stackLine // by symbol_set_id, the innermost function first
	compiled  map[int64]stackLine   // functions that V8 compiled, by frame
}

type callsite struct {
	parent sql.NullInt64
	frame  int64
}

type stackFrame struct {
	mapping, address int64 // relative to the mapping
	name             string
	deobfuscated     sql.NullString
	symbols          sql.NullInt64
}

type stackMapping struct {
	start, end, offset int64
	buildID, name      string
}

type stackLine struct {
	function, file string
	line           int64
}

// load reads the tables.
func (p *profiler) load(ctx context.Context, queries []string) (*stackTables, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stacks != nil {
		return p.stacks, nil
	}
	conn, err := p.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	t := &stackTables{symbols: map[int64][]stackLine{}, compiled: map[int64]stackLine{}}
	var id int64
	var c callsite
	var f stackFrame
	var m stackMapping
	var l stackLine
	for i, read := range []struct {
		columns []any
		add     func() error
	}{
		{[]any{&id, &c.parent, &c.frame}, func() (err error) { t.callsites, err = numbered(t.callsites, id, c); return err }},
		{[]any{&id, &f.mapping, &f.address, &f.name, &f.deobfuscated, &f.symbols},
			func() (err error) { t.frames, err = numbered(t.frames, id, f); return err }},
		{[]any{&id, &m.start, &m.end, &m.offset, &m.buildID, &m.name},
			func() (err error) { t.mappings, err = numbered(t.mappings, id, m); return err }},
		{[]any{&id, &l.function, &l.file, &l.line}, func() error { t.symbols[id] = append(t.symbols[id], l); return nil }},
		{[]any{&id, &l.function, &l.file, &l.line}, func() error {
			if _, ok := t.compiled[id]; !ok {
				t.compiled[id] = l
			}
			return nil
		}},
	} {
		if err := eachRow(ctx, conn, queries[i], read.columns, read.add); err != nil {
			return nil, err
		}
	}
	p.stacks = t
	return t, nil
}

func numbered[T any](rows []T, id int64, row T) ([]T, error) {
	if id != int64(len(rows)) {
		return nil, errors.New("EXPERIMENTAL_PROFILE: the dataset has the stacks of several traces")
	}
	return append(rows, row), nil
}

func eachRow(ctx context.Context, conn *sql.Conn, query string, columns []any, each func() error) error {
	rows, err := conn.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := errors.Join(rows.Scan(columns...), each()); err != nil {
			return err
		}
	}
	return rows.Err()
}

var errNoSampleType = errors.New("EXPERIMENTAL_PROFILE: types and units of samples must be text")

// profileSample is a row that the aggregate gets.
type profileSample struct {
	stack  []byte
	types  []string // and units
	values []int64
}

// profile returns a profile of samples. The first one has the types of all values.
func (p *profiler) profile(ctx context.Context, queries []string, samples []profileSample) ([]byte, error) {
	t, err := p.load(ctx, queries)
	if err != nil {
		return nil, err
	}
	b := &profileBuilder{
		stackTables: t, annotations: map[int64]annotation{},
		samples: map[string]*profile.Sample{}, locations: map[string]*profile.Location{},
		functions: map[functionKey]*profile.Function{}, mappings: map[mappingKey]*profile.Mapping{},
	}
	for pair := range slices.Chunk(samples[0].types, 2) {
		b.SampleType = append(b.SampleType, &profile.ValueType{Type: pair[0], Unit: pair[1]})
	}
	for _, s := range samples {
		if err := b.add(s); err != nil {
			return nil, err
		}
	}
	if len(b.Mapping) > 0 { // pprof expects the program first
		program := slices.MaxFunc(b.Mapping, func(x, y *profile.Mapping) int { return cmp.Compare(programScore(x), programScore(y)) })
		libraries := slices.DeleteFunc(b.Mapping, func(m *profile.Mapping) bool { return m == program })
		b.Mapping = append([]*profile.Mapping{program}, libraries...)
	}
	var out bytes.Buffer
	err = b.WriteUncompressed(&out)
	return out.Bytes(), err
}

// profileBuilder is a profile, with its parts by what makes them equal.
type profileBuilder struct {
	profile.Profile
	*stackTables
	annotations map[int64]annotation // by callsite
	samples     map[string]*profile.Sample
	locations   map[string]*profile.Location
	functions   map[functionKey]*profile.Function
	mappings    map[mappingKey]*profile.Mapping
}

type functionKey struct{ name, symbol, file string }

// mappingKey identifies a file's mapping in several processes.
type mappingKey struct {
	size, offset int64
	file         string // or its build id
}

func (b *profileBuilder) add(s profileSample) error {
	entries, err := readStack(s.stack)
	if err != nil || len(entries) == 0 {
		return err
	}
	var stack []*profile.Location
	for _, e := range entries {
		switch e.field {
		case entryName:
			stack = append(stack, b.location(nil, 0, []profile.Line{{Function: b.function(nil, functionKey{name: e.name})}}))
		case entryFrame:
			if e.id < 0 || e.id >= int64(len(b.frames)) {
				return fmt.Errorf("EXPERIMENTAL_PROFILE: there is no frame %d", e.id)
			}
			stack = append(stack, b.frameLocation(e.id, ""))
		case entryCallsite, entryAnnotated:
			if e.id < 0 || e.id >= int64(len(b.callsites)) {
				return fmt.Errorf("EXPERIMENTAL_PROFILE: there is no callsite %d", e.id)
			}
			for at := (sql.NullInt64{Int64: e.id, Valid: true}); at.Valid; at = b.callsites[at.Int64].parent {
				suffix := ""
				if e.field == entryAnnotated {
					suffix = b.annotation(at.Int64).text
				}
				stack = append(stack, b.frameLocation(b.callsites[at.Int64].frame, suffix))
			}
		}
	}
	var key []byte
	for _, l := range stack {
		key = binary.AppendUvarint(key, l.ID)
	}
	sum := b.samples[string(key)]
	if sum == nil {
		sum = &profile.Sample{Location: stack, Value: make([]int64, len(s.values))}
		b.samples[string(key)], b.Sample = sum, append(b.Sample, sum)
	}
	for i, v := range s.values {
		sum.Value[i] += v
	}
	return nil
}

// frameLocation returns the location of a frame. The names of its functions get a suffix in brackets, if it is not empty.
func (b *profileBuilder) frameLocation(id int64, suffix string) *profile.Location {
	f := &b.frames[id]
	m := b.mapping(f.mapping)
	annotated := func(name string) string {
		if name != "" && suffix != "" {
			name += " [" + suffix + "]"
		}
		return name
	}
	var known []stackLine
	if l, ok := b.compiled[id]; ok {
		known = []stackLine{l}
	} else if f.symbols.Valid {
		known = b.symbols[f.symbols.Int64]
		m.HasInlineFrames, m.HasLineNumbers = true, true
	}
	var lines []profile.Line
	for _, l := range known {
		if function := b.function(m, functionKey{name: annotated(l.function), file: l.file}); function != nil {
			lines = append(lines, profile.Line{Function: function, Line: l.line})
		}
	}
	if lines == nil {
		name := f.deobfuscated.String
		if !f.deobfuscated.Valid {
			name = f.name
			if demangled, ok := sqlfuncs.Demangle(name); ok {
				name = demangled
			}
		}
		if function := b.function(m, functionKey{name: annotated(name), symbol: f.name}); function != nil {
			lines = []profile.Line{{Function: function}}
		}
	}
	return b.location(m, f.address, lines)
}

// location returns the location at an address in a mapping. The mapping of functions that are only names is nil.
func (b *profileBuilder) location(m *profile.Mapping, address int64, lines []profile.Line) *profile.Location {
	l := &profile.Location{ID: uint64(len(b.Location) + 1), Mapping: m, Line: lines}
	key := binary.AppendVarint(nil, address)
	if m != nil {
		key = binary.AppendUvarint(key, m.ID)
		l.Address = m.Start + uint64(address)
	}
	for _, line := range lines {
		var function uint64
		if line.Function != nil {
			function = line.Function.ID
		}
		key = binary.AppendVarint(binary.AppendUvarint(key, function), line.Line)
	}
	if old := b.locations[string(key)]; old != nil {
		return old
	}
	b.locations[string(key)], b.Location = l, append(b.Location, l)
	return l
}

// function returns a function, or nil if nothing of it is known. As in Trace Processor, only the mapping in which a function
// comes first is said to have functions.
func (b *profileBuilder) function(m *profile.Mapping, key functionKey) *profile.Function {
	f := b.functions[key]
	if f != nil || key == (functionKey{}) {
		return f
	}
	f = &profile.Function{ID: uint64(len(b.Function) + 1), Name: key.name, SystemName: key.symbol, Filename: key.file}
	b.functions[key], b.Function = f, append(b.Function, f)
	if m != nil {
		m.HasFunctions = m.HasFunctions || key.name != "" || key.symbol != ""
		m.HasFilenames = m.HasFilenames || key.file != ""
	}
	return f
}

func (b *profileBuilder) mapping(id int64) *profile.Mapping {
	row := &b.stackTables.mappings[id]
	key := mappingKey{row.end - row.start, row.offset, cmp.Or(row.buildID, row.name)}
	m := b.mappings[key]
	if m == nil {
		m = &profile.Mapping{
			ID: uint64(len(b.Mapping) + 1), Start: uint64(row.start), Limit: uint64(row.end), Offset: uint64(row.offset),
			File: row.name, BuildID: row.buildID,
		}
		b.mappings[key], b.Mapping = m, append(b.Mapping, m)
	}
	return m
}

// programScore is higher for mappings that are more likely the program and not a library.
func programScore(m *profile.Mapping) int {
	score := 0
	for _, known := range []bool{m.BuildID != "", m.File != "", m.HasFunctions, m.HasFilenames, m.HasLineNumbers, m.HasInlineFrames} {
		if known {
			score++
		}
	}
	if m.Start == m.Limit {
		score -= 100
	}
	if strings.HasSuffix(m.File, ".so") {
		score -= 100
	}
	if hasAnyPrefix(m.File, "/apex", "/system", "/[", "[") {
		score -= 100
	}
	return score
}

func hasAnyPrefix(s string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(s, prefix) })
}

// runtimeState is what the callsites above say about frames of Android's runtime.
type runtimeState int

const (
	outsideRuntime runtimeState = iota // no managed code above
	insideRuntime                      // frames of the runtime are only its machinery
	calledNatively                     // the next frame is a method's native implementation, even in the runtime
)

// annotation is what the name of a callsite's function gets appended, and the state for the callsites below.
type annotation struct {
	text  string
	below runtimeState
}

// annotation returns that of a callsite.
func (b *profileBuilder) annotation(id int64) annotation {
	if known, ok := b.annotations[id]; ok {
		return known
	}
	c := &b.callsites[id]
	state := outsideRuntime
	if c.parent.Valid {
		state = b.annotation(c.parent.Int64).below
	}
	f := &b.frames[c.frame]
	of := annotate(f.name, b.stackTables.mappings[f.mapping].name, state)
	b.annotations[id] = of
	return of
}

// annotationsFunction is the name of annotations in SQL.
const annotationsFunction = "_stack_annotations"

// annotations returns the annotations of a stack, whose root comes first, from its functions and their mappings.
func annotations(functions, mappings []string) []string {
	texts, state := make([]string, len(functions)), outsideRuntime
	for i, function := range functions {
		a := annotate(function, mappings[i], state)
		texts[i], state = a.text, a.below
	}
	return texts
}

// annotate says how Android's runtime executes a function.
func annotate(function, mapping string, state runtimeState) annotation {
	switch {
	case state == calledNatively:
		return annotation{"", insideRuntime}
	case function == "art_jni_trampoline":
		return annotation{"common-frame", calledNatively}
	}
	kind := mappingKind(mapping)
	switch {
	case kind == "":
		return annotation{"", state}
	case kind != runtimeLibrary:
		return annotation{kind, insideRuntime}
	case state == outsideRuntime:
		return annotation{"", state}
	case hasAnyPrefix(function, "nterp_", "Nterp", "ExecuteNterp", "ExecuteSwitchImpl", "_ZN3art11interpreter"):
		return annotation{"common-frame-interp", state}
	}
	return annotation{"common-frame", state}
}

const runtimeLibrary = "libart"

// mappingKind returns how a mapping's managed code is executed, runtimeLibrary, or "".
func mappingKind(name string) string {
	if hasAnyPrefix(name, "/memfd:jit-cache", "/memfd:jit-zygote-cache") {
		return "jit"
	}
	if slash := strings.LastIndexByte(name, '/'); slash >= 0 && hasAnyPrefix(name[slash:], "/libart.so", "/libartd.so") {
		return runtimeLibrary
	}
	dot := strings.LastIndexByte(name, '.')
	switch {
	case dot < 0:
		return ""
	case hasAnyPrefix(name[dot:], ".dex", ".vdex", ".jar", ".apk"):
		return "interp"
	case hasAnyPrefix(name[dot:], ".oat", ".odex"):
		return "aot"
	}
	return ""
}

package arrowtar

import (
	"math"
	"strings"

	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
)

// Tables whose rows are not copied alone.

// maxTexts limits the bytes of the args' texts that are kept in memory.
const maxTexts = 64 << 20

// fileBase is the id of the export's first file: those of the conversion come before it.
func (e *export) fileBase() int64 { return int64(e.in.File.ID) + 1 }

// traceFiles adds the files of the export as members of the archive.
func (e *export) traceFiles() {
	f := e.files["trace_file"]
	if f == nil {
		return
	}
	store := e.in.Store
	t := &store.TraceFile
	columns := e.columns(f, &t.Table)
	parent := f.column("parent_id")
	order := f.column("processing_order")
	for row := range f.rows {
		to := int64(store.NewFile("", e.in.File).ID)
		for _, set := range columns {
			set(row, to)
		}
		if v, ok := parent.number(row); ok && v < row {
			t.ParentID.Set(to, model.FileID(v+e.fileBase()))
		} else {
			t.ParentID.Set(to, e.in.File.ID)
		}
		if v, ok := order.number(row); ok {
			t.ProcessingOrder.Set(to, v+e.fileBase())
		}
	}
}

// stats sets the counts. Trace Processor also lists those that are 0.
func (e *export) stats() {
	f := e.files["stats"]
	if f == nil {
		return
	}
	name, keys, index, value := f.column("name"), f.column("key"), f.column("idx"), f.column("value")
	machine, file := f.column("machine_id"), f.column("trace_id")
	if name == nil || !name.text || value == nil {
		e.damaged(f.offset, "the columns of stats")
		return
	}
	name.texts.intern(e.in.Store.Strings, math.MaxInt64)
	files := e.files["trace_file"].count()
	for row := range f.rows {
		id, _ := name.id(row)
		n, _ := value.number(row)
		key, _ := keys.number(row)
		stat, known := model.StatNamed(e.in.Store.Strings.Get(id))
		if known {
			e.keys[key] = stat
		}
		switch {
		case !known && n != 0:
			e.in.File.Unread(model.StatUnreadFact, model.None, e.in.Store.Strings.Get(id)+" statistic").AddAt(f.offset)
			continue
		case !known || n == 0 && !stat.Indexed():
			continue
		}
		idx, fileID, on := int64(model.None), model.FileID(model.None), model.MachineID(model.None)
		if v, ok := index.number(row); ok {
			idx = v
		}
		if v, ok := machine.number(row); ok {
			on = model.MachineID(v)
		}
		if v, ok := file.number(row); ok {
			if v < 0 || v >= files {
				e.damaged(f.offset, "a value of stats.trace_id")
			} else {
				fileID = model.FileID(v + e.fileBase())
			}
		}
		e.in.Store.SetStat(stat, idx, fileID, on, n)
	}
}

// count returns the number of rows; a missing file has none.
func (f *file) count() int64 {
	if f == nil {
		return 0
	}
	return f.rows
}

// release frees the texts and pages of the columns.
func (f *file) release() {
	for i := range f.columns {
		c := &f.columns[i]
		c.texts.ids, c.texts.offsets.page, c.texts.data.page, c.valid.page, c.values.page = nil, nil, nil, nil, nil
	}
}

// cpus sets the ids of CPUs, which are not their rows.
func cpus(t *table.Table, _ *file) func(from, to int64) {
	ucpu := t.Setter(t.Schema().Column("ucpu"))
	return func(from, to int64) {
		t.SetID(to, from)
		ucpu.Int(to, from)
	}
}

// raw numbers the events of both children of raw.
func (e *export) raw(t *table.Table, _ *file) func(from, to int64) {
	name := e.in.Store.Strings.Intern(t.Schema().Name)
	kind := t.Setter(t.Schema().Column("type"))
	return func(_, to int64) {
		t.SetID(to, e.in.Store.Raw.Append())
		kind.Text(to, name)
	}
}

// importLog names the counts.
func (e *export) importLog(_ *table.Table, f *file) func(from, to int64) {
	t, pool, keys := &e.in.Store.ImportLog, e.in.Store.Strings, f.column("stat_key")
	return func(from, to int64) {
		key, _ := keys.number(from)
		if s, ok := e.keys[key]; ok {
			t.StatKey.Set(to, int64(s))
			t.Name.Set(to, pool.Intern(s.String()))
			t.Severity.Set(to, pool.Intern(s.Severity().String()))
		}
	}
}

// contexts are what samples have in common, which are columns of theirs in the dataset.
type contexts struct {
	task, execution *file
	e               *export
}

func (c *contexts) open(e *export) {
	c.e = e
	if mode := c.execution.column("cpu_mode"); mode != nil {
		mode.texts.intern(e.in.Store.Strings, math.MaxInt64)
	}
}

func (c *contexts) samples(t *table.Table, f *file) func(from, to int64) {
	var sets []func(from, to int64)
	for _, join := range []struct {
		by   string
		from *file
	}{{"task_context_id", c.task}, {"execution_context_id", c.execution}} {
		key := f.column(join.by)
		if key == nil {
			continue
		}
		var columns []func(from, to int64)
		if join.from != nil {
			columns = c.e.columns(join.from, t)
		}
		sets = append(sets, func(from, to int64) {
			context, ok := key.number(from)
			if !ok {
				return
			}
			if context < 0 || context >= join.from.count() {
				c.e.damaged(f.offset, "a value of stack_sample."+join.by)
				return
			}
			for _, set := range columns {
				set(context, to)
			}
		})
	}
	return func(from, to int64) {
		for _, set := range sets {
			set(from, to)
		}
	}
}

// argSets has the args. The id of a set is the number of its first row.
type argSets struct {
	e                          *export
	f                          *file // nil if there are none
	sets, integer, real        *column
	flatKey, key, kind, string *column
	base                       int64 // rows of args before those of the export
	scratch                    []byte
	large                      map[int64]table.StringID // texts that do not fit into memory, by their place in the dictionary
}

// largeText is the size in bytes from which on a text is read only once: many rows may have it.
const largeText = 4 << 10

// open finds the columns of args, and copies all rows.
func (a *argSets) open(e *export) {
	f := e.files["args"]
	if f == nil {
		return
	}
	*a = argSets{
		e: e, f: f, large: map[int64]table.StringID{}, sets: f.column("arg_set_id"), integer: f.column("int_value"), real: f.column("real_value"),
		flatKey: f.column("flat_key"), key: f.column("key"), kind: f.column("value_type"), string: f.column("string_value"),
	}
	limit := int64(maxTexts)
	for _, c := range []*column{a.string, a.flatKey, a.key, a.kind} {
		if c == nil || !c.text || a.sets == nil || a.integer == nil || a.real == nil || !a.real.float {
			e.damaged(f.offset, "the columns of args")
			a.f = nil
			return
		}
		c.texts.intern(e.in.Store.Strings, limit)
		limit = math.MaxInt64
	}
	a.copy()
}

func (a *argSets) copy() {
	store := a.e.in.Store
	a.base = int64(store.NextArgs())
	var set model.ArgSet
	for row := int64(0); row < a.f.rows && store.Err() == nil; {
		set.Reset()
		for id := a.sets.int(row); row < a.f.rows && a.sets.int(row) == id; row++ {
			a.add(&set, row)
		}
		store.AppendArgs(&set)
	}
}

// add adds the arg in a row to a set.
func (a *argSets) add(set *model.ArgSet, row int64) {
	pool := a.e.in.Store.Strings
	flatKey, _ := a.flatKey.id(row)
	key, _ := a.key.id(row)
	kind, _ := a.kind.id(row)
	v, _ := a.integer.number(row)
	var value model.ArgValue
	switch name := pool.Get(kind); name {
	case "int":
		value = model.IntArg(v)
	case "uint":
		value = model.UintArg(uint64(v))
	case "pointer":
		value = model.PointerArg(uint64(v))
	case "bool":
		value = model.BoolArg(v != 0)
	case "real":
		value = model.RealArg(a.real.real(row))
	case "string":
		if text, ok := a.rare(row); ok {
			set.AppendText(flatKey, key, text)
			return
		}
		value = model.StringArg(a.text(row))
	case "json":
		value = model.JSONArg(a.text(row))
	default:
		value = model.NullArg()
		if name != "null" {
			a.e.damaged(a.f.offset, "a value of args.value_type")
		}
	}
	set.Append(flatKey, key, value)
}

// rare returns the text in a row if it is not kept in memory.
func (a *argSets) rare(row int64) (text []byte, ok bool) {
	if !a.string.has(row) {
		return nil, false
	}
	if _, kept := a.string.id(row); kept {
		return nil, false
	}
	place := a.string.int(row)
	if _, known := a.large[place]; known {
		return nil, false
	}
	a.scratch, ok = a.string.texts.text(place, a.scratch[:0])
	if len(a.scratch) >= largeText {
		a.large[place] = a.e.in.Store.Strings.InternBytes(a.scratch)
		return nil, false
	}
	if !ok {
		a.e.damaged(a.f.offset, "a value of args.string_value")
	}
	return a.scratch, ok
}

// text returns the text in a row, or 0.
func (a *argSets) text(row int64) table.StringID {
	if text, ok := a.rare(row); ok {
		return a.e.in.Store.Strings.InternBytes(text)
	}
	if !a.string.has(row) {
		return 0
	}
	if id, known := a.large[a.string.int(row)]; known {
		return id
	}
	id, _ := a.string.id(row)
	return id
}

// maxLooked is how many args of a set are looked at for values of columns: many rows may have the same large set.
const maxLooked = 300

// each calls a function for the first rows of a set.
func (a *argSets) each(set int64, do func(row int64)) {
	for row := set; row < min(a.f.count(), set+maxLooked) && a.sets.int(row) == set; row++ {
		do(row)
	}
}

// number returns the number that a set has under a key.
func (a *argSets) number(set int64, key table.StringID) (v int64, ok bool) {
	a.each(set, func(row int64) {
		if id, _ := a.key.id(row); id == key {
			v, ok = a.integer.number(row)
		}
	})
	return v, ok
}

// tracks says which slices have rows in a child of slice.
type tracks struct {
	upid     *column
	children []string // by track, "" for none
}

// childOf has the children of slice with the slices on tracks of a classification. Their columns are args in the export.
var childOf = map[string]string{
	"android_expected_frame_timeline": "expected_frame_timeline_slice",
	"android_actual_frame_timeline":   "actual_frame_timeline_slice",
	"graphics_frame_event":            "frame_slice",
	"gpu_render_stage":                "gpu_slice",
	"vulkan_events":                   "gpu_slice",
	"gpu_log":                         "gpu_slice",
}

func (t *tracks) open(e *export) {
	f := e.files["track"]
	kind := f.column("type")
	if kind == nil || !kind.text {
		return
	}
	kind.texts.intern(e.in.Store.Strings, math.MaxInt64)
	t.upid = f.column("upid")
	byID := map[table.StringID]string{}
	for name, child := range childOf {
		byID[e.in.Store.Strings.Intern(name)] = child
	}
	t.children = make([]string, f.rows)
	for row := range f.rows {
		if kind.has(row) {
			id, _ := kind.id(row)
			t.children[row] = byID[id]
		}
	}
}

// trackDimensions sets the dimensions that Trace Processor has only as args.
func (e *export) trackDimensions(_ *table.Table, f *file) func(from, to int64) {
	t, pool := &e.in.Store.Track, e.in.Store.Strings
	cpu, ugpu, sets := pool.Intern("cpu"), pool.Intern("ugpu"), f.column("dimension_arg_set_id")
	return func(from, to int64) {
		set, ok := sets.number(from)
		if !ok {
			return
		}
		if v, ok := e.args.number(set, cpu); ok && v == int64(int32(v)) {
			t.CPU.Set(to, int32(v))
		}
		if v, ok := e.args.number(set, ugpu); ok {
			t.UGPU.Set(to, table.ID[schema.GPU](v))
		}
	}
}

// openSlice is the last slice of a depth on a track.
type openSlice struct {
	id    int64
	stack uint64
}

// slices sets the stack ids, and adds the rows of the children of slice.
func (e *export) slices(_ *table.Table, f *file) func(from, to int64) {
	store := e.in.Store
	t := &store.Slice
	own := store.Strings.Intern("slice")
	depths, parents, on := f.column("depth"), f.column("parent_id"), f.column("track_id")
	packets := e.packets()
	return func(from, to int64) {
		track, _ := on.number(from)
		depth, _ := depths.number(from)
		open := e.open[track]
		var parent uint64
		if id, ok := parents.number(from); ok {
			if depth < 1 || depth > int64(len(open)) || open[depth-1].id != id {
				e.damaged(f.offset, "the depth of a slice")
			} else {
				parent = open[depth-1].stack
			}
		}
		category, _ := t.Category.Get(to)
		name, _ := t.Name.Get(to)
		stack := model.StackID(store.Strings, parent, category, name)
		t.StackID.Set(to, int64(stack))
		t.ParentStackID.Set(to, int64(parent))
		if depth >= 0 && depth <= int64(len(open)) {
			e.open[track] = append(open[:depth], openSlice{from, stack})
		}
		t.Type.Set(to, own)
		switch child := packets(from); {
		case child != nil:
			child(to)
		case track < int64(len(e.tracks.children)) && e.tracks.children[track] != "":
			e.child(e.tracks.children[track], track, to)
		}
	}
}

// child adds a row for a slice to a child of slice, whose columns are args of the slice.
func (e *export) child(name string, track, slice int64) {
	store := e.in.Store
	child := store.Table(name)
	s := child.Schema()
	store.Slice.Type.Set(slice, store.Strings.Intern(name))
	row := child.Append()
	child.Inherit(row, &store.Slice.Table, slice)
	own := len(store.Slice.Schema().Columns)
	if upid, ok := e.tracks.upid.number(track); ok && strings.HasSuffix(name, "timeline_slice") {
		child.Setter(s.Column("upid")).Int(row, upid)
	}
	set, ok := store.Slice.ArgSetID.Get(slice)
	if !ok {
		return
	}
	e.args.each(int64(set)-e.args.base, func(arg int64) {
		key, _ := e.args.key.id(arg)
		i := e.argColumn(s, key)
		if i < own {
			return
		}
		to := child.Setter(i)
		if v, ok := e.args.integer.number(arg); ok && to.Int != nil {
			to.Int(row, v)
		} else if e.args.real.has(arg) && to.Float != nil {
			to.Float(row, e.args.real.real(arg))
		} else if ok && to.Float != nil {
			to.Float(row, float64(v))
		} else if e.args.string.has(arg) && to.Text != nil {
			to.Text(row, e.args.text(arg))
		}
	})
}

// argColumn returns the column of a table for an arg, or -1.
func (e *export) argColumn(s *table.Schema, key table.StringID) int {
	target := argColumn{s, key}
	i, known := e.argColumns[target]
	if !known {
		i = s.Column(columnOf(e.in.Store.Strings.Get(key)))
		e.argColumns[target] = i
	}
	return i
}

// columnOf returns the column for an arg such as "Jank tag (experimental)".
func columnOf(key string) string {
	if key == "Jank Severity Score" {
		return "jank_score"
	}
	return strings.NewReplacer(" ", "_", "(", "", ")", "").Replace(strings.ToLower(key))
}

// packets returns a function that returns what adds the network packet of a slice, or nil if it is none. It must be called for
// all slices in order.
func (e *export) packets() func(slice int64) func(to int64) {
	f := e.files["android_network_packets"]
	ids := f.column("id")
	if ids == nil {
		return func(int64) func(int64) { return nil }
	}
	t := &e.in.Store.AndroidNetworkPackets
	columns := e.columns(f, &t.Table)
	name := e.in.Store.Strings.Intern(t.Schema().Name)
	next := int64(0)
	return func(slice int64) func(int64) {
		for next < f.rows && ids.int(next) < slice {
			e.damaged(f.offset, "the id of a network packet")
			next++
		}
		if next == f.rows || ids.int(next) != slice {
			return nil
		}
		return func(to int64) {
			e.in.Store.Slice.Type.Set(to, name)
			row := t.Append()
			t.Inherit(row, &e.in.Store.Slice.Table, to)
			for _, set := range columns {
				set(next, row)
			}
			next++
		}
	}
}

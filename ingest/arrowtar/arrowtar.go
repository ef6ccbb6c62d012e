// Package arrowtar reads the tables that Trace Processor writes with "export arrow_tar": a tar archive of Arrow files, one for
// each internal table.
//
// The rows are those of a trace that was read already, so they go to the dataset's tables of the same name as they are, under
// the same ids. What the dataset has beside Trace Processor's columns is made on the way.
package arrowtar

import (
	"archive/tar"
	"bytes"
	"cmp"
	"io"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/spool"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
)

// Format is an export. It holds the trace that was exported.
var Format = &format.Format{Name: "arrow_tar", Title: "Trace Processor's export", Container: true, Sniff: sniff, Read: read}

var statParseErrors = model.NewStat(1047, model.StatInfo{
	Name: "arrow_tar_parse_errors", Severity: model.DataLoss, Effect: model.Lost, Gap: true,
	Description: "Tables of Trace Processor's exports, and values in them, that cannot be read.",
})

const prefix = "__intrinsic_"

// tableOf returns the name of the table in a member of the archive, without the prefix, or "".
func tableOf(member string) string {
	name, ok := strings.CutSuffix(path.Base(member), ".arrow")
	if !ok {
		return ""
	}
	return strings.TrimPrefix(name, prefix)
}

func sniff(head []byte) bool {
	const magicAt = 257
	if len(head) <= magicAt || !strings.HasPrefix(string(head[magicAt:]), "ustar") {
		return false
	}
	for archive := tar.NewReader(bytes.NewReader(head)); ; {
		header, err := archive.Next()
		switch {
		case err != nil:
			return false
		case header.Typeflag == tar.TypeReg:
			begin := make([]byte, len(magic))
			_, err := io.ReadFull(archive, begin)
			return err == nil && strings.HasPrefix(path.Base(header.Name), prefix) && tableOf(header.Name) != "" && bytes.Equal(begin, magic)
		}
	}
}

// export is an export that is read.
type export struct {
	in     *format.Input
	files  map[string]*file // by table
	tracks tracks
	args   argSets
	open   map[int64][]openSlice // by track
	keys   map[int64]model.Stat  // by key in the export

	argColumns map[argColumn]int
}

// argColumn is a key of args in a table whose columns are args.
type argColumn struct {
	in  *table.Schema
	key table.StringID
}

func read(in *format.Input) error {
	if !in.Alone {
		return format.Errorf(format.ErrUnsupported, -1, "an export of Trace Processor together with other traces")
	}
	input, err := spool.Open(in)
	if err != nil {
		return err
	}
	defer input.Close()
	e := &export{in: in, files: map[string]*file{}, open: map[int64][]openSlice{}, keys: map[int64]model.Stat{}, argColumns: map[argColumn]int{}}
	e.unpack(input)
	if len(e.files) == 0 {
		return cmp.Or(input.Err(), error(format.Errorf(format.ErrCorrupt, 0, "no table can be read")))
	}
	if err := e.tables(); err != nil {
		return err
	}
	return input.Err()
}

// unpack opens the files in the archive.
func (e *export) unpack(input *spool.File) {
	at := io.NewSectionReader(input, 0, input.Size)
	archive := tar.NewReader(at)
	end := int64(0) // of the last member
	for {
		header, err := archive.Next()
		offset, _ := at.Seek(0, io.SeekCurrent)
		if err == io.EOF && end < input.Size { // an archive ends with blocks of zeros
			return
		}
		if err != nil {
			e.in.File.LogAt(model.StatTruncatedInput, min(offset, input.Size), nil)
			return
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		end = offset + (header.Size+511)&^511
		size := min(header.Size, input.Size-offset)
		name := tableOf(header.Name)
		if name == "" {
			e.in.File.Unread(model.StatUnreadFact, model.None, "other file").AddAt(offset)
			continue
		}
		f, err := openFile(io.NewSectionReader(input, offset, size), size)
		if err != nil {
			e.damaged(offset, "table "+name+": "+err.Error())
			continue
		}
		f.offset = offset
		e.files[name] = f
	}
}

// damaged counts what cannot be read.
func (e *export) damaged(offset int64, what string) {
	pool := e.in.Store.Strings
	e.in.File.LogAt(statParseErrors, offset, model.ArgFunc(func(set *model.ArgSet) {
		set.Add(pool.Intern("message"), model.StringArg(pool.Intern(what)))
	}))
}

// The names of tables and columns that differ from the dataset's, by the dataset's.
var (
	tableNames = map[string]string{
		"android_logs": "logs", "import_log": "trace_import_logs", "linux_interrupt_mapping": "_linux_interrupt_mapping",
		"stack_sample": "profiler_sample",
	}
	columnNames = map[string]string{"local_trace_id": "trace_id", "classification": "type"}
)

// file returns the file with the rows of one of the dataset's tables, or nil.
func (e *export) file(table string) *file { return e.files[cmp.Or(tableNames[table], table)] }

// tables reads all tables.
func (e *export) tables() error {
	e.dropIncomplete()
	e.traceFiles()
	e.stats()
	e.args.open(e)
	e.tracks.open(e)
	contexts := contexts{task: e.files["profiler_task_context"], execution: e.files["profiler_execution_context"]}
	contexts.open(e)
	special := map[string]func(t *table.Table, f *file) func(from, to int64){
		"slice":        e.slices,
		"track":        e.trackDimensions,
		"stack_sample": contexts.samples,
		"cpu":          cpus,
		"ftrace_event": e.raw,
		"chrome_raw":   e.raw,
		"import_log":   e.importLog,
	}
	done := map[string]bool{
		"trace_file": true, "stats": true, "args": true, "profiler_task_context": true, "profiler_execution_context": true,
	}
	done["android_network_packets"] = true            // with the slices
	done["build_flags"], done["modules"] = true, true // about Trace Processor itself
	for _, s := range schema.All() {
		f := e.file(s.Name)
		if f == nil || s.Derived || done[s.Name] {
			continue
		}
		done[cmp.Or(tableNames[s.Name], s.Name)] = true
		t := e.in.Store.Table(s.Name)
		var more func(from, to int64)
		if make := special[s.Name]; make != nil {
			more = make(t, f)
		}
		if err := e.copy(f, t, more); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.files)) {
		if f := e.files[name]; !done[name] && f.rows > 0 {
			e.in.File.Unread(model.StatUnreadFact, model.None, name+" table").AddAt(f.offset)
		}
	}
	return nil
}

// dropIncomplete leaves out tables that lack columns, or rows that theirs must refer to.
func (e *export) dropIncomplete() {
	for dropped := true; dropped; {
		dropped = false
		for _, s := range schema.All() {
			f := e.file(s.Name)
			if f == nil || f.rows == 0 || s.Derived {
				continue
			}
			if what := e.lacks(f, s); what != "" {
				e.damaged(f.offset, "table "+s.Name+" without "+what)
				delete(e.files, cmp.Or(tableNames[s.Name], s.Name))
				dropped = true
			}
		}
	}
}

// made are columns without NULLs that the dataset makes of others.
var made = map[string]bool{
	"slice.stack_id": true, "slice.parent_stack_id": true, "cpu.ucpu": true, "sched_slice.cpu": true, "cpu_freq.cpu": true,
	"ftrace_event.cpu": true, "chrome_raw.common_flags": true, "args.arg_set_id": true,
}

// lacks returns what a table lacks, or "".
func (e *export) lacks(f *file, s *table.Schema) string {
	columns := s.Columns
	if parent := e.in.Store.Table(s.Parent); parent != nil && !parent.Schema().Abstract {
		columns = columns[len(parent.Schema().Columns):]
	}
	for _, c := range columns {
		if c.Nullable || c.Row || c.Name == "id" || made[s.Name+"."+c.Name] {
			continue
		}
		src := f.column(sourceOf(c))
		switch {
		case src == nil || src.text || src.float != (c.Type == table.TypeFloat64):
			return "column " + sourceOf(c)
		case c.Ref != "" && e.file(c.Ref) == nil:
			return "table " + c.Ref
		}
	}
	return ""
}

// sourceOf returns the export's name of a column.
func sourceOf(c table.Column) string { return cmp.Or(columnNames[c.Name], c.Name) }

// copy adds the rows of a file to a table. more sets what is made of other columns.
func (e *export) copy(f *file, t *table.Table, more func(from, to int64)) error {
	columns := e.columns(f, t)
	var named *column // Trace Processor reserves rows for 4096 CPUs, of which the trace names some
	if t.Schema().Name == "cpu" {
		named = f.column("cpu")
	}
	for row := range f.rows {
		if row&0xffff == 0 && t.Err() != nil {
			return t.Err()
		}
		if named != nil && !named.has(row) {
			continue
		}
		to := t.Append()
		for _, set := range columns {
			set(row, to)
		}
		if more != nil {
			more(row, to)
		}
	}
	f.release()
	return nil
}

// columns returns functions that set the columns of a table from those of a file.
func (e *export) columns(f *file, t *table.Table) (all []func(from, to int64)) {
	used := map[string]bool{"id": true}
	for i, c := range t.Schema().Columns {
		src := f.column(sourceOf(c))
		if src == nil || c.Row || i == 0 || c.Type == table.TypeBytes || c.Name == "type" && t.Schema().Column("classification") >= 0 {
			continue
		}
		used[src.name] = true
		if set := e.column(f, src, t.Setter(i), t.Schema(), c); set != nil {
			all = append(all, set)
		}
	}
	if cpu := t.Schema().Column("cpu"); cpu >= 0 && f.column("ucpu") != nil {
		ucpu, set := f.column("ucpu"), t.Setter(cpu)
		all = append(all, func(from, to int64) {
			if v, ok := ucpu.number(from); ok {
				set.Int(to, v%cpusPerMachine)
			}
		})
	}
	for i := range f.columns {
		if name := f.columns[i].name; !used[name] && !madeOf[name] && f.rows > 0 {
			e.in.File.Unread(model.StatUnreadFact, model.None, t.Schema().Name+"."+name+" column").AddAt(f.offset)
		}
	}
	return all
}

// madeOf are columns that become others.
var madeOf = map[string]bool{"task_context_id": true, "execution_context_id": true}

// cpusPerMachine is the number of CPU ids of each machine.
const cpusPerMachine = 4096

// column returns a function that sets a column from one of a file, or nil if the types differ.
func (e *export) column(f *file, src *column, set table.Setter, s *table.Schema, c table.Column) func(from, to int64) {
	value := "a value of " + s.Name + "." + c.Name
	bad := func() { e.damaged(f.offset, value) }
	switch {
	case src.text && set.Text != nil:
		src.texts.intern(e.in.Store.Strings, math.MaxInt64)
		return func(from, to int64) {
			if src.has(from) {
				if id, ok := src.id(from); ok {
					set.Text(to, id)
				} else {
					bad()
				}
			}
		}
	case src.float && set.Float != nil:
		return func(from, to int64) {
			if src.has(from) {
				set.Float(to, src.real(from))
			}
		}
	case src.text || src.float || set.Int == nil:
		e.damaged(f.offset, "the type of "+s.Name+"."+c.Name)
		return nil
	}
	base, end, earlier := int64(0), int64(math.MaxInt64), parents[s.Name+"."+c.Name]
	switch {
	case c.Set == "args":
		base, end = e.args.base, e.args.f.count()
	case c.Ref != "" && e.file(c.Ref) == nil:
		return e.unreferred(f, src, s, c)
	case c.Ref != "":
		end = e.file(c.Ref).rows
	}
	if c.Ref == "trace_file" {
		base = e.fileBase()
	}
	refers := c.Ref != "" || c.Set != ""
	return func(row, to int64) {
		v, ok := src.number(row)
		if !ok {
			return
		}
		if refers && (v < 0 || v >= end || earlier && v >= row) || c.Type == table.TypeInt32 && v != int64(int32(v)) {
			bad()
			if c.Nullable {
				return
			}
		}
		set.Int(to, v+base)
	}
}

// parents are columns that refer to earlier rows of their table.
var parents = map[string]bool{"slice.parent_id": true, "stack_profile_callsite.parent_id": true, "trace_file.parent_id": true}

// unreferred counts references to a table that exports do not have.
func (e *export) unreferred(f *file, src *column, s *table.Schema, c table.Column) func(from, to int64) {
	return func(from, _ int64) {
		if src.has(from) {
			e.in.File.Unread(model.StatUnreadEvent, model.None, s.Name+"."+c.Name+" reference").AddAt(f.offset)
		}
	}
}

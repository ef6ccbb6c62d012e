package model

import "github.com/tpconvert/tpconvert/model/facts"

// File is the state of one trace file: its row in trace_file, its metadata, and what could
// not be imported from it.
type File struct {
	facts.Facts
	ID       FileID
	Name     string
	store    *Store
	contexts []*Context
	unread   []*Unread
	scratch  ArgSet
	placed   int   // rows of PlaceAt
	offset   int64 // ns by which its times are moved on the timeline
}

// NewFile adds a trace file. parent is the file that contains it, or nil.
func (s *Store) NewFile(name string, parent *File) *File {
	t := &s.TraceFile
	row := t.Append()
	f := &File{ID: FileID(row), Name: name, store: s, Facts: s.newFacts(FileID(row), None)}
	if parent != nil {
		t.ParentID.Set(row, parent.ID)
	}
	if name != "" {
		t.Name.Set(row, s.Strings.Intern(name))
	}
	t.TraceType.Set(row, s.Strings.Intern("unknown"))
	t.Size.Set(row, 0)
	t.IsContainer.Set(row, false)
	s.files = append(s.files, f)
	return f
}

// Shift moves the file's times by ns on the timeline.
func (f *File) Shift(ns int64) { f.offset = ns }

// SetFormat sets the format of a file that is about to be read. A container holds other
// files.
func (f *File) SetFormat(name string, container bool) {
	t, row := &f.store.TraceFile, int64(f.ID)
	t.ProcessingOrder.Set(row, f.store.filesRead)
	f.store.filesRead++
	id := f.store.Strings.Intern(name)
	t.TraceType.Set(row, id)
	t.IsContainer.Set(row, container)
	if !container {
		f.SetMetadata("trace_type", StringArg(id))
	}
}

// SetPartOf says that the file has a part of a trace in this format, which another file begins.
func (f *File) SetPartOf(name string) {
	f.store.TraceFile.TraceType.Set(int64(f.ID), f.store.Strings.Intern(name))
}

// SetSize sets the file's size in bytes. For a file that is read, the size is known at the
// end; for others it is the size stored in the archive.
func (f *File) SetSize(size int64) {
	t, row := &f.store.TraceFile, int64(f.ID)
	t.Size.Set(row, size)
	_, read := t.ProcessingOrder.Get(row)
	if container, _ := t.IsContainer.Get(row); read && !container {
		f.SetMetadata("trace_size_bytes", IntArg(size))
	}
}

// Context returns the state of a machine in this file. Machine 0 is the one that recorded
// it.
func (f *File) Context(machine int64) *Context {
	m := f.store.Machine(machine)
	for _, c := range f.contexts {
		if c.Machine == m {
			return c
		}
	}
	c := newContext(f.store, f, m)
	f.contexts = append(f.contexts, c)
	return c
}

// machine returns the id of the machine that recorded the file, 0 if unknown.
func (f *File) machine() MachineID {
	if len(f.contexts) == 0 {
		return 0
	}
	return f.contexts[0].Machine.ID
}

// Finish stores everything that had to wait for the end of the file. Slices that did not end
// wait for that of the store.
func (f *File) Finish() {
	for _, c := range f.contexts {
		c.finish()
	}
	f.storeUnread()
}

// Count adds one to a stat.
func (f *File) Count(stat Stat) { f.Add(stat, None, 1) }

// Add adds n to a stat. index is None unless the stat has one.
func (f *File) Add(stat Stat, index, n int64) {
	f.store.stats[statKey{stat, index, f.ID, None}] += n
}

// Uncount takes back a Count.
func (f *File) Uncount(stat Stat) {
	key := statKey{stat, None, f.ID, None}
	if f.store.stats[key]--; f.store.stats[key] == 0 {
		delete(f.store.stats, key)
	}
}

// Stat returns a stat's count. index is None unless the stat has one.
func (f *File) Stat(stat Stat, index int64) int64 {
	return f.store.stats[statKey{stat, index, f.ID, None}]
}

// SetStat sets a count that the trace itself reports.
func (f *File) SetStat(stat Stat, index, value int64) {
	f.store.stats[statKey{stat, index, f.ID, None}] = value
}

// LogEntry says where something could not be imported and why.
type LogEntry struct {
	TS        int64 // ns of the trace clock
	HasTS     bool
	Offset    int64 // bytes from the start of the file
	HasOffset bool
	Index     int64 // index of the stat, if it has one
	HasIndex  bool
	Args      ArgSource // details, or nil
}

// maxLogged is the maximum number of import_log entries per stat, index and file. Further
// ones are only counted.
const maxLogged = 10_000

// Log counts the stat and adds a row to import_log.
func (f *File) Log(stat Stat, e LogEntry) {
	index := int64(None)
	if e.HasIndex {
		index = e.Index
	}
	f.Add(stat, index, 1)
	if f.Stat(stat, index) <= maxLogged {
		f.log(stat, e)
	}
}

func (f *File) log(stat Stat, e LogEntry) {
	t := &f.store.ImportLog
	row := t.Append()
	t.LocalTraceID.Set(row, f.ID)
	t.StatKey.Set(row, int64(stat))
	t.Name.Set(row, f.store.Strings.Intern(stat.String()))
	t.Severity.Set(row, f.store.Strings.Intern(stat.Severity().String()))
	if e.HasTS {
		t.TS.Set(row, e.TS)
	}
	if e.HasOffset {
		t.ByteOffset.Set(row, e.Offset)
	}
	if !f.store.terse {
		f.store.args.AssignOf(&t.ArgSetID, row, e.Args, &f.scratch)
	}
}

// LogAt is Log for an offset in the input, in bytes.
func (f *File) LogAt(stat Stat, offset int64, args ArgSource) {
	f.Log(stat, LogEntry{Offset: offset, HasOffset: true, Args: args})
}

// PlaceAt adds a row to import_log for a stat that the store counts itself.
func (f *File) PlaceAt(stat Stat, offset int64) {
	if f.placed < maxLogged {
		f.placed++
		f.log(stat, LogEntry{Offset: offset, HasOffset: true})
	}
}

// LogTime is Log for an event at ts (ns).
func (f *File) LogTime(stat Stat, ts int64, args ArgSource) {
	f.Log(stat, LogEntry{TS: ts, HasTS: true, Args: args})
}

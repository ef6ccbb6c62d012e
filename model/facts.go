package model

// The names of facts that become columns of the table trace.
const (
	Rank      = "rank"
	WorldSize = "world_size"
)

// facts writes rows of metadata about one subject: a trace, a machine, a machine in a trace,
// or everything.
type facts struct {
	store   *Store
	trace   FileID             // None if not specific to one
	machine MachineID          // None if not specific to one
	single  map[StringID]int64 // rows by name
}

func newFacts(s *Store, trace FileID, machine MachineID) facts {
	return facts{store: s, trace: trace, machine: machine, single: map[StringID]int64{}}
}

// SetMetadata sets a fact that has a single value, which is an integer or text.
func (f *facts) SetMetadata(name string, v ArgValue) {
	id := f.store.Strings.Intern(name)
	row, ok := f.single[id]
	if !ok {
		row = f.add(id, "single")
		f.single[id] = row
	}
	f.set(row, v)
}

// MetadataText returns the text set by SetMetadata, or "".
func (f *facts) MetadataText(name string) string {
	row, ok := f.single[f.store.Strings.Intern(name)]
	if !ok {
		return ""
	}
	id, _ := f.store.Metadata.StrValue.Get(row)
	return f.store.Strings.Get(id)
}

// MetadataInt returns the number set by SetMetadata, or 0.
func (f *facts) MetadataInt(name string) int64 {
	row, ok := f.single[f.store.Strings.Intern(name)]
	if !ok {
		return 0
	}
	v, _ := f.store.Metadata.IntValue.Get(row)
	return v
}

// AddMetadata adds a value of a fact that may have several.
func (f *facts) AddMetadata(name string, v ArgValue) {
	f.set(f.add(f.store.Strings.Intern(name), "multi"), v)
}

// AddDynamicMetadata adds a value of a fact whose name comes from the trace. Trace Processor
// marks such facts as single even if there are several values.
func (f *facts) AddDynamicMetadata(name string, v ArgValue) {
	f.set(f.add(f.store.Strings.Intern(name), "single"), v)
}

func (f *facts) add(name StringID, keyType string) int64 {
	t := &f.store.Metadata
	row := t.Append()
	t.Name.Set(row, name)
	t.KeyType.Set(row, f.store.Strings.Intern(keyType))
	if f.trace != None {
		t.LocalTraceID.Set(row, f.trace)
	}
	if f.machine != None {
		t.MachineID.Set(row, f.machine)
	}
	return row
}

func (f *facts) set(row int64, v ArgValue) {
	if v.Kind == ArgString {
		f.store.Metadata.StrValue.Set(row, v.String())
	} else {
		f.store.Metadata.IntValue.Set(row, v.Int())
	}
}

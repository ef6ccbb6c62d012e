// Package facts writes what is known about traces and machines into the table metadata.
package facts

import (
	"github.com/tpconvert/tpconvert/model/args"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
)

// Facts writes rows of metadata about one subject: a trace, a machine, a machine in a trace,
// or everything.
type Facts struct {
	table   *schema.Metadata
	strings *table.StringPool
	trace   schema.FileID            // table.None if not specific to one
	machine schema.MachineID         // table.None if not specific to one
	single  map[table.StringID]int64 // rows by name
}

// New returns the facts of a trace and a machine, each table.None if they are not specific to one.
func New(t *schema.Metadata, strings *table.StringPool, trace schema.FileID, machine schema.MachineID) Facts {
	return Facts{table: t, strings: strings, trace: trace, machine: machine, single: map[table.StringID]int64{}}
}

// SetMetadata sets a fact that has a single value, which is an integer or text.
func (f *Facts) SetMetadata(name string, v args.Value) {
	id := f.strings.Intern(name)
	row, ok := f.single[id]
	if !ok {
		row = f.add(id, "single")
		f.single[id] = row
	}
	f.set(row, v)
}

// MetadataText returns the text set by SetMetadata, or "".
func (f *Facts) MetadataText(name string) string {
	row, ok := f.single[f.strings.Intern(name)]
	if !ok {
		return ""
	}
	id, _ := f.table.StrValue.Get(row)
	return f.strings.Get(id)
}

// MetadataInt returns the number set by SetMetadata, or 0.
func (f *Facts) MetadataInt(name string) int64 {
	row, ok := f.single[f.strings.Intern(name)]
	if !ok {
		return 0
	}
	v, _ := f.table.IntValue.Get(row)
	return v
}

// AddMetadata adds a value of a fact that may have several.
func (f *Facts) AddMetadata(name string, v args.Value) {
	f.set(f.add(f.strings.Intern(name), "multi"), v)
}

// AddDynamicMetadata adds a value of a fact whose name comes from the trace. Trace Processor
// marks such facts as single even if there are several values.
func (f *Facts) AddDynamicMetadata(name string, v args.Value) {
	f.set(f.add(f.strings.Intern(name), "single"), v)
}

func (f *Facts) add(name table.StringID, keyType string) int64 {
	t := f.table
	row := t.Append()
	t.Name.Set(row, name)
	t.KeyType.Set(row, f.strings.Intern(keyType))
	if f.trace != table.None {
		t.LocalTraceID.Set(row, f.trace)
	}
	if f.machine != table.None {
		t.MachineID.Set(row, f.machine)
	}
	return row
}

func (f *Facts) set(row int64, v args.Value) {
	if v.Kind == args.KindString {
		f.table.StrValue.Set(row, v.String())
	} else {
		f.table.IntValue.Set(row, v.Int())
	}
}

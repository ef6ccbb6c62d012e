package ftrace

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/tpconvert/tpconvert/model"
)

// tracepointList has a line for each tracepoint with a message in Perfetto's
// FtraceEvent: its field number there, its name, and the tracepoint's fields as
// number:name:type, with [] after the name of an array.
//
//go:embed tracepoints.txt
var tracepointList string

// FieldType is the type of a tracepoint's field.
type FieldType uint8

// The types of fields.
const (
	Int64 FieldType = iota
	Int32
	Uint64
	Uint32
	Bool
	Text
)

var fieldTypes = map[string]FieldType{"i64": Int64, "i32": Int32, "u64": Uint64, "u32": Uint32, "bool": Bool, "str": Text}

// A Field is one field of a tracepoint.
type Field struct {
	Name  string
	Type  FieldType
	Array bool // an event has the field once for each element

	key      model.StringID
	elements []model.StringID // keys of an array's elements
	symbol   bool             // the number stands for a kernel function that the trace names
	own      bool             // the trace alone has it
}

// A Tracepoint is a kind of event.
type Tracepoint struct {
	Number int64 // number of its field in FtraceEvent, 0 if it has none
	Name   string
	Fields []Field // by their number in the message; unused ones have no name

	id     model.StringID
	handle handler
}

// Field returns the field of this number, or nil.
func (t *Tracepoint) Field(number uint64) *Field {
	if number < uint64(len(t.Fields)) && t.Fields[number].Name != "" {
		return &t.Fields[number]
	}
	return nil
}

// FieldNamed returns the field of this name, or nil.
func (t *Tracepoint) FieldNamed(name string) *Field {
	for i := range t.Fields {
		if t.Fields[i].Name == name {
			return &t.Fields[i]
		}
	}
	return nil
}

// tracepoints are the known tracepoints by number.
var tracepoints = sync.OnceValue(func() []Tracepoint {
	var all []Tracepoint
	for line := range strings.Lines(tracepointList) {
		words := strings.Fields(line)
		number := mustAtoi(words[0])
		for len(all) <= number {
			all = append(all, Tracepoint{})
		}
		t := Tracepoint{Number: int64(number), Name: words[1]}
		for _, word := range words[2:] {
			parts := strings.Split(word, ":")
			i := mustAtoi(parts[0])
			for len(t.Fields) <= i {
				t.Fields = append(t.Fields, Field{})
			}
			name, isArray := strings.CutSuffix(parts[1], "[]")
			t.Fields[i] = Field{Name: name, Type: fieldTypes[parts[2]], Array: isArray}
		}
		all[number] = t
	}
	for _, s := range symbolFields {
		for i := range all {
			if all[i].Name == s.tracepoint {
				all[i].FieldNamed(s.field).symbol = true
			}
		}
	}
	return all
})

func mustAtoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(fmt.Sprintf("ftrace: tracepoints.txt: %v", err))
	}
	return n
}

// symbolFields are the fields that contain kernel functions.
var symbolFields = []struct{ tracepoint, field string }{
	{"sched_blocked_reason", "caller"},
	{"workqueue_queue_work", "function"},
	{"workqueue_activate_work", "function"},
	{"workqueue_execute_start", "function"},
	{"workqueue_execute_end", "function"},
	{"funcgraph_entry", "func"},
	{"funcgraph_exit", "func"},
	{"mm_shrink_slab_start", "shrink"},
	{"hrtimer_expire_entry", "function"},
}

// hypervisorNames are the hypervisor's tracepoints without the prefix
// hypervisor_.
var hypervisorNames = map[string]bool{
	"hyp_enter": true, "hyp_exit": true, "host_hcall": true, "host_smc": true, "host_mem_abort": true,
	"host_ffa_call": true, "iommu_idmap": true, "psci_mem_protect": true,
}

// Hypervisor reports whether the tracepoint is in the hypervisor, which runs no
// thread.
func (t *Tracepoint) Hypervisor() bool {
	return hypervisorNames[t.Name] || strings.HasPrefix(t.Name, "hypervisor_")
}

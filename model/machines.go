package model

import "github.com/tpconvert/tpconvert/model/machine"

// Machine is the state of one machine, which all trace files recorded on it share.
type Machine = machine.Machine

// CPUDescription is what a trace says about a CPU.
type CPUDescription = machine.CPUDescription

// MaxCPUs is more CPUs than a machine has. A larger number means damage, and the memory for CPUs grows with their numbers.
const MaxCPUs = 1 << 16

// The priorities of the names of threads, which package machine explains.
const (
	ThreadNameOther          = machine.ThreadNameOther
	ThreadNameFtrace         = machine.ThreadNameFtrace
	ThreadNameSystem         = machine.ThreadNameSystem
	ThreadNameDescriptorType = machine.ThreadNameDescriptorType
	ThreadNameDescriptor     = machine.ThreadNameDescriptor
)

// The priorities of the names of processes.
const (
	ProcessNameOther          = machine.ProcessNameOther
	ProcessNameChromeLabel    = machine.ProcessNameChromeLabel
	ProcessNameDescriptor     = machine.ProcessNameDescriptor
	ProcessNameChromeRenderer = machine.ProcessNameChromeRenderer
	ProcessNameSystem         = machine.ProcessNameSystem
)

// The priorities of sort indices.
const (
	SortOther      = machine.SortOther
	SortDescriptor = machine.SortDescriptor
)

// The names of facts that become columns of the table trace.
const (
	Rank      = "rank"
	WorldSize = "world_size"
	HostName  = "host_name" // of a machine
)

// Machine returns the state of the machine with this raw id. Raw id 0 is the machine
// that recorded the trace.
func (s *Store) Machine(raw int64) *Machine { return s.machines.Machine(raw) }

// NameMachine adds a machine with a name and returns its raw id.
func (s *Store) NameMachine(name string) (raw int64) { return s.machines.Name(name) }

// AdoptMachine assigns the raw id found in the events to machine 0, which recorded
// the trace. It returns false if that machine already has a raw id, or if another
// machine has this raw id.
func (s *Store) AdoptMachine(raw int64) bool { return s.machines.Adopt(raw) }

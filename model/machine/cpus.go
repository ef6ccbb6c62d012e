package machine

import (
	"github.com/tpconvert/tpconvert/model/args"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
)

// cpusPerMachine is the number of CPU ids reserved for each machine, as in Trace
// Processor: ucpu is cpusPerMachine * machine_id + cpu.
const cpusPerMachine = 4096

// firstOddCPU is the first id given to CPUs whose numbers are not below
// cpusPerMachine.
const firstOddCPU = 1 << 40

// cpus are the CPUs of a machine.
type cpus struct {
	seen      [cpusPerMachine / 64]uint64 // bit set of CPU numbers
	odd       map[int64]schema.UCPU       // of the CPUs with other numbers
	described map[int64]CPUDescription
}

// CPUDescription is what a trace says about a CPU.
type CPUDescription struct {
	Processor table.StringID // 0 if not known
	ClusterID int64
	Capacity  int64   // relative to the fastest CPU, table.None if not known
	ArgSetID  args.ID // table.None if there is none
}

// CPU returns the id of a CPU, which it adds if it is new.
func (m *Machine) CPU(cpu int64) schema.UCPU {
	if uint64(cpu) < cpusPerMachine {
		m.cpus.seen[cpu/64] |= 1 << (cpu % 64)
		return schema.UCPU(int64(m.ID)*cpusPerMachine + cpu)
	}
	id, ok := m.cpus.odd[cpu]
	if !ok {
		if m.cpus.odd == nil {
			m.cpus.odd = map[int64]schema.UCPU{}
		}
		id = schema.UCPU(firstOddCPU + len(m.all.odd))
		m.all.odd = append(m.all.odd, oddCPU{m, cpu})
		m.cpus.odd[cpu] = id
	}
	return id
}

// DescribeCPU sets what is known about a CPU.
func (m *Machine) DescribeCPU(cpu int64, d CPUDescription) {
	if m.cpus.described == nil {
		m.cpus.described = map[int64]CPUDescription{}
	}
	m.CPU(cpu)
	m.cpus.described[cpu] = d
}

// oddCPU is a CPU whose number is not below cpusPerMachine.
type oddCPU struct {
	machine *Machine
	cpu     int64
}

// StoreCPUs writes the CPUs of all machines in the order of their ids.
func (s *Machines) StoreCPUs() {
	for _, m := range s.sorted() {
		for cpu := range int64(cpusPerMachine) {
			if m.cpus.seen[cpu/64]>>(cpu%64)&1 != 0 {
				m.storeCPU(cpu)
			}
		}
	}
	for _, c := range s.odd {
		c.machine.storeCPU(c.cpu)
	}
}

func (m *Machine) storeCPU(cpu int64) {
	t := &m.all.tables.CPU
	row := t.Append()
	t.SetID(row, int64(m.CPU(cpu)))
	t.UCPU.Set(row, m.CPU(cpu))
	t.CPU.Set(row, int32(cpu))
	t.MachineID.Set(row, m.ID)
	d, ok := m.cpus.described[cpu]
	t.ClusterID.Set(row, d.ClusterID) // 0 where the trace does not say, as in Trace Processor
	if !ok {
		return
	}
	t.Processor.Set(row, d.Processor)
	if d.Capacity != table.None {
		t.Capacity.Set(row, d.Capacity)
	}
	if d.ArgSetID != table.None {
		t.ArgSetID.Set(row, d.ArgSetID)
	}
}

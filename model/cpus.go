package model

// cpusPerMachine is the number of CPU ids reserved for each machine, as in Trace
// Processor: ucpu is cpusPerMachine * machine_id + cpu.
const cpusPerMachine = 4096

// firstOddCPU is the first id given to CPUs whose numbers are not below
// cpusPerMachine.
const firstOddCPU = 1 << 40

// cpus are the CPUs of a machine.
type cpus struct {
	seen      [cpusPerMachine / 64]uint64 // bit set of CPU numbers
	odd       map[int64]UCPU              // of the CPUs with other numbers
	described map[int64]CPUDescription
}

// CPUDescription is what a trace says about a CPU.
type CPUDescription struct {
	Processor StringID // 0 if not known
	ClusterID int64
	Capacity  int64    // relative to the fastest CPU, None if not known
	ArgSetID  ArgSetID // None if there is none
}

// CPU returns the id of a CPU, which it adds if it is new.
func (m *Machine) CPU(cpu int64) UCPU {
	if uint64(cpu) < cpusPerMachine {
		m.cpus.seen[cpu/64] |= 1 << (cpu % 64)
		return UCPU(int64(m.ID)*cpusPerMachine + cpu)
	}
	id, ok := m.cpus.odd[cpu]
	if !ok {
		if m.cpus.odd == nil {
			m.cpus.odd = map[int64]UCPU{}
		}
		id = UCPU(firstOddCPU + len(m.store.oddCPUs))
		m.store.oddCPUs = append(m.store.oddCPUs, oddCPU{m, cpu})
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

// storeCPUs writes the CPUs of all machines in the order of their ids.
func (s *Store) storeCPUs() {
	for _, m := range s.sortedMachines() {
		for cpu := range int64(cpusPerMachine) {
			if m.cpus.seen[cpu/64]>>(cpu%64)&1 != 0 {
				m.storeCPU(cpu)
			}
		}
	}
	for _, c := range s.oddCPUs {
		c.machine.storeCPU(c.cpu)
	}
}

func (m *Machine) storeCPU(cpu int64) {
	t := &m.store.Tables.CPU
	row := t.Append()
	t.SetID(row, int64(m.CPU(cpu)))
	t.UCPU.Set(row, m.CPU(cpu))
	t.CPU.Set(row, int32(cpu))
	t.MachineID.Set(row, m.ID)
	d, ok := m.cpus.described[cpu]
	if !ok {
		return
	}
	t.Processor.Set(row, d.Processor)
	t.ClusterID.Set(row, d.ClusterID)
	if d.Capacity != None {
		t.Capacity.Set(row, d.Capacity)
	}
	if d.ArgSetID != None {
		t.ArgSetID.Set(row, d.ArgSetID)
	}
}

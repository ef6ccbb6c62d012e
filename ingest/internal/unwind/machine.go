package unwind

import "math/bits"

// maxRegisters is how many registers of DWARF's numbers a machine may have here.
const maxRegisters = 35

// machine is what differs between processors.
type machine struct {
	pc, sp    int       // DWARF's numbers of registers; that of the pc is what its call frame information returns to on x86-64
	perf      []int     // DWARF's numbers of perf's registers, -1 for those without
	signs     int       // the register that says whether return addresses are signed, or -1
	addresses uint64    // the bits of an address that a signature leaves
	wide      [2]uint64 // bits that the masks of perf's registers have and lack, to tell machines apart
}

// The machines, by the number of ELF.
var machines = map[uint16]*machine{62: x86, 183: arm}

// perf's numbers of registers are in arch/x86/include/uapi/asm/perf_regs.h and arch/arm64/include/uapi/asm/perf_regs.h of
// Linux, DWARF's in the psABIs.
var (
	x86 = &machine{pc: 16, sp: 7, signs: -1,
		perf: []int{0, 3, 2, 1, 4, 5, 6, 7, 16, -1, -1, -1, -1, -1, -1, -1, 8, 9, 10, 11, 12, 13, 14, 15},
		wide: [2]uint64{1<<8 | 1<<7 | 1<<20, 1<<24 | 1<<32}}
	arm = &machine{pc: 32, sp: 31, signs: 34, addresses: 1<<48 - 1, perf: upTo(33), wide: [2]uint64{1<<31 | 1<<32 | 1<<30 | 1<<24, 0}}
)

func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// Registers are the registers of a frame, by DWARF's numbers.
type Registers struct {
	machine *machine
	values  [maxRegisters]uint64
	known   uint64 // bits
}

// NewRegisters returns the registers that perf sampled: those whose bits are in the mask, in that order. It returns false for
// other machines, and without a pc or a stack pointer.
func NewRegisters(mask uint64, values []uint64) (r Registers, ok bool) {
	for _, m := range []*machine{x86, arm} {
		if mask&m.wide[0] == m.wide[0] && mask&m.wide[1] == 0 {
			r.machine = m
		}
	}
	if r.machine == nil || len(values) < bits.OnesCount64(mask) {
		return r, false
	}
	for i := 0; mask != 0; i++ {
		n := bits.TrailingZeros64(mask)
		mask &= mask - 1
		if n < len(r.machine.perf) && r.machine.perf[n] >= 0 {
			r.set(r.machine.perf[n], values[i])
		}
	}
	return r, r.has(r.machine.pc) && r.has(r.machine.sp)
}

// PC returns the address of the next instruction.
func (r *Registers) PC() uint64 { return r.values[r.machine.pc] }

// SP returns the stack pointer.
func (r *Registers) SP() uint64 { return r.values[r.machine.sp] }

func (r *Registers) has(n int) bool { return r.known&(1<<n) != 0 }

func (r *Registers) set(n int, v uint64) {
	r.values[n] = v
	r.known |= 1 << n
}

// get returns a register's value, if it is known.
func (r *Registers) get(n uint64) (uint64, bool) {
	if n >= maxRegisters || !r.has(int(n)) {
		return 0, false
	}
	return r.values[n], true
}

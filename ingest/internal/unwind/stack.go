package unwind

import "encoding/binary"

// MaxFrames is the most frames of a stack: perf's PERF_MAX_STACK_DEPTH.
const MaxFrames = 127

// End says why the unwinding of a stack ended.
type End uint8

// The ends of stacks. Only the first has all frames.
const (
	Complete End = iota
	Limit        // there are more frames than MaxFrames
	Copied       // the rest is not in the copy of the stack
	NoBinary     // the code's binary is not known
	NoRules      // the binary does not say how to unwind the code
)

// Space tells what a process has in memory.
type Space interface {
	// Binary returns the binary at an address of code and what to subtract for the address in the binary, or nil.
	Binary(address uint64) (file *File, bias uint64)
	// Mapped reports whether something is mapped at an address of code.
	Mapped(address uint64) bool
}

// Stack is a copy of a part of a stack.
type Stack struct {
	Address uint64 // of its first byte
	Bytes   []byte
}

// missed is how far behind the copy of a stack an address may be to be of the stack.
const missed = 1 << 20

// Unwind appends the addresses of the code of each frame to a list, innermost first. For callers, these are inside of the calls.
func Unwind(to []uint64, r Registers, in Space, stack Stack) ([]uint64, End) {
	interrupted := true // the frame did not call the one inside of it
	for range MaxFrames {
		pc := r.PC()
		if pc == 0 {
			return to, Complete
		}
		if !interrupted {
			pc--
		}
		if len(to) > 0 && !in.Mapped(pc) {
			return to, NoRules // what was taken for the caller is none
		}
		to = append(to, pc)
		file, bias := in.Binary(pc)
		if file == nil {
			return to, NoBinary
		}
		if file.machine != r.machine {
			return to, NoRules
		}
		how := file.row(pc - bias)
		if how == nil {
			return to, NoRules
		}
		if how.signal {
			to[len(to)-1] = r.PC() // no call: the kernel had the handler return to it
		}
		s := step{row: how, from: &r, in: in, file: file, bias: bias, stack: stack}
		next, end := s.take()
		if end != goOn {
			return to, end
		}
		if next.PC() == r.PC() && next.SP() == r.SP() {
			return to, NoRules // it would not end
		}
		r, interrupted = next, how.signal
	}
	return to, Limit
}

// goOn is no end.
const goOn End = 255

// step goes from a frame to its caller.
type step struct {
	*row
	from   *Registers
	in     Space
	file   *File // of the frame's code
	bias   uint64
	stack  Stack
	copied bool // something was not in the copy
}

// take returns the registers of the caller.
func (s *step) take() (Registers, End) {
	to := *s.from
	m := to.machine
	cfa, ok := s.frameAddress()
	if !ok {
		return to, s.failed()
	}
	if s.returnAddress == uint64(m.pc) {
		to.known &^= 1 << m.pc // unless there is a rule
	}
	to.set(m.sp, cfa)
	for _, r := range s.rules {
		v, ok := s.value(r.rule, cfa)
		switch {
		case ok:
			to.set(r.register, v)
		case uint64(r.register) == s.returnAddress && r.kind == undefined:
			return to, Complete
		case uint64(r.register) == s.returnAddress:
			return to, s.failed()
		default:
			to.known &^= 1 << r.register
		}
	}
	pc, ok := to.get(s.returnAddress)
	if !ok {
		return to, NoRules
	}
	if s.signed {
		pc &= m.addresses
	}
	to.set(m.pc, pc)
	return to, goOn
}

func (s *step) failed() End {
	if s.copied {
		return Copied
	}
	return NoRules
}

// frameAddress computes the canonical frame address.
func (s *step) frameAddress() (uint64, bool) {
	if s.cfa.kind == isResult {
		return evaluate(s.cfa.expression, s.from, s.read)
	}
	return s.value(s.cfa, 0)
}

// value computes a rule. The CFA is on the stack at the start of expressions.
func (s *step) value(r rule, cfa uint64) (uint64, bool) {
	switch r.kind {
	case atOffset:
		return s.read(cfa+uint64(r.offset), 8)
	case isOffset:
		return cfa + uint64(r.offset), true
	case inRegister:
		v, ok := s.from.get(r.register)
		return v + uint64(r.offset), ok
	case atAddress:
		at, ok := evaluate(r.expression, s.from, s.read, cfa)
		if !ok {
			return 0, false
		}
		return s.read(at, 8)
	case isResult:
		return evaluate(r.expression, s.from, s.read, cfa)
	}
	return 0, false
}

// read reads memory: the copy of the stack, or what no program changes.
func (s *step) read(address uint64, n int) (uint64, bool) {
	if n < 1 || n > 8 {
		return 0, false
	}
	var wide [8]byte
	size, at := uint64(len(s.stack.Bytes)), address-s.stack.Address
	if at < size && uint64(n) <= size-at {
		copy(wide[:], s.stack.Bytes[at:at+uint64(n)])
		return binary.LittleEndian.Uint64(wide[:]), true
	}
	b, ok := s.file.constant(address-s.bias, n)
	if !ok {
		file, bias := s.in.Binary(address)
		if file != nil {
			b, ok = file.constant(address-bias, n)
		}
	}
	s.copied = s.copied || !ok && at < size+missed
	copy(wide[:], b)
	return binary.LittleEndian.Uint64(wide[:]), ok
}

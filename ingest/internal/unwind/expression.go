package unwind

const (
	maxSteps = 1000 // of an expression, which may loop
	maxStack = 64   // values
)

// expression is the evaluation of a DWARF expression.
type expression struct {
	reader
	stack     []uint64
	registers *Registers
	memory    func(address uint64, n int) (uint64, bool)
	failed    bool
}

// evaluate computes an expression. The values are on the stack at its start.
func evaluate(code []byte, registers *Registers, memory func(uint64, int) (uint64, bool), values ...uint64) (uint64, bool) {
	e := expression{reader: reader{data: code}, registers: registers, memory: memory, stack: append(make([]uint64, 0, 8), values...)}
	for steps := 0; e.left() > 0; steps++ {
		e.step(e.uint8())
		if e.failed || e.short || steps >= maxSteps || len(e.stack) > maxStack {
			return 0, false
		}
	}
	v := e.pop()
	return v, !e.failed
}

func (e *expression) push(v uint64) { e.stack = append(e.stack, v) }

func (e *expression) pop() uint64 {
	last := len(e.stack) - 1
	if last < 0 {
		e.failed = true
		return 0
	}
	v := e.stack[last]
	e.stack = e.stack[:last]
	return v
}

// pick pushes a copy of a value that is n values below the top.
func (e *expression) pick(n int) {
	if n >= len(e.stack) {
		e.failed = true
		return
	}
	e.push(e.stack[len(e.stack)-1-n])
}

// register pushes a register's value and an offset.
func (e *expression) register(n uint64, offset int64) {
	v, ok := e.registers.get(n)
	if !ok {
		e.failed = true
	}
	e.push(v + uint64(offset))
}

// deref replaces an address by what memory has there.
func (e *expression) deref(size int) {
	v, ok := e.memory(e.pop(), size)
	if !ok {
		e.failed = true
	}
	e.push(v)
}

// jump skips bytes, or goes back.
func (e *expression) jump(offset int64, taken bool) {
	if !taken {
		return
	}
	to := int64(e.at) + offset
	if to < 0 || to > int64(len(e.data)) {
		e.failed = true
		return
	}
	e.at = int(to)
}

// step executes an operation.
func (e *expression) step(op uint8) {
	switch {
	case op >= 0x30 && op <= 0x4f: // lit
		e.push(uint64(op - 0x30))
	case op >= 0x70 && op <= 0x8f: // breg
		e.register(uint64(op-0x70), e.sleb())
	case op >= 0x08 && op <= 0x0f: // const, by size, unsigned and signed
		size := 1 << ((op - 0x08) / 2)
		if op&1 == 0 {
			e.push(e.fixed(size))
		} else {
			e.push(uint64(e.signed(size)))
		}
	case op >= 0x1a && op <= 0x2e && op != 0x1f && op != 0x20 && op != 0x23 && op != 0x28:
		b := e.pop()
		e.binary(op, e.pop(), b)
	default:
		e.other(op)
	}
}

// other executes the operations that have no family.
func (e *expression) other(op uint8) {
	switch op {
	case 0x03: // addr
		e.push(e.fixed(8))
	case 0x06: // deref
		e.deref(8)
	case 0x94: // deref_size
		e.deref(int(e.uint8()))
	case 0x10:
		e.push(e.uleb())
	case 0x11:
		e.push(uint64(e.sleb()))
	case 0x12: // dup
		e.pick(0)
	case 0x13: // drop
		e.pop()
	case 0x14: // over
		e.pick(1)
	case 0x15:
		e.pick(int(e.uint8()))
	case 0x16: // swap
		b, a := e.pop(), e.pop()
		e.stack = append(e.stack, b, a)
	case 0x17: // rot
		c, b, a := e.pop(), e.pop(), e.pop()
		e.stack = append(e.stack, c, a, b)
	case 0x19: // abs
		v := int64(e.pop())
		e.push(uint64(max(v, -v)))
	case 0x1f: // neg
		e.push(-e.pop())
	case 0x20: // not
		e.push(^e.pop())
	case 0x23: // plus_uconst
		v := e.pop()
		e.push(v + e.uleb())
	case 0x28: // bra
		offset := e.signed(2)
		e.jump(offset, e.pop() != 0)
	case 0x2f: // skip
		e.jump(e.signed(2), true)
	case 0x92: // bregx
		n := e.uleb()
		e.register(n, e.sleb())
	case 0x96: // nop
	default:
		e.failed = true
	}
}

// binary pushes the result of an operation on two values.
func (e *expression) binary(op uint8, a, b uint64) {
	truth := func(is bool) uint64 {
		if is {
			return 1
		}
		return 0
	}
	x, y := int64(a), int64(b)
	if b == 0 && (op == 0x1b || op == 0x1d) {
		e.failed = true
		return
	}
	switch op {
	case 0x1a:
		a &= b
	case 0x1b:
		a = uint64(x / y)
	case 0x1c:
		a -= b
	case 0x1d:
		a %= b
	case 0x1e:
		a *= b
	case 0x21:
		a |= b
	case 0x22:
		a += b
	case 0x24:
		a <<= b
	case 0x25:
		a >>= b
	case 0x26:
		a = uint64(x >> b)
	case 0x27:
		a ^= b
	case 0x29:
		a = truth(x == y)
	case 0x2a:
		a = truth(x >= y)
	case 0x2b:
		a = truth(x > y)
	case 0x2c:
		a = truth(x <= y)
	case 0x2d:
		a = truth(x < y)
	case 0x2e:
		a = truth(x != y)
	}
	e.push(a)
}

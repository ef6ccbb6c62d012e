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
	case op >= opLit0 && op < opReg0:
		e.push(uint64(op - opLit0))
	case op >= opBreg0 && op <= opBreg31:
		e.register(uint64(op-opBreg0), e.sleb())
	case op >= opConst1U && op < opConstU: // by size, unsigned and signed
		size := 1 << ((op - opConst1U) / 2)
		if op&1 == 0 {
			e.push(e.fixed(size))
		} else {
			e.push(uint64(e.signed(size)))
		}
	case op >= opAnd && op <= opNe && op != opNeg && op != opNot && op != opPlusUConst && op != opBra:
		b := e.pop()
		e.binary(op, e.pop(), b)
	default:
		e.other(op)
	}
}

// The operations of DWARF expressions (DW_OP_*).
const (
	opAddr       = 0x03
	opDeref      = 0x06
	opConst1U    = 0x08
	opConstU     = 0x10
	opConstS     = 0x11
	opDup        = 0x12
	opDrop       = 0x13
	opOver       = 0x14
	opPick       = 0x15
	opSwap       = 0x16
	opRot        = 0x17
	opAbs        = 0x19
	opAnd        = 0x1a
	opDiv        = 0x1b
	opMinus      = 0x1c
	opMod        = 0x1d
	opMul        = 0x1e
	opNeg        = 0x1f
	opNot        = 0x20
	opOr         = 0x21
	opPlus       = 0x22
	opPlusUConst = 0x23
	opShl        = 0x24
	opShr        = 0x25
	opShra       = 0x26
	opXor        = 0x27
	opBra        = 0x28
	opEq         = 0x29
	opGe         = 0x2a
	opGt         = 0x2b
	opLe         = 0x2c
	opLt         = 0x2d
	opNe         = 0x2e
	opSkip       = 0x2f
	opLit0       = 0x30
	opReg0       = 0x50
	opBreg0      = 0x70
	opBreg31     = 0x8f
	opBregX      = 0x92
	opDerefSize  = 0x94
	opNop        = 0x96
)

// other executes the operations that have no family.
func (e *expression) other(op uint8) {
	switch op {
	case opAddr:
		e.push(e.fixed(8))
	case opDeref:
		e.deref(8)
	case opDerefSize:
		e.deref(int(e.uint8()))
	case opConstU:
		e.push(e.uleb())
	case opConstS:
		e.push(uint64(e.sleb()))
	case opDup:
		e.pick(0)
	case opDrop:
		e.pop()
	case opOver:
		e.pick(1)
	case opPick:
		e.pick(int(e.uint8()))
	case opSwap:
		b, a := e.pop(), e.pop()
		e.stack = append(e.stack, b, a)
	case opRot:
		c, b, a := e.pop(), e.pop(), e.pop()
		e.stack = append(e.stack, c, a, b)
	case opAbs:
		v := int64(e.pop())
		e.push(uint64(max(v, -v)))
	case opNeg:
		e.push(-e.pop())
	case opNot:
		e.push(^e.pop())
	case opPlusUConst:
		v := e.pop()
		e.push(v + e.uleb())
	case opBra:
		offset := e.signed(2)
		e.jump(offset, e.pop() != 0)
	case opSkip:
		e.jump(e.signed(2), true)
	case opBregX:
		n := e.uleb()
		e.register(n, e.sleb())
	case opNop:
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
	if b == 0 && (op == opDiv || op == opMod) {
		e.failed = true
		return
	}
	switch op {
	case opAnd:
		a &= b
	case opDiv:
		a = uint64(x / y)
	case opMinus:
		a -= b
	case opMod:
		a %= b
	case opMul:
		a *= b
	case opOr:
		a |= b
	case opPlus:
		a += b
	case opShl:
		a <<= b
	case opShr:
		a >>= b
	case opShra:
		a = uint64(x >> b)
	case opXor:
		a ^= b
	case opEq:
		a = truth(x == y)
	case opGe:
		a = truth(x >= y)
	case opGt:
		a = truth(x > y)
	case opLe:
		a = truth(x <= y)
	case opLt:
		a = truth(x < y)
	case opNe:
		a = truth(x != y)
	}
	e.push(a)
}

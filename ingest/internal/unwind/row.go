package unwind

// maxRows is how many rows a binary keeps.
const maxRows = 1 << 15

// row says how to find the registers of the caller at an address.
type row struct {
	cfa           rule // the canonical frame address, the caller's stack pointer; a register and an offset, or an expression
	rules         []registerRule
	returnAddress uint64 // register
	signal        bool
	signed        bool // return addresses on the stack are signed
}

type registerRule struct {
	register int
	rule
}

type ruleKind uint8

const (
	same       ruleKind = iota // also that of registers without a rule
	undefined                  // the caller's value is lost; of the return address, there is no caller
	atOffset                   // in memory, at an offset from the CFA
	isOffset                   // the CFA and an offset
	inRegister                 // in another register; of the CFA, a register and an offset
	atAddress                  // in memory, at the address that an expression computes
	isResult                   // what an expression computes
)

// rule is a way to compute a value.
type rule struct {
	kind       ruleKind
	register   uint64
	offset     int64
	expression []byte
}

// row returns how to unwind at an address of the binary, or nil.
func (f *File) row(address uint64) *row {
	if r, ok := f.rows[address]; ok {
		return r
	}
	if len(f.rows) >= maxRows {
		clear(f.rows)
	}
	var r *row
	if s, fn := f.find(address); fn != nil {
		c := &s.common[fn.common]
		p := program{common: c, signs: f.machine.signs, at: fn.start, until: address}
		if p.run(c.instructions) {
			p.first = p.state.copy()
			p.bounded = true
			if p.run(s.data[fn.at:fn.to]) {
				r = p.row()
			}
		}
	}
	f.rows[address] = r
	return r
}

// maxRemembered is how many states a function may remember at a time.
const maxRemembered = 64

// program runs the instructions of call frame information.
type program struct {
	*common
	state
	first      state // of the function's first address
	remembered []state
	at, until  uint64
	bounded    bool // stops after the address; the common instructions have none
	signs      int
}

// state is a row in the making.
type state struct {
	cfa    rule
	rules  [maxRegisters]rule
	signed bool
}

func (s *state) copy() state { return *s }

func (p *program) row() *row {
	r := &row{cfa: p.cfa, returnAddress: p.returnAddress, signal: p.signal, signed: p.signed}
	for n, rule := range p.rules {
		if rule.kind != same {
			r.rules = append(r.rules, registerRule{n, rule})
		}
	}
	return r
}

// The instructions whose operands are in their lower six bits.
const (
	cfaAdvance = 1 << 6
	cfaOffset  = 2 << 6
	cfaRestore = 3 << 6
)

// The other instructions of call frame information (DW_CFA_*).
const (
	cfaNop                    = 0x00
	cfaSetLoc                 = 0x01
	cfaAdvance1               = 0x02
	cfaAdvance2               = 0x03
	cfaAdvance4               = 0x04
	cfaOffsetExtended         = 0x05
	cfaRestoreExtended        = 0x06
	cfaUndefined              = 0x07
	cfaSameValue              = 0x08
	cfaRegister               = 0x09
	cfaRememberState          = 0x0a
	cfaRestoreState           = 0x0b
	cfaDefCFA                 = 0x0c
	cfaDefCFARegister         = 0x0d
	cfaDefCFAOffset           = 0x0e
	cfaDefCFAExpression       = 0x0f
	cfaExpression             = 0x10
	cfaOffsetExtendedSF       = 0x11
	cfaDefCFASF               = 0x12
	cfaDefCFAOffsetSF         = 0x13
	cfaValOffset              = 0x14
	cfaValOffsetSF            = 0x15
	cfaValExpression          = 0x16
	cfaNegateRAState          = 0x2d // AARCH64_negate_ra_state; on other machines GNU_window_save
	cfaArgsSize               = 0x2e // GNU_args_size
	cfaNegativeOffsetExtended = 0x2f // GNU_negative_offset_extended
)

// run executes instructions up to the address. It returns false for unknown ones.
func (p *program) run(instructions []byte) bool {
	r := reader{data: instructions}
	for r.left() > 0 {
		op := r.uint8()
		low := uint64(op & 63)
		switch op & (3 << 6) {
		case cfaAdvance:
			p.at += low * p.codeUnit
		case cfaOffset:
			p.set(low, rule{kind: atOffset, offset: int64(r.uleb()) * p.dataUnit})
		case cfaRestore:
			p.restore(low)
		default:
			if !p.extended(op, &r) {
				return false
			}
		}
		if r.short {
			return false
		}
		if p.bounded && p.at > p.until {
			return true
		}
	}
	return true
}

func (p *program) set(register uint64, to rule) {
	if register < maxRegisters {
		p.rules[register] = to
	}
}

func (p *program) restore(register uint64) {
	if register < maxRegisters {
		p.rules[register] = p.first.rules[register]
	}
}

// extended executes an instruction whose operands follow it.
func (p *program) extended(op uint8, r *reader) bool {
	switch op {
	case cfaNop:
	case cfaSetLoc:
		p.at, _ = r.pointer(p.pointers &^ pointerToItself)
		return p.pointers&0x70 == 0
	case cfaAdvance1:
		p.at += r.fixed(1) * p.codeUnit
	case cfaAdvance2:
		p.at += r.fixed(2) * p.codeUnit
	case cfaAdvance4:
		p.at += r.fixed(4) * p.codeUnit
	case cfaOffsetExtended:
		p.set(r.uleb(), rule{kind: atOffset, offset: int64(r.uleb()) * p.dataUnit})
	case cfaRestoreExtended:
		p.restore(r.uleb())
	case cfaUndefined:
		p.set(r.uleb(), rule{kind: undefined})
	case cfaSameValue:
		p.set(r.uleb(), rule{kind: same})
	case cfaRegister:
		p.set(r.uleb(), rule{kind: inRegister, register: r.uleb()})
	case cfaRememberState:
		if len(p.remembered) >= maxRemembered {
			return false
		}
		p.remembered = append(p.remembered, p.state)
	case cfaRestoreState:
		last := len(p.remembered) - 1
		if last < 0 {
			return false
		}
		p.state, p.remembered = p.remembered[last], p.remembered[:last]
	case cfaExpression:
		p.set(r.uleb(), rule{kind: atAddress, expression: r.block()})
	case cfaOffsetExtendedSF:
		p.set(r.uleb(), rule{kind: atOffset, offset: r.sleb() * p.dataUnit})
	case cfaValOffset:
		p.set(r.uleb(), rule{kind: isOffset, offset: int64(r.uleb()) * p.dataUnit})
	case cfaValOffsetSF:
		p.set(r.uleb(), rule{kind: isOffset, offset: r.sleb() * p.dataUnit})
	case cfaValExpression:
		p.set(r.uleb(), rule{kind: isResult, expression: r.block()})
	case cfaNegateRAState:
		p.signed = !p.signed
		return p.signs >= 0
	case cfaArgsSize:
		r.uleb()
	case cfaNegativeOffsetExtended:
		p.set(r.uleb(), rule{kind: atOffset, offset: -int64(r.uleb()) * p.dataUnit})
	default:
		return p.defineCFA(op, r)
	}
	return true
}

// defineCFA executes an instruction about the canonical frame address.
func (p *program) defineCFA(op uint8, r *reader) bool {
	switch op {
	case cfaDefCFA:
		p.cfa = rule{kind: inRegister, register: r.uleb(), offset: int64(r.uleb())}
	case cfaDefCFARegister:
		p.cfa.register = r.uleb()
		return p.cfa.kind == inRegister
	case cfaDefCFAOffset:
		p.cfa.offset = int64(r.uleb())
		return p.cfa.kind == inRegister
	case cfaDefCFAExpression:
		p.cfa = rule{kind: isResult, expression: r.block()}
	case cfaDefCFASF:
		p.cfa = rule{kind: inRegister, register: r.uleb(), offset: r.sleb() * p.dataUnit}
	case cfaDefCFAOffsetSF:
		p.cfa.offset = r.sleb() * p.dataUnit
		return p.cfa.kind == inRegister
	default:
		return false
	}
	return true
}

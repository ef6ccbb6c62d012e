// Package protovm runs the programs of Perfetto's ProtoVM. A program applies patches, which are messages, to a state,
// which is a message too, and knows neither's type.
package protovm

import (
	"errors"

	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
)

var (
	// ErrNoPatch says that a message is not a patch for the program: it lacks a field that the program selects.
	ErrNoPatch = errors.New("not a patch for the program")
	// ErrAborted says that the program does not fit the patch or the state, which may be changed in part.
	ErrAborted = errors.New("the program was aborted")
)

const (
	// maxDepth limits how deep instructions nest and paths reach together.
	maxDepth  = 200
	registers = 32
)

// VM is a program and its state.
type VM struct {
	program   []instruction
	broken    bool
	state     state
	registers [registers]struct {
		value uint64
		set   bool
	}
}

// instruction is a VmInstruction.
type instruction struct {
	op         uint32 // the number of the field with the operation, 0 if there is none
	abortLevel int32
	nested     []instruction

	cursor   int32 // of select and reg_load
	create   bool  // select
	path     []component
	register uint32 // reg_load
	merge    mergeOptions
}

// component is a part of a path: a field, an index, or a key that a register holds.
type component struct {
	field, index, keyField, register uint32
	hasField, hasIndex, hasKey       bool
	hasRegister, each                bool
}

// New returns a machine that runs a VmProgram on a state, which may be empty. The state's memory is limited.
func New(program, state []byte, limit int64) *VM {
	vm := &VM{}
	vm.program, vm.broken = decode(program, pb.VmProgram_Instructions, 0)
	vm.state.limit = limit
	if len(state) > 0 {
		// v58 too begins with an empty state if the state exceeds the limit.
		_ = vm.state.root.setBytes(&vm.state, state)
	}
	return vm
}

func decode(data []byte, field uint32, depth int) (list []instruction, broken bool) {
	if depth > maxDepth {
		return nil, true
	}
	for data := range message.Messages(data, field) {
		in := instruction{abortLevel: pb.VmInstruction_AbortLevel_SkipCurrentInstructionAndBreakOuter, cursor: pb.VmCursorEnum_VMCursorSrc}
		for f := wire.Read(data); f.Next(); {
			switch f.Number {
			case pb.VmInstruction_Select:
				in.op = f.Number
				in.decodeSelect(f.Bytes())
			case pb.VmInstruction_RegLoad:
				in.op = f.Number
				in.register = message.Uint32(f.Bytes(), pb.VmOpRegLoad_DstRegister)
				if cursor, ok := wire.Find(f.Bytes(), pb.VmOpRegLoad_Cursor); ok {
					in.cursor = cursor.Int32()
				}
			case pb.VmInstruction_Merge:
				in.op = f.Number
				in.merge = mergeOptions{
					keepMessages: message.Uint32(f.Bytes(), pb.VmOpMerge_SkipSubmessages) != 0,
					emptyDeletes: message.Uint32(f.Bytes(), pb.VmOpMerge_DelIfSrcEmpty) != 0,
				}
			case pb.VmInstruction_Set, pb.VmInstruction_Del:
				in.op = f.Number
			case pb.VmInstruction_AbortLevel:
				in.abortLevel = f.Int32()
			}
		}
		nested, bad := decode(data, pb.VmInstruction_NestedInstructions, depth+1+len(in.path))
		in.nested, broken = nested, broken || bad
		list = append(list, in)
	}
	return list, broken
}

func (in *instruction) decodeSelect(data []byte) {
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.VmOpSelect_Cursor:
			in.cursor = f.Int32()
		case pb.VmOpSelect_CreateIfNotExist:
			in.create = f.Bool()
		case pb.VmOpSelect_RelativePath:
			in.path = append(in.path, decodeComponent(f.Bytes()))
		}
	}
}

func decodeComponent(data []byte) (c component) {
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.VmOpSelect_PathComponent_FieldID:
			c.field, c.hasField = f.Uint32(), true
		case pb.VmOpSelect_PathComponent_ArrayIndex:
			c.index, c.hasIndex = f.Uint32(), true
		case pb.VmOpSelect_PathComponent_MapKeyFieldID:
			c.keyField, c.hasKey = f.Uint32(), true
		case pb.VmOpSelect_PathComponent_IsRepeated:
			c.each = f.Bool()
		case pb.VmOpSelect_PathComponent_RegisterToMatch:
			c.register, c.hasRegister = f.Uint32(), true
		}
	}
	return c
}

// Apply applies a patch. The error is ErrNoPatch or ErrAborted.
func (vm *VM) Apply(patch []byte) error {
	if vm.broken {
		return ErrAborted
	}
	r := run{vm: vm, src: source{bytes: patch, isBytes: true}, dst: cursor{node: &vm.state.root}}
	return r.all(vm.program)
}

// AppendState appends the state's fields.
func (vm *VM) AppendState(b []byte) []byte { return vm.state.append(b) }

// run is one run of a program: where it reads the patch and where it writes the state.
type run struct {
	vm     *VM
	src    source
	dst    cursor
	saved  *node // the destination of the enclosing select
	create bool  // missing fields of the destination are created
}

// all runs instructions until one fails.
func (r *run) all(list []instruction) error {
	for i := range list {
		err := r.execute(&list[i])
		if err == ErrNoPatch {
			switch list[i].abortLevel {
			case pb.VmInstruction_AbortLevel_Abort:
				err = ErrAborted
			case pb.VmInstruction_AbortLevel_SkipCurrentInstruction:
				err = nil
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *run) execute(in *instruction) (err error) {
	switch in.op {
	case pb.VmInstruction_Select:
		if in.create && in.cursor == pb.VmCursorEnum_VMCursorSrc {
			return ErrAborted
		}
		before := *r
		r.saved, r.create = before.dst.node, in.create
		err = r.enter(in, in.path)
		*r = before
		return err
	case pb.VmInstruction_RegLoad:
		err = r.load(in)
	case pb.VmInstruction_Merge:
		if !r.src.isBytes {
			return ErrAborted
		}
		err = r.dst.merge(&r.vm.state, r.src.bytes, in.merge)
	case pb.VmInstruction_Set:
		if r.src.isBytes {
			err = r.dst.node.setBytes(&r.vm.state, r.src.bytes)
		} else {
			err = r.dst.node.setScalar(r.src.scalar)
		}
	case pb.VmInstruction_Del:
		if r.dst.parent != nil && r.dst.node == r.saved {
			return ErrAborted // the enclosing select would be left without its destination
		}
		err = r.dst.delete(&r.vm.state)
	default:
		return ErrAborted
	}
	if err != nil {
		return err
	}
	return r.all(in.nested)
}

func (r *run) load(in *instruction) error {
	value, ok := r.src.scalar, !r.src.isBytes
	if in.cursor != pb.VmCursorEnum_VMCursorSrc {
		value, ok = r.dst.node.asScalar()
	}
	if !ok || in.register >= registers {
		return ErrAborted
	}
	to := &r.vm.registers[in.register]
	to.value, to.set = value.value, true
	return nil
}

// enter moves a cursor along the rest of a path, and then runs the nested instructions. It does so for each element
// of a repeated field, if the path says so.
func (r *run) enter(in *instruction, path []component) error {
	if len(path) == 0 {
		return r.all(in.nested)
	}
	c, fromSrc := path[0], in.cursor == pb.VmCursorEnum_VMCursorSrc
	if !c.hasField {
		return ErrAborted
	}
	path = path[1:]
	if c.each {
		switch in.cursor {
		case pb.VmCursorEnum_VMCursorSrc:
			return r.eachSource(in, c.field, path)
		case pb.VmCursorEnum_VMCursorDst:
			return r.eachDestination(in, c.field, path)
		}
		return ErrAborted
	}
	var err error
	switch {
	case len(path) > 0 && path[0].hasIndex:
		if fromSrc {
			err = r.src.enter(c.field, int(path[0].index), true)
		} else {
			err = r.dst.enterIndex(&r.vm.state, c.field, path[0].index)
		}
		path = path[1:]
	case len(path) > 0 && path[0].hasKey:
		err = r.enterKey(fromSrc, c.field, path[0])
		path = path[1:]
	case fromSrc:
		err = r.src.enter(c.field, 0, false)
	default:
		err = r.dst.enter(&r.vm.state, c.field, r.create)
	}
	if err != nil {
		return err
	}
	return r.enter(in, path)
}

// enterKey enters the element of a repeated field whose key is in a register. Keys have 32 bits.
func (r *run) enterKey(fromSrc bool, field uint32, c component) error {
	if fromSrc || !c.hasRegister || c.register >= registers || !r.vm.registers[c.register].set {
		return ErrAborted
	}
	return r.dst.enterKey(&r.vm.state, field, c.keyField, uint64(uint32(r.vm.registers[c.register].value)), r.create)
}

func (r *run) eachSource(in *instruction, field uint32, path []component) error {
	if !r.src.isBytes {
		return ErrAborted
	}
	for f := wire.Read(r.src.bytes); f.Next(); {
		if f.Number != field {
			continue
		}
		r.src = sourceOf(&f.Field)
		if err := r.enter(in, path); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) eachDestination(in *instruction, field uint32, path []component) error {
	elements, err := r.dst.elements(&r.vm.state, field)
	if err != nil {
		return err
	}
	for _, e := range elements {
		r.dst = cursor{node: e.node}
		if err := r.enter(in, path); err != nil {
			return err
		}
	}
	return nil
}

// source is a place in a patch: a message, a text or a number.
type source struct {
	bytes   []byte
	isBytes bool
	scalar  scalar
}

func sourceOf(f *wire.Field) source {
	if f.Type == wire.Bytes {
		return source{bytes: f.Bytes(), isBytes: true}
	}
	return source{scalar: scalarOf(f)}
}

// enter moves to the field's n-th value.
func (s *source) enter(field uint32, n int, element bool) error {
	if !s.isBytes {
		return ErrAborted
	}
	for f := wire.Read(s.bytes); f.Next(); {
		if f.Number != field {
			continue
		}
		if n == 0 {
			*s = sourceOf(&f.Field)
			s.isBytes = s.isBytes || element
			return nil
		}
		n--
	}
	return ErrNoPatch
}

package protovm

import (
	"bytes"
	"errors"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tpconvert/tpconvert/internal/fuzz"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
)

// msg encodes fields: a number is a varint, bytes are a submessage.
func msg(fields ...any) (b []byte) {
	for i := 0; i < len(fields); i += 2 {
		number := protowire.Number(fields[i].(int))
		switch v := fields[i+1].(type) {
		case int:
			b = protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), uint64(v))
		case []byte:
			b = protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), v)
		}
	}
	return b
}

func program(instructions ...[]byte) (b []byte) {
	for _, in := range instructions {
		b = append(b, msg(pb.VmProgram_Instructions, in)...)
	}
	return b
}

func selects(cursor int, field int, nested ...[]byte) []byte {
	path := msg(pb.VmOpSelect_PathComponent_FieldID, field)
	b := msg(pb.VmInstruction_Select, msg(pb.VmOpSelect_Cursor, cursor, pb.VmOpSelect_RelativePath, path,
		pb.VmOpSelect_CreateIfNotExist, cursor-pb.VmCursorEnum_VMCursorSrc))
	for _, n := range nested {
		b = append(b, msg(pb.VmInstruction_NestedInstructions, n)...)
	}
	return b
}

var (
	set   = msg(pb.VmInstruction_Set, []byte{})
	del   = msg(pb.VmInstruction_Del, []byte{})
	merge = msg(pb.VmInstruction_Merge, []byte{})
	copy1 = selects(pb.VmCursorEnum_VMCursorSrc, 1, selects(pb.VmCursorEnum_VMCursorDst, 1, set))
)

func TestApply(t *testing.T) {
	deep := set
	for range maxDepth {
		deep = selects(pb.VmCursorEnum_VMCursorDst, 1, deep)
	}
	for _, c := range []struct {
		name                        string
		program, state, patch, want []byte
		limit                       int64
		err                         error
	}{
		{"a number", program(copy1), msg(2, 5), msg(1, 7), msg(1, 7, 2, 5), 1000, nil},
		{"a missing field", program(copy1), msg(2, 5), msg(3, 7), msg(2, 5), 1000, ErrNoPatch},
		{"a missing field of an instruction that may fail",
			program(append(msg(pb.VmInstruction_AbortLevel, pb.VmInstruction_AbortLevel_SkipCurrentInstruction), copy1...)),
			msg(2, 5), msg(3, 7), msg(2, 5), 1000, nil},
		{"a number in place of a message", program(copy1), msg(1, msg(1, 1)), msg(1, 7), msg(1, msg(1, 1)), 1000, ErrAborted},
		{"repeated fields are replaced", program(merge), msg(1, 1, 1, 2, 1, 3, 2, 4), msg(1, 5, 1, 6), msg(1, 5, 1, 6, 2, 4), 1000, nil},
		{"the limit", program(merge), msg(1, 1), msg(2, make([]byte, 1000)), msg(1, 1), 1000, ErrAborted},
		{"the root", program(del), msg(1, 1), nil, nil, 1000, nil},
		{"the destination of the select", program(selects(pb.VmCursorEnum_VMCursorDst, 1, selects(pb.VmCursorEnum_VMCursorSrc, 2, del))),
			msg(1, 1), msg(2, 2), msg(1, 1), 1000, ErrAborted},
		{"instructions nested too deep", program(deep), msg(1, 1), nil, msg(1, 1), 1000, ErrAborted},
	} {
		vm := New(c.program, c.state, c.limit)
		if err := vm.Apply(c.patch); !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", c.name, err, c.err)
		}
		if got := vm.AppendState(nil); !bytes.Equal(got, c.want) {
			t.Errorf("%s: state %x, want %x", c.name, got, c.want)
		}
	}
}

// FuzzApply checks that no program panics, and that the memory is counted.
func FuzzApply(f *testing.F) {
	f.Add(program(copy1, merge, del), msg(1, msg(2, 3), 4, 5), msg(1, msg(2, 4), 4, 6, 4, 7))
	fuzz.Run(f, func(t *testing.T, program, state, patch []byte) {
		vm := New(program, state, 1<<16)
		for range 2 {
			_ = vm.Apply(patch)
			vm.AppendState(nil)
		}
		vm.state.free(&vm.state.root)
		if vm.state.size != 0 {
			t.Errorf("%d bytes are left", vm.state.size)
		}
	})
}

package unwind

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"os"
	"slices"
	"testing"

	"github.com/tpconvert/tpconvert/internal/fuzz"
)

// part is a section of a binary to write, at an address that is its offset and base.
type part struct {
	name    string
	kind    uint32
	flags   uint64
	link    uint32
	content []byte
}

const base = 0x10000

// elf returns a binary whose sections are loaded one after the other. It returns the address of each section, too.
func elf(machine uint16, parts ...part) ([]byte, map[string]uint64) {
	le := binary.LittleEndian
	parts = append([]part{{}}, parts...)
	names := []byte{0}
	var at []uint32
	for _, p := range append(parts, part{name: ".shstrtab"}) {
		at = append(at, uint32(len(names)))
		names = append(append(names, p.name...), 0)
	}
	parts = append(parts, part{name: ".shstrtab", kind: 3, content: names})
	b := make([]byte, 64+56)
	places := map[string]uint64{}
	var table []byte
	for i, p := range parts {
		b = append(b, make([]byte, -len(b)&15)...)
		places[p.name] = base + uint64(len(b))
		var h [64]byte
		le.PutUint32(h[:], at[i])
		le.PutUint32(h[4:], p.kind)
		le.PutUint64(h[8:], p.flags)
		le.PutUint64(h[16:], base+uint64(len(b)))
		le.PutUint64(h[24:], uint64(len(b)))
		le.PutUint64(h[32:], uint64(len(p.content)))
		le.PutUint32(h[40:], p.link)
		table = append(table, h[:]...)
		b = append(b, p.content...)
	}
	copy(b, "\x7fELF\x02\x01\x01")
	le.PutUint16(b[18:], machine)
	le.PutUint64(b[32:], 64)
	le.PutUint64(b[40:], uint64(len(b)))
	le.PutUint16(b[54:], 56)
	le.PutUint16(b[56:], 1)
	le.PutUint16(b[58:], 64)
	le.PutUint16(b[60:], uint16(len(parts)))
	le.PutUint16(b[62:], uint16(len(parts)-1))
	le.PutUint32(b[64:], segmentLoad)
	le.PutUint32(b[68:], 5)
	le.PutUint64(b[80:], base)
	le.PutUint64(b[96:], uint64(len(b)))
	return append(b, table...), places
}

// entry precedes the body of a CIE or an FDE by its length.
func entry(body ...byte) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// debugFrame returns .debug_frame with functions of 16 bytes from 0x1000 on, each with these instructions. The common ones are
// those that compilers write: the CFA is 8 bytes above rsp, and has the return address below it.
func debugFrame(machine uint16, instructions ...[]byte) []byte {
	common := []byte{0xff, 0xff, 0xff, 0xff, 3, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1}
	if machine == 183 {
		common = []byte{0xff, 0xff, 0xff, 0xff, 3, 0, 4, 0x78, 30, 0x0c, 31, 0}
	}
	b := entry(common...)
	for i, code := range instructions {
		body := make([]byte, 4, 20+len(code))
		body = binary.LittleEndian.AppendUint64(body, 0x1000+16*uint64(i))
		body = binary.LittleEndian.AppendUint64(body, 16)
		b = append(b, entry(append(body, code...)...)...)
	}
	return b
}

// process is a process with a binary at its own addresses.
type process struct{ file *File }

func (p process) Binary(address uint64) (*File, uint64) {
	if !p.Mapped(address) {
		return nil, 0
	}
	return p.file, 0
}

func (process) Mapped(address uint64) bool { return address < 0x100000 }

func open(t testing.TB, data []byte) *File {
	t.Helper()
	f, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

const maskX86 = 0xff0fff

// x86At returns registers with a pc and a stack pointer at 0x7000, and the number of each other one in it.
func x86At(t testing.TB, pc uint64) Registers {
	values := make([]uint64, 20)
	for i := range values {
		values[i] = uint64(100 + i)
	}
	values[7], values[8] = 0x7000, pc
	r, ok := NewRegisters(maskX86, values)
	if !ok {
		t.Fatal("no registers of x86-64")
	}
	return r
}

func words(values ...uint64) Stack {
	s := Stack{Address: 0x7000}
	for _, v := range values {
		s.Bytes = binary.LittleEndian.AppendUint64(s.Bytes, v)
	}
	return s
}

func wantStack(t *testing.T, f *File, r Registers, stack Stack, end End, want ...uint64) {
	t.Helper()
	got, ended := Unwind(nil, r, process{f}, stack)
	if !slices.Equal(got, want) || ended != end {
		t.Errorf("%#x, end %d; want %#x, end %d", got, ended, want, end)
	}
}

// The functions are 16 bytes each from 0x1000 on; the last one has no caller.
var outermost = []byte{0x07, 16}

func TestRules(t *testing.T) {
	for name, c := range map[string]struct {
		code  []byte // of the innermost function
		stack Stack
	}{
		"offset":                  {[]byte{0x0e, 24}, words(0, 0, 0x1015)},
		"after the address":       {[]byte{0x0e, 16, 0x4f, 0x0e, 99}, words(0, 0x1015)},
		"remembered":              {[]byte{0x0e, 16, 0x0a, 0x41, 0x0e, 64, 0x41, 0x0b}, words(0, 0x1015)},
		"restored":                {[]byte{0x90, 2, 0xd0}, words(0x1015)},
		"register":                {[]byte{0x0c, 3, 8, 0x09, 7, 3}, Stack{Address: 101, Bytes: words(0x1015).Bytes}},
		"CFA by an expression":    {[]byte{0x0f, 2, 0x77, 16}, words(0, 0x1015)},
		"CFA of PLT":              {[]byte{0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}, words(0x1015)},
		"address by expression":   {[]byte{0x10, 16, 2, 0x77, 24}, words(0, 0, 0, 0x1015)},
		"value by expression":     {[]byte{0x16, 16, 3, 0x77, 16, 0x06}, words(0, 0, 0x1015)},
		"expression on the CFA":   {[]byte{0x10, 16, 3, 0x23, 8, 0x96}, words(0, 0, 0x1015)},
		"signed offset":           {[]byte{0x13, 0x7e, 0x11, 16, 1}, words(0, 0x1015)},
		"code before arguments":   {[]byte{0x2e, 16}, words(0x1015)},
		"constant of the program": {[]byte{0x16, 16, 10, 0x03, 0, 0, 0, 0, 0, 0, 0, 0, 0x06}, words(0)},
	} {
		t.Run(name, func(t *testing.T) {
			code := slices.Clone(c.code)
			constant := binary.LittleEndian.AppendUint64(nil, 0x1015)
			_, at := elf(62, part{name: ".rodata", kind: 1, content: constant})
			if name == "constant of the program" {
				binary.LittleEndian.PutUint64(code[4:], at[".rodata"])
			}
			data, _ := elf(62, part{name: ".rodata", kind: 1, content: constant},
				part{name: ".debug_frame", kind: 1, content: debugFrame(62, code, outermost)})
			f := open(t, data)
			wantStack(t, f, x86At(t, 0x1005), c.stack, Complete, 0x1005, 0x1014)
		})
	}
}

func TestEnds(t *testing.T) {
	data, _ := elf(62, part{name: ".debug_frame", kind: 1, content: debugFrame(62, nil, outermost, []byte{0x3f})})
	f := open(t, data)
	again := make([]uint64, 200)
	for i := range again {
		again[i] = 0x1005
	}
	many := append([]uint64{0x1005}, slices.Repeat([]uint64{0x1004}, MaxFrames-1)...)
	wantStack(t, f, x86At(t, 0x1005), words(again...), Limit, many...)
	wantStack(t, f, x86At(t, 0x1005), words(0x1005, 0x1005), Copied, 0x1005, 0x1004, 0x1004)
	wantStack(t, f, x86At(t, 0x1005), words(0), Complete, 0x1005)
	wantStack(t, f, x86At(t, 0x1005), words(1<<40), NoRules, 0x1005) // no code there
	wantStack(t, f, x86At(t, 0x1005), words(0x5000), NoRules, 0x1005, 0x4fff)
	wantStack(t, f, x86At(t, 0x1025), words(0x1015), NoRules, 0x1025) // an unknown instruction
	wantStack(t, f, x86At(t, 1<<40), words(0x1015), NoBinary, 1<<40)
}

// Code returns to arm64's link register, whose value may be signed.
func TestArm(t *testing.T) {
	framed := []byte{0x0e, 16, 0x9e, 2, 0x9d, 1} // lr 16 below the CFA, fp 8 below it
	signed := append([]byte{0x2d}, framed...)
	data, _ := elf(183, part{name: ".debug_frame", kind: 1, content: debugFrame(183, nil, framed, signed, []byte{0x07, 30})})
	f := open(t, data)
	values := make([]uint64, 33)
	values[30], values[31], values[32] = 0x1014, 0x7000, 0x1004
	r, ok := NewRegisters(1<<33-1, values)
	if !ok {
		t.Fatal("no registers of arm64")
	}
	wantStack(t, f, r, words(0x1024, 0, 0x1234<<48|0x1034, 0), Complete, 0x1004, 0x1013, 0x1023, 0x1033)
	other, _ := elf(62, part{name: ".debug_frame", kind: 1, content: debugFrame(62, nil)})
	wantStack(t, open(t, other), r, words(0x1024), NoRules, 0x1004)
}

func TestOtherMachines(t *testing.T) {
	for _, mask := range []uint64{0, 0xffff, 1<<8 | 1<<7, 0xffffffff} {
		if _, ok := NewRegisters(mask, make([]uint64, 64)); ok {
			t.Errorf("mask %#x has registers", mask)
		}
	}
}

// Go's linker compresses .debug_frame.
func TestCompressed(t *testing.T) {
	content := debugFrame(62, outermost)
	var b bytes.Buffer
	head := make([]byte, 24)
	head[0] = 1
	binary.LittleEndian.PutUint64(head[8:], uint64(len(content)))
	b.Write(head)
	w := zlib.NewWriter(&b)
	w.Write(content)
	w.Close()
	data, _ := elf(62, part{name: ".debug_frame", kind: 1, flags: flagCompressed, content: b.Bytes()})
	wantStack(t, open(t, data), x86At(t, 0x1001), words(0), Complete, 0x1001)
}

// symbolTable returns symbols in section 1.
func symbolTable(names *[]byte, symbols ...symbolOf) (b []byte) {
	for _, s := range symbols {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(*names)))
		*names = append(append(*names, s.name...), 0)
		b = append(b, s.bind<<4|s.kind, 0, 1, 0)
		b = binary.LittleEndian.AppendUint64(b, s.at)
		b = binary.LittleEndian.AppendUint64(b, s.size)
	}
	return b
}

type symbolOf struct {
	name       string
	bind, kind uint8
	at, size   uint64
}

func TestFunctions(t *testing.T) {
	text := part{name: ".text", kind: 1, flags: flagExecutable, content: make([]byte, 64)}
	_, at := elf(62, text)
	start := at[".text"]
	names := []byte{0}
	table := symbolTable(&names, symbolOf{"weak", bindWeak, 2, start, 8}, symbolOf{"__alias", bindGlobal, 2, start, 8},
		symbolOf{"name", bindGlobal, 2, start, 8}, symbolOf{"local", 0, 2, start + 16, 4}, symbolOf{"assembly", 0, 0, start + 32, 0},
		symbolOf{"variable", bindGlobal, 1, start + 24, 8}, symbolOf{"$x", 0, 0, start + 20, 0})
	data, _ := elf(62, text, part{name: ".symtab", kind: sectionSymbols, link: 3, content: table}, part{name: ".strtab", kind: 3, content: names})
	f := open(t, data)
	for offset, want := range map[uint64]string{0: "name", 7: "name", 8: "", 16: "local", 20: "", 24: "", 32: "assembly", 63: "assembly", 64: ""} {
		if got := f.Function(start + offset); got != want {
			t.Errorf("at %d: %q, want %q", offset, got, want)
		}
	}
}

func FuzzUnwind(f *testing.F) {
	program, err := os.ReadFile("../../../testdata/unwind/frames")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(program)
	for _, code := range [][]byte{{0x0e, 24}, {0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}, {0x10, 16, 3, 0x2f, 0xfd, 0xff}} {
		for _, machine := range []uint16{62, 183} {
			data, _ := elf(machine, part{name: ".debug_frame", kind: 1, content: debugFrame(machine, code, outermost)})
			f.Add(data)
		}
	}
	stack := Stack{Address: 0x7000, Bytes: make([]byte, 1024)}
	for i := range stack.Bytes[:1000] {
		stack.Bytes[i] = byte(i * i)
	}
	fuzz.Run(f, func(t *testing.T, data []byte) {
		file, err := Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		for _, s := range file.frames {
			for _, fn := range s.functions[:min(len(s.functions), 100)] {
				for _, at := range []uint64{fn.start, fn.end - 1} {
					file.Function(at)
					Unwind(nil, x86At(t, at), anywhere{file}, stack)
				}
			}
		}
		file.Address(1)
	})
}

// anywhere is a process in which all addresses are those of a binary.
type anywhere struct{ file *File }

func (a anywhere) Binary(uint64) (*File, uint64) { return a.file, 0 }
func (anywhere) Mapped(uint64) bool              { return true }

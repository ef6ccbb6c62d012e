package unwind

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
)

const symbolSize = 24

// The types of symbols, their bindings and visibilities.
const (
	symbolNoType   = 0
	symbolFunction = 2
	symbolIndirect = 10
	bindGlobal     = 1
	bindWeak       = 2
	hidden         = 2
	internal       = 1
)

// symbols are the functions of a binary by address, of which each has one.
type symbols struct {
	all   []symbol
	names []byte
}

type symbol struct {
	start, size uint64
	name        uint32
	bind        uint8
	in          uint16 // section
}

// Function returns the name of the function at an address in the binary, as the linker knows it, or "".
func (f *File) Function(address uint64) string {
	if f.symbols == nil {
		f.symbols = &symbols{}
		if !f.readSymbols(sectionSymbols) {
			f.readSymbols(sectionDynamic)
		}
	}
	all := f.symbols.all
	i, ok := slices.BinarySearchFunc(all, address, func(s symbol, at uint64) int { return cmp.Compare(s.start, at) })
	if !ok {
		i--
	}
	if i < 0 || address-all[i].start >= all[i].size {
		return ""
	}
	return textAt(f.symbols.names, all[i].name)
}

// HasSymbols reports whether the binary has symbols beyond those of dynamic linking.
func (f *File) HasSymbols() bool {
	return slices.ContainsFunc(f.sections, func(s section) bool { return s.kind == sectionSymbols && s.bytes > 0 })
}

// readSymbols reads a table of symbols. It returns false if there is none.
func (f *File) readSymbols(kind uint32) bool {
	i := slices.IndexFunc(f.sections, func(s section) bool { return s.kind == kind && s.bytes > 0 })
	if i < 0 || uint64(f.sections[i].link) >= uint64(len(f.sections)) {
		return false
	}
	table, err := f.contents(&f.sections[i])
	if err != nil {
		return false
	}
	names, err := f.contents(&f.sections[f.sections[i].link])
	if err != nil {
		return false
	}
	s := &symbols{names: names}
	le := binary.LittleEndian
	for ; len(table) >= symbolSize; table = table[symbolSize:] {
		name, info, in := le.Uint32(table), table[4], le.Uint16(table[6:])
		if f.isFunction(info&15, table[5]&3, in, name, names) {
			s.all = append(s.all, symbol{start: le.Uint64(table[8:]), size: le.Uint64(table[16:]), name: name, bind: info >> 4, in: in})
		}
	}
	s.order(f.sections)
	f.symbols = s
	return true
}

// isFunction reports whether a symbol names code. Assembly has functions without a type.
func (f *File) isFunction(kind, visibility uint8, in uint16, name uint32, names []byte) bool {
	if in == 0 || in >= 0xff00 || uint64(in) >= uint64(len(f.sections)) || uint64(name) >= uint64(len(names)) || names[name] == 0 {
		return false
	}
	switch kind {
	case symbolFunction, symbolIndirect:
		return true
	case symbolNoType:
		return f.sections[in].flags&flagExecutable != 0 && visibility != hidden && visibility != internal &&
			names[name] != '$' && !bytes.HasPrefix(names[name:], []byte(".L"))
	}
	return false
}

// order sorts the symbols and keeps the best at each address. Those without a size reach to the next, or to the
// end of the section.
func (s *symbols) order(sections []section) {
	slices.SortStableFunc(s.all, func(a, b symbol) int {
		if c := cmp.Compare(a.start, b.start); c != 0 {
			return c
		}
		return s.better(a, b)
	})
	s.all = slices.CompactFunc(s.all, func(a, b symbol) bool { return a.start == b.start })
	for i := range s.all {
		if s.all[i].size > 0 {
			continue
		}
		in := sections[s.all[i].in]
		end := in.address + in.bytes
		if i+1 < len(s.all) {
			end = min(end, s.all[i+1].start)
		}
		if end > s.all[i].start {
			s.all[i].size = end - s.all[i].start
		}
	}
}

// better compares symbols at one address, by the rules of perf: the better one is less. A symbol has a size, is not weak, is
// global, and has few underscores at its start and a long name.
func (s *symbols) better(a, b symbol) int {
	if c := cmp.Or(first(a.size != 0, b.size != 0), first(a.bind != bindWeak, b.bind != bindWeak),
		first(a.bind == bindGlobal, b.bind == bindGlobal)); c != 0 {
		return c
	}
	left, right := textAt(s.names, a.name), textAt(s.names, b.name)
	underscores := func(name string) int { return len(name) - len(strings.TrimLeft(name, "_")) }
	return cmp.Or(cmp.Compare(underscores(left), underscores(right)), cmp.Compare(len(right), len(left)), cmp.Compare(left, right))
}

// first compares by a property that only one of two has.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

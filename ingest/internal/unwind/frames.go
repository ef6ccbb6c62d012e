package unwind

import (
	"bytes"
	"cmp"
	"slices"
)

// frames is the call frame information in a section, by address.
type frames struct {
	data      []byte
	address   uint64 // of the section in the binary
	functions []function
	common    []common
}

// function says how to unwind a range of addresses: an FDE.
type function struct {
	start, end uint64
	common     uint32 // index
	at, to     uint32 // its instructions in the data
}

// common is what several functions share: a CIE.
type common struct {
	codeUnit      uint64
	dataUnit      int64
	returnAddress uint64 // register
	pointers      uint8  // encoding of addresses
	sized         bool   // functions have data of their own before the instructions
	signal        bool   // of the frame that the kernel makes for a signal's handler
	instructions  []byte
	bad           bool
}

// readFrames reads the call frame information.
func (f *File) readFrames() {
	for _, name := range []string{".eh_frame", ".debug_frame"} {
		s := f.section(name)
		if s == nil {
			continue
		}
		if data, err := f.contents(s); err == nil {
			f.addFrames(&frames{data: data, address: s.address}, name == ".debug_frame")
		}
	}
	if len(f.frames) > 0 {
		return
	}
	for _, s := range f.segments { // without sections
		if s.kind == segmentEHFrame {
			f.fromHeader(s)
		}
	}
}

// fromHeader reads the information that .eh_frame_hdr refers to.
func (f *File) fromHeader(header segment) {
	head, err := f.take(header.offset, min(header.size, 16))
	if err != nil || len(head) < 8 || head[0] != 1 {
		return
	}
	r := reader{data: head, address: header.address, at: 4}
	start, ok := r.pointer(head[1])
	if !ok {
		return
	}
	for _, s := range f.segments {
		if s.kind == segmentLoad && start >= s.address && start-s.address < s.size {
			skipped := start - s.address
			if data, err := f.take(s.offset+skipped, s.size-skipped); err == nil {
				f.addFrames(&frames{data: upToEnd(data), address: start}, false)
			}
		}
	}
}

// upToEnd returns the entries before the empty one.
func upToEnd(data []byte) []byte {
	r := reader{data: data}
	for {
		at := r.at
		size := r.fixed(4)
		if size == 0xffffffff {
			size = r.fixed(8)
		}
		if r.take(size); size == 0 || r.short {
			return data[:at]
		}
	}
}

// addFrames finds the functions in a section. Damaged entries are left out.
func (f *File) addFrames(s *frames, debug bool) {
	known := map[uint64]uint32{}
	r := reader{data: s.data, address: s.address}
	for r.left() >= 4 {
		wide := false
		size := r.fixed(4)
		if size == 0xffffffff {
			size, wide = r.fixed(8), true
		}
		at := r.at
		body := r.take(size)
		if r.short {
			break
		}
		entry := reader{data: s.data[:at+len(body)], address: s.address, at: at}
		if offset, ok := entry.commonOffset(debug, wide); ok {
			s.addFunction(&entry, offset, debug, known)
		}
	}
	if len(s.functions) == 0 {
		return
	}
	slices.SortStableFunc(s.functions, func(a, b function) int { return cmp.Compare(a.start, b.start) })
	f.frames = append(f.frames, s)
}

// commonOffset reads where a function's common part is in the section. It returns false for a common part.
func (r *reader) commonOffset(debug, wide bool) (uint64, bool) {
	at := uint64(r.at)
	switch {
	case !debug:
		id := r.fixed(4)
		return at - id, id != 0 && id <= at && !r.short
	case wide:
		id := r.fixed(8)
		return id, id != ^uint64(0) && !r.short
	}
	id := r.fixed(4)
	return id, id != 0xffffffff && !r.short
}

func (s *frames) addFunction(r *reader, offset uint64, debug bool, known map[uint64]uint32) {
	index, ok := known[offset]
	if !ok {
		index = uint32(len(s.common))
		known[offset] = index
		s.common = append(s.common, s.readCommon(offset, debug))
	}
	c := &s.common[index]
	if c.bad {
		return
	}
	start, ok := r.pointer(c.pointers)
	size, ok2 := r.pointer(c.pointers & 15)
	if c.sized {
		r.block()
	}
	if !ok || !ok2 || r.short || size == 0 || start+size < start || uint64(len(s.data)) > maxSection {
		return
	}
	s.functions = append(s.functions, function{start: start, end: start + size, common: index, at: uint32(r.at), to: uint32(len(r.data))})
}

// readCommon reads a CIE.
func (s *frames) readCommon(offset uint64, debug bool) common {
	bad := common{bad: true}
	if offset >= uint64(len(s.data)) {
		return bad
	}
	r := reader{data: s.data, address: s.address, at: int(offset)}
	size, wide := r.fixed(4), false
	if size == 0xffffffff {
		size, wide = r.fixed(8), true
	}
	if size > uint64(r.left()) {
		return bad
	}
	r.data = r.data[:r.at+int(size)]
	if _, isFunction := r.commonOffset(debug, wide); isFunction {
		return bad
	}
	version := r.uint8()
	augmentation, _, ok := bytes.Cut(r.data[r.at:], []byte{0})
	r.take(uint64(len(augmentation)) + 1)
	if !ok || version != 1 && version != 3 && version != 4 {
		return bad
	}
	if version == 4 && (r.uint8() != 8 || r.uint8() != 0) { // of an address, of a segment's number
		return bad
	}
	c := common{codeUnit: r.uleb(), dataUnit: r.sleb()}
	if version == 1 {
		c.returnAddress = uint64(r.uint8())
	} else {
		c.returnAddress = r.uleb()
	}
	if !c.augment(augmentation, &r) || r.short {
		return bad
	}
	c.instructions = r.data[r.at:]
	return c
}

// augment reads the data that an augmentation describes.
func (c *common) augment(text []byte, r *reader) bool {
	if len(text) == 0 {
		return true
	}
	if text[0] != 'z' {
		return false
	}
	c.sized = true
	size := r.uleb()
	if size > uint64(r.left()) {
		return false
	}
	end := r.at + int(size)
	for _, letter := range text[1:] {
		switch letter {
		case 'L': // how functions refer to data of their language
			r.uint8()
		case 'P': // the function of the language that handles exceptions
			if encoding := r.uint8(); encoding == 0x50 { // aligned
				return false
			} else if r.skipPointer(encoding); r.short {
				return false
			}
		case 'R':
			c.pointers = r.uint8()
		case 'S':
			c.signal = true
		}
	}
	if r.at > end {
		return false
	}
	r.at = end
	return true
}

// skipPointer skips a pointer to anything.
func (r *reader) skipPointer(encoding uint8) { r.pointer(encoding & 15) }

// find returns how to unwind at an address in the binary.
func (f *File) find(address uint64) (*frames, *function) {
	for _, s := range f.frames {
		i, ok := slices.BinarySearchFunc(s.functions, address, func(fn function, at uint64) int { return cmp.Compare(fn.start, at) })
		if !ok {
			i--
		}
		if i >= 0 && address < s.functions[i].end {
			return s, &s.functions[i]
		}
	}
	return nil, nil
}
